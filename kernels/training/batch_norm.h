// Batch normalization in training with its gradients, over rows of channels: images with channels last, FP32 or BF16.
// An addend and ReLU behind it are computed on the way.
//
// Sums are formed in single precision over few rows and added in double precision, by chunks that do not depend on the
// number of threads, and so have the same bits for any.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/bf16.h"

namespace ipex_studio {

struct BatchNormJob {
  std::int64_t rows = 0, channels = 0;
  double eps = 0;
  std::int32_t threads = 1;
  std::string isa;    // a machine_facts tier that instructions stay within; empty: what this machine has
  bool relu = false;  // of the result
};

// Numbers of each channel. `gamma`, `beta`: null for ones and zeros. The others are written by the forward pass: mean,
// 1 / √(variance + eps).
struct BatchNormChannels {
  const float *gamma = nullptr, *beta = nullptr;
  float *mean = nullptr, *inverse = nullptr;
};

// y = (x - mean) · inverse · gamma + beta + addend, then ReLU if the job says so. Writes the variance without Bessel's
// correction. `addend` may be null. T: float or Bf16.
template <typename T>
void batchNormForward(const BatchNormJob& job, const BatchNormChannels& channels, const T* x, const T* addend, T* y,
                      float* variance);

// What the gradients of a normalization are computed from and where they go; any of the latter may be null.
template <typename T>
struct BatchNormGradients {
  const T *x = nullptr, *dy = nullptr;
  const T* y = nullptr;  // the result; only where an addend and ReLU follow, since ReLU alone is computed again from x
  T* dx = nullptr;
  T* daddend = nullptr;  // dy where y is positive; not null if y is not
  float *dgamma = nullptr, *dbeta = nullptr;
};

// Gradients, given what batchNormForward() wrote.
template <typename T>
void batchNormBackward(const BatchNormJob& job, const BatchNormChannels& channels,
                       const BatchNormGradients<T>& gradients);

}  // namespace ipex_studio

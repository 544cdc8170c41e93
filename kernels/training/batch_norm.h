// Batch normalization in training with its gradients, over rows of channels: images with channels last.
//
// Sums are formed in single precision over few rows and added in double precision, by chunks that do not depend on the
// number of threads, and so have the same bits for any.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

struct BatchNormJob {
  std::int64_t rows = 0, channels = 0;
  double eps = 0;
  std::int32_t threads = 1;
  std::string isa;  // a machine_facts tier that instructions stay within; empty: what this machine has
};

// y = (x - mean) · inverse · gamma + beta, with the mean and inverse = 1 / √(variance + eps) of each channel. Writes
// those, and the variance without Bessel's correction. `gamma`, `beta`: null for ones and zeros.
void batchNormForward(const BatchNormJob& job, const float* x, const float* gamma, const float* beta, float* y,
                      float* mean, float* inverse, float* variance);

// Gradients, given that of y and what batchNormForward() wrote. `dx`, `dgamma` and `dbeta` may be null.
void batchNormBackward(const BatchNormJob& job, const float* x, const float* dy, const float* gamma, const float* mean,
                       const float* inverse, float* dx, float* dgamma, float* dbeta);

}  // namespace ipex_studio

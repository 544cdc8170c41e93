// Adafactor (Shazeer & Stern, arXiv:1804.04235) in the form of torch.optim: second moments of a matrix are kept by row
// and by column, steps are relative to the size of parameters, and updates are clipped by their own size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

struct AdafactorSettings {
  double lr = 1e-2, beta2_decay = -0.8;
  double eps1 = 0;     // least root of a second moment
  double eps2 = 1e-3;  // least size of parameters
  double d = 1, weight_decay = 0;
  bool maximize = false;
};

// One parameter: FP32 without gaps, `matrices` of `rows` x `columns` one after the other; a vector is one row.
struct AdafactorTensor {
  float* parameter = nullptr;
  const float* gradient = nullptr;  // never written
  float* row_moments = nullptr;     // [matrices, rows]; null: a vector
  float* moments = nullptr;         // [matrices, columns]
  std::int64_t matrices = 1, rows = 1, columns = 0;
  std::int64_t step = 1;  // counts from 1

  bool isVector() const { return row_moments == nullptr; }
  std::int64_t count() const { return matrices * rows * columns; }
};

// One step of all parameters, in three parallel regions. Bits do not depend on the number of threads. `isa`: a
// machine_facts tier that instructions stay within; empty: what this machine has.
void adafactorStep(const AdafactorSettings& settings, const std::vector<AdafactorTensor>& tensors, std::int32_t threads,
                   const std::string& isa = {});

// The numbers of a step that are the same for all elements.
struct AdafactorScalars {
  double weight = 0;  // of the new squares in moments
  double rho = 0;     // step size before it is scaled by the size of the parameter
};

AdafactorScalars adafactorScalars(const AdafactorSettings& settings, std::int64_t step);

}  // namespace ipex_studio

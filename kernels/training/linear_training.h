// A linear layer in training with its gradients, x·wᵀ + b over rows, by products of oneDNN. Operands lie as the layer
// has them, row after row: on one core of Zen 5 products of operands in the library's own order are no faster, and
// bringing weights into it takes another pass over them.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>

namespace ipex_studio {

struct LinearProblem {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  std::int32_t threads = 1;
  bool bf16 = false;  // rows, their gradients and the weights that are read are BF16; sums are FP32

  auto key() const { return std::tie(rows, inputs, outputs, threads, bf16); }
  bool operator<(const LinearProblem& other) const { return key() < other.key(); }
};

// May be called by several threads.
class LinearTraining {
 public:
  explicit LinearTraining(const LinearProblem& problem);
  ~LinearTraining();

  // True if the library has generated code for all three computations.
  bool isQuick() const;

  // y = x·wᵀ + bias; `bias` may be null. Weights [outputs, inputs] have the type of rows.
  void forward(const void* x, const void* w, const float* bias, void* y) const;
  void sourceGradient(const void* w, const void* dy, void* dx) const;
  // In FP32; `db` may be null.
  void weightGradient(const void* x, const void* dy, float* dw, float* db) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

// True if products of FP32 by oneDNN are worth their call: with AVX-512, which OpenBLAS does not use on CPUs that are
// newer than it.
bool hasWideProducts();

}  // namespace ipex_studio

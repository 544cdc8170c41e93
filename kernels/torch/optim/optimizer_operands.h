// Tensors of PyTorch as operands of optimizer steps.
#pragma once

#include <vector>

#include <torch/script.h>

#include "kernels/optim/update.h"

namespace ipex_studio {

// Tensors as memory without gaps, in the order of their parameter: themselves, or copies that are copied back.
class DenseTensors {
 public:
  // The parameter itself, whose order the others take.
  at::Tensor first(const at::Tensor& tensor);
  at::Tensor inOrderOf(const at::Tensor& first, const at::Tensor& tensor, bool written);
  void writeBack();

 private:
  struct Copy {
    at::Tensor original, dense;
    bool written;
  };

  at::Tensor keep(const at::Tensor& original, const at::Tensor& dense, bool written);

  std::vector<Copy> copies_;  // keeps them until the step is done
};

// True for dense tensors on the CPU.
bool isPlainCpu(const at::Tensor& tensor);

// True if the kernels can step this parameter. `companion`: without elements if the parameter is FP32; the lower halves
// of its numbers, as BF16 or int16, if it is BF16; its FP32 master if it is BF16 or FP16.
bool canStep(const at::Tensor& parameter, const at::Tensor& gradient, const at::Tensor& companion);

// Tell the kernels where the numbers of a parameter are, and its gradient. `first`: the parameter, dense.
void placeParameter(const at::Tensor& first, const at::Tensor& companion, bool rounded, OptimizerTensor* tensor,
                    DenseTensors* dense);
void placeGradient(const at::Tensor& first, const at::Tensor& gradient, OptimizerTensor* tensor, DenseTensors* dense);

// The optimizer of this name. Throws c10::Error that lists the names.
Optimizer optimizerNamed(const std::string& name);

// UpdateOptions with the formulas of this version of PyTorch and its number of threads.
UpdateOptions updateOptions(bool fast, double gradient_scale, double max_norm, bool skip_infinite);

// Readers of a tensor that keep something of it see by its version that it was written.
void raiseVersion(const at::Tensor& tensor);

}  // namespace ipex_studio

// Optimizer steps over all parameters at once.
//
// The elements of all tensors are cut into chunks, and the chunks are shared among threads in one parallel region: many
// small parameters cost as little as one large. Sums (norms of gradients, of parameters) are formed by chunk in double
// precision and added in the order of chunks, so that results do not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/op/tensor_view.h"
#include "kernels/optim/optimizer.h"

namespace ipex_studio {

// The memory that holds the numbers of a parameter. Rules compute on FP32 in all forms, and no form rounds the numbers
// from step to step.
enum class ParameterForm : std::uint8_t {
  kSingle,        // in `parameter`
  kSplit,         // the upper 16 bits of each in `half`, a BF16 that was cut off, the lower 16 in `lower`
  kSplitRounded,  // in `half` the nearest BF16, ties away from zero, in `lower` what it lacks, as a signed number
  kBf16Copy,      // in `parameter`; `half` takes them as BF16, rounded to nearest even
  kF16Copy,       // the same as FP16
};

// One parameter with its gradient and states: dense memory of `count` elements in one order. No two overlap.
struct OptimizerTensor {
  float* parameter = nullptr;
  std::uint16_t *half = nullptr, *lower = nullptr;
  ParameterForm form = ParameterForm::kSingle;
  const void* gradient = nullptr;           // never written
  DType gradient_dtype = DType::kF32;       // or kBf16, kF16
  std::array<float*, kMaxStates> states{};  // as stateCount() of its group's settings asks
  std::int64_t count = 0;
  std::int32_t group = 0;
  std::int64_t step = 1;  // counts from 1; at 1 the momentum buffers of sgd and lars hold nothing yet
};

// Versions of PyTorch whose for-loops round differently.
enum class Formulas : std::uint8_t {
  kTorch1,  // running means by mul_ and add_; nadam takes the momentum of a step twice in mu_product_next
  kTorch2,  // running means by lerp_ (from 2.1 on)
};

struct UpdateOptions {
  // False: operation by operation what the for-loop of PyTorch computes where it has FMA, and so the same bits. True:
  // fewer divisions; parameters differ by at most 2 units in the last place in a step.
  bool fast = false;
  Formulas formulas = Formulas::kTorch2;
  double gradient_scale = 1;  // gradients are multiplied by it before all else: 1 / loss scale
  // If > 0: gradients are then multiplied by max_norm / (norm of them all + clip_epsilon), but by no more than 1.
  double max_norm = 0;
  double clip_epsilon = 1e-6;
  bool skip_infinite = false;  // if a gradient is infinite or NaN, nothing changes
  std::int32_t threads = 1;
  std::int64_t* update_ns = nullptr;  // one a tensor: the time that its chunks took on all threads; null: not asked for
  std::string isa;  // a machine_facts tier that instructions stay within; empty: what this machine has
};

// Updates all parameters by one step. `settings`: one list a group, as kernels/optim/optimizer.h orders them. Returns
// the norm of all gradients after gradient_scale if max_norm or skip_infinite ask for it, else 0; if it is not finite,
// skip_infinite has kept everything as it was. May be called at once for tensors that do not overlap.
double updateParameters(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
                        const std::vector<OptimizerTensor>& tensors, const UpdateOptions& options);

}  // namespace ipex_studio

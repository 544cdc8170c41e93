// The distance of one value of a model from its counterpart in another form of the model.
#pragma once

#include <string>

#include "core/record/bisect_record.h"
#include "core/torch/torch_compat.h"
#include "core/verify/verify.h"

namespace ipex_studio {

// When a value counts as wrong: FP32 by its greatest difference, below FP32 by its direction.
struct ValueTolerance {
  AccuracyRule rule;
  double share = 1e-4;  // FP32: of the largest value that the original gives
};

// Compares tensors, numbers, and lists and tuples of them. Floating types of both sides may differ. Of the names only
// those of elements are set. The values of a list are judged together; places are those of its worst tensor.
ValueDifference differenceOf(const torch::jit::IValue& actual, const torch::jit::IValue& expected,
                             const ValueTolerance& tolerance);

// "[0, 3]": the place of an element that is number `index` in row-major order.
std::string placeText(at::IntArrayRef sizes, std::int64_t index);

}  // namespace ipex_studio

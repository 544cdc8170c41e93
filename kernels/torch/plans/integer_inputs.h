// Inputs of a region that hold integers: int32 and int64 stand for each other where only their values count.
#pragma once

#include <optional>
#include <vector>

#include <torch/script.h>

#include "core/op/plan_spec.h"

namespace ipex_studio {

class IntegerInputs {
 public:
  explicit IntegerInputs(const PlanSpec& spec);

  // True if each tensor that the plan takes for int32 or int64 is of that type, or of another than these.
  bool fit(c10::ArrayRef<const at::Tensor*> tensors) const {
    for (const Input& input : inputs_) {
      if (input.tensor < tensors.size() && isOther(input, *tensors[input.tensor])) return false;
    }
    return true;
  }

  // The tensors with integers in the plan's types; nullopt if the plan does more with one of those than to choose by
  // it, so that the results' types may follow its type, or if a number is too large.
  std::optional<std::vector<at::Tensor>> converted(c10::ArrayRef<const at::Tensor*> tensors) const;

 private:
  struct Input {
    std::size_t tensor = 0;
    at::ScalarType planned = at::kLong;
    bool only_chooses = false;
  };
  static bool isOther(const Input& input, const at::Tensor& tensor) {
    const at::ScalarType given = tensor.scalar_type();
    return given != input.planned && (given == at::kLong || given == at::kInt);
  }

  std::vector<Input> inputs_;
};

}  // namespace ipex_studio

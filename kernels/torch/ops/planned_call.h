// Calls of operators that are plans (plan_operator.h) from other operators.
#pragma once

#include <string>

#include <torch/script.h>

namespace ipex_studio {

// Plans are found by the identity of the description, which therefore is kept: one object for each description that a
// caller uses, as a static one. Thread-safe.
class PlannedCall {
 public:
  // `kind`: the operator without its namespace. `spec`: the text of an OpSpec.
  PlannedCall(const char* kind, std::string spec)
      : operator_(c10::Dispatcher::singleton().findSchemaOrThrow((std::string("ipex_studio::") + kind).c_str(), "")),
        spec_(std::move(spec)) {}

  // Arguments: all but the description.
  at::Tensor operator()(torch::jit::Stack arguments) const {
    arguments.push_back(spec_);
    operator_.callBoxed(&arguments);
    return arguments[0].toTensor();
  }

 private:
  const c10::OperatorHandle operator_;
  const c10::IValue spec_;
};

}  // namespace ipex_studio

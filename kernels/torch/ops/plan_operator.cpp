#include "kernels/torch/ops/plan_operator.h"

#include <memory>

#include "kernels/torch/ops/call_sites.h"

namespace ipex_studio {
namespace {

// Works on the interpreter's stack, where the string is still the object that the graph holds.
class PlanOperator : public c10::OperatorKernel {
 public:
  PlanOperator(std::vector<Operand> roles, std::size_t results) : roles_(std::move(roles)), results_(results) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const auto arguments = torch::jit::last(*stack, roles_.size() + 1);
    c10::SmallVector<PlanOperand, 8> operands;
    c10::SmallVector<const at::Tensor*, 8> inputs;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Operand::kInputs) {
        for (const c10::IValue& input : arguments[i].toListRef()) {
          operands.push_back({&input.toTensor(), false});
          inputs.push_back(operands.back().tensor);
        }
      } else if (arguments[i].isNone() || !arguments[i].toTensor().defined()) {
        operands.push_back({});
      } else {
        operands.push_back({&arguments[i].toTensor(), roles_[i] == Operand::kWeight});
        if (!operands.back().constant) inputs.push_back(operands.back().tensor);
      }
    }
    const std::shared_ptr<PlanCache> plans = sites_.plansFor(arguments.back(), operands);
    c10::SmallVector<at::Tensor, 2> results(plans->spec().outputs.size());
    plans->run(inputs, {}, results.data());
    TORCH_CHECK(results.size() >= results_, op.schema().name(), " needs a spec with sum_output=1");
    torch::jit::drop(*stack, roles_.size() + 1);
    for (std::size_t r = 0; r < results_; ++r) stack->emplace_back(std::move(results[r]));
  }

 private:
  const std::vector<Operand> roles_;
  const std::size_t results_;
  CallSites sites_;
};

}  // namespace

torch::CppFunction planOperator(std::vector<Operand> roles, std::size_t results) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<PlanOperator>(std::move(roles), results));
}

}  // namespace ipex_studio

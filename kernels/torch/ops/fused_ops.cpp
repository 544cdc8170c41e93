#include "kernels/torch/ops/fused_ops.h"

#include <list>
#include <memory>
#include <mutex>

#include "core/torch/tensor_bridge.h"
#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxKept = 256;

struct Kept {
  std::string key;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> weights;  // expired: the address may mean another tensor now
  std::shared_ptr<PlanCache> plans;
};

struct KeptPlans {
  std::mutex mutex;
  std::list<Kept> entries;  // most recently used first
};

KeptPlans& keptPlans() {
  static KeptPlans kept;
  return kept;
}

std::string versionOf(const at::Tensor& tensor) {
  return tensor.is_inference() ? "-" : std::to_string(tensor._version());
}

std::string keyOf(const std::string& spec, const std::vector<FusedOperand>& operands) {
  std::string key = spec;
  for (const FusedOperand& operand : operands) {
    if (!operand.tensor) {
      key += "|none";
    } else if (operand.constant) {
      const void* impl = operand.tensor->unsafeGetTensorImpl();
      key += "|" + std::to_string(reinterpret_cast<std::uintptr_t>(impl)) + "@" + versionOf(*operand.tensor);
    } else {
      key +=
          "|" + std::string(dtypeName(dtypeOf(operand.tensor->scalar_type()))) + std::to_string(operand.tensor->dim());
    }
  }
  return key;
}

// A spec of one node whose inputs are the operands that are no constants.
std::shared_ptr<PlanCache> makePlans(const std::string& text, const std::vector<FusedOperand>& operands) {
  PlanSpec spec;
  PlanNode node;
  std::vector<at::Tensor> constants;
  node.op = parseOpSpec(text);
  node.name = opKindName(node.op.kind);
  for (const FusedOperand& operand : operands) {
    if (!operand.tensor) continue;
    const TensorDesc desc = descOf(*operand.tensor);
    if (!operand.constant) {
      spec.inputs.push_back({false, desc.dtype, desc.dims.rank});
    } else {
      constants.push_back(operand.tensor->detach().contiguous());
      spec.constants.push_back(descOf(constants.back()));
    }
  }
  std::int32_t next_input = 0;
  std::int32_t next_constant = static_cast<std::int32_t>(spec.inputs.size());
  for (const FusedOperand& operand : operands) {
    node.src.push_back(!operand.tensor ? -1 : operand.constant ? next_constant++ : next_input++);
  }
  const int results = node.op.intOr("sum_output", 0) != 0 ? 2 : 1;
  for (int r = 0; r < results; ++r) {
    node.dst.push_back(next_constant + r);
    spec.outputs.push_back(next_constant + r);
  }
  spec.nodes.push_back(std::move(node));
  return std::make_shared<PlanCache>(std::move(spec), std::move(constants));
}

bool alive(const Kept& kept) {
  for (const auto& weight : kept.weights) {
    if (weight.expired()) return false;
  }
  return true;
}

std::shared_ptr<PlanCache> plansFor(const std::string& spec, const std::vector<FusedOperand>& operands) {
  KeptPlans& kept = keptPlans();
  const std::string key = keyOf(spec, operands);
  const std::lock_guard<std::mutex> lock(kept.mutex);
  for (auto at = kept.entries.begin(); at != kept.entries.end(); ++at) {
    if (at->key != key) continue;
    if (!alive(*at)) {
      kept.entries.erase(at);
      break;
    }
    kept.entries.splice(kept.entries.begin(), kept.entries, at);
    return kept.entries.front().plans;
  }
  Kept entry{key, {}, makePlans(spec, operands)};
  for (const FusedOperand& operand : operands) {
    if (operand.tensor && operand.constant) entry.weights.emplace_back(operand.tensor->getIntrusivePtr());
  }
  kept.entries.push_front(std::move(entry));
  if (kept.entries.size() > kMaxKept) kept.entries.pop_back();
  return kept.entries.front().plans;
}

}  // namespace

std::vector<at::Tensor> runFusedOp(const std::string& spec, const std::vector<FusedOperand>& operands) {
  c10::SmallVector<const at::Tensor*, 8> inputs;
  for (const FusedOperand& operand : operands) {
    if (operand.tensor && !operand.constant) inputs.push_back(&*operand.tensor);
  }
  const std::shared_ptr<PlanCache> plans = plansFor(spec, operands);
  std::vector<at::Tensor> results(plans->spec().outputs.size());
  plans->run(inputs, {}, results.data());
  return results;
}

}  // namespace ipex_studio

// Builds the PlanSpec of a region from its lowered nodes.
#include "core/lower/region_spec.h"

#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/graph/labels.h"
#include "core/lower/lowering_builder.h"
#include "core/torch/tensor_bridge.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// The first pass collects values from outside and constant tensors; the second assigns numbers and emits nodes.
class SpecBuilder {
 public:
  explicit SpecBuilder(const OriginTable& origins) : origins_(origins) {}

  RegionSpec build(const std::vector<const PlacedNode*>& nodes, const std::vector<Value*>& outputs) {
    numbers_.reserve(2 * nodes.size());
    for (const PlacedNode* placed : nodes) {
      for (const LoweredOp& op : placed->ops.ops) {
        for (const Value* value : op.dst) numbers_[value] = kNotYet;
      }
    }
    for (const PlacedNode* placed : nodes) {
      for (const LoweredOp& op : placed->ops.ops) collect(op);
    }
    numberInputs();
    for (const PlacedNode* placed : nodes) emit(*placed);
    for (const Value* output : outputs) spec_.plan.outputs.push_back(numbers_.at(output));
    return std::move(spec_);
  }

 private:
  // The number of a value that is computed inside, until its node is emitted.
  static constexpr std::int32_t kNotYet = -2;

  void collect(const LoweredOp& op) {
    for (const LoweredOperand& operand : op.src) {
      if (operand.constant.defined()) {
        addConstant(operand.constant);
      } else if (operand.value != nullptr) {
        collectTensor(operand.value);
      }
    }
    for (const LoweredRef& ref : op.refs) collectInt(ref.value);
  }

  void collectTensor(Value* value) {
    if (numbers_.count(value) != 0) return;
    if (const auto constant = constantTensor(value)) {
      const at::Tensor tensor = constant->detach();
      if (tensor.is_complex()) {
        addConstant(at::view_as_real(tensor.resolve_conj()), constant->unsafeGetTensorImpl(), false);
      } else {
        addConstant(tensor.contiguous(), constant->unsafeGetTensorImpl());
      }
    } else if (seen_.insert(value).second) {
      spec_.tensor_inputs.push_back(value);
    }
  }

  // Iterative, since size arithmetic may be a long chain.
  void collectInt(Value* root) {
    std::vector<Value*> open{root};
    while (!open.empty()) {
      Value* value = open.back();
      open.pop_back();
      if (constantInt(value) || !seen_.insert(value).second) continue;
      Node* node = value->node();
      if (!isSizeArithmetic(node)) {
        spec_.int_inputs.push_back(value);
      } else if (node->kind() == c10::aten::size) {
        collectTensor(node->input(0));
      } else {
        open.insert(open.end(), node->inputs().begin(), node->inputs().end());
      }
    }
  }

  // `is_source`: false if the code that the region replaced reads another form of it.
  void addConstant(const at::Tensor& tensor, const void* identity = nullptr, bool is_source = true) {
    const void* key = identity != nullptr ? identity : tensor.unsafeGetTensorImpl();
    if (!constant_index_.emplace(key, spec_.constants.size()).second) return;
    spec_.constants.push_back(tensor.contiguous());
    spec_.constant_sources.push_back(is_source ? key : spec_.constants.back().unsafeGetTensorImpl());
  }

  void numberInputs() {
    for (Value* value : spec_.tensor_inputs) {
      IPEX_CHECK(knownDtype(value) && knownSizes(value), "a lowered operand has a known type");
      const TensorDesc desc = lowering::exampleDesc(value);
      numbers_[value] = next_++;
      spec_.plan.inputs.push_back({false, desc.dtype, desc.dims.rank});
    }
    for (Value* value : spec_.int_inputs) {
      numbers_[value] = next_++;
      spec_.plan.inputs.push_back({true, DType::kS64, 0});
    }
    for (const at::Tensor& constant : spec_.constants) {
      spec_.plan.constants.push_back(descOf(constant));
      ++next_;
    }
  }

  std::int32_t constantNumber(const void* identity) const {
    return spec_.plan.constantValue(constant_index_.at(identity));
  }

  std::int32_t operandNumber(const LoweredOperand& operand, const std::vector<std::int32_t>& locals) const {
    if (operand.absent()) return -1;
    if (operand.local >= 0) return locals[static_cast<std::size_t>(operand.local)] + operand.result;
    if (operand.constant.defined()) return constantNumber(operand.constant.unsafeGetTensorImpl());
    const auto found = numbers_.find(operand.value);
    if (found != numbers_.end()) return found->second;
    return constantNumber(constantTensor(operand.value)->unsafeGetTensorImpl());
  }

  // Emits the integers that `root` needs, operands first, in an iterative post-order.
  std::int32_t intNumber(Value* root) {
    std::vector<Value*> open{root};
    while (!open.empty()) {
      Value* value = open.back();
      if (numbers_.count(value) != 0) {
        open.pop_back();
        continue;
      }
      PlanNode node;
      node.is_int = true;
      if (const auto literal = constantInt(value)) {
        node.literal = *literal;
      } else if (!intOperands(value->node(), node, open)) {
        continue;
      }
      node.dst = {next_};
      numbers_[value] = next_++;
      spec_.plan.nodes.push_back(std::move(node));
      open.pop_back();
    }
    return numbers_.at(root);
  }

  // False if operands had to be pushed first.
  bool intOperands(Node* source, PlanNode& node, std::vector<Value*>& open) {
    node.int_op = *sizeOperation(source);
    if (node.int_op == IntOp::kSize) {
      node.literal = *constantInt(source->input(1));
      // The pairs of complex numbers have an axis behind the others.
      if (lowering::isComplex(source->input(0)) && node.literal < 0)
        node.literal += static_cast<std::int64_t>(knownSizes(source->input(0))->size());
      node.src = {operandNumber({source->input(0), {}, -1}, {})};
      return true;
    }
    bool ready = true;
    for (Value* input : source->inputs()) {
      if (numbers_.count(input) == 0) {
        open.push_back(input);
        ready = false;
      } else {
        node.src.push_back(numbers_.at(input));
      }
    }
    return ready;
  }

  void emit(const PlacedNode& placed) {
    std::vector<std::int32_t> locals;
    for (const LoweredOp& op : placed.ops.ops) {
      PlanNode node;
      node.op = op.spec;
      for (const LoweredRef& ref : op.refs) node.refs.push_back({ref.attribute, ref.index, intNumber(ref.value)});
      for (const LoweredOperand& operand : op.src) node.src.push_back(operandNumber(operand, locals));
      node.origins = origins_.of(placed.node);
      node.name = operationLabel(origins_, node.origins, op.spec);
      locals.push_back(next_);
      for (const Value* value : op.dst) {
        numbers_[value] = next_;
        node.dst.push_back(next_++);
      }
      for (int result = 0; op.dst.empty() && result < op.results; ++result) node.dst.push_back(next_++);
      spec_.plan.nodes.push_back(std::move(node));
    }
  }

  const OriginTable& origins_;
  RegionSpec spec_;
  std::unordered_set<const Value*> seen_;
  std::unordered_map<const void*, std::size_t> constant_index_;
  std::unordered_map<const Value*, std::int32_t> numbers_;
  std::int32_t next_ = 0;
};

}  // namespace

RegionSpec makeRegionSpec(const std::vector<const PlacedNode*>& nodes, const std::vector<Value*>& outputs,
                          const OriginTable& origins) {
  return SpecBuilder(origins).build(nodes, outputs);
}

}  // namespace ipex_studio

// Reads quantizable ops off a graph, names their values, and plans a calibration.
#include "core/quantization/quantizable_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isActivation(const Value* value) { return isFloat(value) && !constantTensor(value); }

// True if the weights can be turned into integers: FP32 constants.
bool hasWeights(const LoweredOp& op) {
  if (op.src.size() < 2 || op.src[1].value == nullptr) return false;
  const auto weights = constantTensor(op.src[1].value);
  return weights && weights->scalar_type() == at::kFloat && weights->dim() >= 2 && weights->numel() > 0;
}

std::optional<QuantizableRole> roleOf(Node* node, const LoweredOp& op) {
  const OpSpec& spec = op.spec;
  switch (opKindRow(spec.kind).integers) {
    case IntegerRule::kNone:
      return std::nullopt;
    case IntegerRule::kWeightedProduct:
      if (!readFusedOp(node) || !hasWeights(op) || spec.has("result")) return std::nullopt;
      return QuantizableRole::kProduct;
    case IntegerRule::kActivationProduct: {
      const bool both = op.src[0].value != nullptr && op.src[1].value != nullptr && isActivation(op.src[0].value) &&
                        isActivation(op.src[1].value);
      if (!readFusedOp(node) || !both || spec.has("result")) return std::nullopt;
      return QuantizableRole::kProduct;
    }
    case IntegerRule::kAttention:
      if (spec.has("result")) return std::nullopt;
      return QuantizableRole::kAttention;
    case IntegerRule::kChain:
      return QuantizableRole::kPointwise;
    case IntegerRule::kMoves:
      return QuantizableRole::kMoves;
    case IntegerRule::kPools:
      return spec.stringOr("mode", "") == "max" ? QuantizableRole::kMoves : QuantizableRole::kAverages;
    case IntegerRule::kMovesNearest:
      if (spec.stringOr("mode", "") != "nearest") return std::nullopt;
      return QuantizableRole::kMoves;
    case IntegerRule::kAveragesMean:
      if (spec.stringOr("mode", "") != "mean") return std::nullopt;
      return QuantizableRole::kAverages;
    case IntegerRule::kAveragesPooled:
      if (spec.stringOr("mode", "") != "avg") return std::nullopt;
      return QuantizableRole::kAverages;
  }
  return std::nullopt;
}

bool isProductKind(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kLinear || kind == OpKind::kMatmul;
}

}  // namespace

std::optional<QuantizableOp> quantizableOpOf(Node* node) {
  if (node->outputs().size() != 1 || !isFloat(node->output()) || convertsDtype(node)) return std::nullopt;
  for (const Value* input : node->inputs()) {
    if (input->node()->kind() == c10::prim::ListConstruct && input->uses().size() != 1) return std::nullopt;
  }
  const auto lowered = lowerNode(node);
  const auto* ops = std::get_if<LoweredNode>(&lowered);
  if (ops == nullptr || ops->ops.empty()) return std::nullopt;
  QuantizableOp quantizable;
  quantizable.node = node;
  quantizable.op = ops->ops.front();
  quantizable.is_view =
      std::all_of(ops->ops.begin(), ops->ops.end(), [](const LoweredOp& op) { return isView(op.spec.kind); });
  if (!quantizable.is_view) {
    if (ops->ops.size() != 1) return std::nullopt;
    const auto role = roleOf(node, quantizable.op);
    if (!role) return std::nullopt;
    quantizable.role = *role;
  }
  const int base = quantizable.is_view || quantizable.role == QuantizableRole::kMoves
                       ? -1
                       : baseSourceCount(quantizable.op.spec.kind);
  for (std::size_t s = 0; s < quantizable.op.src.size(); ++s) {
    Value* operand = quantizable.op.src[s].value;
    if (operand == nullptr || !isActivation(operand)) continue;
    quantizable.activations.push_back(operand);
    quantizable.positions.push_back(s);
    if (base < 0 || static_cast<int>(s) < base) ++quantizable.base_count;
  }
  // All parts of a concatenation must be activations, and a chain must begin with one: constants have no observed
  // range.
  const bool all_read = quantizable.role != QuantizableRole::kMoves || quantizable.is_view ||
                        quantizable.activations.size() == quantizable.op.src.size();
  const bool base_read = quantizable.role == QuantizableRole::kMoves ||
                         (quantizable.op.src[0].value != nullptr && isActivation(quantizable.op.src[0].value));
  if (quantizable.activations.empty() || !all_read || !base_read) return std::nullopt;
  return quantizable;
}

// A sum in a chain reads integers with their scale as its factor; other operations of a chain want real values.
bool QuantizableOp::takesIntegers(std::size_t activation) const {
  if (activation < base_count) return true;
  const auto operand =
      static_cast<std::int32_t>(positions[activation]) - static_cast<std::int32_t>(baseSourceCount(op.spec.kind));
  return std::all_of(op.spec.post_ops.begin(), op.spec.post_ops.end(), [&](const PostOp& post_op) {
    const bool sum =
        post_op.kind == PostOpKind::kAdd || post_op.kind == PostOpKind::kSub || post_op.kind == PostOpKind::kRsub;
    return !isBinary(post_op.kind) || post_op.operand != operand || sum;
  });
}

namespace {

// The value that a node pads with zeros, which every range holds; null if the node does something else.
Value* paddedWithZeros(Node* node) {
  if (node->outputs().size() != 1) return nullptr;
  const auto lowered = lowerNode(node);
  const auto* ops = std::get_if<LoweredNode>(&lowered);
  if (ops == nullptr || ops->ops.size() != 1 || ops->ops[0].spec.kind != OpKind::kPad) return nullptr;
  const OpSpec& spec = ops->ops[0].spec;
  Value* operand = ops->ops[0].src[0].value;
  const bool zeros = spec.stringOr("mode", "constant") != "constant" || spec.floatOr("value", 0) == 0;
  return zeros && operand != nullptr && isActivation(operand) ? operand : nullptr;
}

}  // namespace

std::vector<Value*> sourcesOf(Value* value) {
  std::vector<Value*> found;
  std::vector<Value*> open{value};
  std::unordered_set<const Value*> seen;
  while (!open.empty()) {
    Value* next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    const auto quantizable = quantizableOpOf(next->node());
    if (quantizable && quantizable->role == QuantizableRole::kMoves) {
      open.insert(open.end(), quantizable->activations.rbegin(), quantizable->activations.rend());
    } else if (Value* padded = paddedWithZeros(next->node())) {
      open.push_back(padded);
    } else {
      found.push_back(next);
    }
  }
  return found;
}

ValueKeys::ValueKeys(Graph& graph, const OriginTable& origins) {
  std::size_t tensors = 0;
  for (const Value* input : graph.inputs()) {
    if (input->type()->kind() != c10::TypeKind::TensorType) continue;
    keys_[input] = fmt::format("input:{}", tensors++);
  }
  std::unordered_map<std::string, int> seen;
  for (const Node* node : graph.nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    for (const Value* output : node->outputs()) {
      const auto ids = origins.of(output);
      if (!output->hasUses() || ids.empty() || output->type()->kind() != c10::TypeKind::TensorType) continue;
      const auto last = static_cast<std::size_t>(ids.back());
      if (last >= origins.origins().size()) continue;
      const Origin& origin = origins.origins()[last];
      std::string key = fmt::format("{}:{}#{}", origin.module_path, origin.kind, origin.ordinal);
      const int repeat = seen[key]++;
      keys_[output] = repeat == 0 ? key : fmt::format("{}@{}", key, repeat);
    }
  }
}

const std::string& ValueKeys::of(const Value* value) const {
  static const std::string none;
  const auto found = keys_.find(value);
  return found == keys_.end() ? none : found->second;
}

namespace {

class Planner {
 public:
  Planner(Graph& graph, const OriginTable& origins) : graph_(graph), origins_(origins), keys_(graph, origins) {}

  CalibrationPlan make(OriginTable* numbers) {
    for (Node* node : graph_.nodes()) {
      const auto quantizable = quantizableOpOf(node);
      if (quantizable) addQuantizableOp(*quantizable);
    }
    for (Node* node : graph_.nodes()) {
      if (node->kind() != c10::prim::Constant) number(node, numbers);
    }
    return std::move(plan_);
  }

 private:
  int point(Value* value, int channel_axis, bool clip = true) {
    const std::string& key = keys_.of(value);
    if (key.empty() || !isActivation(value)) return -1;
    const auto [at, fresh] = points_.emplace(value, static_cast<int>(plan_.points.size()));
    if (fresh) plan_.points.push_back({key, true, -1});
    plan_.points[static_cast<std::size_t>(at->second)].clip &= clip;
    if (channel_axis >= 0) plan_.points[static_cast<std::size_t>(at->second)].channel_axis = channel_axis;
    return at->second;
  }

  void addQuantizableOp(const QuantizableOp& quantizable) {
    if (quantizable.role == QuantizableRole::kMoves) return;
    std::vector<int> reads;
    // Operands of attention stay floats.
    const std::size_t read = quantizable.role == QuantizableRole::kAttention ? 0 : quantizable.activations.size();
    for (std::size_t a = 0; a < read; ++a) {
      Value* operand = quantizable.activations[a];
      const bool channels =
          quantizable.role == QuantizableRole::kProduct && quantizable.op.spec.kind != OpKind::kMatmul && a == 0;
      const auto sources = sourcesOf(operand);
      for (Value* source : sources) {
        // Channels keep their axis unless an operation reshapes or joins values on the way.
        int axis = -1;
        const auto sizes = knownSizes(operand);
        if (channels && source == operand && sizes)
          axis = quantizable.op.spec.kind == OpKind::kLinear ? static_cast<int>(sizes->size()) - 1 : 1;
        const bool clip = quantizable.role != QuantizableRole::kProduct ||
                          (a < quantizable.base_count && quantizable.op.spec.kind == OpKind::kConvolution);
        reads.push_back(point(source, axis, clip));
      }
    }
    RecipeNode node;
    node.key = keys_.of(quantizable.node->output());
    if (node.key.empty()) return;
    node.kind = opKindName(quantizable.op.spec.kind);
    node.module_path = moduleOf(quantizable);
    node.precision = quantizable.role == QuantizableRole::kProduct ? "int8" : "auto";
    plan_.candidates.push_back(std::move(node));
    plan_.reads.push_back(std::move(reads));
    plan_.writes.push_back(point(quantizable.node->output(), -1));
  }

  // The module of the product if there is one, else of the first origin that has a name.
  std::string moduleOf(const QuantizableOp& quantizable) const {
    std::string first;
    for (const OriginId id : origins_.of(quantizable.node)) {
      if (static_cast<std::size_t>(id) >= origins_.origins().size()) continue;
      const Origin& origin = origins_.origins()[static_cast<std::size_t>(id)];
      if (first.empty()) first = origin.module_path;
      const bool product =
          origin.kind.find("conv") != std::string::npos || origin.kind.find("linear") != std::string::npos ||
          origin.kind.find("mm") != std::string::npos || origin.kind.find("matmul") != std::string::npos;
      if (product && isProductKind(quantizable.op.spec.kind)) return origin.module_path;
    }
    return first;
  }

  void number(Node* node, OriginTable* numbers) {
    std::vector<int> operands;
    const auto lowered = lowerNode(node);
    if (const auto* ops = std::get_if<LoweredNode>(&lowered); ops != nullptr && ops->ops.size() == 1) {
      for (const LoweredOperand& operand : ops->ops[0].src) {
        const auto sources = operand.value != nullptr ? sourcesOf(operand.value) : std::vector<Value*>{};
        const auto found = sources.size() == 1 ? points_.find(sources[0]) : points_.end();
        operands.push_back(found == points_.end() ? -1 : found->second);
      }
    }
    for (Value* output : node->outputs()) {
      const auto found = points_.find(output);
      numbers->set(output, {static_cast<OriginId>(plan_.results.size())});
      plan_.results.push_back({found == points_.end() ? -1 : found->second, operands});
    }
  }

  Graph& graph_;
  const OriginTable& origins_;
  ValueKeys keys_;
  CalibrationPlan plan_;
  std::unordered_map<const Value*, int> points_;
};

}  // namespace

CalibrationPlan planCalibration(Graph& graph, const OriginTable& origins, OriginTable* numbers) {
  return Planner(graph, origins).make(numbers);
}

}  // namespace ipex_studio

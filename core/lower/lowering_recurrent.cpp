// Lowering of LSTM and GRU: for each layer and direction one product of all inputs, then the recurrence. Layers of BF16
// and FP16 compute in FP32, between casts.
#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"
#include "core/torch/tensor_bridge.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// The parameters of one layer in one direction; both biases and the projection may be undefined.
struct LayerWeights {
  at::Tensor from_input, from_hidden, input_bias, hidden_bias, projection;
};

at::Tensor needWeight(const std::optional<at::Tensor>& tensor) {
  if (!tensor || !tensor->defined() ||
      (tensor->scalar_type() != at::kFloat && !isLowPrecisionFloat(tensor->scalar_type())))
    decline(reasons::kWeightsNotConstant, "The weights of this recurrent layer are not constant.");
  return tensor->to(at::kFloat);
}

// Reads constants, one by one or as one constant list.
std::vector<at::Tensor> needConstants(Value* list) {
  std::vector<at::Tensor> tensors;
  if (const auto whole = torch::jit::toIValue(list); whole && whole->isTensorList()) {
    for (const at::Tensor& tensor : whole->toTensorVector()) tensors.push_back(needWeight(tensor));
  } else {
    for (const Value* entry : needList(list)) tensors.push_back(needWeight(constantTensor(entry)));
  }
  return tensors;
}

class RecurrentBuilder {
 public:
  RecurrentBuilder(bool is_lstm, int time_axis) : is_lstm_(is_lstm), time_axis_(time_axis) {}

  LoweredOperand add(OpSpec spec, std::vector<LoweredOperand> src, std::vector<Value*> dst = {}, int results = 1) {
    lowered_.ops.push_back({std::move(spec), std::move(src), {}, std::move(dst), results});
    return useLocal(static_cast<std::int32_t>(lowered_.ops.size()) - 1);
  }

  LoweredOperand select(const LoweredOperand& x, std::int64_t axis, std::int64_t index) {
    OpSpec spec;
    spec.kind = OpKind::kSelect;
    spec.attributes = {{"axis", axis}, {"index", index}};
    return add(spec, {x});
  }

  LoweredOperand unsqueeze(const LoweredOperand& x) {
    OpSpec spec;
    spec.kind = OpKind::kUnsqueeze;
    spec.attributes["axis"] = std::int64_t{0};
    return add(spec, {x});
  }

  LoweredOperand cast(const LoweredOperand& x, DType dtype, std::vector<Value*> dst = {}) {
    OpSpec spec;
    spec.kind = OpKind::kCast;
    spec.attributes["dtype"] = std::string(dtypeName(dtype));
    return add(spec, {x}, std::move(dst));
  }

  // The value in FP32.
  LoweredOperand inFp32(Value* value) {
    return isLowPrecisionFloat(knownDtype(value)) ? cast(use(value), DType::kF32) : use(value);
  }

  // Concatenates the parts along the axis, as `result` in its dtype if one is given.
  LoweredOperand join(const std::vector<LoweredOperand>& parts, std::int64_t axis, Value* result = nullptr) {
    if (result != nullptr && isLowPrecisionFloat(knownDtype(result)))
      return cast(join(parts, axis), dtypeOf(*knownDtype(result)), {result});
    const std::vector<Value*> dst = result != nullptr ? std::vector<Value*>{result} : std::vector<Value*>{};
    OpSpec spec;
    if (parts.size() == 1) {
      if (result == nullptr) return parts[0];
      spec.kind = OpKind::kSqueeze;
      spec.attributes["axes"] = std::vector<std::int64_t>{};
    } else {
      spec.kind = OpKind::kConcat;
      spec.attributes["axis"] = axis;
    }
    return add(spec, parts, dst);
  }

  struct Layer {
    LoweredOperand y, h, c;  // h, c: after the last step, [N, H]
  };
  Layer layer(const LoweredOperand& x, const LayerWeights& weights, const LoweredOperand& h, const LoweredOperand& c,
              bool reverse) {
    LoweredOperand bias, hidden_bias;
    if (weights.input_bias.defined()) {
      const at::Tensor &given = weights.input_bias, &hidden = weights.hidden_bias;
      const std::int64_t units = weights.from_hidden.size(1);
      at::Tensor sum = given + hidden;
      if (!is_lstm_) {
        // The reset gate also scales the hidden bias of the new gate, which is therefore passed on by itself.
        sum.slice(0, 2 * units).copy_(given.slice(0, 2 * units));
        hidden_bias = use(hidden.slice(0, 2 * units).contiguous());
      }
      bias = use(sum);
    }
    OpSpec product;
    product.kind = OpKind::kLinear;
    const LoweredOperand gates = add(product, {x, use(weights.from_input), bias});
    OpSpec spec;
    spec.kind = OpKind::kRecurrent;
    spec.attributes = {{"cell", std::string(is_lstm_ ? "lstm" : "gru")}, {"time_axis", std::int64_t{time_axis_}}};
    if (reverse) spec.attributes["reverse"] = std::int64_t{1};
    at::Tensor from_hidden = weights.from_hidden;
    if (weights.projection.defined()) {
      spec.attributes["projected"] = std::int64_t{1};
      from_hidden = at::cat({from_hidden, weights.projection.t()});
    }
    Layer result;
    result.y = add(spec, {gates, use(from_hidden), h, c, hidden_bias}, {}, is_lstm_ ? 2 : 1);
    result.c = result.y;
    result.c.result = 1;
    result.h = select(result.y, time_axis_, reverse ? 0 : -1);
    return result;
  }

  LoweredNode finish() { return std::move(lowered_); }

 private:
  bool is_lstm_;
  int time_axis_;
  LoweredNode lowered_;
};

// aten::lstm(x, [h, c], weights, has_biases, num_layers, dropout, train, bidirectional, batch_first) -> (y, h', c')
// aten::gru(x, h, weights, …) -> (y, h')
LoweredNode lowerLayers(Node* node, bool is_lstm) {
  if (node->inputs().size() != 9 || node->input(3)->type()->kind() != c10::TypeKind::BoolType)
    decline(reasons::kUnsupportedAttribute, "Packed sequences stay in the interpreter.");
  Value* x = node->input(0);
  needFloat(x);
  if (needRank(x) != 3) decline(reasons::kUnsupportedAttribute, "A sequence without a batch stays in the interpreter.");
  if (needBool(node->input(6), "train") && needNumber(node->input(5), "dropout") != 0)
    decline(reasons::kTrainingMode, "Dropout between layers stays in the interpreter.");
  const bool biased = needBool(node->input(3), "has_biases");
  const std::size_t directions = needBool(node->input(7), "bidirectional") ? 2 : 1;
  const auto layers = static_cast<std::size_t>(needInt(node->input(4), "num_layers"));
  const std::vector<at::Tensor> weights = needConstants(node->input(2));
  const std::size_t plain = biased ? 4 : 2, each = layers == 0 ? 0 : weights.size() / (layers * directions);
  const bool projected = each == plain + 1 && is_lstm;
  if (layers == 0 || weights.size() != layers * directions * each || (each != plain && !projected))
    decline(reasons::kUnsupportedAttribute, "The layer has other weights.");
  std::vector<Value*> states{node->input(1)};
  if (is_lstm) states = needList(node->input(1));
  if (states.size() != (is_lstm ? 2u : 1u)) decline(reasons::kUnsupportedAttribute, "The layer has other states.");
  for (Value* state : states) needFloat(state);

  RecurrentBuilder builder(is_lstm, needBool(node->input(8), "batch_first") ? 1 : 0);
  std::vector<LoweredOperand> hidden, cells, given;
  for (Value* state : states) given.push_back(builder.inFp32(state));
  LoweredOperand sequence = builder.inFp32(x);
  for (std::size_t l = 0; l < layers; ++l) {
    std::vector<LoweredOperand> sides;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t at = l * directions + direction;
      const LayerWeights own{weights[at * each], weights[at * each + 1], biased ? weights[at * each + 2] : at::Tensor(),
                             biased ? weights[at * each + 3] : at::Tensor(),
                             projected ? weights[at * each + plain] : at::Tensor()};
      const auto index = static_cast<std::int64_t>(at);
      const LoweredOperand h = builder.select(given[0], 0, index),
                           c = is_lstm ? builder.select(given[1], 0, index) : LoweredOperand();
      const RecurrentBuilder::Layer done = builder.layer(sequence, own, h, c, direction == 1);
      sides.push_back(done.y);
      hidden.push_back(builder.unsqueeze(done.h));
      if (is_lstm) cells.push_back(builder.unsqueeze(done.c));
    }
    sequence = builder.join(sides, 2, l + 1 == layers ? node->output(0) : nullptr);
  }
  if (node->output(1)->hasUses()) builder.join(hidden, 0, node->output(1));
  if (is_lstm && node->output(2)->hasUses()) builder.join(cells, 0, node->output(2));
  return builder.finish();
}

// aten::lstm_cell(x, [h, c], w_ih, w_hh, b_ih?, b_hh?) -> (h', c'), aten::gru_cell(x, h, …) -> h': one step
LoweredNode lowerCell(Node* node, bool is_lstm) {
  Value* x = node->input(0);
  needFloat(x);
  if (needRank(x) != 2 || node->inputs().size() != 6)
    decline(reasons::kUnsupportedAttribute, "A step without a batch stays in the interpreter.");
  std::vector<Value*> states{node->input(1)};
  if (is_lstm) states = needList(node->input(1));
  if (states.size() != (is_lstm ? 2u : 1u)) decline(reasons::kUnsupportedAttribute, "The cell has other states.");
  for (Value* state : states) needFloat(state);
  LayerWeights weights;
  at::Tensor* const slots[] = {&weights.from_input, &weights.from_hidden, &weights.input_bias, &weights.hidden_bias};
  for (std::size_t w = 0; w < 4; ++w) {
    if (!isNone(node->input(w + 2))) *slots[w] = needWeight(constantTensor(node->input(w + 2)));
  }
  if (weights.input_bias.defined() != weights.hidden_bias.defined())
    decline(reasons::kUnsupportedAttribute, "The cell has one bias of two.");
  RecurrentBuilder builder(is_lstm, 0);
  const RecurrentBuilder::Layer done =
      builder.layer(builder.unsqueeze(builder.inFp32(x)), weights, builder.inFp32(states[0]),
                    is_lstm ? builder.inFp32(states[1]) : LoweredOperand(), false);
  builder.join({done.h}, 0, node->output(0));
  if (is_lstm && node->output(1)->hasUses()) builder.join({done.c}, 0, node->output(1));
  return builder.finish();
}

LoweredNode lowerLstm(Node* node) { return lowerLayers(node, true); }
LoweredNode lowerGru(Node* node) { return lowerLayers(node, false); }
LoweredNode lowerLstmCell(Node* node) { return lowerCell(node, true); }
LoweredNode lowerGruCell(Node* node) { return lowerCell(node, false); }

}  // namespace

void addRecurrentLowerings(Table& table) {
  table["aten::lstm"] = lowerLstm;
  table["aten::gru"] = lowerGru;
  table["aten::lstm_cell"] = lowerLstmCell;
  table["aten::gru_cell"] = lowerGruCell;
}

}  // namespace ipex_studio::lowering

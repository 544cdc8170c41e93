// Lowering of the operators of language models that files call by name, and of rotary embedding as passes write it.
#include <cmath>
#include <limits>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// These operators compute in FP32 and round once; plans take FP32 alone.
void needFloat32(const Value* value) {
  if (!isNone(value) && knownDtype(value) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Plans compute operators of language models in FP32.");
}

// ipex_studio::rotary(x, cos, sin, spec)
LoweredNode lowerRotary(Node* node) {
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat32(node->input(operand));
  return single(needSpec(node), {use(node->input(0)), use(node->input(1)), use(node->input(2))}, {node->output()});
}

// The rows of a table for the tokens of x, as [tokens, 1, columns] or [texts, tokens, 1, columns].
class RotaryTables {
 public:
  RotaryTables(Steps& steps, Value* x, Value* positions, std::int64_t columns)
      : steps_(steps), positions_(positions), columns_(columns) {
    const auto sizes = knownSizes(x);
    const std::int64_t tokens = sizes->at(sizes->size() - 3);
    if (isNone(positions)) return;
    const auto given = knownSizes(positions);
    const auto dtype = knownDtype(positions);
    if (!given || (dtype != at::kLong && dtype != at::kInt))
      decline(reasons::kUnknownShape, "The positions are not known to be integers.");
    // [tokens], or [texts, tokens]; one position for several tokens is the first of them.
    const bool fits = (given->size() == 1 && given->back() == tokens) ||
                      (given->size() == 2 && sizes->size() == 4 && given->back() == tokens &&
                       ((*given)[0] == (*sizes)[0] || (*given)[0] == 1));
    if (!fits) decline(reasons::kShapeMismatch, "The positions are not one for each token.");
    rank_ = static_cast<std::int64_t>(given->size());
  }

  LoweredOperand of(Value* table) const {
    const auto sizes = knownSizes(table);
    if (!sizes || sizes->size() != 2) decline(reasons::kUnknownShape, "The tables of angles are not known.");
    LoweredOperand rows = use(table);
    if (sizes->back() != columns_)
      rows = steps_.add(
          OpKind::kSlice,
          {{"axis", std::int64_t{1}}, {"begin", std::int64_t{0}}, {"end", columns_}, {"step", std::int64_t{1}}},
          {rows});
    if (rank_ > 0) rows = steps_.add(OpKind::kGather, {{"axis", std::int64_t{0}}}, {rows, use(positions_)});
    return steps_.add(OpKind::kUnsqueeze, {{"axis", std::max<std::int64_t>(1, rank_)}}, {rows});
  }

  bool first() const { return rank_ == 0; }  // the tables have more rows than x

 private:
  Steps& steps_;
  Value* positions_;
  std::int64_t columns_, rank_ = 0;
};

// ipex_studio::rotary_embedding(x, sin, cos, positions?, rotary_dim, interleaved)
LoweredNode lowerRotaryEmbedding(Node* node) {
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat32(node->input(operand));
  const int rank = needRank(node->input(0));
  const std::int64_t rotated = needInt(node->input(4), "rotary_dim");
  if (rank < 3 || rotated % 2 != 0) decline(reasons::kUnsupportedAttribute, "The heads are no rows of pairs.");
  std::map<std::string, AttrValue> attributes{
      {"rotated", rotated}, {"half", std::int64_t{1}}, {"tokens", std::int64_t{-3}}};
  if (needBool(node->input(5), "interleaved")) attributes["interleaved"] = std::int64_t{1};
  Steps steps;
  const RotaryTables tables(steps, node->input(0), node->input(3), rotated / 2);
  const LoweredOperand cosines = tables.of(node->input(2)), sines = tables.of(node->input(1));
  if (tables.first()) attributes["first"] = std::int64_t{1};
  steps.add(OpKind::kRotary, attributes, {use(node->input(0)), cosines, sines});
  return steps.finish(node);
}

// ipex_studio::normalize_rows(x, weight?, bias?, eps, centered), and add_normalize_rows with a residual behind x
LoweredNode normalizedRows(Node* node, bool added) {
  const std::size_t behind = added ? 2 : 1;
  for (std::size_t operand = 0; operand < behind + 2; ++operand) needFloat32(node->input(operand));
  OpSpec spec;
  spec.kind = OpKind::kLayerNorm;
  spec.attributes = {{"axes", std::int64_t{1}}, {"eps", needNumber(node->input(behind + 2), "eps")}};
  if (!needBool(node->input(behind + 3), "centered")) spec.attributes["rms"] = std::int64_t{1};
  if (added) spec.attributes["sum_output"] = std::int64_t{1};
  const LoweredOperand residual = added ? use(node->input(1)) : LoweredOperand{};
  return single(spec, {use(node->input(0)), use(node->input(behind)), use(node->input(behind + 1)), residual},
                node->outputs().vec());
}
LoweredNode lowerNormalizeRows(Node* node) { return normalizedRows(node, false); }
LoweredNode lowerAddNormalizeRows(Node* node) { return normalizedRows(node, true); }

// The post-operations of an activation that the operators name: none, or one.
std::vector<PostOp> namedActivation(Value* name) {
  const auto word = torch::jit::constant_as<std::string>(name);
  if (!word) decline(reasons::kNotConstant, "The activation is named at run time.");
  if (*word == "none") return {};
  if (*word == "silu") return {unaryPostOp(PostOpKind::kSilu)};
  if (*word == "gelu") return {unaryPostOp(PostOpKind::kGeluErf)};
  if (*word == "gelu_tanh") return {unaryPostOp(PostOpKind::kGeluTanh)};
  if (*word == "relu") return {unaryPostOp(PostOpKind::kRelu)};
  decline(reasons::kUnsupportedAttribute, "The activation '" + *word + "' is unknown.");
}

// ipex_studio::gated_units(gate, up, activation): activation(gate)·up
LoweredNode lowerGatedUnits(Node* node) {
  needFloat32(node->input(0));
  needFloat32(node->input(1));
  std::vector<PostOp> chain = namedActivation(node->input(2));
  chain.push_back(binaryPostOp(PostOpKind::kMul, 0));
  Steps steps;
  steps.chain(chain, {use(node->input(0)), use(node->input(1))});
  return steps.finish(node);
}

// ipex_studio::linear_units(x, weight, bias?, activation, factor?, addends):
// activation(x·weightᵀ + bias)·factor + Σ addends
LoweredNode lowerLinearUnits(Node* node) {
  OpSpec spec;
  spec.kind = OpKind::kLinear;
  spec.post_ops = namedActivation(node->input(3));
  std::vector<LoweredOperand> src{use(node->input(0)), use(node->input(1)), use(node->input(2))};
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat32(node->input(operand));
  const auto add = [&](PostOpKind kind, Value* operand) {
    needFloat32(operand);
    spec.post_ops.push_back(binaryPostOp(kind, static_cast<std::int32_t>(src.size()) - 3));
    src.push_back(use(operand));
  };
  if (!isNone(node->input(4))) add(PostOpKind::kMul, node->input(4));
  for (Value* addend : needList(node->input(5))) add(PostOpKind::kAdd, addend);
  if (needRank(node->input(0)) < 2) decline(reasons::kUnsupportedAttribute, "A single row stays in the interpreter.");
  return single(spec, std::move(src), {node->output()});
}

// ipex_studio::woq_linear(x, weight, scales, bias?, bits, depth, group, levels)
LoweredNode lowerWoqLinear(Node* node) {
  needFloat32(node->input(0));
  needFloat32(node->input(3));
  if (!constantTensor(node->input(1)) || !constantTensor(node->input(2)))
    decline(reasons::kNotConstant, "The weights are not constant.");
  if (needRank(node->input(0)) < 2) decline(reasons::kUnsupportedAttribute, "A single row stays in the interpreter.");
  OpSpec spec;
  spec.kind = OpKind::kLinear;
  spec.attributes["group"] = needInt(node->input(6), "group");
  if (needInt(node->input(4), "bits") == 4) {
    spec.attributes["bits"] = std::int64_t{4};
    spec.attributes["depth"] = needInt(node->input(5), "depth");
    const auto levels = torch::jit::constant_as<std::string>(node->input(7));
    if (!levels) decline(reasons::kNotConstant, "What its bits stand for is not constant.");
    if (*levels != "even") spec.attributes["levels"] = *levels;
  }
  std::vector<LoweredOperand> src{use(node->input(0)), use(node->input(1)), use(node->input(2))};
  if (!isNone(node->input(3))) {
    spec.post_ops.push_back(binaryPostOp(PostOpKind::kAdd, 0));
    src.push_back(use(node->input(3)));
  }
  return single(spec, std::move(src), {node->output()});
}

// Queries whose keys are all hidden: 1 for them and 0 for others, [..., queries, 1]. `hides`: what the mask has there.
LoweredOperand hiddenQueries(Steps& steps, const LoweredOperand& mask, double hides) {
  const LoweredOperand highest = steps.add(
      OpKind::kReduce,
      {{"mode", std::string("max")}, {"axes", std::vector<std::int64_t>{-1}}, {"keepdim", std::int64_t{1}}}, {mask});
  return steps.chain({binaryPostOp(PostOpKind::kEq, 0)}, {highest, use(at::scalar_tensor(hides, at::kFloat))});
}

// x[N,H,…] as [N,groups,H/groups,…], by views that hold for every N and every length.
LoweredOperand inGroups(Steps& steps, LoweredOperand x, std::int64_t each) {
  using Order = std::vector<std::int64_t>;
  x = steps.add(OpKind::kPermute, {{"order", Order{0, 2, 3, 1}}}, {x});
  x = steps.add(OpKind::kReshape, {{"split_last", each}}, {x});
  return steps.add(OpKind::kPermute, {{"order", Order{0, 3, 4, 1, 2}}}, {x});
}

// ipex_studio::flash_attention(query, key, value, mask?, causal, scale?), whose queries without any key give 0
LoweredNode lowerFlashAttention(Node* node) {
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat32(node->input(operand));
  const auto q = knownSizes(node->input(0)), k = knownSizes(node->input(1));
  if (!q || !k || q->size() != 4 || k->size() != 4 || (*k)[1] < 1 || (*q)[1] % (*k)[1] != 0 || q->back() < 1)
    decline(reasons::kUnknownShape, "The heads of queries and keys are not known.");
  const bool causal = needBool(node->input(4), "causal"), masked = !isNone(node->input(3));
  if (causal && masked) decline(reasons::kUnsupportedAttribute, "A mask beside the order of keys.");
  std::map<std::string, AttrValue> attributes{{"scale", isNone(node->input(5))
                                                            ? 1 / std::sqrt(static_cast<double>(q->back()))
                                                            : needNumber(node->input(5), "scale")}};
  if (causal) attributes["causal"] = std::int64_t{1};
  Steps steps;
  LoweredOperand mask, hidden;
  if (masked) {
    const bool flags = knownDtype(node->input(3)) == at::kBool;
    if (!flags) needFloat32(node->input(3));
    if (needRank(node->input(3)) < 1) decline(reasons::kUnsupportedAttribute, "The mask is a number.");
    const double infinity = std::numeric_limits<double>::infinity();
    mask = flags ? steps.cast(use(node->input(3)), "f32") : use(node->input(3));
    if (flags) attributes["keep"] = -infinity;
    hidden = hiddenQueries(steps, mask, flags ? 0 : -infinity);
  }
  const std::int64_t each = (*q)[1] / (*k)[1];
  std::vector<LoweredOperand> src{use(node->input(0)), use(node->input(1)), use(node->input(2))};
  if (each > 1) {
    const auto sizes = masked ? *knownSizes(node->input(3)) : std::vector<std::int64_t>{};
    if (sizes.size() == 3) decline(reasons::kUnsupportedAttribute, "A mask of heads alone beside groups of heads.");
    if (sizes.size() == 4) {
      mask = sizes[1] == 1 ? steps.add(OpKind::kUnsqueeze, {{"axis", std::int64_t{1}}}, {mask})
                           : inGroups(steps, mask, each);
    }
    src[0] = inGroups(steps, src[0], each);
    for (const std::size_t operand : {1, 2})
      src[operand] = steps.add(OpKind::kUnsqueeze, {{"axis", std::int64_t{2}}}, {src[operand]});
  }
  src.push_back(mask);
  LoweredOperand y = steps.add(OpKind::kAttention, attributes, std::move(src));
  if (each > 1)
    y = steps.add(OpKind::kReshape, {{"flatten_begin", std::int64_t{1}}, {"flatten_end", std::int64_t{2}}}, {y});
  if (masked) steps.chain({binaryPostOp(PostOpKind::kFill, 0, 0)}, {y, hidden});
  return steps.finish(node);
}

}  // namespace

void addLanguageLowerings(Table& table) {
  table["ipex_studio::rotary"] = lowerRotary;
  table["ipex_studio::rotary_embedding"] = lowerRotaryEmbedding;
  table["ipex_studio::normalize_rows"] = lowerNormalizeRows;
  table["ipex_studio::add_normalize_rows"] = lowerAddNormalizeRows;
  table["ipex_studio::gated_units"] = lowerGatedUnits;
  table["ipex_studio::linear_units"] = lowerLinearUnits;
  table["ipex_studio::woq_linear"] = lowerWoqLinear;
  table["ipex_studio::flash_attention"] = lowerFlashAttention;
}

}  // namespace ipex_studio::lowering

// See cause_rules.h.
#include "profiler/causes/cause_rules.h"

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr std::int64_t kFewElements = 4096;
constexpr int kViewsBetween = 4;

const std::initializer_list<std::string_view> kViews = {"view",      "reshape", "unsqueeze", "squeeze",   "expand",
                                                        "expand_as", "slice",   "select",    "narrow",    "flatten",
                                                        "unflatten", "alias",   "detach",    "as_strided"};
const std::initializer_list<std::string_view> kPermutes = {"permute",  "transpose", "t",        "movedim",
                                                           "swapaxes", "moveaxis",  "swapdims", "numpy_T"};
const std::initializer_list<std::string_view> kCopies = {"contiguous", "clone",  "copy", "reshape",
                                                         "flatten",    "repeat", "to",   "_reshape_copy"};
const std::initializer_list<std::string_view> kSlices = {"slice", "select", "narrow",       "split",
                                                         "chunk", "unbind", "index_select", "ListUnpack"};
const std::initializer_list<std::string_view> kProducts = {"linear", "matmul",       "mm",          "bmm",
                                                           "addmm",  "baddbmm",      "conv1d",      "conv2d",
                                                           "conv3d", "_convolution", "convolution", "einsum"};
const std::initializer_list<std::string_view> kElementwise = {
    "add",        "sub",     "rsub",       "mul",         "div",        "pow",       "sqrt",        "rsqrt",
    "exp",        "log",     "erf",        "neg",         "abs",        "relu",      "gelu",        "silu",
    "sigmoid",    "tanh",    "clamp",      "clip",        "clamp_min",  "clamp_max", "hardswish",   "hardsigmoid",
    "hardtanh",   "elu",     "leaky_relu", "mish",        "softplus",   "where",     "masked_fill", "square",
    "reciprocal", "maximum", "minimum",    "eq",          "gt",         "lt",        "ge",          "le",
    "ne",         "sin",     "cos",        "lerp",        "addcmul",    "addcdiv",   "log1p",       "expm1",
    "floor",      "round",   "sign",       "logical_and", "logical_not"};
const std::initializer_list<std::string_view> kReductions = {"mean", "sum",  "var",  "std",    "max",
                                                             "amax", "norm", "amin", "softmax"};
const std::initializer_list<std::string_view> kNumbers = {"item",           "Float",       "Int",          "Bool",
                                                          "ScalarImplicit", "IntImplicit", "FloatImplicit"};

// The node behind views that made the operand; null: an input or constant.
const GraphNode* behindViews(const GraphFacts& facts, const GraphNode& node, std::size_t operand) {
  const GraphNode* from = facts.producer(node, operand);
  for (int i = 0; from != nullptr && facts.is(*from, kViews) && i < kViewsBetween; ++i) from = facts.producer(*from, 0);
  return from;
}

bool isFloating(std::string_view dtype) {
  return dtype == "Float" || dtype == "Double" || dtype == "Half" || dtype == "BFloat16";
}

bool isCast(const GraphFacts& facts, const GraphNode& node) {
  const std::string_view from = facts.dtype(node, 0), to = facts.resultDtype(node);
  return isFloating(from) && isFloating(to) && from != "Tensor" && from != to &&
         (facts.is(node, {"to", "type_as", "float", "double", "half", "bfloat16", "_to_copy"}) ||
          facts.kind(node).substr(0, 9) == "_autocast");
}

bool isDouble(const GraphFacts& facts, const GraphNode& node) {
  return facts.resultDtype(node) == "Double" || (facts.dtype(node, 0) == "Double" && facts.makesTensor(node));
}

bool isHalf(const GraphFacts& facts, const GraphNode& node) {
  const std::string_view dtype = facts.resultDtype(node);
  return (dtype == "BFloat16" || dtype == "Half") && !isCast(facts, node);
}

bool drawsAtRandom(const GraphFacts& facts, const GraphNode& node) {
  const std::string_view kind = facts.kind(node);
  if (kind.find("dropout") != std::string_view::npos) return facts.constant(node, 2) == "True";
  const bool normalizes = kind == "batch_norm" || kind == "_batch_norm_impl_index" || kind == "native_batch_norm";
  return normalizes && facts.constant(node, 5) == "True";
}

bool isOneHot(const GraphFacts& facts, const GraphNode& node) {
  if (facts.is(node, {"one_hot"})) return true;
  const GraphNode* from = behindViews(facts, node, 0);
  if (facts.is(node, {"to", "float", "type_as"})) return from != nullptr && facts.is(*from, {"one_hot"});
  return facts.is(node, {"matmul", "mm", "linear", "bmm", "einsum"}) && from != nullptr && &node != from &&
         facts.is(*from, {"to", "float", "type_as", "one_hot"}) && isOneHot(facts, *from);
}

// A sum over products of two tensors that are much smaller than what is summed.
bool isProductOfBroadcast(const GraphFacts& facts, const GraphNode& mul) {
  const std::int64_t whole = facts.resultElements(mul);
  return facts.is(mul, {"mul"}) && whole > kFewElements && facts.elements(mul, 0) > 1 && facts.elements(mul, 1) > 1 &&
         std::max(facts.elements(mul, 0), facts.elements(mul, 1)) * 4 <= whole &&
         std::any_of(facts.users(mul).begin(), facts.users(mul).end(), [&](const GraphNode* user) {
           return facts.is(*user, {"sum", "mean"});
         });
}

bool isBroadcastProduct(const GraphFacts& facts, const GraphNode& node) {
  if (isProductOfBroadcast(facts, node)) return true;
  const GraphNode* from = facts.producer(node, 0);
  return facts.is(node, {"sum", "mean"}) && from != nullptr && isProductOfBroadcast(facts, *from);
}

// Sums and differences of broadcast operands that are much smaller, as in pairwise distances.
bool isHugeBroadcast(const GraphFacts& facts, const GraphNode& node) {
  const std::int64_t whole = facts.resultElements(node);
  return facts.is(node, {"add", "sub", "mul", "div", "expand", "repeat", "repeat_interleave"}) && whole > (1 << 18) &&
         std::max(facts.elements(node, 0), facts.elements(node, 1)) * 8 <= whole && facts.elements(node, 0) > 1;
}

bool isSliceOf(const GraphFacts& facts, const GraphNode& node) {
  if (facts.is(node, kSlices)) return true;
  const GraphNode* from = facts.producer(node, 0);
  return facts.is(node, kViews) && from != nullptr && facts.is(*from, kSlices);
}

// Work on a slice of a tensor, outside of loops.
bool isSliced(const GraphFacts& facts, const GraphNode& node) {
  if (node.parent >= 0 || !facts.makesTensor(node)) return false;
  const GraphNode* from = behindViews(facts, node, 0);
  const GraphNode* direct = facts.producer(node, 0);
  const bool of_slice = direct != nullptr && isSliceOf(facts, *direct);
  if (of_slice && !facts.is(node, kViews) && !facts.is(node, {"cat", "stack"})) return true;
  return from != nullptr && facts.is(*from, kProducts) && facts.is(node, {"select"});
}

bool growsByConcatenation(const GraphFacts& facts, const GraphNode& node) {
  if (!facts.is(node, {"cat", "stack", "vstack", "hstack"})) return false;
  if (facts.around(node, "prim::Loop") != nullptr) return true;
  const GraphNode* list = facts.producer(node, 0);
  if (list == nullptr) return false;
  for (std::size_t i = 0; i < list->inputs.size(); ++i) {
    const GraphNode* from = facts.producer(*list, i);
    if (from != nullptr && facts.is(*from, {"cat", "vstack", "hstack"})) return true;
  }
  return false;
}

bool isLoop(const GraphFacts&, const GraphNode& node) { return node.kind == "prim::Loop"; }
bool isBranch(const GraphFacts&, const GraphNode& node) { return node.kind == "prim::If"; }

bool readsNumber(const GraphFacts& facts, const GraphNode& node) {
  return facts.is(node, kNumbers) && !facts.dtype(node, 0).empty() && facts.constant(node, 0).empty() &&
         !facts.makesTensor(node);
}

bool looksUpByMask(const GraphFacts& facts, const GraphNode& node) {
  if (facts.is(node, {"nonzero", "nonzero_numpy", "masked_select", "masked_scatter", "unique", "_unique2"}))
    return true;
  if (!facts.is(node, {"index", "index_put", "_index_put_impl"})) return false;
  const GraphNode* list = facts.producer(node, 1);
  for (std::size_t i = 0; list != nullptr && i < list->inputs.size(); ++i) {
    if (facts.dtype(*list, i) == "Bool" || facts.dtype(*list, i) == "Byte") return true;
    const GraphNode* from = facts.producer(*list, i);
    if (from != nullptr && facts.is(*from, {"nonzero", "nonzero_numpy"})) return true;
  }
  return false;
}

bool isPadding(const GraphFacts& facts, const GraphNode& node) {
  const bool pads = facts.is(node, {"constant_pad_nd", "pad", "reflection_pad2d", "replication_pad2d"});
  if (pads) return facts.elements(node, 0) > 0 && facts.resultElements(node) * 2 > facts.elements(node, 0) * 3;
  const GraphNode* from = facts.producer(node, 0);
  return from != nullptr && &node != from && facts.is(node, kProducts) &&
         facts.is(*from, {"constant_pad_nd", "pad", "reflection_pad2d", "replication_pad2d"}) &&
         isPadding(facts, *from);
}

bool isSameEachRun(const GraphFacts& facts, const GraphNode& node) {
  return facts.makesTensor(node) && !facts.dependsOnInputs(node);
}

bool isRepeatedWork(const GraphFacts& facts, const GraphNode& node) {
  return facts.makesTensor(node) && facts.isRepeated(node) && facts.dependsOnInputs(node) && !facts.is(node, kViews) &&
         !facts.is(node, kPermutes);
}

bool isCopy(const GraphFacts& facts, const GraphNode& node) {
  return facts.is(node, kCopies) && facts.makesTensor(node) && !isCast(facts, node);
}

bool changesLayout(const GraphFacts& facts, const GraphNode& node) {
  if (!isCopy(facts, node)) return false;
  const GraphNode* from = behindViews(facts, node, 0);
  return from != nullptr && facts.is(*from, kPermutes);
}

bool copies(const GraphFacts& facts, const GraphNode& node) {
  return isCopy(facts, node) && !changesLayout(facts, node) && !facts.is(node, {"reshape", "flatten", "to"});
}

bool isSmall(const GraphFacts& facts, const GraphNode& node) {
  const std::int64_t made = facts.resultElements(node);
  return facts.makesTensor(node) && made >= 0 && made <= kFewElements && !facts.is(node, kViews) &&
         std::max(facts.elements(node, 0), facts.elements(node, 1)) <= 4 * kFewElements;
}

bool isPointwise(const GraphFacts& facts, const GraphNode& node) {
  return facts.makesTensor(node) && (facts.is(node, kElementwise) || facts.is(node, kReductions));
}

// One of several passes over memory that one could do.
bool isUnfused(const GraphFacts& facts, const GraphNode& node) {
  if (!isPointwise(facts, node)) return false;
  const auto pointwise = [&](const GraphNode* other) { return other != nullptr && isPointwise(facts, *other); };
  return pointwise(facts.producer(node, 0)) || pointwise(facts.producer(node, 1)) ||
         std::any_of(facts.users(node).begin(), facts.users(node).end(), pointwise);
}

bool isEinsum(const GraphFacts& facts, const GraphNode& node) { return facts.is(node, {"einsum", "tensordot"}); }

bool followsProduct(const GraphFacts& facts, const GraphNode& node) {
  if (!facts.is(node, kElementwise) && !facts.is(node, {"batch_norm", "_batch_norm_impl_index"})) return false;
  const GraphNode* from = facts.producer(node, 0);
  return from != nullptr && (facts.is(*from, kProducts) || facts.is(*from, {"batch_norm"}));
}

}  // namespace

const std::vector<CauseRule>& causeRules() {
  static const std::vector<CauseRule> rules = {
      {"training-mode", "operation runs in training mode, where norms use the batch and dropout draws at random",
       "operations run in training mode, where norms use the batch and dropout draws at random",
       "Call eval() before the model is saved, or run it with --evaluation.", CauseRemedy::kEvaluation, 1,
       &drawsAtRandom},
      {"double-precision", "operation computes in double precision (FP64)",
       "operations compute in double precision (FP64)", "Convert constants and inputs to FP32.",
       CauseRemedy::kSinglePrecision, 1, &isDouble},
      {"half-precision", "operation computes in BF16 or FP16, with casts around it",
       "operations compute in BF16 or FP16, with casts around them",
       "Save the model without autocast; --precision bf16 puts casts where they pay.", CauseRemedy::kModel, 1, &isHalf},
      {"one-hot", "operation looks rows up by a product with one-hot rows",
       "operations look rows up by a product with one-hot rows", "Use an embedding.", CauseRemedy::kModel, 2,
       &isOneHot},
      {"broadcast-product", "operation computes a matrix product as a broadcast product and a sum",
       "operations compute a matrix product as a broadcast product and a sum", "Use matmul.", CauseRemedy::kModel, 1,
       &isBroadcastProduct},
      {"repeated", "operation computes again what another has computed",
       "operations compute again what others have computed", "Compute it once.", CauseRemedy::kNone, 1,
       &isRepeatedWork},
      {"constant", "operation computes the same constant in each run",
       "operations compute the same constants in each run", "Compute it once, as a buffer.", CauseRemedy::kNone, 1,
       &isSameEachRun},
      {"padding", "operation works on a wide border of padding", "operations work on a wide border of padding",
       "Pad no more than is read.", CauseRemedy::kModel, 1, &isPadding},
      {"growing-concatenation", "concatenation copies all results so far once more",
       "concatenations copy all results so far once more", "Collect a list and concatenate it once, behind the loop.",
       CauseRemedy::kModel, 1, &growsByConcatenation},
      {"mask", "look-up by a mask has a size that depends on the data",
       "look-ups by a mask have sizes that depend on the data", "Compute all rows and choose by where.",
       CauseRemedy::kModel, 1, &looksUpByMask},
      {"loop", "loop computes sample by sample or step by step", "loops compute sample by sample or step by step",
       "Compute all samples in one batch.", CauseRemedy::kModel, 1, &isLoop},
      {"branch", "branch depends on the data, and nothing is fused across it",
       "branches depend on the data, and nothing is fused across them", "Use where, or decide outside of the model.",
       CauseRemedy::kModel, 1, &isBranch},
      {"number", "number is read from a tensor (item) and waited for",
       "numbers are read from tensors (item) and waited for", "Keep them tensors.", CauseRemedy::kModel, 1,
       &readsNumber},
      {"sliced", "operation works on a slice of a tensor", "operations work on slices of a tensor, one by one",
       "One grouped or batched operation computes all slices.", CauseRemedy::kModel, 4, &isSliced},
      {"cast", "cast between precisions", "casts between precisions", "Keep one precision throughout.",
       CauseRemedy::kModel, 1, &isCast},
      {"layout", "copy changes the layout (permute, contiguous)", "copies change the layout (permute, contiguous)",
       "Keep one layout throughout.", CauseRemedy::kNone, 1, &changesLayout},
      {"copy", "copy (clone, contiguous, repeat)", "copies (clone, contiguous, repeat)",
       "Leave out clone() and contiguous().", CauseRemedy::kNone, 1, &copies},
      {"broadcast", "operation spreads small tensors over a huge one",
       "operations spread small tensors over a huge one", "Sum or multiply before they are spread.",
       CauseRemedy::kModel, 1, &isHugeBroadcast},
      {"einsum", "einsum permutes and copies its operands", "einsums permute and copy their operands",
       "Order the axes as matmul reads them.", CauseRemedy::kNone, 1, &isEinsum},
      {"small", "operation works on few numbers, and starting it takes longer than its work",
       "operations work on few numbers, and starting them takes longer than their work", "Compute more at a time.",
       CauseRemedy::kNone, 20, &isSmall},
      {"unfused", "elementwise operation reads and writes memory on its own",
       "elementwise operations, each a pass over memory of its own, that can be fused",
       "Use the one operator for it, such as layer_norm.", CauseRemedy::kNone, 3, &isUnfused},
      {"behind-product", "norm or activation stands behind a product as a pass over memory of its own",
       "norms and activations stand behind products, each a pass over memory of its own, that can be fused or folded",
       "", CauseRemedy::kNone, 2, &followsProduct},
  };
  return rules;
}

}  // namespace ipex_studio

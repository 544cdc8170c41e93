// Makes one operation of a squeeze-and-excitation block: its few small products then cost the threads one wait for each
// other, and what it scales is still in the cache that its average came from.
//   before  %m = adaptive_avg_pool2d(%x, [1, 1])
//           %h = ipex_studio::convolution(%m, W1, b1, [], "convolution{…}|relu")
//           %g = ipex_studio::convolution(%h, W2, b2, [], "convolution{…}|sigmoid")
//           %y = mul(%x, %g)
//   after   %y = ipex_studio::squeeze_excite(%x, W1, b1, W2, b2, [],
//                                            "squeeze_excite{activation=relu,axes=2,gate=sigmoid}")
// Also: mean over all pixels; linear layers; views in between; any activations; a chain that begins with the product,
// of which the rest becomes post-operations.
// Declines: producer-has-other-uses, control-flow, weights-not-constant, unsupported-attribute (products of more than
// one pixel, groups, no activation or several behind a product, a mean of other axes), unsupported-dtype (float32
// only), shape-mismatch, value-may-be-aliased-or-written. Runs after all fusions, which give products their activations
// and chains their links, and for FP32 and BF16, where the block computes in FP32 between its borders; INT8 and FP16
// decide about each product. Numerics: sums in another order.
#include <algorithm>
#include <cmath>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct ExciteLayer {
  at::Tensor weights, bias;  // [rows, columns]; bias may be undefined
  PostOp activation;
};

struct ExciteMatch {
  Value* x = nullptr;
  std::int64_t axes = 0;  // of pixels
  Node *reduce_node = nullptr, *expand_node = nullptr;
  ExciteLayer reduce, expand;
  FusedOp rest;              // what follows the product with the gate
  std::vector<Node*> nodes;  // from the product with the gate upwards
};

// Two chains by which hard sigmoids are written; else a chain of one.
std::optional<PostOp> asOneOp(const std::vector<PostOp>& chain) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-7; };
  const auto isLinear = [&](const PostOp& op, double factor, double offset) {
    return op.kind == PostOpKind::kLinear && near(op.alpha, factor) && near(op.beta, offset);
  };
  const auto isClip = [&](const PostOp& op, double high) {
    return op.kind == PostOpKind::kClip && op.alpha == 0 && op.beta == high;
  };
  const bool to_six =
      chain.size() == 3 && isLinear(chain[0], 1, 3) && isClip(chain[1], 6) && isLinear(chain[2], 1.0 / 6, 0);
  const bool to_one = chain.size() == 2 && isLinear(chain[0], 1.0 / 6, 0.5) && isClip(chain[1], 1);
  if (to_six || to_one) return unaryPostOp(PostOpKind::kHardSigmoid);
  if (chain.size() != 1 || isBinary(chain[0].kind)) return std::nullopt;
  return chain[0];
}

// Shapes [N, C, 1, …] and [N, C] alike.
bool isVectorPerImage(const Value* value) {
  const auto sizes = knownSizes(value);
  return sizes && sizes->size() >= 2 &&
         std::all_of(sizes->begin() + 2, sizes->end(), [](std::int64_t size) { return size == 1; });
}

// Past views that only add or remove pixels' axes of size 1.
Value* behindViews(Value* value, std::vector<Node*>* nodes) {
  static const char* const kViews[] = {"aten::view", "aten::reshape", "aten::flatten", "aten::unsqueeze",
                                       "aten::squeeze"};
  for (;;) {
    Node* node = value->node();
    const bool is_view =
        std::any_of(std::begin(kViews), std::end(kViews), [&](const char* kind) { return isKind(node, kind); });
    if (!is_view || !isVectorPerImage(value) || !isVectorPerImage(node->input(0))) return value;
    const auto from = *knownSizes(node->input(0)), to = *knownSizes(value);
    if (from[0] != to[0] || from[1] != to[1]) return value;
    nodes->push_back(node);
    value = node->input(0);
  }
}

bool isOnePixel(const OpSpec& spec, const at::Tensor& weights) {
  if (spec.kind == OpKind::kLinear) return weights.dim() == 2 && !spec.has("group") && !spec.has("bits");
  const auto all = [&](const char* name, std::int64_t wanted) {
    const auto list = spec.ints(name);
    return std::all_of(list.begin(), list.end(), [=](std::int64_t entry) { return entry == wanted; });
  };
  return weights.dim() >= 3 && weights.numel() == weights.size(0) * weights.size(1) && spec.intOr("groups", 1) == 1 &&
         all("padding", 0) && all("padding_end", 0) && all("stride", 1);
}

// The product that makes `value`; null where none does.
Node* productOf(Value* value) {
  Node* node = value->node();
  const auto op = readFusedOp(node);
  return op && (op->spec.kind == OpKind::kConvolution || op->spec.kind == OpKind::kLinear) ? node : nullptr;
}

Decline readExciteLayer(Node* product, ExciteLayer* layer) {
  const auto op = readFusedOp(product);
  const auto weights = constantTensor(op->base[1]), bias = constantTensor(op->base[2]);
  if (!weights || (!bias && !isNone(op->base[2])))
    return {reasons::kWeightsNotConstant, "Weights of the block are computed while the model runs."};
  if (weights->scalar_type() != at::kFloat || (bias && bias->scalar_type() != at::kFloat)) {
    return {reasons::kUnsupportedDtype, "The weights of the block are not float32."};
  }
  const auto activation = asOneOp(op->spec.post_ops);
  if (!isOnePixel(op->spec, *weights) || !activation) {
    return {reasons::kUnsupportedAttribute,
            "A product of the block is not of one pixel, or not followed by one activation."};
  }
  layer->weights = floatContiguous(*weights).reshape({weights->size(0), weights->size(1)});
  if (bias) layer->bias = *bias;
  layer->activation = *activation;
  return {};
}

// The mean over all pixels of x.
bool readPixelMean(Node* node, ExciteMatch* match) {
  const bool pools = isKind(node, "aten::adaptive_avg_pool1d") || isKind(node, "aten::adaptive_avg_pool2d") ||
                     isKind(node, "aten::adaptive_avg_pool3d");
  const bool averages = isKind(node, "aten::mean") && node->inputs().size() == 4;
  if (!pools && !averages) return false;
  const auto sizes = knownSizes(node->input(0));
  auto list = constantInts(node->input(1));
  if (!sizes || sizes->size() < 3 || !list) return false;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  if (pools) {
    if (std::any_of(list->begin(), list->end(), [](std::int64_t size) { return size != 1; })) return false;
  } else {
    for (std::int64_t& axis : *list) axis = axis < 0 ? axis + rank : axis;
    std::sort(list->begin(), list->end());
    for (std::int64_t axis = 2; axis < rank; ++axis) {
      if (static_cast<std::int64_t>(list->size()) != rank - 2 || (*list)[static_cast<std::size_t>(axis - 2)] != axis)
        return false;
    }
    if (!isNone(node->input(3)) && constantInt(node->input(3)) != static_cast<std::int64_t>(at::kFloat)) return false;
  }
  match->x = node->input(0);
  match->axes = rank - 2;
  match->nodes.push_back(node);
  return true;
}

// Reads a product, or a chain that begins with one, as the product of x with a gate; stores the chain behind it.
std::optional<Value*> readGated(Node* node, std::size_t side, ExciteMatch* match) {
  if (isKind(node, "aten::mul")) {
    const auto elementwise = readElementwise(node, side);
    if (!elementwise || !elementwise->operand || !isVectorPerImage(elementwise->operand)) return std::nullopt;
    match->rest.base = {elementwise->data};
    return elementwise->operand;
  }
  if (side != 0 || !isKind(node, "ipex_studio::pointwise")) return std::nullopt;
  const auto chain = readFusedOp(node);
  if (!chain || chain->spec.post_ops.empty() || chain->spec.post_ops[0].kind != PostOpKind::kMul) return std::nullopt;
  const std::int32_t gate = chain->spec.post_ops[0].operand;
  match->rest = *chain;
  auto& ops = match->rest.spec.post_ops;
  ops.erase(ops.begin());
  for (PostOp& op : ops) {
    if (isBinary(op.kind) && op.operand == gate) return std::nullopt;
    if (op.operand > gate) --op.operand;
  }
  match->rest.post_args.erase(match->rest.post_args.begin() + gate);
  return chain->post_args[static_cast<std::size_t>(gate)];
}

// True if the gate is computed from the mean of the scaled tensor by two products.
bool readGate(Value* gate, ExciteMatch* match) {
  Value* value = behindViews(gate, &match->nodes);
  for (Node** product : {&match->expand_node, &match->reduce_node}) {
    *product = productOf(value);
    if (*product == nullptr) return false;
    match->nodes.push_back(*product);
    value = behindViews((*product)->input(0), &match->nodes);
  }
  return readPixelMean(value->node(), match) && match->x == match->rest.base[0];
}

Decline whyNot(PassContext& context, const ExciteMatch& match) {
  const Node* last = match.nodes.front();
  for (const Node* node : match.nodes) {
    if (node->owningBlock() != last->owningBlock())
      return {reasons::kControlFlow, "The gate comes from another block."};
    if (node != last && node->output()->uses().size() != 1)
      return {reasons::kOtherUses, "An average, hidden value or gate of the block is read elsewhere."};
  }
  if (!isFloat32(match.x) || !isFloat32(last->output()))
    return {reasons::kUnsupportedDtype, "The block is not known to compute in float32."};
  if (knownSizes(match.x) != knownSizes(last->output()))
    return {reasons::kShapeMismatch, "The gate enlarges what it scales."};
  const at::Tensor &reduce = match.reduce.weights, &expand = match.expand.weights;
  const std::int64_t channels = (*knownSizes(match.x))[1];
  if (reduce.size(1) != channels || expand.size(0) != channels || expand.size(1) != reduce.size(0)) {
    return {reasons::kShapeMismatch, "The products of the block do not fit each other."};
  }
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "What the block scales may be written to."};
  return {};
}

void rewriteExcite(Rewriter& rewriter, Node* last, const ExciteMatch& match) {
  FusedOp op = match.rest;
  op.spec.kind = OpKind::kSqueezeExcite;
  op.spec.attributes = {{"axes", match.axes}};
  setNamedPostOp("activation", match.reduce.activation, &op.spec);
  setNamedPostOp("gate", match.expand.activation, &op.spec);
  op.base = {match.x};
  for (const ExciteLayer* layer : {&match.reduce, &match.expand}) {
    op.base.push_back(rewriter.constant(layer->weights, last));
    op.base.push_back(layer->bias.defined() ? rewriter.constant(floatContiguous(layer->bias), last)
                                            : rewriter.none(last));
  }
  Node* fused = writeFusedOp(rewriter, op, last);
  const std::vector<Node*> consumed(match.nodes.rbegin(), match.nodes.rend());
  rewriter.replace(consumed, last->output(), fused->output(), "fused a squeeze-and-excitation block");
}

// The block whose gate `node` applies.
std::optional<ExciteMatch> matchBlock(Node* node) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    ExciteMatch match;
    match.nodes = {node};
    const auto gate = readGated(node, side, &match);
    if (!gate) continue;
    if (readGate(*gate, &match)) return match;
  }
  return std::nullopt;
}

std::optional<ExciteMatch> matchExcite(PassContext& context, Node* node, Decline* why) {
  auto match = matchBlock(node);
  if (!match) return std::nullopt;
  *why = readExciteLayer(match->reduce_node, &match->reduce);
  if (!*why) *why = readExciteLayer(match->expand_node, &match->expand);
  if (!*why) *why = whyNot(context, *match);
  return match;
}

bool fuseSqueezeExcite(torch::jit::Graph& graph, PassContext& context) {
  const Precision precision = context.options.precision;
  if ((precision != Precision::kFp32 && precision != Precision::kBf16) || context.options.calibrate) return false;
  return rewriteMatches(context, context.nodes(kFuseSqueezeExcite.needs), matchExcite, rewriteExcite);
}

}  // namespace

const Pass kFuseSqueezeExcite = {"fuse-squeeze-excite",
                                 "Makes one operation of a squeeze-and-excitation block.",
                                 &fuseSqueezeExcite,
                                 {"aten::mul", "ipex_studio::pointwise"}};

}  // namespace ipex_studio

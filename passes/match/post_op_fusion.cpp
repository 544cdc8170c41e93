#include "passes/match/post_op_fusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr std::size_t kMaxPostOps = 64;  // of an OpSpec

bool refuse(Decline* decline, const char* reason, std::string text) {
  *decline = {reason, std::move(text)};
  return false;
}

// `result` of the operation is float32 where the weights say so, even when the example run left no type.
bool producesFloat32(const FusedOp& op, const Value* result) {
  const auto dtype = knownDtype(result);
  if (dtype || op.base.size() < 2) return dtype == at::kFloat;
  return isFloat32(op.base[1]);
}

bool weightsConstant(const FusedOp& op) {
  const bool has_weights =
      op.spec.kind == OpKind::kConvolution || op.spec.kind == OpKind::kDeconvolution || op.spec.kind == OpKind::kLinear;
  return !has_weights || constantTensor(op.base[1]);
}

// The node as an operation on one tensor, whichever side it stands on.
std::optional<Elementwise> readUnary(Node* node) {
  for (const std::size_t side : {0, 1}) {
    auto elementwise = readElementwise(node, side);
    if (elementwise && !elementwise->operand) return elementwise;
  }
  return std::nullopt;
}

// Appends the only reader of `node` to `op` if it is an operation on that one tensor. Null if it is something else, or
// if readProducer() would decline.
Node* takeFollower(FusedOp* op, Node* node) {
  const Value* result = node->output();
  if (result->uses().size() != 1) return nullptr;
  Node* next = result->uses()[0].user;
  if (next->owningBlock() != node->owningBlock()) return nullptr;
  const auto elementwise = readUnary(next);
  const bool follows = elementwise && elementwise->data == result && producesFloat32(*op, result) &&
                       op->spec.post_ops.size() + 2 <= kMaxPostOps;
  return follows && appendTo(op, *elementwise) ? next : nullptr;
}

// A unary node directly behind a two-tensor post-op, as an activation behind a sum.
bool followsBinary(const PostOpMatch& match) {
  const auto& post_ops = match.producer.op.spec.post_ops;
  return std::any_of(post_ops.begin(), post_ops.end(), [](const PostOp& op) { return isBinary(op.kind); });
}

}  // namespace

bool isFloat32(const Value* value) { return knownDtype(value) == at::kFloat; }

std::string shortName(const Node* node) {
  const std::string name = node->kind().toUnqualString();
  return name == "convolution" && node->inputs().size() == 9 && constantBool(node->input(6)).value_or(false)
             ? "deconvolution"
             : name;
}

std::optional<std::pair<double, Value*>> readFactor(Value* value) {
  for (std::size_t side : {0, 1}) {
    const auto elementwise = readElementwise(value->node(), side);
    if (!elementwise || elementwise->operand) continue;
    const PostOp& op = elementwise->post_ops[0];
    if (op.kind == PostOpKind::kLinear && op.beta == 0) return std::pair(op.alpha, elementwise->data);
  }
  return std::nullopt;
}

std::optional<Producer> readProducer(Value* data, const Node* user, Decline* decline) {
  Node* node = data->node();
  std::string why;
  auto op = readFusedOp(node, &why);
  const std::string name = shortName(node);
  if (!op) {
    if (!why.empty())
      refuse(decline, reasons::kUnsupportedAttribute, fmt::format("The {} takes no post-operation: {}.", name, why));
    return std::nullopt;
  }
  if (isGraphOutput(data)) {
    refuse(decline, reasons::kGraphOutput, fmt::format("The result of the {} is itself a result of the model.", name));
  } else if (data->uses().size() != 1) {
    refuse(decline, reasons::kOtherUses,
           fmt::format("The result of the {} is read by {} nodes.", name, data->uses().size()));
  } else if (node->owningBlock() != user->owningBlock()) {
    refuse(decline, reasons::kControlFlow, fmt::format("The {} stands in another block.", name));
  } else if (!weightsConstant(*op)) {
    refuse(decline, reasons::kWeightsNotConstant,
           fmt::format("The weights of the {} are computed while the model runs.", name));
  } else if (!producesFloat32(*op, data)) {
    refuse(decline, reasons::kUnsupportedDtype, fmt::format("The {} is not known to compute in float32.", name));
  } else if (op->spec.post_ops.size() + 2 > kMaxPostOps) {
    refuse(decline, reasons::kNotProfitable,
           fmt::format("The {} has {} post-operations already.", name, op->spec.post_ops.size()));
  } else {
    return Producer{node, *std::move(op)};
  }
  return std::nullopt;
}

bool mayBeReadLater(PassContext& context, const FusedOp& op) {
  const auto stays = [&](const Value* value) { return !context.mayBeWritten(value); };
  return std::all_of(op.base.begin(), op.base.end(), stays) &&
         std::all_of(op.post_args.begin(), op.post_args.end(), stays);
}

bool operandFits(PassContext& context, Value* operand, const Value* data, Decline* decline) {
  const auto operand_sizes = knownSizes(operand);
  const auto data_sizes = knownSizes(data);
  if (!operand_sizes || !data_sizes) {
    return refuse(decline, reasons::kUnknownShape, "The sizes of an operand are not known.");
  }
  if (!isFloat32(operand))
    return refuse(decline, reasons::kMixedDtype, "The other operand is not known to be float32.");
  if (!broadcastsTo(*operand_sizes, *data_sizes)) {
    return refuse(decline, reasons::kBroadcast, "The other operand would enlarge the result.");
  }
  if (context.mayBeWritten(operand)) return refuse(decline, reasons::kAliased, "The other operand may be written to.");
  return true;
}

std::optional<PostOpMatch> matchUnary(PassContext&, Node* node, Decline* why) {
  const auto elementwise = readUnary(node);
  if (!elementwise) return std::nullopt;
  const auto producer = readProducer(elementwise->data, node, why);
  if (!producer) return std::nullopt;
  return PostOpMatch{*producer, *elementwise};
}

std::optional<PostOpMatch> matchBinary(PassContext& context, Node* node, Decline* why) {
  std::vector<PostOpMatch> matches;
  for (std::size_t side : {0, 1}) {
    const auto elementwise = readElementwise(node, side);
    if (!elementwise || !elementwise->operand) continue;
    Decline declined;
    const auto producer = readProducer(elementwise->data, node, &declined);
    const bool fits = producer && producer->op.spec.kind != OpKind::kPointwise &&
                      operandFits(context, elementwise->operand, elementwise->data, &declined);
    if (fits && mayBeReadLater(context, producer->op)) {
      matches.push_back({*producer, *elementwise});
    } else if (fits) {
      refuse(&declined, reasons::kAliased, "What the operation reads may be written to before its result is used.");
    }
    if (declined) *why = declined;
  }
  if (matches.empty()) return std::nullopt;
  *why = {};  // of the side that does not fit
  // The later producer: by then the other operand has been computed.
  const bool second = matches.size() == 2 && matches[1].producer.node->isAfter(matches[0].producer.node);
  return matches[second ? 1 : 0];
}

bool appendTo(FusedOp* op, const Elementwise& elementwise) {
  if (op->spec.post_ops.size() + elementwise.post_ops.size() > kMaxPostOps) return false;
  for (PostOp next : elementwise.post_ops) {
    if (isBinary(next.kind)) {
      next.operand = static_cast<std::int32_t>(op->post_args.size());
      op->post_args.push_back(elementwise.operand);
    }
    if (next.kind == PostOpKind::kLinear && !op->spec.post_ops.empty() &&
        op->spec.post_ops.back().kind == PostOpKind::kLinear) {
      PostOp& last = op->spec.post_ops.back();
      last = unaryPostOp(PostOpKind::kLinear, next.alpha * last.alpha, next.alpha * last.beta + next.beta);
    } else {
      op->spec.post_ops.push_back(next);
    }
  }
  return true;
}

void appendPostOps(Rewriter& rewriter, Node* node, const PostOpMatch& match) {
  FusedOp op = match.producer.op;
  IPEX_CHECK(appendTo(&op, match.elementwise), "too many post-operations for one operation");
  std::vector<Node*> consumed = {match.producer.node, node};
  std::string names = shortName(node);
  // All that would be fused next goes along: each rewrite makes a node for the one it made before.
  while (Node* follower = takeFollower(&op, consumed.back())) {
    consumed.push_back(follower);
    names += " + " + shortName(follower);
  }
  Node* fused = writeFusedOp(rewriter, op, match.elementwise.operand ? node : match.producer.node);
  rewriter.replace(consumed, consumed.back()->output(), fused->output(),
                   fmt::format("fused {} into {}", names, opKindName(op.spec.kind)));
}

bool fuseBinaryNodes(torch::jit::Graph& graph, PassContext& context, const std::vector<const char*>& kinds) {
  std::vector<c10::Symbol> on_two;
  for (const char* kind : kinds) on_two.push_back(c10::Symbol::fromQualString(kind));
  const auto isOnTwo = [&](c10::Symbol kind) { return std::find(on_two.begin(), on_two.end(), kind) != on_two.end(); };
  const auto wanted = [&](c10::Symbol kind, bool on_one_value) {
    return isOnTwo(kind) || (on_one_value && mayBeElementwise(kind));
  };
  const auto match = [&](PassContext&, Node* node, Decline* why) {
    auto found = isOnTwo(node->kind()) ? matchBinary(context, node, why) : std::nullopt;
    if (found) return found;
    Decline unsaid;
    found = matchUnary(context, node, &unsaid);
    if (!found || found->producer.op.spec.kind == OpKind::kPointwise || !followsBinary(*found))
      return std::optional<PostOpMatch>();
    *why = {};  // of the node as an operation on two tensors
    return found;
  };
  return rewriteMatches(context, context.nodesBehind(&mayBeFusedOp, wanted), match, &appendPostOps);
}

}  // namespace ipex_studio

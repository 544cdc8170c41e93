// Answers where a mask of numbers is zero by the mask of flags that it was made of.
//   before  %z = zeros_like(%flags, float)   %m = masked_fill(%z, %flags, -inf)   %b = ne(%m, 0)   %k = logical_not(%m)
//   after   %b = %flags   %k = logical_not(%flags)
// The numbers may also come from aten::where(flags, number, 0) with either number, and from a conversion of the flags.
// PyTorch 2.x brings every padding mask to numbers, and its fast paths ask for flags again.
// Declines: value-may-be-aliased-or-written, value-is-graph-output.
// Runs after canonicalize-attention, which asks such questions; before fuse-attention, whose masks come to flags.
// Numerics: none changed.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isFlags(const Value* value) { return knownDtype(value) == at::kBool && knownSizes(value).has_value(); }

bool isZeros(const Value* value) {
  const Node* node = value->node();
  return isKind(node, "aten::zeros_like") || (isKind(node, "aten::full_like") && constantNumber(node->input(1)) == 0.0);
}

// Flags, and whether a number that they choose is another than zero where they are true, or where they are false.
struct Made {
  Value* flags = nullptr;
  bool turned = false;
};

std::optional<Made> madeOf(const Value* numbers) {
  const Node* node = numbers->node();
  if (isKind(node, "aten::masked_fill")) {
    Value* flags = node->input(1);
    const auto fill = constantNumber(node->input(2));
    const Value* zeros = node->input(0);
    if (!isFlags(flags) || !fill || *fill == 0 || !isZeros(zeros) || zeros->node()->input(0) != flags)
      return std::nullopt;
    return Made{flags, false};
  }
  if (isKind(node, "aten::where") && node->inputs().size() == 3) {
    const auto yes = constantNumber(node->input(1)), no = constantNumber(node->input(2));
    if (!isFlags(node->input(0)) || !yes || !no || (*yes == 0) == (*no == 0)) return std::nullopt;
    if (knownSizes(numbers) != knownSizes(node->input(0))) return std::nullopt;
    return Made{node->input(0), *yes == 0};
  }
  // An argument may come in another dtype.
  const bool given = node->inputs().empty() || node->input(0)->node()->kind() == torch::jit::prim::Param;
  if (!given && convertsDtype(node) && isFlags(node->input(0))) return Made{node->input(0), false};
  return std::nullopt;
}

// True if the comparison has the flags' sizes, whatever the input: nothing but a number stands on its other side.
bool keepsSizes(const Node* node, const Value* flags) { return knownSizes(node->output()) == knownSizes(flags); }

std::optional<Made> matchMask(PassContext& context, Node* node, Decline* why) {
  if (!isFlags(node->output())) return std::nullopt;
  const bool compares = isKind(node, "aten::ne") || isKind(node, "aten::eq");
  if (compares && constantNumber(node->input(1)) != 0.0) return std::nullopt;
  auto made = madeOf(node->input(0));
  if (!made || !keepsSizes(node, made->flags)) return std::nullopt;
  if (!isKind(node, "aten::ne")) made->turned = !made->turned;
  for (const Value* value : {static_cast<const Value*>(made->flags), static_cast<const Value*>(node->input(0)),
                             static_cast<const Value*>(node->output())}) {
    if (context.mayBeWritten(value)) *why = {reasons::kAliased, "The mask may be written to."};
  }
  if (!*why && !made->turned && context.mayShareWithOutputs(node->output()))
    *why = {reasons::kGraphOutput, "The answer leaves the graph, in memory of its own."};
  return made;
}

void rewriteMask(Rewriter& rewriter, Node* node, Made& made) {
  Value* flags = made.flags;
  if (made.turned) {
    NodeWriter writer(rewriter, node, at::kBool);
    flags = writer.make("aten::logical_not", {flags}, *knownSizes(flags));
  }
  rewriter.replace({node}, node->output(), flags, "asks the flags that a mask of numbers was made of");
}

bool foldMask(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::ne", "aten::eq", "aten::logical_not"}), matchMask, rewriteMask);
}

}  // namespace

const Pass kFoldMask = {"fold-mask",
                        "Answers where a mask of numbers is zero by the mask of flags that it was made of.",
                        &foldMask,
                        {"aten::masked_fill", "aten::where", "aten::to"}};

}  // namespace ipex_studio

// Reads attributes of the module that nothing writes to as constants.
//   before  %a = prim::GetAttr[name="self_attn"](%self)   %w = prim::GetAttr[name="in_proj_weight"](%a)
//   after   %w = prim::Constant[value=<Tensor>]
// Freezing does so, too, but keeps what any branch of the code might write to: scripted nn.MultiheadAttention and
// nn.TransformerEncoder of PyTorch 2.x lead their weights through lists beside operators in place, on ways that the
// example's dtypes and ranks close. Declines: value-may-be-aliased-or-written, value-is-graph-output (the caller owns
// results and may write to them). Runs before fold-constants, which runs it again behind every branch it takes.
// Numerics: none.
#include <string>
#include <unordered_set>

#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

std::unordered_set<std::string> assignedNames(PassContext& context) {
  std::unordered_set<std::string> names;
  for (const Node* node : context.nodes({"prim::SetAttr"})) names.insert(node->s(c10::attr::name));
  return names;
}

bool foldAttribute(torch::jit::Graph&, PassContext& context) {
  const std::unordered_set<std::string> assigned = assignedNames(context);  // of any class
  const auto match = [&](PassContext&, const Node* node, Decline* why) -> std::optional<at::Tensor> {
    if (assigned.count(node->s(c10::attr::name)) != 0) return std::nullopt;
    auto tensor = context.attributes.read(node);
    if (!tensor) return std::nullopt;
    if (context.isEverWritten(node->output())) {
      *why = {reasons::kAliased, "The graph may write to this attribute."};
    } else if (context.mayShareWithOutputs(node->output())) {
      *why = {reasons::kGraphOutput, "The caller may write to this attribute, which is a result of the model."};
    }
    return tensor;
  };
  const auto rewrite = [](Rewriter& rewriter, Node* node, const at::Tensor& tensor) {
    rewriter.replace({node}, node->output(), rewriter.constant(tensor, node), "nothing writes to it");
  };
  return rewriteMatches(context, context.nodes(kFoldAttribute.needs), match, rewrite);
}

}  // namespace

const Pass kFoldAttribute = {
    "fold-attribute", "Reads attributes that nothing writes to as constants.", &foldAttribute, {"prim::GetAttr"}};

}  // namespace ipex_studio

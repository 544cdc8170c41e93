// Stores tables of embeddings as integers of 8 bits with a scale and an offset per row.
//   before  %y = embedding(W, %ids, …)       %z = embedding_bag(V, %ids, %offsets, …)
//   after   %y = embedding(%ids, W8, {scaled_rows=1})
//           %z = embedding_bag(%ids, %offsets, V8, {mode=sum, scaled_rows=1})
// A lookup is bound by memory: a row is read as a quarter of its bytes, and the file keeps a quarter of the table. Rows
// are asymmetric u8 between their least and greatest value, the format of PyTorch's quantized::embedding_bag_byte;
// results and sums are FP32. A table that several operations read is stored once.
// Runs for precision int8 with a recipe of any mode, after all fusions. Declines: decided-by-hand, kept-by-recipe,
// weights-not-constant, unsupported-attribute (NaN, infinity), unsupported-dtype, not-profitable (few or short rows),
// and where plans cannot do the lookup.
#include <fmt/format.h>

#include "core/lower/lowering.h"
#include "core/op/woq_weights.h"
#include "core/quantization/grouped_weights.h"
#include "core/quantization/precision_overrides.h"
#include "core/quantization/quantizable_ops.h"
#include "core/quantization/recipe.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kFewEntries = 1024;

class TableQuantizer {
 public:
  TableQuantizer(torch::jit::Graph& graph, PassContext& context, Recipe recipe)
      : graph_(graph), context_(context), recipe_(std::move(recipe)), keys_(graph, context.rewriter.origins()) {}

  bool run() {
    bool changed = false;
    for (Node* node : context_.nodes({"aten::embedding", "aten::embedding_bag"})) {
      const bool bags = node->kind() == c10::Symbol::fromQualString("aten::embedding_bag");
      if (!context_.rewriter.alive(node) || (!bags && node->kind() != c10::Symbol::fromQualString("aten::embedding")))
        continue;
      const auto lowered = lowerNode(node);
      const auto* ops = std::get_if<LoweredNode>(&lowered);
      const Decline why =
          ops == nullptr ? Decline{std::get<LoweringDecline>(lowered).reason, std::get<LoweringDecline>(lowered).why}
                         : declineOf(node, ops->ops.front());
      if (why) context_.missed(node, why);
      if (why || !context_.rewriter.permit(node)) continue;
      rewrite(node, ops->ops.front());
      changed = true;
    }
    return changed;
  }

 private:
  Decline declineOf(Node* node, const LoweredOp& op) const {
    const std::string decided = decidedPrecision(context_.options.precision_overrides, context_.rewriter.origins(),
                                                 node, opKindName(op.spec.kind));
    if (!decided.empty() && decided != "int8") return {reasons::kDecided, "It was decided that it stays out of INT8."};
    const RecipeNode* wish = recipe_.node(keys_.of(node->output(0)));
    if (decided.empty() && wish != nullptr && (wish->precision == "fp32" || wish->precision == "bf16"))
      return {reasons::kKeptByRecipe, "The recipe keeps it out of INT8."};
    const auto table = constantTensor(op.src.back().value);
    if (!table) return {reasons::kWeightsNotConstant, "Its table is not constant."};
    if (table->scalar_type() != at::kFloat)
      return {reasons::kUnsupportedDtype, "Only tables of float32 become integers."};
    const bool gains = table->numel() >= kFewEntries && table->size(1) >= kRowParameterBytes;
    if (!gains)
      return {reasons::kNotProfitable, "Its table has few entries, or rows as short as what each would carry along."};
    if (!table->isfinite().all().item<bool>())
      return {reasons::kUnsupportedAttribute, "Its table holds NaN or infinity."};
    return {};
  }

  const at::Tensor& integersOf(const at::Tensor& table) {
    at::Tensor& made = tables_[table.unsafeGetTensorImpl()];
    if (!made.defined()) made = quantizeRows(table);
    return made;
  }

  void rewrite(Node* node, const LoweredOp& lowered) {
    const at::Tensor table = *constantTensor(lowered.src.back().value);
    FusedOp op;
    op.spec = lowered.spec;
    op.spec.attributes["scaled_rows"] = std::int64_t{1};
    for (std::size_t s = 0; s + 1 < lowered.src.size(); ++s) op.base.push_back(lowered.src[s].value);
    op.base.push_back(context_.rewriter.constant(integersOf(table), node));
    Value* result = writeFusedOp(context_.rewriter, op, node)->output();
    result->setType(node->output(0)->type());
    context_.rewriter.replace(
        {node}, node->output(0), result,
        fmt::format("keeps its table of {} rows in 8 bits, with a scale for each row", table.size(0)));
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Recipe recipe_;
  ValueKeys keys_;
  std::unordered_map<const void*, at::Tensor> tables_;
};

bool quantizeEmbeddings(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  Recipe recipe = recipeFromText(context.options.quantization_recipe);
  if (recipe.quantized_tensors) return false;  // PyTorch has none for tables outside of packed layers
  return TableQuantizer(graph, context, std::move(recipe)).run();
}

}  // namespace

const Pass kQuantizeEmbeddings = {"quantize-embeddings", "Stores tables of embeddings as integers.",
                                  &quantizeEmbeddings};

}  // namespace ipex_studio

// Computes convolutions and products in INT8 where a recipe says in which ranges; integers pass as far as they can.
//   before  %y = convolution(%x, W, b, …|relu)   %p = max_pool2d(%y, …)   %z = linear(%f, V, c)
//   after   %q = pointwise(%x, result=u8|linear)
//           %y = convolution(%q, W8, None, [scales, b], result=u8|mul(0)|add(1)|relu|linear)
//           %p = max_pool2d(%y)   %z = linear(%f, V8, None, [scales, c], |mul(0)|add(1))
// Weights are symmetric s8 per output channel, activations affine u8 per tensor (Krishnamoorthi 2018; Jacob et al.
// 2018). Products are lowered unless the recipe keeps them; chains, concatenations, views, pools and nearest resizes
// follow where that moves fewer bytes, conversions counted: a least-cost labelling of the graph (pbqp.h). A value is
// converted once for all its readers; what integers only pass through has one scale. Sums read integers with their
// scale as a factor. Rounding the weights shifts means: the bias takes that back (Nagel et al. 2019). Linear layers
// behind FP32 values divide outlying channels by factors that their weights take over (SmoothQuant, Xiao et al. 2023),
// where the recipe asks. Where the CPU adds pairs of products in 16 bits (no VNNI), weights have 7 bits so that no sum
// saturates. Runs only for precision int8 with a recipe, after all fusions. Declines: not-calibrated, kept-by-recipe,
// decided-by-hand, weights-not-constant, value-may-be-aliased-or-written, unsupported-dtype, not-profitable.
#include <algorithm>

#include "passes/pass_list.h"
#include "passes/quantize/quantize_scales.h"
#include "passes/quantize/quantize_writer.h"
#include "passes/quantize/recipe_wishes.h"
#include "passes/quantize/requantization.h"
#include "passes/quantize/smooth_linears.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

class Quantizer {
 public:
  Quantizer(torch::jit::Graph& graph, PassContext& context, Recipe recipe)
      : graph_(graph),
        context_(context),
        recipe_(std::move(recipe)),
        keys_(graph, context.rewriter.origins()),
        scales_(recipe_, keys_),
        wishes_(context, recipe_, keys_, scales_) {}

  bool run() {
    for (Node* node : graph_.nodes()) classify(node);
    wishes_.requireSameModel();
    keepWithoutProducts();
    const std::vector<Forms> forms = assignForms(quantizable_ops_, alternatives_);
    scales_.unite(quantizable_ops_, forms);
    std::vector<QuantizedOp> work;
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      if (!explainKept(s, forms[s])) work.push_back(parametersOf(s, forms[s]));
    }
    smoothLinears(&work, recipe_.smooth_alpha);
    const int bits = integerWeightBits(context_.options);
    QuantizeWriter writer(context_, bits, recipe_.bias_correction);
    for (const QuantizedOp& quantized : work) {
      if (!writer.concerns(quantized)) continue;
      if (!context_.rewriter.permit()) break;
      writer.write(quantized);
    }
    writer.returnToFloat();
    if (writer.changed() && bits < 8) {
      context_.rewriter.missed({}, reasons::kReducedRange,
                               "Weights have 7 bits: this CPU adds pairs of INT8 products in 16 bits, where 8-bit "
                               "weights would need slower kernels.");
    }
    return writer.changed();
  }

 private:
  void classify(Node* node) {
    auto quantizable = quantizableOpOf(node);
    if (!quantizable) {
      explainUnsupported(node);
      return;
    }
    std::vector<Forms> allowed = allowedForms(*quantizable);
    if (allowed.empty()) return;
    quantizable_ops_.push_back(std::move(*quantizable));
    alternatives_.push_back(std::move(allowed));
  }

  // Integers are for products: where none is connected through the quantizable ops, rounding would buy a few bytes
  // only.
  void keepWithoutProducts() {
    std::unordered_map<const Node*, std::size_t> index;
    std::vector<std::size_t> parent(quantizable_ops_.size());
    const auto root = [&](std::size_t s) {
      while (parent[s] != s) s = parent[s] = parent[parent[s]];
      return s;
    };
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      parent[s] = s;
      index[quantizable_ops_[s].node] = s;
      for (const Value* value : quantizable_ops_[s].activations) {
        const auto producer = index.find(value->node());
        if (producer != index.end()) parent[root(s)] = root(producer->second);
      }
    }
    std::vector<bool> has_product(quantizable_ops_.size(), false);
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      if (quantizable_ops_[s].role == QuantizableRole::kProduct) has_product[root(s)] = true;
    }
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      if (!has_product[root(s)]) alternatives_[s] = {{false, false}};
    }
  }

  void explainUnsupported(Node* node) {
    if (node->outputs().size() != 1 || knownDtype(node->output()) != at::kFloat) return;
    const auto lowered = lowerNode(node);
    const auto* ops = std::get_if<LoweredNode>(&lowered);
    if (ops == nullptr ||
        std::all_of(ops->ops.begin(), ops->ops.end(), [](const LoweredOp& op) { return isView(op.spec.kind); }))
      return;
    context_.missed(node, reasons::kUnsupportedDtype, "This operation has no form in INT8.");
  }

  // Empty: stays as it is, and that was said.
  std::vector<Forms> allowedForms(const QuantizableOp& quantizable) {
    const Decline why = wishes_.declineOf(quantizable);
    if (why) {
      context_.missed(quantizable.node, why);
      return {};
    }
    const bool writes = scales_.known(quantizable.node->output());
    switch (quantizable.role) {
      case QuantizableRole::kProduct:
        if (writes) return {{true, true}, {true, false}};
        return {{true, false}};
      case QuantizableRole::kPointwise: {
        std::vector<Forms> forms{{false, false}};
        const bool reads = scales_.known(quantizable.activations[0]);
        if (writes) forms.push_back({false, true});
        if (reads) forms.push_back({true, false});
        if (reads && writes) forms.push_back({true, true});
        return forms;
      }
      case QuantizableRole::kMoves:
        if (!writes || !context_.options.plan_regions) return {{false, false}};
        return {{false, false}, {true, true}};
      case QuantizableRole::kAverages: {
        std::vector<Forms> forms{{false, false}};
        if (!scales_.known(quantizable.activations[0]) || !context_.options.plan_regions) return forms;
        forms.push_back({true, false});
        if (quantizable.op.spec.kind == OpKind::kPool && writes) forms.push_back({true, true});
        return forms;
      }
      case QuantizableRole::kAttention:
        if (!writes) return {{false, false}};
        return {{false, false}, {false, true}};
    }
    return {};
  }

  // True: nothing is to be done. Says why not.
  bool explainKept(std::size_t s, const Forms& forms) {
    const QuantizableOp& quantizable = quantizable_ops_[s];
    if (forms.in || forms.out) return false;
    const bool could = alternatives_[s].size() > 1;
    if (quantizable.role == QuantizableRole::kPointwise) {
      // It may still read integers in its sums.
      if (!could)
        context_.missed(quantizable.node, reasons::kNotCalibrated, "Its values were not seen while calibrating.");
      if (could)
        context_.missed(quantizable.node, reasons::kNotProfitable,
                        "In FP32 it moves no more bytes, conversions counted.");
      return false;
    }
    if (!quantizable.is_view && could)
      context_.missed(quantizable.node, reasons::kNotProfitable,
                      "In FP32 it moves no more bytes, conversions counted.");
    return true;
  }

  QuantizedOp parametersOf(std::size_t s, const Forms& forms) {
    QuantizedOp quantized;
    quantized.quantizable = quantizable_ops_[s];
    quantized.forms = forms;
    for (Value* value : quantized.quantizable.activations) quantized.activations.push_back(scales_.of(value));
    quantized.result = scales_.of(quantized.quantizable.node->output());
    quantized.input = scales_.calibrated(quantized.quantizable.activations[0]);
    return quantized;
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Recipe recipe_;
  ValueKeys keys_;
  QuantizationScales scales_;
  RecipeWishes wishes_;
  std::vector<QuantizableOp> quantizable_ops_;
  std::vector<std::vector<Forms>> alternatives_;
};

bool insertQuantize(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  Recipe recipe = recipeFromText(context.options.quantization_recipe);
  if (recipe.mode != QuantizationMode::kStatic || recipe.quantized_tensors) return false;
  return Quantizer(graph, context, std::move(recipe)).run();
}

}  // namespace

const Pass kInsertQuantize = {"insert-quantize", "Computes convolutions and products in INT8 as a recipe says.",
                              &insertQuantize};

}  // namespace ipex_studio

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
#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/quantization/precision_overrides.h"
#include "passes/pass_list.h"
#include "passes/quantize/quantize_scales.h"
#include "passes/quantize/quantize_writer.h"
#include "passes/quantize/requantization.h"

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
        scales_(recipe_, keys_) {
    for (const RecipeNode& node : recipe_.nodes) nodes_[node.key] = &node;
  }

  bool run() {
    for (Node* node : graph_.nodes()) classify(node);
    requireSameModel();
    keepWithoutProducts();
    const std::vector<Forms> forms = assignForms(quantizable_ops_, alternatives_);
    scales_.unite(quantizable_ops_, forms);
    std::vector<QuantizedOp> work;
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      if (!explainKept(s, forms[s])) work.push_back(parametersOf(s, forms[s]));
    }
    smooth(&work);
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
    const RecipeNode* wish = wishFor(quantizable);
    const Decline why = declineOf(quantizable, wish);
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

  const RecipeNode* wishFor(const QuantizableOp& quantizable) const {
    const auto found = nodes_.find(keys_.of(quantizable.node->output()));
    return found == nodes_.end() ? nullptr : found->second;
  }

  Decline declineOf(const QuantizableOp& quantizable, const RecipeNode* wish) {
    if (wish != nullptr) ++known_nodes_;
    if (quantizable.role == QuantizableRole::kProduct) ++products_;
    const std::string decided = decidedPrecision(context_.options.precision_overrides, context_.rewriter.origins(),
                                                 quantizable.node, opKindName(quantizable.op.spec.kind));
    if (!decided.empty() && decided != "int8") return {reasons::kDecided, "It was decided that it stays out of INT8."};
    if (decided.empty() && wish != nullptr && (wish->precision == "fp32" || wish->precision == "bf16")) {
      return {reasons::kKeptByRecipe, wish->reason.empty()
                                          ? "The recipe keeps it out of INT8."
                                          : fmt::format("The recipe keeps it out of INT8: {}.", wish->reason)};
    }
    const auto written = [&](Value* value) { return context_.mayBeWritten(value); };
    if (written(quantizable.node->output()) ||
        std::any_of(quantizable.activations.begin(), quantizable.activations.end(), written)) {
      return {reasons::kAliased, "Its result or an operand may be written to."};
    }
    if (quantizable.role != QuantizableRole::kProduct) return {};
    if (wish == nullptr) return {reasons::kNotCalibrated, "The recipe does not know this operation."};
    for (std::size_t a = 0; a < quantizable.base_count; ++a) {
      if (!scales_.known(quantizable.activations[a]))
        return {reasons::kNotCalibrated, "What it reads was not seen while calibrating."};
    }
    return declineOfWeights(quantizable);
  }

  static Decline declineOfWeights(const QuantizableOp& quantizable) {
    if (quantizable.op.spec.kind == OpKind::kMatmul) return {};
    const bool has_bias = quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent();
    if (has_bias && (quantizable.op.src[2].value == nullptr || !constantTensor(quantizable.op.src[2].value))) {
      return {reasons::kWeightsNotConstant, "Its bias is computed while the model runs."};
    }
    if (!constantTensor(quantizable.op.src[1].value)->isfinite().all().item<bool>())
      return {reasons::kUnsupportedAttribute, "Its weights hold NaN or infinity."};
    return {};
  }

  // Refuses a recipe that names none of the model's products: it was made for another model.
  void requireSameModel() const {
    if (recipe_.nodes.empty() || known_nodes_ > 0 || products_ == 0) return;
    throw Error(ExitCode::kUsage,
                "The recipe belongs to another model: it names none of this one's operations; calibrate this model.");
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

  // One set of factors per value for all linear layers that read it, where it comes in FP32.
  void smooth(std::vector<QuantizedOp>* work) {
    if (recipe_.smooth_alpha <= 0) return;
    std::unordered_map<const Value*, std::vector<QuantizedOp*>> readers;
    std::unordered_map<const Value*, bool> integers;
    for (QuantizedOp& quantized : *work) {
      integers[quantized.quantizable.node->output()] = quantized.forms.out;
      if (quantized.quantizable.op.spec.kind == OpKind::kLinear)
        readers[quantized.quantizable.activations[0]].push_back(&quantized);
    }
    for (auto& [value, linears] : readers) {
      const RecipeValue* seen = linears[0]->input;
      const auto written = integers.find(value);
      if (seen == nullptr || seen->channel_absmax.empty() || (written != integers.end() && written->second)) continue;
      std::vector<at::Tensor> weights;
      for (const QuantizedOp* linear : linears) weights.push_back(*constantTensor(linear->quantizable.op.src[1].value));
      const std::vector<double> factors = smoothingFactors(seen->channel_absmax, weights, recipe_.smooth_alpha);
      if (factors.empty()) continue;
      double largest = 0;
      for (std::size_t c = 0; c < factors.size(); ++c)
        largest = std::max(largest, seen->channel_absmax[c] / factors[c]);
      const AffineParameters affine =
          affineParameters({seen->least < 0 ? -largest : 0, seen->greatest > 0 ? largest : 0});
      for (QuantizedOp* linear : linears) {
        linear->smoothing = factors;
        linear->activations[0] = affine;
      }
    }
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Recipe recipe_;
  ValueKeys keys_;
  QuantizationScales scales_;
  std::unordered_map<std::string, const RecipeNode*> nodes_;
  std::vector<QuantizableOp> quantizable_ops_;
  std::vector<std::vector<Forms>> alternatives_;
  std::size_t known_nodes_ = 0, products_ = 0;
};

bool insertQuantize(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  Recipe recipe = recipeFromText(context.options.quantization_recipe);
  if (recipe.mode != QuantizationMode::kStatic) return false;
  return Quantizer(graph, context, std::move(recipe)).run();
}

}  // namespace

const Pass kInsertQuantize = {"insert-quantize", "Computes convolutions and products in INT8 as a recipe says.",
                              &insertQuantize};

}  // namespace ipex_studio

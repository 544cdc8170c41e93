// Rounds what products read, and their weights, to the integers of a recipe by PyTorch's own quantized tensors.
//   before  %y = convolution(%x, W, b, …|relu)   %z = convolution(%y, V, c, …|add(%x))
//   after   %r = dequantize(quantize_per_tensor(%x, 0.1, 3, quint8))
//           %y = convolution(%r, dequantize(W8), b, …|relu)
//           %s = dequantize(quantize_per_tensor(%y, 0.2, 0, quint8))
//           %z = convolution(%s, dequantize(V8), c, …|add(%r))
// A file of this form runs in any PyTorch, in FP32 between the roundings, and canonicalize-quantized and
// fuse-dequantize read it as integers. Values are rounded where they are made, in front of views, pools, paddings and
// concatenations, and sums read what was rounded for a product, so that integers pass from product to product.
// Ranges, weights, corrections of biases and SmoothQuant are those of insert-quantize. Products of two activations
// stay in FP32, since only weights are read back as integers. Runs in place of insert-quantize, for precision int8
// with a recipe of mode static and Recipe::quantized_tensors. Declines: as insert-quantize, unsupported-operator
// (products of two activations).
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "passes/pass_list.h"
#include "passes/quantize/quantize_scales.h"
#include "passes/quantize/quantize_writer.h"
#include "passes/quantize/quantized_tensors.h"
#include "passes/quantize/recipe_wishes.h"
#include "passes/quantize/requantization.h"
#include "passes/quantize/smooth_linears.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool isTensorList(const Value* value) {
  return value->node()->kind() == c10::prim::ListConstruct && value->type()->isSubtypeOf(*c10::ListType::ofTensors());
}

// Sums of a chain, and what it begins with if it sums.
bool mayReadRounded(const QuantizableOp& quantizable, std::size_t activation) {
  if (activation >= quantizable.base_count) return quantizable.takesIntegers(activation);
  const auto& chain = quantizable.op.spec.post_ops;
  return quantizable.role == QuantizableRole::kPointwise &&
         std::any_of(chain.begin(), chain.end(), [](const PostOp& op) {
           return op.kind == PostOpKind::kAdd || op.kind == PostOpKind::kSub || op.kind == PostOpKind::kRsub;
         });
}

class TensorWriter {
 public:
  TensorWriter(torch::jit::Graph& graph, PassContext& context, Recipe recipe)
      : graph_(graph),
        context_(context),
        rewriter_(context.rewriter),
        recipe_(std::move(recipe)),
        keys_(graph, context.rewriter.origins()),
        scales_(recipe_, keys_),
        wishes_(context, recipe_, keys_, scales_) {}

  bool run() {
    std::vector<QuantizedOp> products;
    std::vector<QuantizableOp> others;
    for (Node* node : graph_.nodes()) {
      auto quantizable = quantizableOpOf(node);
      if (!quantizable) continue;
      if (isLowered(*quantizable)) products.push_back(parametersOf(*quantizable));
      others.push_back(std::move(*quantizable));
    }
    wishes_.requireSameModel();
    smoothLinears(&products, recipe_.smooth_alpha);
    const int bits = integerWeightBits(context_.options);
    for (const QuantizedOp& product : products) {
      Node* node = product.quantizable.node;
      if (!rewriter_.permit(node)) break;
      readQuantized(rewriter_, node, operandOf(product), integerWeightsOf(product, bits, recipe_.bias_correction));
      rewriter_.finish(node, "reads integers of PyTorch's quantized tensors");
      changed_ = true;
    }
    for (const QuantizableOp& quantizable : others) sumRounded(quantizable);
    return changed_;
  }

 private:
  bool isLowered(const QuantizableOp& quantizable) {
    const Decline why = wishes_.declineOf(quantizable);
    if (quantizable.role != QuantizableRole::kProduct) return false;
    if (why) context_.missed(quantizable.node, why);
    if (why) return false;
    if (quantizable.op.spec.kind != OpKind::kMatmul) return true;
    context_.missed(quantizable.node, reasons::kUnsupportedOperator, "It multiplies two activations.");
    return false;
  }

  QuantizedOp parametersOf(const QuantizableOp& quantizable) {
    QuantizedOp product;
    product.quantizable = quantizable;
    product.forms = {true, false};
    product.activations = {scales_.of(quantizable.activations[0])};
    product.input = scales_.calibrated(quantizable.activations[0]);
    return product;
  }

  Value* operandOf(const QuantizedOp& product) {
    Value* value = product.quantizable.activations[0];
    Node* reader = product.quantizable.node;
    if (product.smoothing.empty()) return rounded(value, product.activations[0], reader);
    Value*& made = made_smoothed_[value];
    if (made != nullptr) return made;
    Node* place = placeBehind(value, reader);
    const at::Tensor inverse = at::tensor(product.smoothing, at::kDouble).reciprocal().to(at::kFloat);
    Value* divided = rewriter_.create("aten::mul", {value, rewriter_.constant(inverse, place)}, place)->output();
    divided->setType(value->type());
    made = writeRounded(rewriter_, divided, product.activations[0], place);
    return made;
  }

  // The value on the grid of `affine`: what operations only move is rounded in front of them.
  Value* rounded(Value* value, const AffineParameters& affine, Node* reader) {
    const auto grid = grids_.find(value);
    if (grid != grids_.end() && same(grid->second, affine)) return value;
    Value*& made = made_[{value, affine.scale, affine.zero_point}];
    if (made != nullptr) return made;
    if (grid == grids_.end() && onlyMoves(value)) {
      roundOperands(value->node(), affine);
      grids_[value] = affine;
      return made = value;
    }
    return made = writeRounded(rewriter_, value, affine, placeBehind(value, reader));
  }

  static bool same(const AffineParameters& one, const AffineParameters& other) {
    return one.scale == other.scale && one.zero_point == other.zero_point;
  }

  static bool onlyMoves(Value* value) {
    const auto sources = sourcesOf(value);
    return sources.empty() || sources.size() > 1 || sources[0] != value;
  }

  void roundOperands(Node* node, const AffineParameters& affine) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      Node* list = isTensorList(node->input(i)) ? node->input(i)->node() : nullptr;
      for (std::size_t e = 0; e < (list == nullptr ? 1 : list->inputs().size()); ++e) {
        Node* holder = list == nullptr ? node : list;
        const std::size_t index = list == nullptr ? i : e;
        Value* operand = holder->input(index);
        if (operand->type()->kind() != c10::TypeKind::TensorType || knownDtype(operand) != at::kFloat ||
            constantTensor(operand))
          continue;
        Value* made = rounded(operand, affine, holder);
        if (made != operand) rewriter_.replaceInput(holder, index, made);
      }
    }
  }

  // Sums read what was rounded for a product.
  void sumRounded(const QuantizableOp& quantizable) {
    for (std::size_t a = 0; a < quantizable.activations.size(); ++a) {
      Value* value = quantizable.activations[a];
      if (!mayReadRounded(quantizable, a) || !scales_.known(value)) continue;
      const AffineParameters affine = scales_.of(value);
      const auto made = made_.find({value, affine.scale, affine.zero_point});
      if (made == made_.end() || made->second == value) continue;
      const bool base = a < quantizable.base_count;
      for (std::size_t i = 0; i < quantizable.node->inputs().size(); ++i) {
        Value* input = quantizable.node->input(i);
        if (base && input == value) rewriter_.replaceInput(quantizable.node, i, made->second);
        for (std::size_t e = 0; !base && isTensorList(input) && e < input->node()->inputs().size(); ++e) {
          if (input->node()->input(e) == value) rewriter_.replaceInput(input->node(), e, made->second);
        }
        // A sum that no operation took along has its operands side by side.
        if (!base && i > 0 && input == value && !readFusedOp(quantizable.node))
          rewriter_.replaceInput(quantizable.node, i, made->second);
      }
    }
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Rewriter& rewriter_;
  Recipe recipe_;
  ValueKeys keys_;
  QuantizationScales scales_;
  RecipeWishes wishes_;
  std::map<std::tuple<const Value*, double, std::int64_t>, Value*> made_;
  std::unordered_map<const Value*, AffineParameters> grids_;  // of values whose operation moves rounded ones
  std::unordered_map<const Value*, Value*> made_smoothed_;
  bool changed_ = false;
};

bool insertQuantizedTensors(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  Recipe recipe = recipeFromText(context.options.quantization_recipe);
  if (recipe.mode != QuantizationMode::kStatic || !recipe.quantized_tensors) return false;
  return TensorWriter(graph, context, std::move(recipe)).run();
}

}  // namespace

const Pass kInsertQuantizedTensors = {"insert-quantized-tensors",
                                      "Rounds what products read by PyTorch's quantized tensors, for portable files.",
                                      &insertQuantizedTensors};

}  // namespace ipex_studio

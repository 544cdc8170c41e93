// Computes convolutions and products in BF16 or FP16 and puts casts where the precisions meet.
//   before  %y = convolution(%x, W, b, …)   %z = relu(%y)   %s = softmax(%z, 1)
//   after   %x16 = to(%x, bfloat16)   %y = convolution(%x16, W16, b, …)   %z = relu(%y)   %z32 = to(%z, float)
//           %s = softmax(%z32, 1)
// Convolutions, linears and matmuls are lowered; depthwise convolutions, pools, elementwise chains, concatenations and
// views follow where that moves fewer bytes, casts counted; everything else keeps FP32 (cast_policy.h, where FP16 keeps
// more), convolutions of images with a few channels too, where what is padded to pairs of channels costs more than is
// gained, and where few products make a result: an image's rounding costs accuracy there, and little time is won. Which
// of them follow is a least-cost labelling of the graph (pbqp.h). A value is cast once for all its readers. Where all
// readers of a product keep FP32 it writes FP32 itself. Weights become low-precision constants; bias, accumulation and
// constant operands stay FP32. BF16 lowers attention, too, its sums and softmax stay FP32; it takes queries, keys and
// values in either precision. Runs for precision bf16 and fp16, and for int8 where the recipe or a person wants
// operations in BF16: only these are lowered then, and what follows them; and, where the CPU multiplies BF16, attention
// to what products of integers give, which then write BF16: their rounding to bytes is coarser than this. Last of all
// fusions: a chain is one node by then. Declines: unsupported-dtype, value-may-be-aliased-or-written, not-profitable,
// decided-by-hand, kept-by-recipe. Numerics: activations and weights are rounded to 8 bits of mantissa, in FP16 to 11
// (round to nearest even).
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/pbqp.h"
#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/lower/lowering.h"
#include "core/quantization/precision_overrides.h"
#include "core/quantization/quantizable_ops.h"
#include "core/quantization/recipe.h"
#include "passes/pass_list.h"
#include "passes/precision/attention_precision.h"
#include "passes/precision/cast_policy.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr int kWide = 0, kNarrow = 1;  // alternatives of a node
constexpr std::int64_t kFewChannels = 8, kManyProducts = 64;
constexpr double kNever = 1e15;  // more bytes than any graph moves

// The precisions that a recipe and a person ask of an INT8 network.
struct RecipeWishes {
  std::unordered_set<std::string> bf16, fp32;  // keys of operations
  bool any_bf16 = false;                       // something is wanted in BF16, by key or by decision
};

class CastInserter {
 public:
  // `wishes`: what alone is to be lowered, beside attention that follows products of integers; null: all that can be.
  CastInserter(torch::jit::Graph& graph, PassContext& context, const LowPrecisionFloat& low, const RecipeWishes* wishes)
      : graph_(graph),
        context_(context),
        rewriter_(context.rewriter),
        low_(low),
        wishes_(wishes),
        keys_(graph, rewriter_.origins()) {}

  bool run() {
    for (Node* node : graph_.nodes()) {
      if (auto attention = readAttention(node)) classifyAttention(node, std::move(*attention));
    }
    for (Node* node : graph_.nodes()) {
      if (attentions_.count(node) == 0) classify(node);
    }
    for (Node* node : graph_.nodes()) {
      if (operations_.count(node) != 0) ordered_.push_back(node);
    }
    label();
    for (Node* node : ordered_) {
      if (labels_.at(node) != kNarrow) continue;
      if (!rewriter_.permit()) break;
      convert(node);
    }
    for (const auto& [value, node] : converted_) returnToFp32(value, node);
    return !converted_nodes_.empty();
  }

 private:
  struct Operation {
    CastRole role = CastRole::kKeep;
    bool is_view = false;
    bool may_choose = true;    // false: lowered in any case
    bool writes_only = false;  // a product of integers, which may write BF16
    std::optional<LoweredNode> attention;
    std::vector<Value*> activations;                    // operands whose precision this node decides
    std::vector<std::pair<Node*, std::size_t>> places;  // where they stand
  };

  void classifyAttention(Node* node, LoweredNode attention) {
    attentions_.insert(node);
    const std::string decided = decidedPrecision(context_.options.precision_overrides, rewriter_.origins(), node,
                                                 opKindName(OpKind::kAttention));
    const std::string& key = keys_.of(node->output());
    if (decided == "fp32")
      return context_.missed(node, reasons::kDecided, "It was decided that this operation keeps FP32.");
    if (low_.type != at::kBFloat16)
      return context_.missed(node, reasons::kUnsupportedDtype,
                             "Attention keeps FP32: there is no kernel of it for FP16.");
    if (wishes_ != nullptr && decided != "bf16" && wishes_->bf16.count(key) == 0) {
      if (wishes_->fp32.count(key) != 0)
        return context_.missed(node, reasons::kKeptByRecipe, "The recipe keeps it in FP32.");
      if (!attendsToIntegerProducts(attention)) {
        return context_.missed(node, reasons::kNotProfitable,
                               "No product of integers gives its queries, keys or values: it keeps FP32.");
      }
      if (!context_.options.capabilities.value_or(Capabilities{}).bf16) {
        return context_.missed(node, reasons::kNotProfitable,
                               "This CPU does not multiply BF16: attention between products of integers keeps FP32.");
      }
    }
    Operation operation;
    operation.role = CastRole::kLower;
    operation.may_choose = false;
    for (std::size_t i = 0; i < 3; ++i) addOperand(node, i, &operation);
    operation.attention = std::move(attention);
    if (isWritten(node, operation)) return;
    lowered_attentions_.insert(node);
    operations_.emplace(node, std::move(operation));
  }

  // Writes BF16 where it is for attention alone.
  void classifyProductOfIntegers(Node* node) {
    Operation operation;
    operation.writes_only = true;
    if (readByAttentionOnly(node->output(), lowered_attentions_) && !context_.mayBeWritten(node->output()))
      operations_.emplace(node, std::move(operation));
  }

  void classifyPieces(Node* unpack, Node* pieces) {
    Operation operation;
    operation.role = CastRole::kFollow;
    operation.is_view = true;
    addOperand(pieces, 0, &operation);
    bool written = operation.activations.empty() || context_.mayBeWritten(pieces->input(0));
    for (Value* piece : unpack->outputs()) written |= !isFloat(piece) || context_.mayBeWritten(piece);
    if (!written) operations_.emplace(unpack, std::move(operation));
  }

  void classify(Node* node) {
    if (isProductOfIntegers(node)) return classifyProductOfIntegers(node);
    if (Node* pieces = piecesUnpackedBy(node)) return classifyPieces(node, pieces);
    const auto lowered = lowerNode(node);
    const auto* ops = std::get_if<LoweredNode>(&lowered);
    if (ops == nullptr) return;
    const CastPolicy policy = castPolicy(node, *ops, low_);
    if (policy.role == CastRole::kKeep) {
      if (*policy.why != '\0' && wishes_ == nullptr) context_.missed(node, reasons::kUnsupportedDtype, policy.why);
      return;
    }
    Operation operation;
    operation.is_view = policy.is_view;
    operation.role = policy.role;
    const std::string decided = decidedPrecision(context_.options.precision_overrides, rewriter_.origins(), node,
                                                 opKindName(ops->ops.back().spec.kind));
    const bool left_out = wishes_ != nullptr && decided != "bf16" && wishes_->bf16.count(keys_.of(node->output())) == 0;
    if (left_out && (operation.role == CastRole::kLower || (!wishes_->any_bf16 && !operation.is_view))) return;
    if (!decided.empty() && decided != low_.name) {
      context_.missed(node, reasons::kDecided, "It was decided that this operation keeps FP32.");
      return;
    }
    const WindowSize window = windowSeen(node);
    const bool depthwise = window.channels == 1;
    if (decided.empty() && window.channels > 1 && window.channels < kFewChannels && !paysForFewChannels(window)) {
      context_.missed(node, reasons::kNotProfitable, "A convolution of so few channels gains little: it keeps FP32.");
      return;
    }
    operation.may_choose = decided.empty() && (operation.role == CastRole::kFollow || depthwise);
    if (collect(node, &operation)) operations_.emplace(node, std::move(operation));
  }

  // True if a convolution of few channels is so large that it wins much where the CPU multiplies BF16.
  bool paysForFewChannels(const WindowSize& window) const {
    const bool multiplied = low_.type == at::kBFloat16 && context_.options.capabilities.value_or(Capabilities{}).bf16;
    return multiplied && window.products >= kManyProducts;
  }

  // The float operands of a node, and of the list it reads.
  bool collect(Node* node, Operation* operation) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      Value* input = node->input(i);
      if (input->node()->kind() == c10::prim::ListConstruct &&
          input->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
        if (input->uses().size() != 1) return false;
        for (std::size_t e = 0; e < input->node()->inputs().size(); ++e) addOperand(input->node(), e, operation);
      } else if (input->type()->kind() == c10::TypeKind::TensorType) {
        addOperand(node, i, operation);
      }
    }
    return !isWritten(node, *operation) && !operation->activations.empty();
  }

  // True if an operand is written to: one cast for all readers would keep the value from before the write.
  bool isWritten(Node* node, const Operation& operation) {
    const auto& operands = operation.activations;
    const bool written = context_.mayBeWritten(node->output()) ||
                         std::any_of(operands.begin(), operands.end(),
                                     [&](const Value* operand) { return context_.mayBeWritten(operand); });
    if (written) context_.missed(node, reasons::kAliased, "Its result or an operand may be written to.");
    return written;
  }

  static void addOperand(Node* holder, std::size_t index, Operation* operation) {
    Value* value = holder->input(index);
    if (!isFloat(value) || constantTensor(value)) return;
    operation->activations.push_back(value);
    operation->places.emplace_back(holder, index);
  }

  // The operation that reads a value at this use: a list belongs to its reader.
  static const Node* readerAt(const torch::jit::Use& use) {
    Node* user = use.user;
    const bool is_listed = user->outputs().size() == 1 && user->output()->uses().size() == 1;
    if (is_listed && piecesUnpackedBy(user->output()->uses()[0].user) == user) return user->output()->uses()[0].user;
    const bool is_list = user->kind() == c10::prim::ListConstruct && user->output()->uses().size() == 1;
    return is_list ? user->output()->uses()[0].user : user;
  }

  // True for a cast to the type that the operation would write: to a result of the model in BF16.
  bool roundsAnyway(const torch::jit::Use& use) const {
    return isKind(use.user, "aten::to") && use.offset == 0 && knownDtype(use.user->output()) == low_.type;
  }

  void label() {
    Pbqp problem;
    const int keep = problem.addNode({0, kNever});
    std::unordered_map<const Node*, int> numbers;
    for (const Node* node : ordered_) {
      const Operation& operation = operations_.at(node);
      double moved = 0;
      for (const Value* result : node->outputs()) moved += 4 * knownElements(result);
      for (const Value* operand : operation.activations) moved += 4 * knownElements(operand);
      if (operation.is_view) moved = 0;
      numbers[node] = problem.addNode({operation.may_choose ? moved : kNever, operation.may_choose ? moved / 2 : 0});
    }
    for (const Node* node : ordered_) {
      for (const Value* operand : operations_.at(node).activations) {
        const auto producer = numbers.find(operand->node());
        addEdge(problem, producer == numbers.end() ? keep : producer->second, numbers.at(node), operand,
                operations_.at(node).attention.has_value());
      }
      for (const Value* result : node->outputs()) {
        bool kept = false;
        for (const auto& use : result->uses())
          kept |= isMask(use) || (!asksForSizes(use.user) && !roundsAnyway(use) && numbers.count(readerAt(use)) == 0);
        if (kept && isFloat(result)) addEdge(problem, numbers.at(node), keep, result, false);
      }
    }
    const Pbqp::Solution solution = problem.solve();
    for (const Node* node : ordered_) labels_[node] = solution.choice[numbers.at(node)];
  }

  // A cast reads one precision and writes the other, and is a step more. Attention in BF16 reads FP32, too, in more
  // bytes.
  static void addEdge(Pbqp& problem, int from, int to, const Value* value, bool takes_either) {
    const double cast = 6 * knownElements(value) + 1;
    problem.addEdge(from, to, {0, takes_either ? 2 * knownElements(value) : cast, cast, 0});
  }

  void convert(Node* node) {
    const Operation& operation = operations_.at(node);
    if (operation.attention) return convertAttention(node, *operation.attention);
    if (operation.writes_only) return writeAs(node, low_.dtype, low_.type, "writes BF16 for attention");
    for (std::size_t i = 0; i < operation.places.size(); ++i) {
      const auto& [holder, index] = operation.places[i];
      if (knownDtype(holder->input(index)) == at::kFloat)
        rewriter_.replaceInput(holder, index, castValue(holder->input(index), holder));
    }
    // First, because lowering a node asks that its result has the dtype that its operands give.
    for (Value* result : node->outputs()) setDtype(result, low_.type);
    node = operation.role == CastRole::kLower ? convertWeights(node) : convertFollower(node);
    for (Value* result : node->outputs()) converted_.emplace_back(result, node);
    converted_nodes_.insert(node);
  }

  void convertAttention(Node* node, const LoweredNode& attention) {
    Node* made = writeBf16Attention(rewriter_, node, attention);
    rewriter_.replace({node}, node->output(), made->output(), "multiplies in BF16; sums and softmax stay FP32");
    converted_nodes_.insert(made);
    if (knownDtype(made->output()) == at::kBFloat16) converted_.emplace_back(made->output(), made);
  }

  // The node gives its result in another type itself.
  void writeAs(Node* node, const char* result, at::ScalarType dtype, const char* text) {
    OpSpec spec = parseOpSpec(torch::jit::constant_as<std::string>(node->inputs().back()).value());
    spec.attributes["result"] = std::string(result);
    rewriter_.replaceInput(node, node->inputs().size() - 1, rewriter_.constant(spec.text(), node));
    setDtype(node->output(), dtype);
    if (dtype == at::kFloat) return;
    rewriter_.finish(node, text);
    converted_.emplace_back(node->output(), node);
    converted_nodes_.insert(node);
  }

  Value* cast(Value* value, at::ScalarType dtype, Node* before) {
    Value* no = rewriter_.constant(false, before);
    Node* to = rewriter_.create(
        "aten::to",
        {value, rewriter_.constant(static_cast<std::int64_t>(dtype), before), no, no, rewriter_.none(before)}, before);
    to->output()->setType(value->type());
    setDtype(to->output(), dtype);
    return to->output();
  }

  Value* castValue(Value* value, Node* before) {
    Value*& made = casts_[value];
    if (made == nullptr) made = cast(value, low_.type, before);
    return made;
  }

  static void setDtype(Value* value, at::ScalarType dtype) {
    value->setType(value->type()->expectRef<c10::TensorType>().withScalarType(dtype));
  }

  Node* convertFollower(Node* node) {
    const std::string text = fmt::format("follows its operands in {}", low_.title);
    const auto chain = low_.type == at::kHalf ? readStockChain(node) : std::nullopt;
    if (!chain) {
      convertConstants(node);
      rewriter_.finish(node, text);
      return node;
    }
    Node* made = writeFusedOp(rewriter_, *chain, node);
    made->output()->setType(node->output()->type());
    rewriter_.replace({node}, node->output(), made->output(), text);
    return made;
  }

  // Constant operands of stock operators, which would raise the result to FP32; ours take them as they are.
  void convertConstants(Node* node) {
    if (node->kind().is_aten()) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i) convertConstant(node, i);
    }
    for (Value* input : node->inputs()) {
      if (input->node()->kind() != c10::prim::ListConstruct || !node->kind().is_aten()) continue;
      for (std::size_t e = 0; e < input->node()->inputs().size(); ++e) convertConstant(input->node(), e);
    }
  }

  void convertConstant(Node* holder, std::size_t index) {
    const auto constant = constantTensor(holder->input(index));
    if (!constant || constant->scalar_type() != at::kFloat || constant->dim() == 0) return;
    rewriter_.replaceInput(holder, index, castConstant(holder->input(index), holder));
  }

  // A constant in low-precision floats, once for all that read it.
  Value* castConstant(Value* value, Node* before) {
    const at::Tensor tensor = *constantTensor(value);
    Value*& made = constants_[tensor.unsafeGetTensorImpl()];
    if (made == nullptr) made = rewriter_.constant(tensor.detach().to(low_.type), before);
    return made;
  }

  // The stock operator becomes ours, which takes a bias in FP32.
  Node* convertWeights(Node* node) {
    FusedOp op = *readFusedOp(node);
    for (std::size_t s = 0; s < 2; ++s) {
      if (constantTensor(op.base[s])) op.base[s] = castConstant(op.base[s], node);
    }
    Node* made = writeFusedOp(rewriter_, op, node);
    made->output()->setType(node->output()->type());
    rewriter_.replace({node}, node->output(), made->output(),
                      fmt::format("computes in {}, accumulates in FP32", low_.title));
    return made;
  }

  // Casts back to FP32 for the readers that still want it: operations that keep it, and those that a limit left alone.
  void returnToFp32(Value* value, Node* node) {
    std::vector<torch::jit::Use> readers;
    std::size_t unconcerned = 0;
    for (const auto& use : value->uses()) {
      if (asksForSizes(use.user) || roundsAnyway(use)) {
        ++unconcerned;
      } else if (isMask(use) || converted_nodes_.count(readerAt(use)) == 0) {
        readers.push_back(use);
      }
    }
    if (readers.empty()) return;
    const auto op = readFusedOp(node);
    const bool gives_either = (op && isFloatProduct(op->spec.kind)) || isKind(node, "ipex_studio::attention");
    if (gives_either && readers.size() + unconcerned == value->uses().size())
      return writeAs(node, "f32", at::kFloat, "");
    Value* plain = cast(value, at::kFloat, node->next());
    for (const torch::jit::Use& use : readers) rewriter_.replaceInput(use.user, use.offset, plain);
    rewriter_.finish(node, "returns to FP32 for what keeps it");
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Rewriter& rewriter_;
  const LowPrecisionFloat& low_;
  const RecipeWishes* wishes_;
  ValueKeys keys_;
  std::unordered_set<const Node*> attentions_, lowered_attentions_;
  std::vector<Node*> ordered_;
  std::unordered_map<const Node*, Operation> operations_;
  std::unordered_map<const Node*, int> labels_;
  std::unordered_map<Value*, Value*> casts_;
  std::unordered_map<const void*, Value*> constants_;  // by tensor
  std::vector<std::pair<Value*, Node*>> converted_;
  std::unordered_set<const Node*> converted_nodes_;
};

bool insertCasts(torch::jit::Graph& graph, PassContext& context) {
  const OptimizeOptions& options = context.options;
  if (options.precision == Precision::kBf16) return CastInserter(graph, context, kBf16Floats, nullptr).run();
  if (options.precision == Precision::kFp16) return CastInserter(graph, context, kFp16Floats, nullptr).run();
  if (options.precision != Precision::kInt8 || options.quantization_recipe.empty()) return false;
  RecipeWishes wishes;
  for (const RecipeNode& node : recipeFromText(options.quantization_recipe).nodes) {
    if (node.precision == "bf16") wishes.bf16.insert(node.key);
    if (node.precision == "fp32") wishes.fp32.insert(node.key);
  }
  const auto& overrides = options.precision_overrides;
  const bool decided = std::any_of(overrides.begin(), overrides.end(),
                                   [](const std::string& text) { return text.find("=bf16") != std::string::npos; });
  wishes.any_bf16 = decided || !wishes.bf16.empty();
  return CastInserter(graph, context, kBf16Floats, &wishes).run();
}

}  // namespace

const Pass kInsertCasts = {"insert-casts",
                           "Computes convolutions and products in BF16 or FP16, with casts where the precisions meet.",
                           &insertCasts};

}  // namespace ipex_studio

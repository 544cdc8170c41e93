// Computes in FP32 what was upcast to FP64 and downcast again, where both give the same bits.
//   before  %d = to(%x, Double)   %e = mul(%d, %two)   %f = relu(%e)   %y = to(%f, Float)
//   after   %e = mul(%x, %two)    %y = relu(%e)
// FP32 numbers stay FP32 numbers in operators that choose, negate or move them (relu, clamp, abs, views, pooling by the
// maximum), and such operators round alike before and after. One sum, product, quotient or square root may stand among
// them: its FP64 result is rounded to FP32 as if it had been exact (S. A. Figueroa, When is double rounding innocuous?,
// SIGNUM 1995: true where the larger format has 2p + 2 digits). Numbers and constants must be FP32 numbers.
// Declines: value-may-be-aliased-or-written, value-is-graph-output. Runs after fold-constants, which makes tables
// constant. Numerics: none changed.
#include <algorithm>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool isDtype(const Value* value, at::ScalarType dtype) {
  return value->type()->kind() == c10::TypeKind::TensorType && knownDtype(value) == dtype;
}

bool isCast(const Node* node, at::ScalarType from, at::ScalarType to) {
  return node->kind() == aten::to && node->inputs().size() == 5 && isDtype(node->input(0), from) &&
         constantInt(node->input(1)) == static_cast<std::int64_t>(to) && isNone(node->input(4));
}

bool isFloatNumber(double number) { return static_cast<double>(static_cast<float>(number)) == number; }

// A constant in double precision that FP32 holds exactly.
bool isExactConstant(const Value* value) {
  const auto tensor = constantTensor(value);
  if (!tensor || tensor->scalar_type() != at::kDouble) return false;
  return tensor->to(at::kFloat).to(at::kDouble).equal(*tensor);
}

// Results are operands in other places.
bool movesNumbers(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {
      "aten::reshape", "aten::view",  "aten::permute", "aten::transpose", "aten::flatten", "aten::unsqueeze",
      "aten::squeeze", "aten::slice", "aten::select",  "aten::expand",    "aten::t",       "aten::contiguous"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

// Results are operands, their negatives, or bounds: no rounding.
bool choosesNumbers(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {
      "aten::relu", "aten::relu6", "aten::clamp",   "aten::clamp_min", "aten::clamp_max", "aten::hardtanh",
      "aten::abs",  "aten::neg",   "aten::maximum", "aten::minimum",   "aten::clone",     "aten::max_pool2d"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

bool roundsOnce(const Node* node) {
  const auto kind = node->kind();
  if ((kind == aten::add || kind == aten::sub) && node->inputs().size() == 3)
    return constantNumber(node->input(2)) == 1;
  if ((kind == aten::mul || kind == aten::div) && node->inputs().size() == 2) return true;
  return kind == aten::sqrt;
}

struct Upcast {
  std::vector<Node*> nodes;     // between the casts, in the order that they run
  std::vector<Node*> upcasts;   // the casts to double precision
  std::vector<Value*> sources;  // in FP32
  bool rounds = false;
};

// Reads what a cast to FP32 reads, back to casts from FP32.
class UpcastReader {
 public:
  explicit UpcastReader(const Node* downcast) : block_(downcast->owningBlock()) {}

  // `user`: the only reader. `may_round`: an operator that rounds may stand here, or before it.
  bool read(Value* value, const Node* user, bool may_round, Upcast* found) {
    if (isExactConstant(value)) return true;
    Node* node = value->node();
    if (isCast(node, at::kFloat, at::kDouble)) return readUpcast(node, found);
    if (!isDtype(value, at::kDouble) || !usedOnlyBy(value, user) || node->owningBlock() != block_) return false;
    if (node->outputs().size() != 1 || found->nodes.size() >= kMaxNodes) return false;
    const bool rounds = roundsOnce(node);
    if (rounds ? !may_round || found->rounds : !movesNumbers(node) && !choosesNumbers(node)) return false;
    found->rounds |= rounds;
    // One of several operands of an operator that chooses may be rounded: rounding keeps the order of numbers.
    for (Value* input : node->inputs()) {
      if (!readOperand(input, node, may_round && !rounds, found)) return false;
    }
    found->nodes.push_back(node);
    return true;
  }

 private:
  static constexpr std::size_t kMaxNodes = 32;

  static bool readUpcast(Node* node, Upcast* found) {
    // Callers may pass arguments in another precision.
    if (node->input(0)->node()->kind() == torch::jit::prim::Param) return false;
    found->upcasts.push_back(node);
    found->sources.push_back(node->input(0));
    return true;
  }

  bool readOperand(Value* input, const Node* user, bool may_round, Upcast* found) {
    if (input->type()->kind() == c10::TypeKind::TensorType) return read(input, user, may_round, found);
    if (movesNumbers(user)) return true;
    const auto constant = torch::jit::toIValue(input);
    if (const auto number = constantNumber(input)) return isFloatNumber(*number);
    return constant || constantInts(input);
  }

  const torch::jit::Block* block_;
};

// True if the result is a view of the source: nothing between the casts computes.
bool onlyMoves(const Upcast& match) { return std::all_of(match.nodes.begin(), match.nodes.end(), movesNumbers); }

std::optional<Upcast> matchUpcast(PassContext& context, Node* cast, Decline* why) {
  if (!isCast(cast, at::kDouble, at::kFloat)) return std::nullopt;
  Upcast match;
  if (!UpcastReader(cast).read(cast->input(0), cast, true, &match) || match.sources.empty()) return std::nullopt;
  for (Value* source : match.sources) {
    if (context.mayBeWritten(source)) *why = {reasons::kAliased, "What is upcast may be written to in between."};
  }
  if (!*why && onlyMoves(match)) *why = checkSameValue(context, cast->output(), match.sources.front(), false);
  return match;
}

// Makes the nodes between the casts once more, in FP32.
class Narrower {
 public:
  Narrower(Rewriter& rewriter, Node* cast) : rewriter_(rewriter), cast_(cast) {}

  Value* narrowed(Value* value) {
    if (const auto made = made_.find(value); made != made_.end()) return made->second;
    if (!isDtype(value, at::kDouble)) return value;
    if (const auto tensor = constantTensor(value)) return rewriter_.constant(tensor->to(at::kFloat), cast_);
    return value->node()->input(0);  // the source of a cast
  }

  void make(Node* node) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(narrowed(input));
    Node* narrow = rewriter_.create(node->kind().toQualString(), inputs, cast_);
    narrow->output()->setType(node->output()->type()->expect<c10::TensorType>()->withScalarType(at::kFloat));
    made_[node->output()] = narrow->output();
  }

 private:
  Rewriter& rewriter_;
  Node* cast_;
  std::unordered_map<Value*, Value*> made_;
};

void rewriteUpcast(Rewriter& rewriter, Node* cast, const Upcast& match) {
  Narrower narrower(rewriter, cast);
  for (Node* node : match.nodes) narrower.make(node);
  std::vector<Node*> consumed = match.upcasts;
  consumed.insert(consumed.end(), match.nodes.begin(), match.nodes.end());
  consumed.push_back(cast);
  rewriter.replace(consumed, cast->output(), narrower.narrowed(cast->input(0)),
                   "double precision changed nothing here");
}

bool eliminateUpcast(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::to"}), matchUpcast, rewriteUpcast);
}

}  // namespace

const Pass kEliminateUpcast = {
    "eliminate-upcast", "Computes in FP32 what double precision does not change.", &eliminateUpcast, {"aten::to"}};

}  // namespace ipex_studio

// Computes what is written by a mask for all elements, and chooses, where that is elementwise in what the mask reads.
//   before  %e = index(%x, [%mask])   %f = mul(%e, %k)   %y = index_put(%x, [%mask], %f, False)
//   after   %f' = mul(%x, %k)   %y = where(%mask, %f', %x)
// The sizes of the result no longer depend on the data, so that all of it goes into a region. What is written may be
// one value for all rows, or a chain of elementwise operators on x (or other tensors of its sizes) read by the same
// mask, numbers, and tensors of the axes behind those of the mask. The mask is the same value, or the same comparison.
// With accumulate, x is added. Masks other than comparisons of x are asked for its sizes at every call.
// Declines: unsupported-dtype (other than FP32), value-may-be-aliased-or-written.
// Runs after canonicalize-inplace and record-shapes, before canonicalize-mask-places. Numerics: none.
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/mask_index.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kMaxChain = 8;

bool isElementwise(const Node* node) {
  static const std::unordered_set<std::string> kinds = {
      "aten::abs",      "aten::add",        "aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::cos",
      "aten::div",      "aten::elu",        "aten::erf",   "aten::exp",       "aten::floor",     "aten::gelu",
      "aten::hardtanh", "aten::leaky_relu", "aten::log",   "aten::mul",       "aten::neg",       "aten::pow",
      "aten::relu",     "aten::round",      "aten::rsqrt", "aten::rsub",      "aten::sigmoid",   "aten::silu",
      "aten::sin",      "aten::softplus",   "aten::sqrt",  "aten::square",    "aten::sub",       "aten::tanh"};
  return kinds.count(node->kind().toQualString()) != 0 && node->outputs().size() == 1;
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// True if both have the same value: they are one, or the same operator on the same operands.
bool isSameMask(const Value* one, const Value* other) {
  if (one == other) return true;
  const Node *a = one->node(), *b = other->node();
  if (a->kind() != b->kind() || !isComparison(a) || a->inputs().size() != b->inputs().size()) return false;
  for (std::size_t i = 0; i < a->inputs().size(); ++i) {
    const auto first = constantNumber(a->input(i)), second = constantNumber(b->input(i));
    if (a->input(i) != b->input(i) && (!first || first != second)) return false;
  }
  return true;
}

struct MaskedUpdate {
  MaskIndex index;
  std::vector<Node*> chain;                  // operators on what the mask reads, operands first
  std::unordered_map<Value*, Value*> whole;  // of what the mask reads: the tensor that it is read from
  std::vector<const Value*> compared;        // what masks compare that are made anew for each read
  bool adds = false;
};

class UpdateMatch {
 public:
  UpdateMatch(Node* write, MaskedUpdate& found) : write_(write), found_(found) {}

  // False if the value is not elementwise in what the mask reads.
  bool follow(Value* value) {
    if (!isTensor(value) || found_.whole.count(value) != 0 || seen_.count(value) != 0) return true;
    Value* x = write_->input(0);
    if (isOneForAllRows(value, x, found_.index)) return knownDtype(value) == at::kFloat;
    Node* node = value->node();
    if (node->kind() == torch::jit::aten::index) {
      const auto read = readMaskIndex(node);
      const bool fits = read && read->axis == found_.index.axis && isSameMask(read->mask, found_.index.mask) &&
                        knownSizes(node->input(0)) == knownSizes(x) && knownDtype(node->input(0)) == at::kFloat;
      if (fits) found_.whole.emplace(value, node->input(0));
      if (fits && read->mask != found_.index.mask) {
        for (const Value* operand : read->mask->node()->inputs()) {
          if (isTensor(operand)) found_.compared.push_back(operand);
        }
      }
      return fits;
    }
    if (!isElementwise(node) || found_.chain.size() == kMaxChain || knownDtype(value) != at::kFloat) return false;
    for (Value* operand : node->inputs()) {
      if (!follow(operand)) return false;
    }
    seen_.insert(value);
    found_.chain.push_back(node);
    return true;
  }

 private:
  Node* write_;
  MaskedUpdate& found_;
  std::unordered_set<const Value*> seen_;
};

// True if a value that is read again may be another one by then.
bool mayChange(PassContext& context, const MaskedUpdate& match) {
  for (Node* step : match.chain) {
    if (context.mayBeWritten(step->output())) return true;
  }
  for (const Value* operand : match.compared) {
    if (context.mayBeWritten(operand)) return true;
  }
  for (const auto& [rows, whole] : match.whole) {
    if (context.mayBeWritten(rows) || context.mayBeWritten(whole)) return true;
  }
  return false;
}

std::optional<MaskedUpdate> matchUpdate(PassContext& context, Node* node, Decline* why) {
  const auto index = readMaskIndex(node);
  const auto adds = constantBool(node->input(3));
  if (!index || !adds) return std::nullopt;
  MaskedUpdate found{*index, {}, {}, {}, *adds};
  if (!UpdateMatch(node, found).follow(node->input(2))) return std::nullopt;
  if (knownDtype(node->input(0)) != at::kFloat || knownDtype(node->input(2)) != at::kFloat) {
    *why = {reasons::kUnsupportedDtype, "What is written by the mask is not FP32."};
  } else if (mayChange(context, found)) {
    *why = {reasons::kAliased, "What the mask reads may be written to before it is written."};
  }
  return found;
}

void rewriteUpdate(Rewriter& rewriter, Node* node, MaskedUpdate& match) {
  NodeWriter write(rewriter, node), masks(rewriter, node, at::kBool);
  Value* const x = node->input(0);
  const std::vector<std::int64_t> sizes = *knownSizes(x);
  std::unordered_map<Value*, Value*> whole = match.whole;
  for (Node* step : match.chain) {
    std::vector<Value*> operands;
    for (Value* operand : step->inputs()) {
      const auto made = whole.find(operand);
      operands.push_back(made == whole.end() ? operand : made->second);
    }
    whole[step->output()] = write.make(step->kind().toQualString(), operands, sizes);
  }
  const auto made = whole.find(node->input(2));
  Value* updated = made == whole.end() ? node->input(2) : made->second;
  if (match.adds) updated = write.make("aten::add", {x, updated, write.number(1)}, sizes);
  Value* const mask = maskOfRows(masks, match.index);
  Value* result = write.make("aten::where", {mask, updated, x}, sizes);
  rewriter.replace({node}, node->output(), result, "chooses between old and new values");
}

bool canonicalizeMaskedUpdate(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::index_put"}), matchUpdate, rewriteUpdate);
}

}  // namespace

const Pass kCanonicalizeMaskedUpdate = {"canonicalize-masked-update",
                                        "Chooses between old and new values where a mask writes elementwise ones.",
                                        &canonicalizeMaskedUpdate,
                                        {"aten::index_put"}};

}  // namespace ipex_studio

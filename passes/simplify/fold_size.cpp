// Replaces sizes that the weights decide by numbers: whatever the inputs are, the model runs with these sizes or not at
// all.
//   before  %y = linear(%x, W[288,96], %b)   %c = aten::size(%y, 2)   %h = aten::floordiv(%c, 3)
//   after   %h = aten::floordiv(288, 3)
// The weights of a linear that reads %y in the same block decide its last size, too. Follows sizes through the
// operators between weights and questions: element-wise ones, normalizations, products, convolutions, permutations,
// views with constant entries, slices of other dimensions, concatenations. Traced head sizes, widths and scales become
// constants this way, and what is computed from them does in fold-constants.
// Declines: nothing with a remark: other sizes are the inputs' business. A list that anything but readers uses, such as
// a loop that appends to it, decides no size.
// Runs before canonicalize-size-arithmetic and fold-constants. Numerics: exact.
#include <unordered_map>
#include <vector>

#include "core/graph/elementwise.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kOpen = -1;  // decided by the inputs
using Sizes = std::vector<std::int64_t>;

class Decided {
 public:
  // The sizes of a tensor as far as they are decided; empty when not even the rank is known.
  Sizes of(const Value* value) const {
    if (const auto tensor = constantTensor(value)) return tensor->sizes().vec();
    const auto found = sizes_.find(value);
    const auto known = found == sizes_.end() ? knownSizes(value) : std::nullopt;
    Sizes sizes = found != sizes_.end() ? found->second : known ? Sizes(known->size(), kOpen) : Sizes();
    if (!sizes.empty() && sizes.back() == kOpen) sizes.back() = demandedWidth(value);
    return sizes;
  }

  // The last dimension that readers with weights demand, if they run whenever the value exists.
  static std::int64_t demandedWidth(const Value* value) {
    constexpr std::size_t kLookedAt = 32;
    const auto& uses = value->uses();
    for (std::size_t u = 0; u < std::min(uses.size(), kLookedAt); ++u) {
      const Node* reader = uses[u].user;
      if (uses[u].offset != 0 || reader->kind() != c10::aten::linear ||
          reader->owningBlock() != value->node()->owningBlock())
        continue;
      const auto weight = constantTensor(reader->input(1));
      if (weight && weight->dim() == 2) return weight->size(1);
    }
    return kOpen;
  }

  // An integer, or a 0-dimensional tensor that tracing made of one.
  std::optional<std::int64_t> integer(const Value* value) const {
    if (const auto constant = constantInt(value)) return constant;
    const auto found = integers_.find(value);
    if (found != integers_.end()) return found->second;
    const auto tensor = constantTensor(value);
    if (tensor && tensor->dim() == 0 && tensor->scalar_type() == at::kLong) return tensor->item<std::int64_t>();
    return std::nullopt;
  }

  void read(const Node* node) {
    if (node->outputs().size() != 1) return;
    const std::string kind = node->kind().toQualString();
    if (readInteger(kind, node)) return;
    const auto known = knownSizes(node->output());
    if (!known) return;
    Sizes sizes = infer(kind, node, known->size());
    if (sizes.size() == known->size()) sizes_[node->output()] = std::move(sizes);
  }

 private:
  bool readInteger(const std::string& kind, const Node* node) {
    if (kind == "aten::size" && node->inputs().size() == 2) {
      const Sizes sizes = of(node->input(0));
      const auto axis = constantInt(node->input(1));
      const auto rank = static_cast<std::int64_t>(sizes.size());
      if (axis && *axis >= -rank && *axis < rank) {
        const std::int64_t size = sizes[static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis)];
        if (size != kOpen) integers_[node->output()] = size;
      }
      return true;
    }
    if (node->inputs().empty()) return false;
    const auto first = integer(node->input(0));
    const bool known = first.has_value();
    const std::int64_t left = first.value_or(0);
    if ((kind == "prim::NumToTensor" || kind == "aten::Int" || kind == "aten::ScalarImplicit" ||
         kind == "aten::IntImplicit") &&
        known) {
      integers_[node->output()] = left;
      return true;
    }
    const bool divides = kind == "aten::floordiv" || kind == "aten::floor_divide";
    if ((!divides && kind != "aten::mul") || node->inputs().size() != 2) return false;
    const std::int64_t right = integer(node->input(1)).value_or(0);
    std::int64_t product = 0;
    if (!known || left < 0 || right <= 0 || __builtin_mul_overflow(left, right, &product)) return false;
    integers_[node->output()] = divides ? left / right : product;
    return true;
  }

  Sizes infer(const std::string& kind, const Node* node, std::size_t rank) const {
    static const std::unordered_map<std::string, int> kSame = {
        {"aten::layer_norm", 0},  {"aten::batch_norm", 0}, {"aten::group_norm", 0}, {"aten::softmax", 0},
        {"aten::log_softmax", 0}, {"aten::dropout", 0},    {"aten::contiguous", 0}, {"aten::clone", 0},
        {"aten::detach", 0},      {"aten::to", 0},         {"aten::relu_", 0},      {"aten::roll", 0},
        {"aten::masked_fill", 0}};
    const auto input = [&](std::size_t i) { return i < node->inputs().size() ? of(node->input(i)) : Sizes(); };
    if (kSame.count(kind) != 0 || readUnary(node)) return normalized(kind, node, input(0));
    if (kind == "aten::linear") return withLast(input(0), input(1), 0);
    if (kind == "aten::matmul" || kind == "aten::bmm" || kind == "aten::mm") return product(input(0), input(1), rank);
    if (kind == "aten::convolution" || kind == "aten::_convolution" || kind == "aten::conv2d" || kind == "aten::conv1d")
      return convolved(kind, node, rank);
    if (kind == "aten::embedding" && !input(0).empty()) {
      Sizes sizes(rank, kOpen);
      sizes.back() = input(0).back();
      return sizes;
    }
    if (kind == "aten::permute" || kind == "aten::transpose") return permuted(kind, node, input(0));
    if (kind == "aten::view" || kind == "aten::reshape") return viewed(node, rank);
    if (kind == "aten::slice" || kind == "aten::select" || kind == "aten::unsqueeze")
      return without(kind, node, input(0));
    if (kind == "aten::cat") return joined(node, rank);
    const bool binary = kind == "aten::add" || kind == "aten::sub" || kind == "aten::mul" || kind == "aten::div";
    return binary && hasRank(node->input(0)) && hasRank(node->input(1)) ? broadcast(input(0), input(1), rank) : Sizes();
  }

  static bool hasRank(const Value* value) {
    return !value->type()->isSubtypeOf(*c10::TensorType::get()) || knownSizes(value).has_value();
  }

  static bool readUnary(const Node* node) { return readUnaryPostOp(const_cast<Node*>(node)).has_value(); }

  static Sizes normalized(const std::string& kind, const Node* node, Sizes sizes) {
    const auto last = kind == "aten::layer_norm" ? constantInts(node->input(1)) : std::nullopt;
    if (last && last->size() <= sizes.size())
      std::copy(last->begin(), last->end(), sizes.end() - static_cast<std::ptrdiff_t>(last->size()));
    return sizes;
  }

  static Sizes withLast(Sizes x, const Sizes& weight, std::size_t axis) {
    if (x.empty() || weight.size() <= axis) return {};
    x.back() = weight[axis];
    return x;
  }

  static Sizes product(const Sizes& a, const Sizes& b, std::size_t rank) {
    if (a.size() != rank || b.size() < 2 || rank < 2) return {};
    Sizes sizes(rank, kOpen);
    sizes[rank - 1] = b.back();
    sizes[rank - 2] = a[rank - 2];
    return sizes;
  }

  Sizes convolved(const std::string& kind, const Node* node, std::size_t rank) const {
    const Sizes weight = of(node->input(1));
    const bool plain = kind == "aten::conv2d" || kind == "aten::conv1d" || constantBool(node->input(6)) == false;
    if (weight.empty() || rank < 3 || !plain) return {};
    Sizes sizes(rank, kOpen);
    if (rank == weight.size()) sizes[1] = weight[0];
    return sizes;
  }

  static Sizes permuted(const std::string& kind, const Node* node, const Sizes& x) {
    const auto rank = static_cast<std::int64_t>(x.size());
    const auto wrapped = [rank](std::int64_t axis) { return static_cast<std::size_t>(axis < 0 ? axis + rank : axis); };
    Sizes sizes = x;
    if (kind == "aten::transpose") {
      const auto a = constantInt(node->input(1)), b = constantInt(node->input(2));
      if (!a || !b || rank == 0) return {};
      std::swap(sizes.at(wrapped(*a)), sizes.at(wrapped(*b)));
      return sizes;
    }
    const auto order = constantInts(node->input(1));
    if (!order || order->size() != x.size()) return {};
    for (std::size_t axis = 0; axis < x.size(); ++axis) sizes[axis] = x.at(wrapped((*order)[axis]));
    return sizes;
  }

  Sizes viewed(const Node* node, std::size_t rank) const {
    Sizes sizes;
    if (const auto constant = constantInts(node->input(1))) {
      sizes = *constant;
    } else if (const auto entries = decidedElements(node->input(1))) {
      for (const Value* entry : *entries) sizes.push_back(integer(entry).value_or(kOpen));
    }
    return sizes.size() == rank ? sizes : Sizes();
  }

  static Sizes without(const std::string& kind, const Node* node, Sizes x) {
    const auto given = constantInt(node->input(1));
    if (!given || x.empty()) return {};
    const auto rank = static_cast<std::int64_t>(x.size()) + (kind == "aten::unsqueeze" ? 1 : 0);
    const std::int64_t axis = *given < 0 ? *given + rank : *given;
    if (axis < 0 || axis >= rank) return {};
    if (kind == "aten::unsqueeze") {
      x.insert(x.begin() + axis, 1);
    } else if (kind == "aten::select") {
      x.erase(x.begin() + axis);
    } else {
      x[static_cast<std::size_t>(axis)] = kOpen;
    }
    return x;
  }

  Sizes joined(const Node* node, std::size_t rank) const {
    const auto given = constantInt(node->input(1));
    const auto parts = decidedElements(node->input(0));
    if (!given || !parts || rank == 0) return {};
    const auto axis = static_cast<std::size_t>(*given < 0 ? *given + static_cast<std::int64_t>(rank) : *given);
    Sizes sizes(rank, kOpen);
    std::int64_t sum = 0;
    for (const Value* part : *parts) {
      const Sizes each = of(part);
      if (each.size() != rank || axis >= rank) return {};
      for (std::size_t a = 0; a < rank; ++a) {
        if (a != axis && each[a] != kOpen) sizes[a] = each[a];
      }
      sum = sum == kOpen || each[axis] == kOpen ? kOpen : sum + each[axis];
    }
    sizes[axis] = sum;
    return sizes;
  }

  // A decided size other than 1 is the result's, and so is a 1 on both sides.
  static Sizes broadcast(const Sizes& a, const Sizes& b, std::size_t rank) {
    Sizes sizes(rank, kOpen);
    for (std::size_t back = 1; back <= rank; ++back) {
      const std::int64_t left = back <= a.size() ? a[a.size() - back] : 1,
                         right = back <= b.size() ? b[b.size() - back] : 1;
      std::int64_t& size = sizes[rank - back];
      if (left > 1) size = left;
      if (right > 1) size = right;
      if (left == 1) size = right;
      if (right == 1) size = left;
    }
    return sizes;
  }

  std::unordered_map<const Value*, Sizes> sizes_;
  std::unordered_map<const Value*, std::int64_t> integers_;
};

void rewriteSize(Rewriter& rewriter, Node* node, std::int64_t size) {
  rewriter.replace({node}, node->output(), rewriter.constant(size, node), "a size that the weights decide");
}

bool foldSize(torch::jit::Graph& graph, PassContext& context) {
  Decided decided;
  const auto match = [&](PassContext&, const Node* node, Decline*) -> std::optional<std::int64_t> {
    decided.read(node);
    if (node->kind() != c10::aten::size || node->inputs().size() != 2 || constantTensor(node->input(0)))
      return std::nullopt;
    return decided.integer(node->output());
  };
  return rewriteMatches(context, allNodes(graph), match, rewriteSize);
}

}  // namespace

const Pass kFoldSize = {"fold-size", "Replaces sizes that the weights decide by numbers.", &foldSize, {"aten::size"}};

}  // namespace ipex_studio

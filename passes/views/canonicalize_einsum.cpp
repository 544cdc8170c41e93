// Writes einsum as the products, sums and permutations it stands for, which other passes and plans know.
//   before  %y = einsum("bid,bjd->bij", [%q, %k])
//   after   %t = permute(%k, [0, 2, 1])   %y = matmul(%q, %t)
// Operands are taken from left to right. Of two, labels that only one has and nobody reads any more are summed first;
// labels of both are batch dimensions where they are still read and the product's inner dimension otherwise; where
// there are several inner, row or column dimensions they are flattened, and the result is given its shape again.
// Without inner dimensions the product is a mul. `...` counts the dimensions that the example had.
// Declines: operand-not-constant (equation, list), unknown-shape, unsupported-dtype, unsupported-attribute (a label
// twice in one operand), operand-broadcasts-result (a size of 1 beside another), value-may-be-aliased-or-written.
// Runs before fold-constants and all that looks for products. Numerics: sums in another order.
#include <functional>
#include <numeric>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"
#include "passes/views/einsum_equation.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// The labels of a product's operands by their part in it.
struct Split {
  std::string batch, rows, columns, inner;
};

// Makes the nodes. Every result has its type, as if it had been seen in the example run.
class EinsumWriter {
 public:
  EinsumWriter(Rewriter& rewriter, Node* before, const EinsumEquation& equation)
      : rewriter_(rewriter), before_(before), equation_(equation) {}

  EinsumTerm write() {
    EinsumTerm sum = equation_.terms[0];
    for (std::size_t t = 1; t < equation_.terms.size(); ++t) {
      std::string wanted = equation_.result;
      const bool last = t + 1 == equation_.terms.size();
      for (std::size_t later = t + 1; later < equation_.terms.size(); ++later) wanted += equation_.terms[later].labels;
      sum = product(sum, equation_.terms[t], wanted, last);
    }
    sum = withoutOthers(sum, equation_.result);
    return permuted(sum, equation_.result);
  }

 private:
  Value* make(const char* kind, std::vector<Value*> inputs, const std::vector<std::int64_t>& sizes) {
    Node* node = rewriter_.create(kind, inputs, before_);
    node->output()->setType(c10::TensorType::createContiguous(*knownDtype(equation_.terms[0].value), at::kCPU, sizes));
    return node->output();
  }
  Value* number(std::size_t value) { return rewriter_.constant(static_cast<std::int64_t>(value), before_); }

  std::vector<std::int64_t> sizesOf(const std::string& labels) const {
    std::vector<std::int64_t> sizes;
    for (const char label : labels) sizes.push_back(equation_.sizes.at(label));
    return sizes;
  }

  EinsumTerm permuted(const EinsumTerm& x, const std::string& labels) {
    if (x.labels == labels) return x;
    std::vector<std::int64_t> order;
    for (const char label : labels) order.push_back(static_cast<std::int64_t>(x.labels.find(label)));
    return {make("aten::permute", {x.value, rewriter_.constant(order, before_)}, sizesOf(labels)), labels};
  }

  // Sums over all labels that are not wanted.
  EinsumTerm withoutOthers(const EinsumTerm& x, const std::string& wanted) {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < x.labels.size(); ++axis) {
      if (!hasLabel(wanted, x.labels[axis])) axes.push_back(static_cast<std::int64_t>(axis));
    }
    if (axes.empty()) return x;
    const std::string labels = selectLabels(x.labels, [&](char label) { return hasLabel(wanted, label); });
    Value* no = rewriter_.constant(false, before_);
    return {
        make("aten::sum", {x.value, rewriter_.constant(axes, before_), no, rewriter_.none(before_)}, sizesOf(labels)),
        labels};
  }

  EinsumTerm product(EinsumTerm a, EinsumTerm b, const std::string& wanted, bool last) {
    a = withoutOthers(a, wanted + b.labels);
    b = withoutOthers(b, wanted + a.labels);
    std::string order = equation_.result;
    if (!last) order = a.labels + selectLabels(b.labels, [&](char label) { return !hasLabel(a.labels, label); });
    // The first labels of the result are the rows.
    const std::string of_one =
        selectLabels(order, [&](char label) { return hasLabel(a.labels, label) != hasLabel(b.labels, label); });
    if (last && !of_one.empty() && hasLabel(b.labels, of_one[0])) std::swap(a, b);
    Split split;
    split.batch = selectLabels(order, [&](char label) {
      return hasLabel(a.labels, label) && hasLabel(b.labels, label) && hasLabel(wanted, label);
    });
    split.rows =
        selectLabels(order, [&](char label) { return hasLabel(a.labels, label) && !hasLabel(b.labels, label); });
    split.columns =
        selectLabels(order, [&](char label) { return !hasLabel(a.labels, label) && hasLabel(b.labels, label); });
    split.inner =
        selectLabels(a.labels, [&](char label) { return hasLabel(b.labels, label) && !hasLabel(split.batch, label); });
    return split.inner.empty() ? outer(a, b, split) : inner(a, b, split);
  }

  // No sums: dimensions of size 1 where an operand has none.
  EinsumTerm outer(const EinsumTerm& a, const EinsumTerm& b, const Split& split) {
    Value* left = permuted(a, split.batch + split.rows).value;
    std::vector<std::int64_t> sizes = sizesOf(split.batch + split.rows);
    for (std::size_t column = 0; column < split.columns.size(); ++column) left = unsqueezed(left, sizes.size(), &sizes);
    Value* right = permuted(b, split.batch + split.columns).value;
    sizes = sizesOf(split.batch + split.columns);
    for (std::size_t row = 0; row < split.rows.size(); ++row) right = unsqueezed(right, split.batch.size(), &sizes);
    const std::string labels = split.batch + split.rows + split.columns;
    return {make("aten::mul", {left, right}, sizesOf(labels)), labels};
  }

  EinsumTerm inner(const EinsumTerm& a, const EinsumTerm& b, const Split& split) {
    const std::size_t batch = split.batch.size();
    // Beside a matrix any number of row dimensions may stand.
    const bool rows_stay = batch == 0 && !split.rows.empty();
    std::vector<std::int64_t> left_sizes = sizesOf(split.batch + split.rows + split.inner);
    std::vector<std::int64_t> right_sizes = sizesOf(split.batch + split.inner + split.columns);
    Value* left = permuted(a, split.batch + split.rows + split.inner).value;
    left = merged(left, batch + split.rows.size(), split.inner.size(), &left_sizes);
    if (!rows_stay) left = merged(left, batch, split.rows.size(), &left_sizes);
    Value* right = permuted(b, split.batch + split.inner + split.columns).value;
    right = merged(right, batch + split.inner.size(), split.columns.size(), &right_sizes);
    right = merged(right, batch, split.inner.size(), &right_sizes);
    std::vector<std::int64_t> sizes = left_sizes;
    sizes.back() = right_sizes.back();
    Value* product = make("aten::matmul", {left, right}, sizes);
    const std::string labels = split.batch + split.rows + split.columns;
    return {shaped(product, split, rows_stay, std::move(sizes)), labels};
  }

  // Dimensions [first, first + count) as one; of none a new one.
  Value* merged(Value* x, std::size_t first, std::size_t count, std::vector<std::int64_t>* sizes) {
    if (count == 1) return x;
    if (count == 0) return unsqueezed(x, first, sizes);
    const auto begin = sizes->begin() + static_cast<std::ptrdiff_t>(first),
               end = begin + static_cast<std::ptrdiff_t>(count);
    *begin = std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
    sizes->erase(begin + 1, end);
    return make("aten::flatten", {x, number(first), number(first + count - 1)}, *sizes);
  }

  Value* unsqueezed(Value* x, std::size_t axis, std::vector<std::int64_t>* sizes) {
    sizes->insert(sizes->begin() + static_cast<std::ptrdiff_t>(axis), 1);
    return make("aten::unsqueeze", {x, number(axis)}, *sizes);
  }

  // Gives the product its rows and columns back.
  Value* shaped(Value* product, const Split& split, bool rows_stay, std::vector<std::int64_t> sizes) {
    const std::string labels = split.batch + split.rows + split.columns;
    if ((split.rows.size() > 1 && !rows_stay) || split.columns.size() > 1) {
      std::vector<Value*> shape;
      for (const char label : labels) shape.push_back(sizeOf(label));
      Node* list = rewriter_.create("prim::ListConstruct", shape, before_);
      list->output()->setType(c10::ListType::ofInts());
      return make("aten::reshape", {product, list->output()}, sizesOf(labels));
    }
    const auto squeezed = [&](std::size_t axis) {
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
      product = make("aten::squeeze", {product, number(axis)}, sizes);
    };
    if (split.columns.empty()) squeezed(sizes.size() - 1);
    if (split.rows.empty()) squeezed(split.batch.size());
    return product;
  }

  Value* sizeOf(char label) {
    const auto& [tensor, axis] = equation_.sources.at(label);
    Node* size = rewriter_.create("aten::size", {tensor, number(static_cast<std::size_t>(axis))}, before_);
    size->output()->setType(c10::IntType::get());
    return size->output();
  }

  Rewriter& rewriter_;
  Node* before_;
  const EinsumEquation& equation_;
};

Decline whyNot(PassContext& context, Node* node, EinsumEquation* equation) {
  if (Decline why = readEinsum(node, equation)) return why;
  for (const EinsumTerm& term : equation->terms) {
    if (context.mayBeWritten(term.value)) return {reasons::kAliased, "The graph writes to an operand of this einsum."};
  }
  if (context.mayBeWritten(node->output()))
    return {reasons::kAliased, "The graph writes to the result of this einsum."};
  return {};
}

std::optional<EinsumEquation> matchEinsum(PassContext& context, Node* node, Decline* why) {
  if (node->kind() != torch::jit::aten::einsum || node->inputs().size() < 2) return std::nullopt;
  EinsumEquation equation;
  *why = whyNot(context, node, &equation);
  const bool nothing = equation.terms.size() == 1 && equation.terms[0].labels == equation.result;
  if (nothing) return std::nullopt;
  return equation;
}

void rewriteEinsum(Rewriter& rewriter, Node* node, const EinsumEquation& equation) {
  const EinsumTerm result = EinsumWriter(rewriter, node, equation).write();
  result.value->setType(node->output()->type());
  rewriter.replace({node, node->input(1)->node()}, node->output(), result.value, "written out as products and sums");
}

bool canonicalizeEinsum(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeEinsum.needs), matchEinsum, rewriteEinsum);
}

}  // namespace

const Pass kCanonicalizeEinsum = {"canonicalize-einsum",
                                  "Writes einsum as the products and sums it stands for.",
                                  &canonicalizeEinsum,
                                  {"aten::einsum"}};

}  // namespace ipex_studio

// Writes a product of matrices as one where it is spelled out as a broadcast product and a sum over one dimension.
//   before  %a = unsqueeze(%x, 2)   %m = mul(%a, %w)   %y = sum(%m, [1])
//   after   %y = einsum("ab,bc->ac", [%x, squeeze(%w)])
// Dimensions of size 1 are taken to broadcast only where that does not depend on the inputs: added by unsqueeze, those
// of constants, and those that an operand of lower rank lacks.
// Declines: operand-not-constant (the dimensions), unknown-shape, unsupported-dtype, operand-broadcasts-result (a size
// of 1 that an input decides), not-profitable (nothing but an elementwise product is summed), producer-has-other-uses.
// Runs before canonicalize-einsum, which writes the product. Numerics: sums in another order.
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// An operand of the product without the dimensions that broadcast. `labels`: one letter per dimension that is left,
// that of the product's dimension.
struct ProductTerm {
  Value* value = nullptr;
  std::string labels;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> squeezed;  // dimensions of `value` to take away, last first
};

char labelOf(std::size_t dimension) { return static_cast<char>('a' + dimension); }

struct BroadcastProduct {
  ProductTerm terms[2];
  std::string result;
  std::vector<std::int64_t> sizes;
};

// Reads an operand through unsqueeze, whose dimensions broadcast; false: its sizes are not known.
bool readTerm(Value* operand, std::size_t rank, ProductTerm* term) {
  const auto sizes = knownSizes(operand);
  if (!sizes || sizes->size() > rank || knownDtype(operand) != at::kFloat) return false;
  std::vector<std::size_t> place(sizes->size());  // of each dimension of the value that is left, in the operand
  for (std::size_t d = 0; d < place.size(); ++d) place[d] = d;
  Value* value = operand;
  while (value->node()->kind() == c10::aten::unsqueeze) {
    auto dimension = constantInt(value->node()->input(1));
    if (!dimension) break;
    if (*dimension < 0) *dimension += static_cast<std::int64_t>(place.size());
    if (*dimension < 0 || *dimension >= static_cast<std::int64_t>(place.size())) break;
    place.erase(place.begin() + *dimension);
    value = value->node()->input(0);
  }
  if (!knownSizes(value)) return false;
  const bool constant = constantTensor(value).has_value();
  for (std::size_t d = 0; d < place.size(); ++d) {
    if (constant && (*sizes)[place[d]] == 1) {
      term->squeezed.insert(term->squeezed.begin(), static_cast<std::int64_t>(d));
      continue;
    }
    term->labels += labelOf(rank - sizes->size() + place[d]);
    term->sizes.push_back((*sizes)[place[d]]);
  }
  term->value = value;
  return true;
}

std::int64_t sizeAt(const ProductTerm& term, char label) {
  const std::size_t at = term.labels.find(label);
  return at == std::string::npos ? 0 : term.sizes[at];
}

// Decides whether the two are rows times columns.
Decline checkTerms(const BroadcastProduct& product, char inner, std::size_t rank) {
  bool rows = false, columns = false;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t a = sizeAt(product.terms[0], labelOf(d)), b = sizeAt(product.terms[1], labelOf(d));
    if (a == 0 && b == 0) return {reasons::kBroadcast, "A dimension of the broadcast product is in neither operand."};
    if (a > 0 && b > 0 && (a != b || a == 1))
      return {reasons::kBroadcast, "Inputs decide whether a dimension of size 1 broadcasts."};
    rows = rows || b == 0;
    columns = columns || a == 0;
  }
  if (sizeAt(product.terms[0], inner) == 0 || sizeAt(product.terms[1], inner) == 0 || !rows || !columns)
    return {reasons::kNotProfitable, "The sum is not over a product of rows and columns."};
  return {};
}

std::optional<BroadcastProduct> matchProduct(PassContext&, Node* node, Decline* why) {
  Node* mul = node->input(0)->node();
  if (node->inputs().size() != 4 || mul->kind() != c10::aten::mul) return std::nullopt;
  const auto sizes = knownSizes(mul->output());
  const auto dims = constantInts(node->input(1));
  if (!sizes || !dims || dims->size() != 1 || constantBool(node->input(2)) != false || !isNone(node->input(3)))
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const std::int64_t dimension = dims->front() < 0 ? dims->front() + rank : dims->front();
  if (dimension < 0 || dimension >= rank || rank > 20) return std::nullopt;
  BroadcastProduct product;
  for (std::size_t t = 0; t < 2; ++t) {
    if (!readTerm(mul->input(t), sizes->size(), &product.terms[t])) return std::nullopt;
  }
  *why = checkTerms(product, labelOf(static_cast<std::size_t>(dimension)), sizes->size());
  if (!*why && !usedOnlyBy(mul->output(), node))
    *why = {reasons::kOtherUses, "The broadcast product is read elsewhere, too."};
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d == dimension) continue;
    product.result += labelOf(static_cast<std::size_t>(d));
    product.sizes.push_back((*sizes)[static_cast<std::size_t>(d)]);
  }
  return product;
}

void rewriteProduct(Rewriter& rewriter, Node* node, BroadcastProduct& product) {
  NodeWriter writer(rewriter, node);
  std::vector<Value*> operands;
  for (ProductTerm& term : product.terms) {
    if (!term.squeezed.empty()) term.value = rewriter.constant(constantTensor(term.value)->reshape(term.sizes), node);
    operands.push_back(term.value);
  }
  const std::string equation = product.terms[0].labels + "," + product.terms[1].labels + "->" + product.result;
  Value* text = rewriter.constant(equation, node);
  Value* y = writer.make("aten::einsum", {text, writer.tensors("prim::ListConstruct", operands), writer.none()},
                         product.sizes);
  rewriter.replace({node->input(0)->node(), node}, node->output(), y, "matrix product");
}

bool canonicalizeBroadcastProduct(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::sum"}), matchProduct, rewriteProduct);
}

}  // namespace

const Pass kCanonicalizeBroadcastProduct = {
    "canonicalize-broadcast-product",
    "Writes products of matrices that are spelled out as broadcast products and sums as such.",
    &canonicalizeBroadcastProduct,
    {"aten::sum"}};

}  // namespace ipex_studio

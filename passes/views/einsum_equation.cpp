#include "passes/views/einsum_equation.h"

#include <cctype>

#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Digits stand for the dimensions of `...`, counted from the right.
std::string withEllipsis(std::string labels, std::size_t dimensions) {
  const std::size_t at = labels.find("...");
  if (at == std::string::npos) return labels;
  const std::string digits = "9876543210";
  return labels.replace(at, 3, digits.substr(digits.size() - std::min(dimensions, digits.size())));
}

// The result that a missing "->" implies: labels that appear once, in their order.
std::string impliedResult(const std::string& operands) {
  std::string once = selectLabels(operands, [&](char label) {
    return std::isalpha(static_cast<unsigned char>(label)) != 0 &&
           std::count(operands.begin(), operands.end(), label) == 1;
  });
  std::sort(once.begin(), once.end());
  return hasLabel(operands, '.') ? "..." + once : once;
}

std::vector<std::string> pieces(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Decline addTerm(Value* value, const std::string& text, std::size_t* ellipsis, EinsumEquation* equation) {
  const auto sizes = knownSizes(value);
  if (!sizes)
    return {reasons::kUnknownShape, "The dimensions of an operand of einsum were not seen in the example run."};
  const auto dtype = knownDtype(value);
  const bool same = equation->terms.empty() || dtype == knownDtype(equation->terms[0].value);
  if (!same || (dtype != at::kFloat && dtype != at::kComplexFloat))
    return {reasons::kUnsupportedDtype, "Only einsum of float32, or of complex numbers of such, is written out."};
  const std::size_t letters = text.size() - (hasLabel(text, '.') ? 3 : 0);
  if (letters > sizes->size())
    return {reasons::kShapeMismatch, "The equation names more dimensions than an operand has."};
  const std::string labels = withEllipsis(text, sizes->size() - letters);
  *ellipsis = std::max(*ellipsis, sizes->size() - letters);
  if (labels.size() != sizes->size())
    return {reasons::kShapeMismatch, "The equation names another number of dimensions than an operand has."};
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    if (labels.find(labels[axis]) != axis)
      return {reasons::kUnsupportedAttribute, "A label twice in one operand stays an einsum."};
    const auto [known, fresh] = equation->sizes.emplace(labels[axis], (*sizes)[axis]);
    if (known->second != (*sizes)[axis]) return {reasons::kBroadcast, "A dimension of one element meets a longer one."};
    if (fresh) equation->sources[labels[axis]] = {value, static_cast<int>(axis)};
  }
  equation->terms.push_back({value, labels});
  return {};
}

}  // namespace

Decline readEinsum(Node* node, EinsumEquation* equation) {
  const auto text = torch::jit::constant_as<std::string>(node->input(0));
  Node* list = node->input(1)->node();
  if (!text || list->kind() != torch::jit::prim::ListConstruct || list->output()->uses().size() != 1) {
    return {reasons::kNotConstant, "The equation or the list of operands of einsum is computed at run time."};
  }
  const std::string plain = selectLabels(*text, [](char c) { return c != ' '; });
  const std::size_t arrow = plain.find("->");
  const std::string operands = plain.substr(0, arrow);
  const std::vector<std::string> texts = pieces(operands, ',');
  if (texts.size() != list->inputs().size())
    return {reasons::kShapeMismatch, "The equation has another number of operands."};
  std::size_t ellipsis = 0;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    if (Decline why = addTerm(list->input(t), texts[t], &ellipsis, equation)) return why;
  }
  equation->result =
      withEllipsis(arrow == std::string::npos ? impliedResult(operands) : plain.substr(arrow + 2), ellipsis);
  for (const char label : equation->result) {
    if (equation->sizes.count(label) == 0)
      return {reasons::kUnsupportedAttribute, "A label of the result is in no operand."};
  }
  return {};
}

}  // namespace ipex_studio

// Gives every convolution one form: aten::convolution with full-length constant lists.
//   before  %y = conv2d(%x, %w, %b, [2], [1], [1], 1)
//   after   %y = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
// Also conv1d, conv3d, conv_transpose1d/2d/3d, _convolution, and padding by name: "valid" is 0; "same" is computed from
// the constant kernel, and where it is odd the extra column becomes a constant_pad_nd that fold-pad takes further.
// Declines: unsupported-attribute (not constant, "same" with a stride), weights-not-constant ("same"), unknown-shape
// and shape-mismatch (an input without batch dimension, which only the specific forms take), unsupported-dtype
// (complex). Runs before every pass that looks for convolutions. Numerics: none changed.
#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

namespace {

using Ints = std::vector<std::int64_t>;

// Index of each attribute among the inputs; -1 if the form lacks it.
struct ConvolutionForm {
  const char* kind;
  int spatial;  // 0: by the weights' rank
  bool transposed;
  int dilation, output_padding, groups;
};

constexpr ConvolutionForm kForms[] = {
    {"aten::conv1d", 1, false, 5, -1, 6},           {"aten::conv2d", 2, false, 5, -1, 6},
    {"aten::conv3d", 3, false, 5, -1, 6},           {"aten::conv_transpose1d", 1, true, 7, 5, 6},
    {"aten::conv_transpose2d", 2, true, 7, 5, 6},   {"aten::conv_transpose3d", 3, true, 7, 5, 6},
    {"aten::_convolution", 0, false, 5, 7, 8},      {"aten::convolution", 0, false, 5, 7, 8},
    {"aten::_convolution_mode", 0, false, 5, -1, 6}};
constexpr int kStride = 3;
constexpr int kPadding = 4;
constexpr int kTransposed = 6;  // of _convolution and convolution

struct Convolution {
  Ints stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
  Ints pad_before;  // of a constant_pad_nd to put in front: last dimension first, begin and end; empty: none
};

struct ConvolutionMatch {
  const ConvolutionForm* form = nullptr;
  Convolution convolution;
};

const ConvolutionForm* formOf(const Node* node) {
  const std::string kind = node->kind().toQualString();
  const auto* found = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const ConvolutionForm& form) { return kind == form.kind; });
  return found == std::end(kForms) ? nullptr : found;
}

// One element stands for all dimensions.
std::optional<Ints> listOf(const Value* value, int spatial) {
  auto list = constantInts(value);
  if (!list) return std::nullopt;
  if (list->size() == 1) list->resize(static_cast<std::size_t>(spatial), list->front());
  if (list->size() != static_cast<std::size_t>(spatial)) return std::nullopt;
  return list;
}

std::optional<std::string> stringOf(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant || !constant->isString()) return std::nullopt;
  return constant->toStringRef();
}

Decline readNamedPadding(const Node* node, const std::string& name, int spatial, Convolution& result) {
  result.padding.assign(static_cast<std::size_t>(spatial), 0);
  if (name == "valid") return {};
  if (name != "same") return {reasons::kUnsupportedAttribute, "Unknown padding \"" + name + "\"."};
  const auto weight = constantTensor(node->input(1));
  if (!weight) return {reasons::kWeightsNotConstant, "Padding \"same\" needs the kernel's size."};
  const bool strided = std::any_of(result.stride.begin(), result.stride.end(), [](auto step) { return step != 1; });
  if (strided) return {reasons::kUnsupportedAttribute, "Padding \"same\" is not defined with a stride."};
  bool odd = false;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t total = result.dilation[i] * (weight->size(i + 2) - 1);
    result.padding[i] = total / 2;
    odd |= total % 2 != 0;
  }
  if (!odd) return {};
  for (int i = spatial - 1; i >= 0; --i) {
    const std::int64_t total = result.dilation[i] * (weight->size(i + 2) - 1);
    result.pad_before.push_back(0);
    result.pad_before.push_back(total % 2);
  }
  return {};
}

Decline read(const Node* node, const ConvolutionForm& form, int spatial, Convolution& result) {
  const Decline not_constant = {reasons::kUnsupportedAttribute, "An attribute of this convolution is not constant."};
  const auto stride = listOf(node->input(kStride), spatial);
  const auto dilation = listOf(node->input(form.dilation), spatial);
  const auto groups = constantInt(node->input(form.groups));
  if (!stride || !dilation || !groups) return not_constant;
  result.stride = *stride;
  result.dilation = *dilation;
  result.groups = *groups;
  result.transposed = form.transposed;
  result.output_padding.assign(static_cast<std::size_t>(spatial), 0);
  if (form.output_padding >= 0) {
    const auto output_padding = listOf(node->input(form.output_padding), spatial);
    if (!output_padding) return not_constant;
    result.output_padding = *output_padding;
  }
  if (form.groups == 8) {
    const auto transposed = constantBool(node->input(kTransposed));
    if (!transposed) return not_constant;
    result.transposed = *transposed;
  }
  if (const auto name = stringOf(node->input(kPadding))) return readNamedPadding(node, *name, spatial, result);
  const auto padding = listOf(node->input(kPadding), spatial);
  if (!padding) return not_constant;
  result.padding = *padding;
  return {};
}

Decline checkOperands(const Node* node, const ConvolutionForm& form, int* spatial) {
  const auto weight = constantTensor(node->input(1));
  const auto sizes = knownSizes(node->input(0));
  *spatial = form.spatial;
  if (*spatial == 0 && weight) *spatial = static_cast<int>(weight->dim()) - 2;
  if (*spatial == 0 && sizes) *spatial = static_cast<int>(sizes->size()) - 2;
  if (*spatial < 1 || !sizes) return {reasons::kUnknownShape, "The rank of the convolution's input is not known."};
  if (sizes->size() != static_cast<std::size_t>(*spatial) + 2) {
    return {reasons::kShapeMismatch, "The input of this convolution has no batch dimension."};
  }
  if (weight && weight->is_complex()) return {reasons::kUnsupportedDtype, "Complex convolutions stay as they are."};
  return {};
}

// True if the node already has the canonical form; then no rewrite is counted.
bool isCanonical(const Node* node, int spatial) {
  if (node->kind() != torch::jit::aten::convolution) return false;
  const int lists[] = {kStride, kPadding, 5, 7};
  return std::all_of(std::begin(lists), std::end(lists), [&](int i) {
    const auto list = constantInts(node->input(i));
    return list && list->size() == static_cast<std::size_t>(spatial);
  });
}

std::optional<ConvolutionMatch> matchConvolution(PassContext&, Node* node, Decline* why) {
  ConvolutionMatch match{formOf(node), {}};
  if (match.form == nullptr) return std::nullopt;
  int spatial = 0;
  *why = checkOperands(node, *match.form, &spatial);
  if (!*why && isCanonical(node, spatial)) return std::nullopt;
  if (!*why) *why = read(node, *match.form, spatial, match.convolution);
  return match;
}

bool isSame(const IValue& a, const IValue& b) { return a.tagKind() == b.tagKind() && a == b; }

// Operands that the given form does not have: one constant for all convolutions of a block that follow each other.
class AddedConstants {
 public:
  explicit AddedConstants(Rewriter& rewriter) : rewriter_(rewriter) {}

  Value* get(const IValue& wanted, Node* before) {
    if (before->owningBlock() != block_) made_.clear();
    block_ = before->owningBlock();
    const auto known =
        std::find_if(made_.begin(), made_.end(), [&](const auto& made) { return isSame(made.first, wanted); });
    if (known != made_.end()) return known->second;
    return made_.emplace_back(wanted, rewriter_.constant(wanted, before)).second;
  }

 private:
  Rewriter& rewriter_;
  const torch::jit::Block* block_ = nullptr;
  std::vector<std::pair<IValue, Value*>> made_;  // true, false, and zeros for each number of dimensions
};

// The operand where it is this constant already (thousands of convolutions share theirs), else a new one.
Value* constantOr(Node* node, int index, const IValue& wanted, Rewriter& rewriter, AddedConstants& added) {
  if (index < 0) return added.get(wanted, node);
  Value* given = node->input(static_cast<std::size_t>(index));
  const auto constant = torch::jit::toIValue(given);
  return constant && isSame(*constant, wanted) ? given : rewriter.constant(wanted, node);
}

void rewriteConvolution(Rewriter& rewriter, Node* node, const ConvolutionMatch& match, AddedConstants& added) {
  const ConvolutionForm& form = *match.form;
  const Convolution& convolution = match.convolution;
  Value* x = node->input(0);
  const auto constant = [&](int index, const IValue& wanted) {
    return constantOr(node, index, wanted, rewriter, added);
  };
  if (!convolution.pad_before.empty()) {
    Value* sides = rewriter.constant(IValue(convolution.pad_before), node);
    x = rewriter.create("aten::constant_pad_nd", {x, sides, rewriter.constant(IValue(std::int64_t{0}), node)}, node)
            ->output();
  }
  Node* made = rewriter.create(
      "aten::convolution",
      {x, node->input(1), node->input(2), constant(kStride, convolution.stride),
       constant(kPadding, convolution.padding), constant(form.dilation, convolution.dilation),
       constant(form.groups == 8 ? kTransposed : -1, convolution.transposed),
       constant(form.output_padding, convolution.output_padding), constant(form.groups, convolution.groups)},
      node);
  made->output()->setType(node->output()->type());
  rewriter.replace({node}, node->output(), made->output(), "one form of convolution");
}

bool canonicalizeConvolution(Graph& graph, PassContext& context) {
  AddedConstants added(context.rewriter);
  const auto rewrite = [&](Rewriter& rewriter, Node* node, const ConvolutionMatch& match) {
    rewriteConvolution(rewriter, node, match, added);
  };
  return rewriteMatches(context, context.nodes(kCanonicalizeConvolution.needs), matchConvolution, rewrite);
}

}  // namespace

const Pass kCanonicalizeConvolution = {
    "canonicalize-convolution",
    "Gives every convolution one form.",
    &canonicalizeConvolution,
    {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::conv_transpose1d", "aten::conv_transpose2d",
     "aten::conv_transpose3d", "aten::_convolution", "aten::convolution", "aten::_convolution_mode"}};

}  // namespace ipex_studio

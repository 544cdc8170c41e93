// Computes of a convolution only the rows and columns that a slice keeps.
//   before  %y = convolution(%x, %w, %b, [1], [3], …)   %z = slice(%y, 2, 0, -3, 1)      a causal convolution
//   after   %z = ipex_studio::convolution(%x, %w, %b, …) with padding 3 in front and 0 behind
//   before  %y = convolution(%x, %w, %b, [1, 1], [33, 33], …)   %z = slice(%y, 2, 32, 64, 1)
//   after   %r = slice(%x, 2, None, 33, 1)   %p = constant_pad_nd(%r, [0, 0, 0, …], 0)
//           %z = convolution(%p, %w, %b, …) with padding 1 in front
// The slice may end at a number, so far from the end, or at the length of what the convolution reads. For sources of
// every length: where a slice could be empty nothing is done, since no convolution is.
// Declines: producer-has-other-uses, operand-not-constant, unsupported-attribute (bounds within the source, steps),
// unsupported-dtype (unequal sides need float32), not-profitable, value-may-be-aliased-or-written.
// Runs after fold-pad, which brings the padding to the convolution. Numerics: none changed.
#include <algorithm>

#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/match/pieces.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

using Ints = std::vector<std::int64_t>;

// The window of a convolution along one axis.
struct Window {
  std::int64_t stride = 1, reach = 0;  // reach: of the kernel beyond its first tap
  std::int64_t before = 0, after = 0;  // padding

  // Rows of the result for a source of one row; no source has fewer.
  std::int64_t leastRows() const {
    const std::int64_t free = before + after - reach;
    return free < 0 ? 0 : free / stride + 1;
  }
};

struct CropMatch {
  FusedOp op;
  std::size_t axis = 0;                // of the spatial ones
  Window window;                       // padding as it is to be
  std::int64_t rows_read = INT64_MAX;  // of the source, where the slice ends at a number
};

struct Crop {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;  // counted from the front, or negative from the end; absent: at the source's length
};

std::optional<FusedOp> readConvolution(Node* node) {
  auto op = readFusedOp(node);
  const bool plain = op && op->spec.kind == OpKind::kConvolution && op->spec.post_ops.empty();
  return plain ? op : std::nullopt;
}

Ints endPadding(const OpSpec& spec) {
  return spec.has("padding_end") ? spec.ints("padding_end") : spec.ints("padding");
}

std::optional<Window> windowOf(const FusedOp& op, std::size_t axis) {
  const auto weights = constantTensor(op.base[1]);
  const Ints before = op.spec.ints("padding");
  if (!weights || axis >= before.size()) return std::nullopt;
  const std::int64_t taps = weights->size(static_cast<std::int64_t>(axis) + 2);
  return Window{op.spec.ints("stride")[axis], op.spec.ints("dilation")[axis] * (taps - 1), before[axis],
                endPadding(op.spec)[axis]};
}

// True if the value is the length of the convolution's source along this dimension.
bool isSourceLength(const Value* value, const Node* convolution, std::int64_t dimension) {
  const Node* size = value->node();
  return size->kind() == aten::size && size->inputs().size() == 2 && size->input(0) == convolution->input(0) &&
         readAxis(size->input(1), size->input(0)) == dimension;
}

std::optional<Crop> readCrop(const Node* slice, const Node* convolution, std::int64_t dimension) {
  const auto begin = sliceBound(slice->input(2), 0);
  if (!begin || *begin < 0) return std::nullopt;
  if (isSourceLength(slice->input(3), convolution, dimension)) return Crop{*begin, std::nullopt};
  const auto end = sliceBound(slice->input(3), INT64_MAX);
  return end ? std::optional<Crop>({*begin, end}) : std::nullopt;
}

// True if a slice that ends at a number leaves out enough to be worth a copy of what is read.
bool leavesOutMuch(const Node* slice, std::int64_t dimension) {
  const auto all = knownSizes(slice->input(0)), kept = knownSizes(slice->output());
  const auto axis = static_cast<std::size_t>(dimension);
  return all && kept && 4 * (*kept)[axis] <= 3 * (*all)[axis];
}

Decline cutEnd(const Node* slice, const Crop& crop, std::int64_t dimension, CropMatch* match) {
  Window& window = match->window;
  const std::int64_t end = crop.end.value_or(0);
  if (crop.end && end == INT64_MAX) return {};
  if (crop.end && end >= 0) {
    if (!leavesOutMuch(slice, dimension)) return {reasons::kNotProfitable, "The slice keeps most of the convolution."};
    match->rows_read = (end - 1) * window.stride + window.reach + 1 - window.before;
    return match->rows_read > 0 && end > crop.begin
               ? Decline{}
               : Decline{reasons::kUnsupportedAttribute, "The slice keeps padding alone."};
  }
  const std::int64_t cut = crop.end ? -end : window.before + window.after - window.reach;
  if (window.stride != 1 || cut < 0 || cut > window.after)
    return {reasons::kUnsupportedAttribute, "The slice ends within the source."};
  window.after -= cut;
  return {};
}

Decline whyNot(PassContext& context, const Node* slice, Node* convolution, std::int64_t dimension, CropMatch* match) {
  if (constantInt(slice->input(4)) != 1) return {reasons::kUnsupportedAttribute, "The slice leaves out rows between."};
  const auto crop = readCrop(slice, convolution, dimension);
  if (!crop) return {reasons::kNotConstant, "The bounds of the slice are not constant."};
  Window& window = match->window;
  if (crop->begin * window.stride > window.before)
    return {reasons::kUnsupportedAttribute, "The slice begins within the source."};
  const Window whole = window;
  if (Decline why = cutEnd(slice, *crop, dimension, match)) return why;
  window.before -= crop->begin * window.stride;
  if (window.leastRows() < 1 || whole.leastRows() <= crop->begin)
    return {reasons::kUnsupportedAttribute, "The slice could be empty."};
  if (!usedOnlyBy(convolution->output(), slice))
    return {reasons::kOtherUses, "The rest of the convolution is read, too."};
  if (context.mayBeWritten(convolution->output()) || context.mayBeWritten(convolution->input(0)))
    return {reasons::kAliased, "The convolution may be written to."};
  if (knownDtype(slice->output()) != at::kFloat)
    return {reasons::kUnsupportedDtype, "Unequal sides are known for float32 only."};
  return {};
}

std::optional<CropMatch> matchCrop(PassContext& context, Node* slice, Decline* why) {
  if (slice->inputs().size() != 5 || slice->input(0)->node()->owningBlock() != slice->owningBlock())
    return std::nullopt;
  Node* convolution = slice->input(0)->node();
  auto op = readConvolution(convolution);
  const auto dimension = readAxis(slice->input(1), slice->input(0));
  if (!op || !dimension || *dimension < 2) return std::nullopt;
  const auto axis = static_cast<std::size_t>(*dimension - 2);
  const auto window = windowOf(*op, axis);
  if (!window) return std::nullopt;
  CropMatch match{*op, axis, *window, INT64_MAX};
  *why = whyNot(context, slice, convolution, *dimension, &match);
  return match;
}

// The rows that are read, with padding behind them as far as the source ends before them.
Value* rowsRead(NodeWriter& write, Value* source, const CropMatch& match) {
  const auto sizes = knownSizes(source);
  const auto dimension = static_cast<std::int64_t>(match.axis) + 2;
  Value* axis = write.number(dimension);
  Ints read = *sizes;
  const std::int64_t length = read[static_cast<std::size_t>(dimension)];
  std::int64_t& rows = read[static_cast<std::size_t>(dimension)];
  rows = std::min(rows, match.rows_read);
  Value* cut =
      write.make("aten::slice", {source, axis, write.none(), write.number(match.rows_read), write.number(1)}, read);
  if (match.window.after == 0) return cut;
  Value* missing =
      write.integer("aten::sub", {write.number(match.rows_read), write.integer("aten::size", {source, axis})});
  Value* some = write.integer("prim::max", {missing, write.number(0)});
  std::vector<Value*> sides(2 * (read.size() - static_cast<std::size_t>(dimension)), write.number(0));
  sides.back() = write.integer("prim::min", {some, write.number(match.window.after)});
  rows += std::clamp<std::int64_t>(match.rows_read - length, 0, match.window.after);
  return write.make("aten::constant_pad_nd", {cut, write.list(sides), write.number(0)}, read);
}

void rewriteCrop(Rewriter& rewriter, Node* slice, const CropMatch& match) {
  Node* convolution = slice->input(0)->node();
  FusedOp op = match.op;
  Ints before = op.spec.ints("padding"), after = endPadding(op.spec);
  NodeWriter write(rewriter, slice);
  before[match.axis] = match.window.before;
  after[match.axis] = match.window.after;
  if (match.rows_read != INT64_MAX) {
    op.base[0] = rowsRead(write, op.base[0], match);
    after[match.axis] = 0;
  }
  op.spec.attributes["padding"] = before;
  op.spec.attributes["padding_end"] = after;
  Node* cropped = writeFusedOp(rewriter, op, slice);
  cropped->output()->setType(slice->output()->type());
  rewriter.replace({convolution, slice}, slice->output(), cropped->output(), "computed only what a slice keeps");
}

bool foldCrop(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::slice"}), matchCrop, rewriteCrop);
}

}  // namespace

const Pass kFoldCrop = {"fold-crop",
                        "Computes of a convolution only what a slice keeps.",
                        &foldCrop,
                        {"aten::convolution", "ipex_studio::convolution"}};

}  // namespace ipex_studio

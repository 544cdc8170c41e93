#include "passes/match/pieces.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool isSlice(const Node* node) { return node->kind() == aten::slice && node->inputs().size() == 5; }

std::optional<Pieces> readSlice(Node* node) {
  if (!isSlice(node) || constantInt(node->input(4)) != 1) return std::nullopt;
  const auto axis = readAxis(node->input(1), node->input(0));
  const auto begin = sliceBound(node->input(2), 0), end = sliceBound(node->input(3), INT64_MAX);
  if (!axis || !begin || !end || *begin < 0 || *begin > *end) return std::nullopt;
  return Pieces{node->input(0), *axis, *begin, *end, false, {node}};
}

std::optional<Pieces> readSlices(const std::vector<Value*>& values) {
  std::optional<Pieces> all;
  for (Value* value : values) {
    const auto piece = readSlice(value->node());
    if (!piece) return std::nullopt;
    if (!all) {
      all = piece;
      continue;
    }
    if (piece->source != all->source || piece->axis != all->axis || piece->begin != all->end) return std::nullopt;
    all->end = piece->end;
    all->nodes.push_back(value->node());
  }
  return all;
}

// The operand with the axis of an operator that cuts a tensor into all of its pieces.
std::optional<std::size_t> axisOperand(const Node* node) {
  if (node->kind() == aten::unbind) return 1;
  const bool cuts =
      node->kind() == aten::chunk || node->kind() == aten::split || node->kind() == aten::split_with_sizes;
  return cuts && node->inputs().size() == 3 ? std::optional<std::size_t>(2) : std::nullopt;
}

// An unpacked list has as many elements as results are read, in every run that does not fail.
std::optional<Pieces> readUnpacked(const std::vector<Value*>& values) {
  Node* unpack = values.front()->node();
  if (unpack->kind() != torch::jit::prim::ListUnpack || unpack->outputs().size() != values.size()) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != unpack->output(i)) return std::nullopt;
  }
  Node* cut = unpack->input()->node();
  const auto operand = axisOperand(cut);
  if (!operand || cut->output()->uses().size() != 1) return std::nullopt;
  const auto axis = readAxis(cut->input(*operand), cut->input(0));
  if (!axis) return std::nullopt;
  return Pieces{cut->input(0), *axis, 0, INT64_MAX, cut->kind() == aten::unbind, {cut, unpack}};
}

}  // namespace

std::optional<std::int64_t> readAxis(std::int64_t axis, const Value* of) {
  const auto sizes = knownSizes(of);
  if (!sizes) return axis >= 0 ? std::optional<std::int64_t>(axis) : std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const std::int64_t counted = axis < 0 ? axis + rank : axis;
  return counted >= 0 && counted < rank ? std::optional<std::int64_t>(counted) : std::nullopt;
}

std::optional<std::int64_t> readAxis(const Value* axis, const Value* of) {
  const auto number = constantInt(axis);
  return number ? readAxis(*number, of) : std::nullopt;
}

std::optional<std::int64_t> sliceBound(const Value* bound, std::int64_t absent) {
  return isNone(bound) ? std::optional<std::int64_t>(absent) : constantInt(bound);
}

std::vector<Value*> joinedValues(Node* node) {
  if (node->inputs().size() != 2) return {};
  Node* list = node->input(0)->node();
  const bool own = list->kind() == torch::jit::prim::ListConstruct && list->output()->uses().size() == 1;
  return own && list->inputs().size() >= 2 ? list->inputs().vec() : std::vector<Value*>();
}

std::optional<Pieces> readPieces(const std::vector<Value*>& values) {
  if (values.empty()) return std::nullopt;
  return isSlice(values.front()->node()) ? readSlices(values) : readUnpacked(values);
}

}  // namespace ipex_studio

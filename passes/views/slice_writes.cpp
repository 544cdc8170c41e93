#include "passes/views/slice_writes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/elementwise.h"
#include "core/graph/fused_op.h"
#include "core/torch/silent_writes.h"
#include "passes/match/aliasing.h"
#include "passes/match/mask_index.h"
#include "passes/match/node_writer.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

constexpr int kMaxWrites = 16;
constexpr int kMaxViews = 12;     // of views
constexpr int kLookedAhead = 16;  // nodes

bool isSlice(const Node* node) {
  return (node->kind() == aten::slice && node->inputs().size() == 5) ||
         (node->kind() == aten::select && node->inputs().size() == 3);
}

}  // namespace

bool mayBeView(const Node* node) {
  static const std::unordered_set<c10::Symbol> kinds = {
      aten::view,      aten::reshape, aten::flatten, aten::unsqueeze, aten::squeeze,
      aten::transpose, aten::permute, aten::expand,  aten::t,         c10::Symbol::fromQualString("aten::unflatten")};
  return isSlice(node) || kinds.count(node->kind()) != 0;
}

namespace {

// The slices from the written one up to, but without, the tensor that they were cut from.
std::vector<Node*> slicesOf(const Node* write) {
  std::vector<Node*> slices;
  for (Node* node = write->input(0)->node(); isSlice(node) && slices.size() < kMaxViews; node = node->input(0)->node())
    slices.push_back(node);
  return slices;
}

bool mayWriteAnything(const Node* node) {
  return node->maybeSchema() == nullptr || writesOperands(node) || !node->blocks().empty();
}

// True if all readers of the operator's result see the value that it wrote: they follow it with no other write between.
bool isReadAtOnce(const Node* write) {
  return std::all_of(write->output()->uses().begin(), write->output()->uses().end(), [&](const torch::jit::Use& use) {
    const auto* schema = use.user->maybeSchema();
    if (schema == nullptr || use.offset >= schema->arguments().size() ||
        schema->arguments()[use.offset].alias_info() != nullptr || !silentlyWritten(use.user).empty())
      return false;
    const Node* at = write->next();
    for (int steps = 0; steps < kLookedAhead && at != use.user; ++steps, at = at->next()) {
      if (at->kind() == torch::jit::prim::Return || (at->kind() != torch::jit::prim::Constant && mayWriteAnything(at)))
        return false;
    }
    return at == use.user && !mayReturnInput(use.user);
  });
}

bool isReadAfter(const Value* value, const Node* node) {
  return std::any_of(value->uses().begin(), value->uses().end(),
                     [&](const torch::jit::Use& use) { return use.user->isAfter(node); });
}

// The only index of aten::index_put_ and the axis that it begins at; nullopt: it has several, or none.
std::optional<std::pair<Value*, std::size_t>> onlyIndex(const Node* node) {
  const auto indices = decidedElements(node->input(1));
  if (!indices) return std::nullopt;
  std::optional<std::pair<Value*, std::size_t>> found;
  for (std::size_t axis = 0; axis < indices->size(); ++axis) {
    if (isNone((*indices)[axis])) continue;
    if (found) return std::nullopt;
    found = {node->input(1)->node()->input(axis), axis};
  }
  return found;
}

// masked_fill, or where if there is more than a number to write, by the only index of aten::index_put_, which leaves
// out the last axes.
Node* createMaskedFill(Rewriter& rewriter, Node* node) {
  NodeWriter write(rewriter, node, at::kBool);
  const auto [index, axis] = *onlyIndex(node);
  const std::size_t rank = knownSizes(node->input(0))->size(), axes = knownSizes(index)->size();
  Value* const mask = maskOfRows(write, {index, static_cast<std::size_t>(axis), axes, rank - axis - axes});
  if (!knownSizes(node->input(2))->empty())
    return rewriter.create("aten::where", {mask, node->input(2), node->input(0)}, node);
  return rewriter.create("aten::masked_fill", {node->input(0), mask, node->input(2)}, node);
}

Decline declineCopy(const Node* node) {
  const auto to = knownDtype(node->input(0)), from = knownDtype(node->input(1));
  if (!to || to != from) return {reasons::kMixedDtype, "copy_ into a slice changes the dtype."};
  if (!knownSizes(node->input(0)) || !knownSizes(node->input(1)))
    return {reasons::kUnknownShape, "The sizes of a slice that is written were not seen."};
  return {};
}

}  // namespace

bool namesOperand(const Node* node, const Value* operand) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || node->inputs().size() > schema->arguments().size()) return true;
  const auto outputs = node->outputs();
  const bool used = std::any_of(outputs.begin(), outputs.end(), [](const Value* output) { return output->hasUses(); });
  if (mayReturnInput(node)) return used;
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    const auto* alias = schema->arguments()[i].alias_info();
    if (node->input(i) != operand || alias == nullptr) continue;
    if (used || alias->isWildcardAfter()) return true;
  }
  return false;
}

bool isReadBefore(const Value* view, const Node* node) {
  std::vector<const Value*> open{view};
  for (int seen = 0; !open.empty(); ++seen) {
    if (seen == kMaxViews) return false;
    const Value* value = open.back();
    open.pop_back();
    for (const torch::jit::Use& use : value->uses()) {
      if (use.user == node || use.user->isAfter(node)) return false;
      if (!namesOperand(use.user, value)) continue;
      if (!mayBeView(use.user)) return false;
      open.push_back(use.user->output());
    }
  }
  return true;
}

bool isLastNameOfFresh(const Value* view, const Node* node) {
  for (int names = 0; mayBeView(view->node()) && names < kMaxViews; ++names) {
    const Value* viewed = view->node()->input(0);
    // Several elements in one place are refused where they are written.
    const bool here = viewed->node()->owningBlock() == node->owningBlock() && view->node()->kind() != aten::expand;
    if (!here) return false;
    for (const torch::jit::Use& use : viewed->uses()) {
      if (use.user == view->node()) continue;
      if (use.user == node || use.user->isAfter(node)) return false;
      if (namesOperand(use.user, viewed) && !(mayBeView(use.user) && isReadBefore(use.user->output(), node)))
        return false;
    }
    if (isFresh(viewed)) return true;
    view = viewed;
  }
  return false;
}

bool fillsByMask(const Node* node) {
  if (node->kind() != aten::index_put_ || constantBool(node->input(3)) != false) return false;
  const auto index = onlyIndex(node);
  const auto x = knownSizes(node->input(0)), value = knownSizes(node->input(2));
  if (!index || !x || !value) return false;
  const auto mask = knownSizes(index->first);
  if (knownDtype(index->first) != at::kBool || !mask || mask->empty()) return false;
  const std::size_t chosen = index->second + mask->size();
  // A value with an axis for the chosen elements need not be one for all of them.
  return chosen <= x->size() && value->size() <= x->size() - chosen &&
         knownDtype(node->input(2)) == knownDtype(node->input(0));
}

bool writesByMask(const Node* node) {
  if (node->kind() != aten::index_put_ || !constantBool(node->input(3))) return false;
  if (knownDtype(node->input(0)) != at::kFloat || knownDtype(node->input(2)) != at::kFloat) return false;
  const auto index = readMaskIndex(node);
  return index && (holdsMaskedRows(node->input(2), node->input(0), *index) ||
                   isOneForAllRows(node->input(2), node->input(0), *index));
}

bool writesPlaces(const Node* node) {
  if (node->kind() != aten::index_put_ || !constantBool(node->input(3))) return false;
  const auto indices = decidedElements(node->input(1));
  const auto x = knownSizes(node->input(0)), values = knownSizes(node->input(2));
  if (!indices || !x || !values || indices->size() > x->size()) return false;
  if (knownDtype(node->input(0)) != at::kFloat || knownDtype(node->input(2)) != at::kFloat) return false;
  std::optional<std::vector<std::int64_t>> places;
  std::vector<std::int64_t> written;
  std::size_t last = 0;
  for (std::size_t axis = 0; axis < x->size(); ++axis) {
    const Value* index = axis < indices->size() ? (*indices)[axis] : nullptr;
    if (index == nullptr || isNone(index)) {
      written.push_back((*x)[axis]);
      continue;
    }
    const auto sizes = knownSizes(index);
    if (knownDtype(index) != at::kLong || !sizes || sizes->empty()) return false;
    if (places && (sizes != places || axis != last + 1)) return false;
    if (!places) written.insert(written.end(), sizes->begin(), sizes->end());
    places = sizes;
    last = axis;
  }
  if (!places) return false;
  // One value for all places has at most the axes behind the indexed ones.
  return *values == written || (values->size() < x->size() - last && broadcastsTo(*values, *x));
}

Node* createPlain(Rewriter& rewriter, Node* node) {
  if (fillsByMask(node)) return createMaskedFill(rewriter, node);
  if (node->kind() == aten::zero_)
    return rewriter.create("aten::fill", {node->input(0), rewriter.constant(std::int64_t{0}, node)}, node);
  std::string kind = node->kind().toQualString();
  kind.pop_back();
  return rewriter.create(kind.c_str(), node->inputs(), node);
}

bool SliceWrites::isSliceWrite(const Node* node) { return isSlice(node->input(0)->node()); }

Decline SliceWrites::decline(const Node* node, bool plain) const {
  const std::string name = node->kind().toUnqualString();
  if (name != "copy_" && !plain) {
    return {reasons::kUnsupportedOperator, name + " writes into a slice in a way that has no out-of-place form here."};
  }
  const std::vector<Node*> slices = slicesOf(node);
  const Value* base = slices.back()->input(0);
  const auto count = writes_.find(base);
  if (count != writes_.end() && count->second >= kMaxWrites)
    return {reasons::kNotProfitable, "So many writes into slices of one tensor are cheaper in place."};
  if (!isFresh(base) && !isLastNameOfFresh(base, node))
    return {reasons::kAliased,
            name + " writes to a slice of an input, a constant or another view; others may see that."};
  for (const Node* slice : slices) {
    const bool here = slice->owningBlock() == node->owningBlock() && base->node()->owningBlock() == node->owningBlock();
    if (!here) return {reasons::kControlFlow, name + " is in another block than what it writes to."};
  }
  for (std::size_t level = 0; level <= slices.size(); ++level) {
    const Value* value = level < slices.size() ? slices[level]->output() : base;
    const Node* next = level == 0 ? node : slices[level - 1];
    for (const torch::jit::Use& use : value->uses()) {
      if (use.user == next || (value == base && use.user->isAfter(node))) continue;
      const bool harmless =
          !use.user->isAfter(node) &&
          (!namesOperand(use.user, value) || (mayBeView(use.user) && isReadBefore(use.user->output(), node)));
      if (!harmless) return {reasons::kAliased, name + " writes to memory that has another name."};
    }
  }
  return name == "copy_" ? declineCopy(node) : Decline();
}

// The slice of `value`, which `slices` cut from its older form.
Value* SliceWrites::sliceAgain(const std::vector<Node*>& slices, Value* value, Node* before) {
  for (std::size_t s = slices.size(); s-- > 0;) {
    std::vector<Value*> inputs = slices[s]->inputs().vec();
    inputs[0] = value;
    Node* slice = rewriter_.create(slices[s]->kind().toQualString(), inputs, before);
    value = slice->output()->setType(slices[s]->output()->type());
  }
  return value;
}

// The value of the slice after the write.
Value* SliceWrites::sliceValue(Node* node) {
  const std::string name = node->kind().toUnqualString();
  Value* slice = node->input(0);
  if (name == "copy_") {
    Value* source = node->input(1);
    if (knownSizes(source) == knownSizes(slice)) return source;
    std::vector<Value*> sizes;
    for (std::size_t axis = 0; axis < knownSizes(slice)->size(); ++axis) {
      Node* size =
          rewriter_.create("aten::size", {slice, rewriter_.constant(static_cast<std::int64_t>(axis), node)}, node);
      size->output()->setType(c10::IntType::get());
      sizes.push_back(size->output());
    }
    Node* list = rewriter_.create("prim::ListConstruct", sizes, node);
    list->output()->setType(c10::ListType::ofInts());
    Node* wide = rewriter_.create("aten::expand", {source, list->output(), rewriter_.constant(false, node)}, node);
    wide->output()->setType(slice->type());
    return wide->output();
  }
  Node* plain = createPlain(rewriter_, node);
  plain->output()->setType(slice->type());
  return plain->output();
}

void SliceWrites::rewrite(Node* node) {
  const std::vector<Node*> slices = slicesOf(node);
  Value* base = slices.back()->input(0);
  Value* written = sliceValue(node);
  const bool computed = node->kind() != aten::copy_;  // else it may be another's memory
  if (computed && !isReadAfter(base, node)) {         // the operator's result is the last name of the slice
    rewriter_.replace({node}, node->output(), written, "a slice is written out of place");
    return;
  }
  Value* value = written;
  for (Node* slice : slices) {
    std::vector<Value*> inputs{slice->input(0), value};
    for (std::size_t i = 1; i < slice->inputs().size(); ++i) inputs.push_back(slice->input(i));
    Node* scatter =
        rewriter_.create(slice->kind() == aten::slice ? "aten::slice_scatter" : "aten::select_scatter", inputs, node);
    scatter->output()->setType(slice->input(0)->type());
    value = scatter->output();
  }
  writes_[value] = writes_[base] + 1;
  // A name that is read later sees what is written in between.
  Value* name = isReadAtOnce(node) ? written : sliceAgain(slices, value, node);
  rewriter_.replaceUsesAfter(node, base, value);
  rewriter_.replace({node}, node->output(), name, "a slice is written out of place");
}

}  // namespace ipex_studio

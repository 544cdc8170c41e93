#include "core/lower/region_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <variant>

#include "core/graph/fresh_values.h"
#include "core/graph/node_facts.h"
#include "core/lower/lowering.h"
#include "core/op/loop_form.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

namespace {

bool isTrue(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isBool() && constant->toBool();
}

bool isTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

std::optional<std::size_t> rankOf(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type || !type->dim()) return std::nullopt;
  return *type->dim();
}

// A constant axis, counted from the front.
std::optional<std::int64_t> axisOf(const Value* axis, const Value* tensor, std::int64_t more = 0) {
  auto number = constantInt(axis);
  if (!number || *number >= 0) return number;
  const auto rank = rankOf(tensor);
  if (!rank) return std::nullopt;
  *number += static_cast<std::int64_t>(*rank) + more;
  return *number >= 0 ? number : std::nullopt;
}

bool isInside(const Node* node, const Block* block) {
  for (; node != nullptr; node = node->owningBlock()->owningNode()) {
    if (node->owningBlock() == block) return true;
  }
  return false;
}

// The node of `block` that `node` is or is nested in; null: it is outside.
const Node* ancestorIn(const Node* node, const Block* block) {
  while (node != nullptr && node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// True for a slice by the number of the round of an outer loop, which has as many rounds as there are slices: it may be
// taken outside of inner loops, also of those without rounds.
bool isSliceOfRound(const Node* select) {
  if (!isKind(select, "aten::select")) return false;
  const Node* counter = select->input(2)->node();
  if (counter->kind() != c10::prim::Param || select->input(2)->offset() != 0) return false;
  const Node* loop = counter->owningBlock()->owningNode();
  if (loop == nullptr || loop->kind() != c10::prim::Loop) return false;
  const Node* rounds = loop->input(0)->node();
  return isKind(rounds, "aten::size") && rounds->inputs().size() == 2 && rounds->input(0) == select->input(0) &&
         axisOf(rounds->input(1), select->input(0)) == axisOf(select->input(1), select->input(0)) &&
         axisOf(select->input(1), select->input(0));
}

// True for a slice that is the whole of its tensor.
bool isWholeSlice(const Node* node) {
  if (!isKind(node, "aten::slice") || node->inputs().size() != 5) return false;
  const auto isNoneOr = [](const Value* value, std::int64_t number, bool above) {
    if (value->mustBeNone()) return true;
    const auto constant = constantInt(value);
    return constant && (above ? *constant >= number : *constant == number);
  };
  return isNoneOr(node->input(2), 0, false) &&
         isNoneOr(node->input(3), std::numeric_limits<std::int32_t>::max(), true) && constantInt(node->input(4)) == 1;
}

bool asksForSizes(const Node* node) {
  return isKind(node, "aten::size") || isKind(node, "aten::dim") || isKind(node, "aten::len") ||
         isKind(node, "prim::dtype") || isKind(node, "prim::device");
}

// True for a list that is empty before the loop.
bool isNewList(const Node* list, const Node* loop) {
  return list->kind() == c10::prim::ListConstruct && list->inputs().empty() &&
         list->owningBlock() == loop->owningBlock();
}

// True for a stack or cat behind the loop.
bool joinsBehind(const Node* reader, const Node* loop) {
  return (isKind(reader, "aten::stack") || isKind(reader, "aten::cat")) &&
         reader->owningBlock() == loop->owningBlock() && loop->isBefore(reader);
}

// True if the loop alone writes to the tensor, and nothing that was made before would see it.
bool isWrittenFor(const Value* written, const Node* loop) {
  if (written->node()->owningBlock() != loop->owningBlock() || !isFresh(written)) return false;
  return std::all_of(written->uses().begin(), written->uses().end(), [&](const Use& use) {
    const Node* ancestor = ancestorIn(use.user, loop->owningBlock());
    return ancestor == loop || ancestor == loop->owningBlock()->return_node() || !ancestor->isBefore(loop) ||
           asksForSizes(use.user);
  });
}

// A value behind the loop that the loop gives.
struct Result {
  LoopForm::Joined joined;
  Node* reader = nullptr;    // a stack or cat, which goes; null: what is written to is replaced
  Value* written = nullptr;  // the new tensor that rounds write to
};

class LoopReader {
 public:
  explicit LoopReader(Node* loop) : loop_(loop), body_(loop->blocks()[0]) {}

  bool read() {
    if (!isTrue(loop_->input(1)) || !isTrue(body_->outputs()[0])) return false;
    for (std::size_t i = 2; i < loop_->inputs().size(); ++i) {
      if (!isTensor(loop_->input(i))) return false;
    }
    for (Node* node : body_->nodes()) {
      if (isKind(node, "ipex_studio::region")) {
        if (call_ != nullptr) return false;
        call_ = node;
      }
    }
    const bool known = call_ != nullptr && readCall() && readBody() && readCarried() && readInputs() && readCollected();
    if (known) takeFills();
    return known;
  }

  const LoopForm& form() const { return form_; }
  const std::vector<Value*>& tensors() const { return tensors_; }
  const std::vector<Result>& results() const { return results_; }
  const std::vector<Value*>& integers() const { return integers_; }
  // Nodes that make what the loop carries, for it alone; in their order.
  const std::vector<Node*>& makers() const { return makers_; }
  // Nodes of the body that give the same in each round.
  const std::vector<Node*>& hoisted() const { return hoisted_; }
  const std::vector<Node*>& lists() const { return lists_; }
  const std::vector<Node*>& others() const { return others_; }
  Node* call() const { return call_; }
  Node* get() const { return get_; }

 private:
  bool isOutside(const Value* value) const {
    const Node* node = value->node();
    if (std::find(hoisted_.begin(), hoisted_.end(), node) != hoisted_.end()) return true;
    return !isInside(node, body_) && node != body_->param_node();
  }

  bool readCall() {
    get_ = call_->input(0)->node();
    if (get_->kind() != c10::prim::GetAttr || call_->output()->uses().size() != 1) return false;
    unpack_ = call_->output()->uses()[0].user;
    const auto ints = call_->input(2)->node()->inputs();
    integers_.assign(ints.begin(), ints.end());
    return unpack_->kind() == c10::prim::ListUnpack &&
           std::all_of(ints.begin(), ints.end(), [&](const Value* value) { return isOutside(value); });
  }

  // Sorts the other nodes of the body out. False: there is one of another kind.
  bool readBody() {
    for (Node* node : body_->nodes()) {
      const bool of_call = node == call_ || node == get_ || node == unpack_ || node == call_->input(1)->node() ||
                           node == call_->input(2)->node();
      if (of_call || node->kind() == c10::prim::Constant || isKind(node, "aten::__derive_index")) continue;
      const auto inputs = node->inputs();
      if (isSliceOfRound(node) &&
          std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) { return isOutside(input); })) {
        hoisted_.push_back(node);
        continue;
      }
      others_.push_back(node);
      if (isKind(node, "aten::append")) {
        if (node->output()->hasUses()) return false;
        appends_.push_back(node);
      } else if (isKind(node, "aten::copy_")) {
        if (node->output()->hasUses()) return false;
        writes_.push_back(node);
      } else if (!isKind(node, "aten::select") && !isWholeSlice(node)) {
        return false;
      }
    }
    return true;
  }

  bool readCarried() {
    for (std::size_t c = 2; c < loop_->inputs().size(); ++c) {
      const auto output = outputOf(body_->outputs()[c - 1]);
      if (!output) return false;
      form_.carried.push_back(*output);
      tensors_.push_back(loop_->input(c));
    }
    return true;
  }

  std::optional<std::int64_t> outputOf(const Value* value) const {
    if (value->node() != unpack_) return std::nullopt;
    return static_cast<std::int64_t>(value->offset());
  }

  std::optional<LoopForm::Source> sourceOf(const Value* value) const {
    if (const auto output = outputOf(value)) return LoopForm::Source{LoopForm::Source::Kind::kOutput, *output};
    if (value->node() != body_->param_node() || value->offset() == 0) return std::nullopt;
    return LoopForm::Source{LoopForm::Source::Kind::kCarried, static_cast<std::int64_t>(value->offset()) - 1};
  }

  std::int64_t addTensor(Value* value) {
    // Those that are carried change.
    const auto first = tensors_.begin() + static_cast<std::ptrdiff_t>(form_.carried.size());
    const auto found = std::find(first, tensors_.end(), value);
    if (found != tensors_.end()) return found - tensors_.begin();
    tensors_.push_back(value);
    return static_cast<std::int64_t>(tensors_.size()) - 1;
  }

  // The slice that a select by the number of the round takes of what is outside; `tensor` is not set.
  std::optional<LoopForm::Slice> sliceOf(const Node* select, const Value* whole) const {
    if (!isKind(select, "aten::select")) return std::nullopt;
    LoopForm::Slice slice;
    const auto axis = axisOf(select->input(1), whole);
    const Value* place = select->input(2);
    if (isKind(place->node(), "aten::__derive_index")) {
      const auto start = constantInt(place->node()->input(1)), step = constantInt(place->node()->input(2));
      const auto isSmall = [](const auto& number) { return number && std::abs(*number) <= LoopForm::kMaxStep; };
      if (!isSmall(start) || !isSmall(step)) return std::nullopt;
      slice.start = *start;
      slice.step = *step;
      place = place->node()->input(0);
    }
    if (!axis || place != body_->inputs()[0]) return std::nullopt;
    slice.axis = *axis;
    return slice;
  }

  bool readInputs() {
    for (Value* value : call_->input(1)->node()->inputs()) {
      if (isOutside(value)) {
        form_.inputs.push_back({LoopForm::Input::Kind::kTensor, addTensor(value)});
      } else if (value->node() == body_->param_node() && value->offset() > 0) {
        form_.inputs.push_back({LoopForm::Input::Kind::kCarried, static_cast<std::int64_t>(value->offset()) - 1});
      } else if (!readSlice(value)) {
        return false;
      }
    }
    // What else the body takes apart is written to.
    return true;
  }

  bool readSlice(Value* value) {
    Node* select = value->node();
    if (!isKind(select, "aten::select") || !isOutside(select->input(0))) return false;
    auto slice = sliceOf(select, select->input(0));
    if (!slice) return false;
    slice->tensor = addTensor(select->input(0));
    form_.inputs.push_back({LoopForm::Input::Kind::kSlice, static_cast<std::int64_t>(form_.slices.size())});
    form_.slices.push_back(*slice);
    read_.push_back(select);
    return true;
  }

  // What rounds collect; false: a node of the body is left that nothing here does.
  bool readCollected() {
    for (Node* append : appends_) {
      if (!readAppend(append)) return false;
    }
    for (Node* write : writes_) {
      if (!readWrite(write)) return false;
    }
    return std::all_of(others_.begin(), others_.end(),
                       [&](Node* node) { return std::find(read_.begin(), read_.end(), node) != read_.end(); });
  }

  bool readAppend(Node* append) {
    read_.push_back(append);
    Node* list = append->input(0)->node();
    const auto source = sourceOf(append->input(1));
    if (!source || !isNewList(list, loop_)) return false;
    lists_.push_back(list);
    for (const Use& use : list->output()->uses()) {
      if (use.user == append) continue;
      if (!readJoin(use.user, *source, append->input(1))) return false;
    }
    return true;
  }

  bool readJoin(Node* reader, const LoopForm::Source& source, const Value* piece) {
    if (!joinsBehind(reader, loop_)) return false;
    const bool stacks = isKind(reader, "aten::stack");
    const auto axis = axisOf(reader->input(1), piece, stacks ? 1 : 0);
    if (!axis) return false;
    results_.push_back(
        {{stacks ? LoopForm::Joined::Kind::kStack : LoopForm::Joined::Kind::kCat, source, *axis, {}}, reader, nullptr});
    return true;
  }

  // Writes of the body to slice(select(slice(out))), of which only the select is more than the whole.
  bool readWrite(Node* write) {
    read_.push_back(write);
    const auto source = sourceOf(write->input(1));
    Value* view = write->input(0);
    Node* select = nullptr;
    while (!isOutside(view)) {
      Node* node = view->node();
      const bool is_view = isKind(node, "aten::select") || isKind(node, "aten::slice");
      if (!is_view || view->uses().size() != 1) return false;
      read_.push_back(node);
      if (isKind(node, "aten::select")) {
        if (select != nullptr) return false;
        select = node;
      }
      view = node->input(0);
    }
    if (!source || select == nullptr || !isWrittenFor(view, loop_)) return false;
    auto slice = sliceOf(select, view);
    if (!slice || slice->step == 0) return false;
    for (const Use& use : view->uses()) {
      const bool inside = ancestorIn(use.user, loop_->owningBlock()) == loop_;
      if (inside && std::find(read_.begin(), read_.end(), use.user) == read_.end()) return false;
    }
    if (std::any_of(results_.begin(), results_.end(), [&](const Result& other) { return other.written == view; }))
      return false;
    slice->tensor = addTensor(view);
    results_.push_back({{LoopForm::Joined::Kind::kWrite, *source, 0, *slice}, nullptr, view});
    return true;
  }

  // Takes the nodes in that fill what the loop carries with one number, unless others read it, too.
  void takeFills() {
    std::vector<Value*> given;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const auto fill = t < form_.carried.size() ? fillOf(tensors_[t]) : std::nullopt;
      if (!fill) {
        given.push_back(tensors_[t]);
        continue;
      }
      form_.fills.push_back(*fill);
      form_.fills.back().carried = static_cast<std::int64_t>(t);
      Node* maker = tensors_[t]->node();
      const auto sizes = maker->input(0)->node()->inputs();
      integers_.insert(integers_.end(), sizes.begin(), sizes.end());
      if (std::find(makers_.begin(), makers_.end(), maker) == makers_.end()) makers_.push_back(maker);
    }
    tensors_ = given;
  }

  std::optional<LoopForm::Fill> fillOf(const Value* value) const {
    Node* maker = const_cast<Node*>(value->node());
    LoopForm::Fill fill;
    if (isKind(maker, "aten::full")) {
      const auto number = torch::jit::toIValue(maker->input(1));
      if (!number || !number->isScalar()) return std::nullopt;
      const double exact = number->toScalar().toDouble();
      if (!(std::abs(exact) <= LoopForm::kMaxStep) || exact != std::trunc(exact)) return std::nullopt;
      fill.number = static_cast<std::int64_t>(exact);
    } else if (isKind(maker, "aten::ones")) {
      fill.number = 1;
    } else if (!isKind(maker, "aten::zeros")) {
      return std::nullopt;
    }
    const auto dtype = knownDtype(value);
    if (dtype == at::kLong) fill.type = LoopForm::Fill::Type::kLong;
    if (dtype == at::kBool) fill.type = LoopForm::Fill::Type::kBool;
    const bool known_type = dtype == at::kFloat || dtype == at::kLong || dtype == at::kBool;
    const bool alone =
        std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) { return use.user == loop_; });
    if (!known_type || !alone || maker->owningBlock() != loop_->owningBlock() ||
        maker->input(0)->node()->kind() != c10::prim::ListConstruct ||
        !std::holds_alternative<LoweredNode>(lowerNode(maker)))
      return std::nullopt;
    fill.rank = static_cast<std::int64_t>(maker->input(0)->node()->inputs().size());
    return fill;
  }

  Node* const loop_;
  Block* const body_;
  Node *call_ = nullptr, *get_ = nullptr, *unpack_ = nullptr;
  std::vector<Node*> others_, appends_, writes_, read_, lists_, makers_, hoisted_;
  std::vector<Value*> integers_;
  LoopForm form_;
  std::vector<Value*> tensors_;
  std::vector<Result> results_;
};

// True for views of what the body writes to that only the write reads.
bool isWriteView(const Node* node) {
  if (!isKind(node, "aten::select") && !isKind(node, "aten::slice")) return false;
  if (node->output()->uses().size() != 1) return false;
  const Use& use = node->output()->uses()[0];
  if (use.offset != 0 || use.user->owningBlock() != node->owningBlock()) return false;
  return isKind(use.user, "aten::copy_") || isWriteView(use.user);
}

// True if the value is the number of the round, or counted by it.
bool isRound(const Value* value, const Block* body) {
  if (isKind(value->node(), "aten::__derive_index")) value = value->node()->input(0);
  return value == body->inputs()[0];
}

// Reads the result instead of the tensor that rounds wrote to, wherever that is read behind the loop.
void replaceBehind(const Node* loop, Value* written, Value* result) {
  const std::vector<Use> uses = written->uses();
  for (const Use& use : uses) {
    const Node* ancestor = ancestorIn(use.user, loop->owningBlock());
    if (ancestor == loop || (ancestor != loop->owningBlock()->return_node() && ancestor->isBefore(loop))) continue;
    use.user->replaceInput(use.offset, result);
  }
}

}  // namespace

std::optional<LoopPieces> piecesOfLoop(Node* loop, const std::function<bool(const Node*)>& goes_inside) {
  Block* body = loop->blocks()[0];
  if (!isTrue(loop->input(1)) || !isTrue(body->outputs()[0])) return std::nullopt;
  const auto tensors = loop->inputs().slice(2);
  if (!std::all_of(tensors.begin(), tensors.end(), isTensor)) return std::nullopt;
  LoopPieces pieces;
  std::vector<const Node*> hoisted;
  const auto is_outside = [&](const Value* value) {
    const Node* node = value->node();
    return std::find(hoisted.begin(), hoisted.end(), node) != hoisted.end() ||
           (!isInside(node, body) && node != body->param_node());
  };
  bool computes = false;
  for (Node* node : body->nodes()) {
    if (node->kind() == c10::prim::Constant || isKind(node, "aten::__derive_index")) continue;
    const auto inputs = node->inputs();
    const bool reads_round =
        std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) { return isRound(input, body); });
    if (isKind(node, "aten::append") || isKind(node, "aten::copy_") || isWriteView(node)) {
      pieces.collectors.push_back(node);
    } else if (isKind(node, "aten::select") && is_outside(node->input(0)) &&
               (reads_round ? isRound(node->input(2), body) : isSliceOfRound(node))) {
      pieces.slices.push_back(node);
      if (!reads_round) hoisted.push_back(node);
    } else if (reads_round || !goes_inside(node)) {
      return std::nullopt;
    } else {
      computes = true;
    }
  }
  const auto is_computed = [&](const Value* value) {
    const Node* node = value->node();
    return node->owningBlock() == body && node != body->param_node() &&
           std::find(pieces.slices.begin(), pieces.slices.end(), node) == pieces.slices.end();
  };
  const auto carried = body->outputs().slice(1);
  const auto is_collected = [&](const Node* node) {
    if (isWriteView(node)) return true;
    const Value* value = node->input(1);
    if (!is_computed(value) && (value->node() != body->param_node() || value->offset() == 0)) return false;
    if (isKind(node, "aten::copy_")) {
      const Value* written = node->input(0);
      while (isWriteView(written->node()) && written->node()->owningBlock() == body)
        written = written->node()->input(0);
      return isWrittenFor(written, loop);
    }
    const auto& uses = node->input(0)->uses();
    return isNewList(node->input(0)->node(), loop) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
             return use.user == node || joinsBehind(use.user, loop);
           });
  };
  const bool fits = computes && std::all_of(carried.begin(), carried.end(), is_computed) &&
                    std::all_of(pieces.collectors.begin(), pieces.collectors.end(), is_collected);
  return fits ? std::optional<LoopPieces>(std::move(pieces)) : std::nullopt;
}

std::optional<RegionLoop> replaceRegionLoop(Node* loop, OriginTable& origins,
                                            const std::function<bool(const Node*)>& left_out) {
  LoopReader reader(loop);
  if (!reader.read()) return std::nullopt;
  std::vector<Node*> replaced = reader.others();
  RegionLoop made;
  made.nodes = static_cast<int>(replaced.size());
  LoopForm form = reader.form();
  for (const Result& result : reader.results()) {
    form.joined.push_back(result.joined);
    if (result.reader != nullptr) replaced.push_back(result.reader);
  }
  replaced.insert(replaced.end(), reader.makers().begin(), reader.makers().end());
  made.outside = static_cast<int>(replaced.size()) - made.nodes;
  if (left_out && (left_out(loop) || std::any_of(replaced.begin(), replaced.end(), left_out))) return std::nullopt;
  for (const Node* node : replaced) made.origins.push_back(origins.of(node));

  std::vector<OriginId> ids = origins.of(replaced);
  const std::vector<OriginId> inside = origins.of(reader.call()), own = origins.of(loop);
  ids.insert(ids.end(), inside.begin(), inside.end());
  ids.insert(ids.end(), own.begin(), own.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());

  for (Node* node : reader.hoisted()) node->moveBefore(loop);
  made.hoisted = static_cast<int>(reader.hoisted().size());
  Graph& graph = *loop->owningGraph();
  const torch::jit::WithInsertPoint point(loop);
  Node* get = graph.insertNode(graph.createClone(reader.get(), [](Value* value) { return value; }));
  Value* numbers = graph.insertConstant(torch::jit::IValue(c10::List<std::int64_t>(form.numbers())));
  Value* tensors = graph.insertNode(graph.createList(c10::TensorType::get(), reader.tensors()))->output();
  Value* sizes = graph.insertNode(graph.createList(c10::IntType::get(), reader.integers()))->output();
  made.call = graph.insertNode(graph.create(c10::Symbol::fromQualString("ipex_studio::region_loop"),
                                            {get->output(), numbers, loop->input(0), tensors, sizes}, 1));
  made.call->output()->setType(c10::ListType::ofTensors());
  origins.set(made.call->output(), ids);
  Node* unpack = graph.insertNode(
      graph.create(c10::prim::ListUnpack, {made.call->output()}, loop->outputs().size() + form.joined.size()));
  const auto take = [&](std::size_t result, const Value* before) {
    Value* value = unpack->output(result)->setType(before->type());
    const std::vector<OriginId> of_before = origins.of(before).vec();
    origins.set(value, of_before.empty() ? ids : of_before);
    return value;
  };
  for (std::size_t c = 0; c < loop->outputs().size(); ++c)
    loop->output(c)->replaceAllUsesWith(take(c, loop->output(c)));
  std::size_t next = loop->outputs().size();
  for (const Result& result : reader.results()) {
    if (result.reader == nullptr) {
      replaceBehind(loop, result.written, take(next++, result.written));
      continue;
    }
    result.reader->output()->replaceAllUsesWith(take(next++, result.reader->output()));
    result.reader->destroy();
  }
  loop->destroy();
  for (Node* list : reader.lists()) list->destroy();
  for (Node* maker : reader.makers()) maker->destroy();
  return made;
}

}  // namespace ipex_studio

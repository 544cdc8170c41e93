#include "core/lower/region_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <variant>

#include "core/graph/node_facts.h"
#include "core/lower/loop_facts.h"
#include "core/lower/lowering.h"
#include "core/op/loop_form.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

namespace {

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
    if (!carriesTensorsForAllRounds(loop_)) return false;
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

  // Reads how results of rounds are collected; false: a node of the body is left that nothing here does.
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

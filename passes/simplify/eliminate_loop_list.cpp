// Carries the elements of a list from round to round, where loops replace them.
//   before  %l = prim::ListConstruct(%a, %b)
//           prim::Loop(%n, true)
//             block0(%i):  %h = __getitem__(%l, 0)   %y = relu(%h)   _set_item(%l, 0, %y)  -> (true)
//           %z = __getitem__(%l, 0)
//   after   %z = prim::Loop(%n, true, %a)
//             block0(%i, %h):  %y = relu(%h)  -> (true, %y)
// Layers of cells keep the state of each in such lists. For everything else a list that is written to is unknown.
// Declines: nothing with a remark (a list with other readers than elements by a constant index and, behind the loops,
// readers of the whole; elements that are replaced in branches). Runs after canonicalize-lists, which writes lists that
// are filled as lists. Numerics: none.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isRead(const Node* node) { return isKind(node, "aten::__getitem__"); }
bool isWrite(const Node* node) { return isKind(node, "aten::_set_item"); }

// True for operators that read a whole list and keep no name of it.
bool readsWhole(const Node* node) {
  return isKind(node, "aten::stack") || isKind(node, "aten::cat") || isKind(node, "prim::ListUnpack") ||
         isKind(node, "aten::len");
}

class ListState {
 public:
  explicit ListState(Node* list) : list_(list), block_(list->owningBlock()) {}

  // True if a loop replaces elements, and all readers and writers are known.
  bool read() {
    if (list_->output()->type()->expectRef<c10::ListType>().getElementType()->kind() != c10::TypeKind::TensorType)
      return false;
    bool any_loop = false;
    for (const auto& use : list_->output()->uses()) {
      Node* user = use.user;
      if (use.offset != 0) return false;
      if (isRead(user) || isWrite(user)) {
        const auto index = indexOf(user);
        if (!index) return false;
        if (isWrite(user)) {
          if (user->output()->hasUses()) return false;
          any_loop = any_loop || user->owningBlock() != block_;
          noteWrite(user, *index);
        }
        touched_.push_back(user);
      } else if (!readsWhole(user) || user->owningBlock() != block_) {
        return false;
      }
      if (!liesInLoops(user)) return false;
    }
    return any_loop;
  }

  void rewrite(Rewriter& rewriter) {
    rewriter_ = &rewriter;
    std::vector<Value*> elements(list_->inputs().begin(), list_->inputs().end());
    follow(block_, elements);
    std::vector<Node*> consumed{list_};
    consumed.insert(consumed.end(), touched_.begin(), touched_.end());
    std::vector<Value*> to;
    to.reserve(from_.size());
    for (const Value* value : from_) to.push_back(known_.at(value));
    rewriter.replaceAll(consumed, from_, to, "carries the elements of the list from round to round");
  }

 private:
  std::optional<std::size_t> indexOf(const Node* node) const {
    return constantIndex(node->input(1), list_->inputs().size());
  }

  // True if there are loops only between the list and the node.
  bool liesInLoops(const Node* node) const {
    for (const Block* block = node->owningBlock(); block != block_; block = block->owningNode()->owningBlock()) {
      if (block->owningNode() == nullptr || block->owningNode()->kind() != c10::prim::Loop) return false;
    }
    return true;
  }

  void noteWrite(Node* write, std::size_t index) {
    for (Node* loop = write->owningBlock()->owningNode(); write->owningBlock() != block_ && loop != nullptr;
         loop = loop->owningBlock()->owningNode()) {
      auto& written = written_[loop];
      if (std::find(written.begin(), written.end(), index) == written.end()) written.push_back(index);
      writes_[loop].push_back(write);
      if (loop->owningBlock() == block_) break;
    }
  }

  Value* resolved(Value* value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? value : found->second;
  }

  // Walks along the nodes with what the elements are.
  void follow(Block* block, std::vector<Value*>& elements) {
    for (Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Loop) {
        followLoop(node, elements);
        continue;
      }
      if (node->inputs().empty() || node->input(0) != list_->output()) continue;
      if (isRead(node)) {
        from_.push_back(node->output());
        known_[node->output()] = elements[*indexOf(node)];
      } else if (isWrite(node)) {
        elements[*indexOf(node)] = resolved(node->input(2));
      } else {
        Node* whole = rewriter_->create("prim::ListConstruct", elements, node);
        whole->output()->setType(list_->output()->type());
        node->replaceInput(0, whole->output());
      }
    }
  }

  void followLoop(Node* loop, std::vector<Value*>& elements) {
    const auto written = written_.find(loop);
    Block* body = loop->blocks()[0];
    if (written == written_.end()) return follow(body, elements);
    std::vector<std::size_t> indices = written->second;
    std::sort(indices.begin(), indices.end());
    std::vector<Value*> inside = elements;
    for (const std::size_t index : indices) {
      loop->addInput(elements[index]);
      inside[index] = body->addInput()->setType(c10::TensorType::get());
    }
    follow(body, inside);
    const std::vector<OriginId> ids = rewriter_->origins().of(writes_[loop]);
    for (const std::size_t index : indices) {
      body->registerOutput(inside[index]);
      elements[index] = loop->addOutput()->setType(c10::TensorType::get());
      rewriter_->origins().set(elements[index], ids);
    }
  }

  Node* const list_;
  Block* const block_;
  Rewriter* rewriter_ = nullptr;
  std::vector<Node*> touched_;  // readers and writers of elements
  // Elements that are replaced in a loop, by index, and what replaces them.
  std::unordered_map<const Node*, std::vector<std::size_t>> written_;
  std::unordered_map<const Node*, std::vector<Node*>> writes_;
  std::vector<Value*> from_;                        // what readers give
  std::unordered_map<const Value*, Value*> known_;  // and which element that is
};

bool eliminateLoopList(Graph&, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"prim::ListConstruct"})) {
    if (!context.rewriter.alive(node) || node->inputs().empty()) continue;
    ListState state(node);
    if (!state.read() || !context.rewriter.permit(node)) continue;
    state.rewrite(context.rewriter);
    changed = true;
  }
  // What the loops carry now has the types of the example.
  if (changed && context.record_shapes) context.record_shapes();
  return changed;
}

}  // namespace

const Pass kEliminateLoopList = {"eliminate-loop-list",
                                 "Carries the elements of a list from round to round, where loops replace them.",
                                 &eliminateLoopList,
                                 {"aten::_set_item"}};

}  // namespace ipex_studio

// Rewriter: creation, replacement and removal of nodes with origins, remarks and the rewrite limit.
#include "core/graph/rewriter.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/graph/graph_index.h"
#include "core/graph/reasons.h"
#include "core/torch/silent_writes.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

bool unused(const Node* node) {
  const auto outputs = node->outputs();
  return std::all_of(outputs.begin(), outputs.end(), [](const Value* output) { return !output->hasUses(); });
}

// Calls and attribute writes, which are left to the alias analysis.
bool isOpaque(c10::Symbol kind) {
  return kind == prim::CallMethod || kind == prim::CallFunction || kind == prim::SetAttr;
}

bool typeIsDefault(const Value* value) { return *value->type() == *c10::TensorType::get(); }

// The replacing value inherits the type and name of the value it replaces.
void inheritIdentity(Value* from, Value* to) {
  const bool tensor = from->type()->kind() == c10::TypeKind::TensorType;  // not an optional one
  if (tensor && typeIsDefault(to)) to->setType(from->type());
  if (to->hasDebugName() || !from->hasDebugName() || to->node()->kind() == prim::Param) return;
  const std::string name = from->debugName();
  from->setDebugName("");
  to->setDebugName(name);
}

}  // namespace

const std::vector<std::string>& Rewriter::noNames() {
  static const std::vector<std::string> none;
  return none;
}

bool Rewriter::permit(const Node* node) {
  created_.clear();
  if (exhausted()) return false;
  const bool last = limit_ >= 0 && rewrites_ + 1 == limit_;
  if (!last && left_out_.empty()) return true;
  const std::string name = rewriteName(pass_, node == nullptr ? std::vector<OriginId>() : origins_.of(node));
  if (std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end()) return false;
  if (last) last_rewrite_ = name;
  return true;
}

Node* Rewriter::create(const char* kind, at::ArrayRef<Value*> inputs, Node* before, std::size_t outputs) {
  Node* node = graph_.create(c10::Symbol::fromQualString(kind), inputs, outputs);
  destroyed_.erase(node);
  node->insertBefore(before);
  node->copyMetadata(before);
  created_.push_back(node);
  return node;
}

Value* Rewriter::constant(const torch::jit::IValue& value, Node* before, const std::string& name) {
  torch::jit::WithInsertPoint guard(before);
  Value* result = graph_.insertConstant(value);
  destroyed_.erase(result->node());
  if (!name.empty()) result->setDebugName(name);
  return result;
}

Value* Rewriter::none(Node* before) { return constant(torch::jit::IValue(), before); }

void Rewriter::replace(at::ArrayRef<Node*> consumed, Value* from, Value* to, const std::string& text) {
  replaceAll(consumed, {from}, {to}, text);
}

void Rewriter::replaceAll(at::ArrayRef<Node*> consumed, at::ArrayRef<Value*> from, at::ArrayRef<Value*> to,
                          const std::string& text) {
  IPEX_CHECK(from.size() == to.size(), "each replaced value needs its replacement");
  const std::vector<OriginId> origins = origins_.of(consumed);
  for (const Node* node : created_) {
    if (!alive(node) || node->kind() == prim::Constant) continue;
    for (const Value* output : node->outputs()) origins_.set(output, origins);
  }
  for (Node* node : created_) {
    if (!alive(node)) continue;
    if (!consumed.empty()) node->copyMetadata(consumed.front());
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    replaceUses(from[i], to[i]);
    inheritIdentity(from[i], to[i]);
  }
  std::vector<Node*> left(consumed.begin(), consumed.end());
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = left.size(); i-- > 0;) {
      if (!alive(left[i])) {
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (unused(left[i])) {
        destroy(left[i]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        progress = true;
      }
    }
  }
  applied(origins, text);
}

void Rewriter::replaceInput(Node* node, std::size_t index, Value* value) { uses_.replaceInput(node, index, value); }

void Rewriter::replaceUsesAfter(Node* node, Value* from, Value* to) { from->replaceAllUsesAfterNodeWith(node, to); }

void Rewriter::finish(Node* node, const std::string& text) {
  const std::vector<OriginId> origins = origins_.of(node);
  for (const Node* made : created_) {
    if (!alive(made) || made->kind() == prim::Constant) continue;
    for (const Value* output : made->outputs()) {
      if (origins_.of(output).empty()) origins_.set(output, origins);
    }
  }
  applied(origins, text);
}

void Rewriter::erase(Node* node, const std::string& text) {
  IPEX_CHECK(unused(node), "a node that is still used cannot be erased");
  const std::vector<OriginId> origins = origins_.of(node);
  destroy(node);
  applied(origins, text);
}

void Rewriter::destroy(Node* node) {
  std::vector<Node*> producers;
  for (Value* input : node->inputs()) {
    const auto kind = input->node()->kind();
    if (kind == prim::Constant || kind == prim::ListConstruct) producers.push_back(input->node());
  }
  destroyed_.insert(node);
  uses_.destroy(node);
  for (Node* producer : producers) {
    if (alive(producer) && unused(producer)) destroy(producer);
  }
}

void Rewriter::inlineBlock(Node* node, torch::jit::Block* block, const std::string& text) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (Node* inner : nodes) inner->moveBefore(node);
  const std::vector<Value*> from(node->outputs().begin(), node->outputs().end());
  const std::vector<Value*> to(block->outputs().begin(), block->outputs().end());
  forgetBlocks(node);
  replaceAll({node}, from, to, text);
  if (alive(node)) destroy(node);
}

void Rewriter::forgetBlocks(Node* node) {
  std::vector<torch::jit::Block*> open = node->blocks().vec();  // grows by the blocks nested in them
  while (!open.empty()) {
    torch::jit::Block* const block = open.back();
    open.pop_back();
    for (Node* gone : block->nodes()) {
      destroyed_.insert(gone);
      open.insert(open.end(), gone->blocks().begin(), gone->blocks().end());
    }
  }
}

void Rewriter::unroll(Node* loop, std::int64_t rounds, const std::string& text) {
  torch::jit::Block* const body = loop->blocks()[0];
  std::vector<Value*> carried(loop->inputs().begin() + 2, loop->inputs().end());
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::unordered_map<Value*, Value*> copies{{body->inputs()[0], constant(round, loop)}};
    for (std::size_t c = 0; c < carried.size(); ++c) copies[body->inputs()[c + 1]] = carried[c];
    const auto copyOf = [&](Value* value) {
      const auto found = copies.find(value);
      return found == copies.end() ? value : found->second;
    };
    for (Node* node : body->nodes()) {
      Node* copy = graph_.createClone(node, copyOf)->insertBefore(loop);
      destroyed_.erase(copy);
      copyOrigins(node, copy);
      for (std::size_t o = 0; o < node->outputs().size(); ++o) copies[node->output(o)] = copy->output(o);
    }
    for (std::size_t c = 0; c < carried.size(); ++c) carried[c] = copyOf(body->outputs()[c + 1]);
  }
  const std::vector<Value*> from(loop->outputs().begin(), loop->outputs().end());
  forgetBlocks(loop);
  replaceAll({loop}, from, carried, text);
  if (alive(loop)) destroy(loop);
}

void Rewriter::copyOrigins(const Node* from, const Node* to) {
  std::vector<std::pair<const Node*, const Node*>> open{{from, to}};
  while (!open.empty()) {
    const auto [original, copy] = open.back();
    open.pop_back();
    for (std::size_t o = 0; o < original->outputs().size(); ++o)
      origins_.set(copy->output(o), origins_.of(original->output(o)).vec());
    for (std::size_t b = 0; b < original->blocks().size(); ++b) {
      auto inner = copy->blocks()[b]->nodes().begin();
      for (const Node* node : original->blocks()[b]->nodes()) open.emplace_back(node, *inner++);
    }
  }
}

void Rewriter::branch(Value* condition, at::ArrayRef<Value*> known, at::ArrayRef<Value*> as, const std::string& text,
                      const Node* last, torch::jit::Block* block) {
  torch::jit::Block& whole = block != nullptr ? *block : *graph_.block();
  std::vector<Node*> readers, body;
  for (const Value* value : known) {
    for (const torch::jit::Use& use : value->uses()) {
      if (std::find(created_.begin(), created_.end(), use.user) == created_.end()) readers.push_back(use.user);
    }
  }
  const std::vector<OriginId> origins = origins_.of(readers);
  for (Node* node : whole.nodes()) {
    const bool stays = node->kind() == prim::Constant ||
                       std::find(created_.begin(), created_.end(), node) != created_.end() ||
                       (last != nullptr && !node->isAfter(last));
    if (!stays) body.push_back(node);
  }
  Node* branch = graph_.create(prim::If, {condition}, whole.outputs().size())->insertBefore(whole.return_node());
  torch::jit::Block *holds = branch->addBlock(), *other = branch->addBlock();
  std::unordered_map<Value*, Value*> copies;
  for (std::size_t i = 0; i < known.size(); ++i) copies[known[i]] = as[i];
  const auto copyOf = [&](Value* value) {
    const auto found = copies.find(value);
    return found == copies.end() ? value : found->second;
  };
  for (Node* node : body) {
    Node* copy = holds->appendNode(graph_.createClone(node, copyOf));
    destroyed_.erase(copy);
    copyOrigins(node, copy);
    for (std::size_t o = 0; o < node->outputs().size(); ++o) copies[node->output(o)] = copy->output(o);
  }
  for (Node* node : body) node->moveBefore(other->return_node());
  for (std::size_t o = 0; o < whole.outputs().size(); ++o) {
    Value* output = whole.outputs()[o];
    holds->registerOutput(copyOf(output));
    other->registerOutput(output);
    branch->output(o)->setType(output->type());
    origins_.set(branch->output(o), origins);
    whole.return_node()->replaceInput(o, branch->output(o));
  }
  for (const Node* made : created_) {
    for (const Value* output : made->outputs()) origins_.set(output, origins);
  }
  applied(origins, text);
}

bool Rewriter::formMayWrite(c10::Symbol kind, std::size_t operands) {
  if (isOpaque(kind)) return true;
  const auto [forms, unknown] = writing_forms_.try_emplace(kind);
  if (unknown && mayWriteSilently(kind)) {
    forms->second.push_back(kAnyNumber);
  } else if (unknown) {
    for (const auto& op : torch::jit::getAllOperatorsFor(kind)) {
      if (op->schema().is_mutable())
        forms->second.push_back(op->schema().is_vararg() ? kAnyNumber : op->schema().arguments().size());
    }
  }
  return std::any_of(forms->second.begin(), forms->second.end(),
                     [&](std::size_t taken) { return taken == kAnyNumber || taken == operands; });
}

bool Rewriter::mayWrite(const Node* node) {
  if (isOpaque(node->kind())) return true;
  return formMayWrite(node->kind(), node->inputs().size()) && writesOperands(node);
}

NodeWalk Rewriter::nodesThatMayWrite(const GraphIndex& graph_index) {
  return graph_index.nodesOfForm(
      [this](c10::Symbol kind, std::size_t operands) { return formMayWrite(kind, operands); }, this);
}

bool Rewriter::graphWrites(const std::function<const GraphIndex&()>& graph_index) {
  if (!graph_writes_) {
    bool writes = false;
    for (const Node* node : nodesThatMayWrite(graph_index())) {
      writes = mayWrite(node);
      if (writes) break;
    }
    graph_writes_ = writes;
  }
  return *graph_writes_;
}

void Rewriter::stock(const std::vector<OriginId>& before, const std::vector<OriginId>& after, const std::string& text) {
  std::vector<OriginId> gone;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(gone));
  graph_writes_.reset();
  applied(gone, text);
}

void Rewriter::missed(const std::vector<OriginId>& origins, const char* reason, const std::string& text) {
  remarks_.add(RemarkKind::kMissed, reason, text, origins);
}

void Rewriter::applied(const std::vector<OriginId>& origins, const std::string& text) {
  remarks_.add(RemarkKind::kApplied, reasons::kApplied, text, origins);
  for (const Node* made : created_) {
    if (alive(made) && mayWrite(made)) graph_writes_ = true;
  }
  created_.clear();
  ++rewrites_;
}

}  // namespace ipex_studio

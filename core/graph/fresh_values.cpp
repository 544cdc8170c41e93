// Schemas say which results own memory, which operands are written to and which results name them.
#include "core/graph/fresh_values.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/torch/silent_writes.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isOurs(const Node* node) { return std::string(node->kind().ns().toUnqualString()) == "ipex_studio"; }

// True for operators whose schemas say what they write to and which results name which operands.
bool hasHonestSchema(const Node* node) {
  if (!node->blocks().empty() || node->maybeSchema() == nullptr) return false;
  return node->kind().is_aten() || node->kind().is_prim() || isOurs(node) ||
         std::string(node->kind().ns().toUnqualString()) == "torchvision";
}

// True for nodes whose result is a new container that is named by what reads it alone.
bool makesContainer(const Node* node) {
  return node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::DictConstruct;
}

// True for nodes whose results are their operands, put together or taken apart.
bool carries(const Node* node) {
  static const c10::Symbol kKinds[] = {c10::prim::ListUnpack, c10::prim::TupleConstruct, c10::prim::TupleUnpack,
                                       c10::prim::TupleIndex, c10::prim::TupleSlice,     c10::prim::unchecked_cast};
  return makesContainer(node) || std::find(std::begin(kKinds), std::end(kKinds), node->kind()) != std::end(kKinds);
}

bool holdsTensors(const c10::TypePtr& type) {
  static const c10::TypeKind kKinds[] = {c10::TypeKind::TensorType, c10::TypeKind::AnyType, c10::TypeKind::ClassType,
                                         c10::TypeKind::InterfaceType};
  if (std::find(std::begin(kKinds), std::end(kKinds), type->kind()) != std::end(kKinds)) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), holdsTensors);
}

bool isContainer(const Value* value) { return value->type()->kind() != c10::TypeKind::TensorType; }

// Walks over the names of a value's memory: the value, and whatever names it or a container of it.
class NameWalk {
 public:
  explicit NameWalk(const Value* value) { add(value); }

  bool allOnlyRead() {
    while (!open_.empty()) {
      const Value* name = open_.back();
      open_.pop_back();
      const auto& uses = name->uses();
      if (!std::all_of(uses.begin(), uses.end(), [&](const auto& use) { return follow(name, use); })) return false;
    }
    return true;
  }

 private:
  void add(const Value* name) {
    if (seen_.insert(name).second) open_.push_back(name);
  }
  void addResults(const Node* node) {
    for (const Value* output : node->outputs()) {
      if (holdsTensors(output->type())) add(output);
    }
  }

  // Adds the names that the user makes. False if it writes to the memory, or keeps it where names are not known.
  bool follow(const Value* name, const torch::jit::Use& use) {
    const Node* user = use.user;
    if (user->kind() == c10::prim::Return) return followOut(user->owningBlock()->owningNode(), use.offset);
    if (user->kind() == c10::prim::Loop) return followIn(user, use.offset);
    if (user->kind() == c10::prim::If) return true;
    if (!carries(user) && !hasHonestSchema(user)) return false;
    if (carries(user) || mayReturnInput(user)) {
      addResults(user);
      return true;
    }
    return followOperand(name, use);
  }

  // The result `offset` of a block, of a condition or a loop.
  bool followOut(const Node* owner, std::size_t offset) {
    if (owner == nullptr) return false;
    if (owner->kind() == c10::prim::If) add(owner->output(offset));
    if (owner->kind() == c10::prim::Loop && offset > 0) {
      add(owner->output(offset - 1));
      add(owner->blocks()[0]->inputs()[offset]);
    }
    return owner->kind() == c10::prim::If || owner->kind() == c10::prim::Loop;
  }

  // A value that a loop begins with.
  bool followIn(const Node* loop, std::size_t offset) {
    constexpr std::size_t kFirstCarried = 2;  // behind the count and the condition
    if (offset >= kFirstCarried) {
      add(loop->output(offset - kFirstCarried));
      add(loop->blocks()[0]->inputs()[offset - 1]);
    }
    return true;
  }

  bool followOperand(const Value* name, const torch::jit::Use& use) {
    const auto& arguments = use.user->schema().arguments();
    if (use.offset >= arguments.size() || setsMemory(use.user)) return false;
    for (const Value* written : silentlyWritten(use.user)) {
      if (written == name) return false;
    }
    const auto* alias = arguments[use.offset].alias_info();
    if (!isContainer(name)) {
      if (alias == nullptr) return true;
      if (alias->isWrite()) return false;
    }
    // A container that changes keeps the memory of its elements; one that gets them has names of its own.
    for (std::size_t other = 0; other < arguments.size(); ++other) {
      const Value* into = use.user->input(other);
      if (other == use.offset || !isWritten(arguments[other]) || !isContainer(into)) continue;
      if (!makesContainer(into->node())) return false;
      add(into);
    }
    if (alias != nullptr || !isFreshTensor(use.user)) addResults(use.user);
    return true;
  }

  static bool isWritten(const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  }
  // Schemas do not say that the tensor written to then has the memory of the other one.
  static bool setsMemory(const Node* node) {
    const std::string name = node->kind().toUnqualString();
    return name == "set_" || name == "set_data";
  }
  static bool isFreshTensor(const Node* node) { return node->outputs().size() == 1 && isFresh(node->output()); }

  std::unordered_set<const Value*> seen_;
  std::vector<const Value*> open_;
};

// The value that this one is a view of, as far as that is known; itself if it is none.
const Value* viewed(const Value* value) {
  for (;;) {
    const Node* node = value->node();
    if (node->kind() == c10::prim::ListUnpack && node->input()->type()->kind() == c10::TypeKind::ListType) {
      value = node->input();
      continue;
    }
    if (!node->kind().is_aten() || !hasHonestSchema(node) || node->inputs().empty()) return value;
    const auto* from = node->schema().arguments()[0].alias_info();
    const auto* to = node->schema().returns().empty() ? nullptr : node->schema().returns()[0].alias_info();
    if (from == nullptr || to == nullptr || from->isWrite() || isContainer(node->input(0))) return value;
    value = node->input(0);
  }
}

}  // namespace

bool mayReturnInput(const Node* node) {
  static const std::unordered_set<std::string> names = {"dropout",
                                                        "feature_dropout",
                                                        "alpha_dropout",
                                                        "feature_alpha_dropout",
                                                        "type_as",
                                                        "broadcast_tensors",
                                                        "atleast_1d",
                                                        "atleast_2d",
                                                        "atleast_3d",
                                                        "einsum",
                                                        "meshgrid",
                                                        "tensordot",
                                                        "_no_grad_embedding_renorm_"};
  return names.count(node->kind().toUnqualString()) != 0;
}

bool isFresh(const Value* value) {
  const Node* node = value->node();
  if ((!node->kind().is_aten() && !isOurs(node)) || !node->blocks().empty() || mayReturnInput(node)) return false;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || schema->returns().size() <= value->offset()) return false;
  const auto& result = schema->returns()[value->offset()];
  return result.alias_info() == nullptr && result.type()->kind() == c10::TypeKind::TensorType;
}

bool isOnlyRead(const Value* value) {
  const Value* memory = viewed(value);
  return isFresh(memory) && NameWalk(memory).allOnlyRead();
}

}  // namespace ipex_studio

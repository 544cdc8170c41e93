// The alias analysis of libtorch says what a node writes to; the order of nodes says when.
#include "core/graph/write_order.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/fresh_values.h"
#include "core/graph/origins.h"
#include "core/torch/silent_writes.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// True for operators that write elements and leave sizes, strides and storage of the tensor as they are.
bool writesElementsOnly(const Node* writer) {
  static const std::unordered_set<std::string> kOthers = {
      "resize_",   "resize_as_", "set_",  "set_data",    "squeeze_",          "unsqueeze_", "t_",     "transpose_",
      "swapaxes_", "swapdims_",  "data_", "as_strided_", "resize_as_sparse_", "rename_",    "detach_"};
  return writer->kind().is_aten() && writer->maybeSchema() != nullptr &&
         kOthers.count(writer->kind().toUnqualString()) == 0;
}

const Node* outerLoop(const Node* node) {
  const Node* outer = node->owningBlock()->owningNode();
  while (outer != nullptr && outer->kind() != c10::prim::Loop) outer = outer->owningBlock()->owningNode();
  return outer;
}

bool isInside(const Node* node, const Node* outer) {
  while (node != nullptr && node != outer) node = node->owningBlock()->owningNode();
  return node == outer;
}

// True if a round of a loop may run the writer when an earlier one has run the node.
bool shareLoop(const Node* writer, const Node* node) {
  for (const Node* loop = outerLoop(node); loop != nullptr; loop = outerLoop(loop)) {
    if (isInside(writer, loop)) return true;
  }
  return false;
}

bool mayRunAfter(const Node* writer, const Node* node) {
  if (writer == node) return false;
  if (node->kind() == c10::prim::Param) return true;
  return !writer->isBefore(node) || shareLoop(writer, node);
}

bool sharesWithAny(const Value* value, const std::vector<Value*>& others, const torch::jit::AliasDb& aliases) {
  return std::any_of(others.begin(), others.end(), [&](const Value* other) { return aliases.mayAlias(value, other); });
}

// A pair of values of a loop: who writes under the name `from` writes to the memory of `to`, too.
struct Carried {
  const Value* from = nullptr;
  Value* to = nullptr;
};

std::vector<Carried> carriedBy(const std::vector<Node*>& loops) {
  constexpr std::size_t kInputs = 2, kBlockInputs = 1;  // the count and the condition; the number of the round
  std::vector<Carried> carried;
  for (Node* loop : loops) {
    torch::jit::Block& body = *loop->blocks().at(0);
    for (std::size_t k = 0; k < loop->outputs().size(); ++k) {
      carried.push_back({body.inputs()[kBlockInputs + k], body.outputs()[kBlockInputs + k]});
      carried.push_back({loop->output(k), loop->input(kInputs + k)});
    }
  }
  return carried;
}

}  // namespace

MemoryWrites memoryWrites(std::vector<Node*> writers, const std::vector<Node*>& loops,
                          const torch::jit::AliasDb& aliases) {
  MemoryWrites writes{std::move(writers), {}};
  for (const Node* writer : writes.writers) {
    for (Value* written : silentlyWritten(writer)) writes.untold.push_back(written);
  }
  std::vector<Carried> open = carriedBy(loops);
  for (bool found = true; found;) {
    const auto written = std::partition(open.begin(), open.end(), [&](const Carried& carried) {
      return !aliases.hasWriters(carried.from) && !sharesWithAny(carried.from, writes.untold, aliases);
    });
    found = written != open.end();
    for (auto it = written; it != open.end(); ++it) writes.untold.push_back(it->to);
    open.erase(written, open.end());
  }
  return writes;
}

MemoryWrites memoryWrites(torch::jit::Graph& graph, const torch::jit::AliasDb& aliases) {
  std::vector<Node*> writers, loops;
  for (Node* node : allNodes(graph)) {
    const auto* schema = node->maybeSchema();
    const bool writes = schema == nullptr ? !node->kind().is_prim() : writesOperands(node);
    const bool waits = node->kind() == c10::aten::wait;  // what was forked may have written
    if (writes || waits || node->kind() == c10::prim::SetAttr || node->hasSideEffects()) writers.push_back(node);
    if (node->kind() == c10::prim::Loop) loops.push_back(node);
  }
  return memoryWrites(std::move(writers), loops, aliases);
}

bool isWritten(const Value* value, const MemoryWrites& writes, const torch::jit::AliasDb& aliases) {
  return (aliases.hasWriters(value) || sharesWithAny(value, writes.untold, aliases)) && !isOnlyRead(value);
}

bool mayBeWrittenAfter(const Value* value, const Node* node, const MemoryWrites& writes,
                       const torch::jit::AliasDb& aliases) {
  const bool is_untold = sharesWithAny(value, writes.untold, aliases);
  if ((!is_untold && !aliases.hasWriters(value)) || isOnlyRead(value)) return false;
  if (is_untold) return true;
  if (value->node()->kind() == c10::prim::Constant) return true;
  const torch::jit::ValueSet values{value};
  return std::any_of(writes.writers.begin(), writes.writers.end(), [&](Node* writer) {
    return (!writesElementsOnly(writer) || mayRunAfter(writer, node)) && aliases.writesToAlias(writer, values);
  });
}

}  // namespace ipex_studio

// OriginTable, and the names of origins: module paths and labels.
#include "core/graph/origins.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/graph/rewriter.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

// Largest number of a node's origins that a label names.
constexpr std::size_t kLabelParts = 5;

// Distances, in nodes, at which a walk prefetches each kind of data.
constexpr std::size_t kAheadPage = 40, kAheadNode = 32, kAheadLists = 24, kAheadValues = 16, kAheadNeighbours = 10,
                      kAheadReaders = 5;
constexpr std::size_t kCacheLine = 64;

template <std::size_t kBytes>
void fetch(const void* address) {
  for (std::size_t at = 0; at < kBytes; at += kCacheLine) __builtin_prefetch(static_cast<const char*>(address) + at);
}

void collect(Block* block, bool with_constants, std::vector<Node*>& nodes) {
  for (Node* node : block->nodes()) {
    if (node->kind() != prim::Constant || with_constants) nodes.push_back(node);
    for (Block* nested : node->blocks()) collect(nested, with_constants, nodes);
  }
}

void sortUnique(std::vector<OriginId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::string sourceOf(const Node* node) {
  const auto location = node->sourceRange().file_line_col();
  if (!location) return "";
  return fmt::format("{}:{}", std::get<0>(*location), std::get<1>(*location));
}

// Turns "aten::conv2d" into "conv2d", and "aten::add_" into "add".
std::string shortKind(const std::string& kind) {
  const std::size_t colon = kind.rfind(':');
  std::string name = colon == std::string::npos ? kind : kind.substr(colon + 1);
  if (!name.empty() && name.back() == '_' && name.front() != '_') name.pop_back();
  return name;
}

}  // namespace

// Prefetches in stages. Each stage follows addresses that an earlier one fetched, so that no stage waits and the memory
// works on several nodes at once.
void NodeWalk::fetchAhead(std::size_t at) const {
  // Only addresses are used here, since a node ahead may be gone by now. Its first line brings its page's translation,
  // for which the others would wait.
  if (at + kAheadPage < nodes_.size()) fetch<1>(nodes_[at + kAheadPage]);
  if (at + kAheadNode < nodes_.size()) fetch<sizeof(Node)>(nodes_[at + kAheadNode]);
  if (fetched_ == Fetched::kNodes) return;
  const auto ahead = [&](std::size_t distance) -> const Node* {
    const Node* node = at + distance < nodes_.size() ? nodes_[at + distance] : nullptr;
    return node != nullptr && (rewriter_ == nullptr || rewriter_->alive(node)) ? node : nullptr;
  };
  if (const Node* node = ahead(kAheadLists)) {
    fetch<2 * kCacheLine>(node->inputs().data());
    fetch<1>(node->outputs().data());
  }
  if (fetched_ == Fetched::kValues) {
    if (const Node* node = ahead(kAheadValues)) {
      for (const Value* input : node->inputs()) fetch<1>(input);
      for (const Value* output : node->outputs()) fetch<1>(output);
    }
    return;
  }
  if (const Node* node = ahead(kAheadValues)) {
    for (const Value* input : node->inputs()) fetch<sizeof(Value)>(input);
    for (const Value* output : node->outputs()) fetch<sizeof(Value)>(output);
    // Removing this node, or inserting one before it, links its neighbours anew: fetch their links, and the order
    // numbers before those.
    for (const Node* beside : node->next_in_graph)
      fetch<2 * kCacheLine>(reinterpret_cast<const char*>(&beside->next_in_graph) - kCacheLine);
  }
  if (const Node* node = ahead(kAheadNeighbours)) {
    for (const Value* input : node->inputs()) {
      // A producer that only this node reads may be destroyed with it.
      if (input->uses().size() == 1) {
        fetch<sizeof(Node)>(input->node());
      } else {
        fetch<1>(input->node());
      }
    }
    for (const Value* output : node->outputs()) fetch<1>(output->uses().data());
  }
  if (const Node* node = ahead(kAheadReaders)) {
    for (const Value* output : node->outputs()) {
      if (output->hasUses()) fetch<sizeof(Node)>(output->uses()[0].user);
      fetch<sizeof(c10::TensorType)>(output->type().get());
    }
    for (const Value* input : node->inputs()) {
      fetch<1>(input->node()->inputs().data());
      fetch<1>(input->uses().data());
    }
  }
}

NodeWalk NodeWalk::reading(const Block& block) {
  std::vector<Node*> nodes;
  for (Node* node : const_cast<Block&>(block).nodes()) nodes.push_back(node);
  NodeWalk walk(std::move(nodes));
  walk.fetched_ = Fetched::kValues;
  return walk;
}

NodeWalk allNodes(Graph& graph, bool with_constants) {
  std::vector<Node*> nodes;
  collect(graph.block(), with_constants, nodes);
  return NodeWalk(std::move(nodes));
}

std::string modulePath(const Node* node) {
  std::string path;
  const auto callstack = node->callstack();
  if (!callstack) return path;
  for (const auto& entry : (*callstack)->vec()) {
    const auto& instance = std::get<2>(entry);
    if (!instance) continue;
    const std::string name = instance->instance_name();
    if (name.empty() || name == "SELF" || name == "INSTANCE_NAME_UNKNOWN") continue;
    if (!path.empty()) path += '.';
    path += name;
  }
  return path;
}

std::vector<OriginId> mergeOrigins(at::ArrayRef<OriginId> a, at::ArrayRef<OriginId> b) {
  std::vector<OriginId> merged;
  merged.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  return merged;
}

void OriginTable::assign(Graph& graph) {
  origins_.clear();
  table_.clear();
  lists_.clear();
  nodes_per_module_.clear();
  std::unordered_map<std::string, std::int32_t> ordinals;
  for (Node* node : allNodes(graph)) {
    if (node->outputs().empty()) continue;
    Origin origin;
    origin.id = static_cast<OriginId>(origins_.size());
    origin.module_path = modulePath(node);
    origin.kind = node->kind().toQualString();
    origin.ordinal = ordinals[origin.module_path + '\n' + origin.kind]++;
    origin.source = sourceOf(node);
    ++nodes_per_module_[origin.module_path];
    for (const Value* output : node->outputs()) entry(output) = origin.id;
    origins_.push_back(std::move(origin));
  }
}

at::ArrayRef<OriginId> OriginTable::of(const Value* value) const {
  if (value->unique() >= table_.size()) return {};
  const OriginId& entry = table_[value->unique()];
  if (entry == kNone) return {};
  return entry >= 0 ? at::ArrayRef<OriginId>(entry) : lists_[static_cast<std::size_t>(kFirstList - entry)];
}

OriginId& OriginTable::entry(const Value* value) {
  const std::size_t place = value->unique();
  if (place >= table_.size()) table_.resize(place + 1 + place / 2, kNone);
  return table_[place];
}

std::vector<OriginId> OriginTable::of(const Node* node) const {
  if (node->outputs().size() == 1) return of(node->output()).vec();
  std::vector<OriginId> ids;
  for (const Value* output : node->outputs()) ids = mergeOrigins(ids, of(output));
  return ids;
}

template <class Nodes>
std::vector<OriginId> OriginTable::unionOf(const Nodes& nodes) const {
  std::vector<OriginId> all;
  for (const Node* node : nodes) {
    for (const Value* output : node->outputs()) {
      const at::ArrayRef<OriginId> ids = of(output);
      all.insert(all.end(), ids.begin(), ids.end());
    }
  }
  sortUnique(all);
  return all;
}

std::vector<OriginId> OriginTable::of(at::ArrayRef<Node*> nodes) const { return unionOf(nodes); }
std::vector<OriginId> OriginTable::liveIds(const NodeWalk& nodes) const { return unionOf(nodes); }

void OriginTable::set(const Value* value, std::vector<OriginId> ids) {
  sortUnique(ids);
  OriginId& entry = this->entry(value);
  if (ids.size() <= 1) {
    entry = ids.empty() ? kNone : ids.front();
  } else if (entry <= kFirstList) {
    lists_[static_cast<std::size_t>(kFirstList - entry)] = std::move(ids);
  } else {
    entry = kFirstList - static_cast<OriginId>(lists_.size());
    lists_.push_back(std::move(ids));
  }
}

void OriginTable::reconcile(const NodeWalk& nodes, const std::vector<OriginId>& before) {
  const std::vector<OriginId> live = liveIds(nodes);
  std::vector<OriginId> vanished;
  std::set_difference(before.begin(), before.end(), live.begin(), live.end(), std::back_inserter(vanished));
  for (const Node* node : nodes) {
    if (node->outputs().empty() || !of(node).empty()) continue;
    std::vector<OriginId> producers;
    for (const Value* input : node->inputs()) producers = mergeOrigins(producers, of(input));
    OriginId follower = static_cast<OriginId>(origins_.size());
    for (const Value* output : node->outputs()) {
      for (const auto& use : output->uses()) {
        for (const OriginId id : of(use.user)) follower = std::min(follower, id);
      }
    }
    // Ids are topological in the frozen graph: the origins that vanished between the producers and the users belong to
    // this node.
    const OriginId first = producers.empty() ? 0 : producers.back();
    const auto begin = std::lower_bound(vanished.begin(), vanished.end(), first);
    const auto end = std::lower_bound(begin, vanished.end(), follower);
    std::vector<OriginId> ids(begin, std::max(begin, end));
    if (ids.empty()) ids = producers;
    for (const Value* output : node->outputs()) set(output, ids);
  }
}

std::string OriginTable::label(const std::vector<OriginId>& ids) const {
  std::string text;
  std::size_t parts = 0;
  for (const OriginId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= origins_.size()) continue;
    const Origin& origin = origins_[static_cast<std::size_t>(id)];
    if (parts == kLabelParts) return text + " + …";
    const auto nodes = nodes_per_module_.find(origin.module_path);
    const bool alone = !origin.module_path.empty() && nodes != nodes_per_module_.end() && nodes->second == 1;
    const std::string kind = shortKind(origin.kind);
    std::string part;
    if (parts == 0) {
      part = alone ? origin.module_path : (origin.module_path.empty() ? kind : origin.module_path + " " + kind);
    } else {
      const std::string last = origin.module_path.substr(origin.module_path.rfind('.') + 1);
      // A number in a Sequential says nothing behind another name.
      const bool named = alone && last.find_first_not_of("0123456789") != std::string::npos;
      part = named ? last : kind;
    }
    text += (parts == 0 ? "" : " + ") + part;
    ++parts;
  }
  return text;
}

std::string rewriteName(const std::string& pass, const std::vector<OriginId>& ids) {
  return ids.empty() ? pass : fmt::format("{}#{}", pass, fmt::join(ids, "+"));
}

std::string passOfRewrite(const std::string& name) { return name.substr(0, name.find('#')); }

}  // namespace ipex_studio

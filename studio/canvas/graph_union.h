// Lays all graphs of a job over each other, so that they are laid out once and nodes keep their places while a person
// scrubs through the passes.
//
// Every node of every graph gets a slot. A node of the frozen graph keeps its own; a later node takes the slot of one
// of its origins: the last that lies before everything that reads it, so that edges go on pointing forward and what was
// fused leaves its place to the edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

// A module of the model that holds at least two slots.
struct UnionModule {
  std::string path;
  std::int32_t parent = -1;  // index of the module around it, which comes first; -1: none
  std::int32_t depth = 0;    // number of modules around it
  std::int32_t slots = 0;    // number of slots in it and in the modules inside it
};

// A value on its way from the slot that makes it to one that reads it.
struct UnionEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t value = -1;       // index into GraphSnapshot::values; -1: only order (into a block)
  std::int32_t conversion = -1;  // node without a slot on the way: a reorder, cast or quantization; -1: none
};

struct UnionStage {
  static constexpr std::int32_t kAbsent = -1;
  static constexpr std::int32_t kPort = -2;  // stands for an input or output of the graph

  std::vector<std::int32_t> slot_of_node;  // slot of each node; -1: not drawn (lists, tuples, conversions)
  std::vector<std::int32_t> node_of_slot;  // for each slot: a node, kAbsent or kPort
  std::vector<UnionEdge> edges;            // edges in the order of the nodes that read
};

struct GraphUnion {
  std::int32_t slots = 0;
  std::int32_t inputs = 0;         // number of inputs, which are the first slots
  std::int32_t outputs = 0;        // number of outputs, which are the last slots
  std::vector<UnionStage> stages;  // for each of JobIndex::graphs
  std::vector<UnionModule> modules;
  std::vector<std::int32_t> module_of_slot;  // innermost module of each slot; -1: none
};

// Unites the graphs of a job. Pure and thread-safe; the records' ids and strings are not trusted.
GraphUnion uniteGraphs(const JobIndex& index);

// True for nodes that only change how a value is stored, which are drawn on the edge that pays for them.
bool isConversion(const GraphSnapshot& graph, const GraphNode& node);

}  // namespace ipex_studio

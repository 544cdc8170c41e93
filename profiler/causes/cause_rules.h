// The kinds of waste that are looked for in a model, each with the nodes that show it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/causes/graph_facts.h"

namespace ipex_studio {

// How what a cause costs can be had back, beside optimizing.
enum class CauseRemedy {
  kNone,             // optimizing does what can be done
  kSinglePrecision,  // computing in FP32 what the model computes in double precision
  kEvaluation,       // running in evaluation mode what was recorded in training mode
  kModel,            // the model's author has to change it
};

struct CauseRule {
  const char* name;     // "double-precision": of tables and JSON
  const char* one;      // "operation computes in double precision (FP64)", behind a 1
  const char* several;  // "operations compute in double precision (FP64)", behind a count
  const char* advice;   // what the author can do, as a sentence
  CauseRemedy remedy;
  std::int32_t least;  // number of nodes below which it is none
  bool (*fits)(const GraphFacts& facts, const GraphNode& node);
};

// The most telling first: of two that take the same time the first is named first.
const std::vector<CauseRule>& causeRules();

}  // namespace ipex_studio

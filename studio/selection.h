// What is selected, shared by all panels: a set of origins, and which pass each canvas shows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/records.h"

namespace ipex_studio {

// Owned and used by the drawing thread alone.
class Selection {
 public:
  // Sorted, unique. A node, step, remark or time is selected when it shares an origin with the selection.
  const std::vector<OriginId>& origins() const { return origins_; }
  bool empty() const { return origins_.empty(); }
  bool contains(OriginId origin) const;
  bool overlaps(const std::vector<OriginId>& origins) const;

  // `label` names the thing that was clicked; `reveal` asks the canvases to bring it into view.
  void select(std::vector<OriginId> origins, bool reveal);
  void clear();

  // Rises with every change of the origins; panels compare it to know when to scroll.
  std::uint64_t generation() const { return generation_; }
  // Rises when the selection should be brought into view.
  std::uint64_t revealGeneration() const { return reveal_generation_; }

  // Index into StudioSnapshot::stages of the graph shown at the right ("after"); -1: the last one, also when it moves.
  std::int32_t after_stage = -1;
  // Same for the left ("before"); -1: the frozen graph; kPreviousStage: the one before after_stage.
  std::int32_t before_stage = -1;

 private:
  std::vector<OriginId> origins_;
  std::uint64_t generation_ = 0;
  std::uint64_t reveal_generation_ = 0;
};

}  // namespace ipex_studio

// The selection that all panels share: a set of origins, and the pass that each canvas shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// Not thread-safe; used by the drawing thread alone.
class Selection {
 public:
  // The selected origins, sorted and unique. A node, step, remark or time is selected if it shares an origin with
  // them.
  const std::vector<OriginId>& origins() const { return origins_; }
  bool empty() const { return origins_.empty(); }
  bool contains(OriginId origin) const;
  bool overlaps(const std::vector<OriginId>& origins) const;

  // Replaces the selection. `reveal`: asks canvases and tables to bring it into view.
  void select(std::vector<OriginId> origins, bool reveal);
  void clear();

  // Rises with every change of the origins; panels compare it to know when to scroll.
  std::uint64_t generation() const { return generation_; }
  // Rises when the selection should be brought into view.
  std::uint64_t revealGeneration() const { return reveal_generation_; }

  // Index into JobIndex::stages of the graph shown at the right ("after"); -1: JobIndex::default_stage, also when it
  // moves. The left side ("before") is always stage before_stage, the frozen graph at first.
  std::int32_t after_stage = -1;
  std::int32_t before_stage = 0;
  // True: the left side shows the graph before the pass at the right, not before_stage.
  bool before_is_previous = false;
  // Name of a bottom panel to bring to the front; the window takes it and empties it.
  std::string front_panel;

  // Requests an action (Action::name) for a key, the palette or a script; the panel that carries it out takes it in
  // the same frame or the next.
  void request(const std::string& action) { requests_.push_back({action, 2, false}); }
  bool take(const std::string& action);
  // The oldest request that was neither taken nor returned here before; nullopt if there is none.
  std::optional<std::string> nextRequest();
  bool hasRequests() const { return !requests_.empty(); }
  // Drops requests that no panel took; called at the end of each frame.
  void ageRequests();

 private:
  struct Request {
    std::string action;
    int frames_left;
    bool seen = false;  // true: nextRequest() has returned it
  };

  std::vector<Request> requests_;
  std::vector<OriginId> origins_;
  std::uint64_t generation_ = 0;
  std::uint64_t reveal_generation_ = 0;
};

}  // namespace ipex_studio

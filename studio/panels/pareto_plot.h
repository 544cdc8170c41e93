// All assignments of precisions that were tried, as latency against accuracy; a click takes one over as decisions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studio/panels/chart.h"
#include "studio/panels/panel.h"

namespace ipex_studio {

struct ParetoPoint {
  std::string name;
  double ms = 0;
  double quality = 0;  // larger is better
  bool front = false;  // true: no other point is both faster and better
  bool chosen = false;
  std::optional<Overrides> decisions;  // decisions that make the point; nullopt: not known any more
};

// Points of a search's assignments, or of the shown run, and of trials by hand. `quality`: receives the name of the
// measure that judges the points.
std::vector<ParetoPoint> paretoPoints(const StudioSnapshot& snapshot, std::string* quality);

class ParetoPlot {
 public:
  explicit ParetoPlot(const Ui& ui) : ui_(ui) {}
  // Draws into the current window, below its first 52 points.
  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);

 private:
  void drawLoaded(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  void act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  void drawPoints(const StudioSnapshot& snapshot, const ChartScale& x, const ChartScale& y, Commands& commands);

  const Ui& ui_;
  std::vector<ParetoPoint> points_;
  int marked_ = -1;  // index of the point that keys have reached; -1: none
};

}  // namespace ipex_studio

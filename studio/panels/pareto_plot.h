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
  bool front = false;  // nothing else is both faster and better
  bool chosen = false;
  std::optional<Overrides> decisions;  // that make it; nothing: not known any more
};

// Assignments of a search, or the shown run, and trials by hand. `quality`: the measure that the points are judged by.
std::vector<ParetoPoint> paretoPoints(const StudioSnapshot& snapshot, std::string* quality);

class ParetoPlot {
 public:
  explicit ParetoPlot(const Ui& ui) : ui_(ui) {}
  // Into the current window, below its first 52 points.
  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);

 private:
  void drawLoaded(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  void act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  void drawPoints(const StudioSnapshot& snapshot, const ChartScale& x, const ChartScale& y, Commands& commands);

  const Ui& ui_;
  std::vector<ParetoPoint> points_;
  int marked_ = -1;  // point that keys have reached; -1: none
};

}  // namespace ipex_studio

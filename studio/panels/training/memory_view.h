// The memory of tensors over a training's profiled step, as a chart.
#pragma once

#include <vector>

#include "core/record/training_record.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class TrainingMemoryView {
 public:
  explicit TrainingMemoryView(const Ui& ui) : ui_(ui) {}
  // `rows`: those of one step.
  void show(std::vector<TrainingMemory> rows);
  // Fills the window.
  void draw() const;

 private:
  void drawLegend(ImVec2 end) const;
  const TrainingMemory& rowAt(double ns) const;

  const Ui& ui_;
  std::vector<TrainingMemory> rows_;
  double most_bytes_ = 0;
  double backward_ns_ = 0;  // where it begins
};

}  // namespace ipex_studio

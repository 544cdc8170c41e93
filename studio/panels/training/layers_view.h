// The layers of a training's profiled step as a table.
#pragma once

#include <vector>

#include "core/record/training_record.h"
#include "studio/panels/data_table.h"

namespace ipex_studio {

class TrainingLayersView {
 public:
  explicit TrainingLayersView(const Ui& ui);
  // `layers`: those of one step.
  void show(std::vector<TrainingLayer> layers);
  // Fills the window.
  void draw(Selection& selection);

 private:
  void foldSmall();
  void sort();
  void drawRow(int position);

  const Ui& ui_;
  DataTable table_;
  std::vector<TrainingLayer> layers_;
  double longest_ns_ = 0, whole_ns_ = 0;
  int selected_ = -1;
};

}  // namespace ipex_studio

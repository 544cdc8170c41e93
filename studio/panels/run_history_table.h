// The recorded runs of a model, and those of others that are compared, as a table with the model's trend above.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "studio/panels/data_table.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// Letter of a run among those that stand side by side: "A" for place 0.
std::string runLetter(std::size_t place);

// Not thread-safe; used by the drawing thread.
class RunHistoryTable {
 public:
  explicit RunHistoryTable(const Ui& ui);

  // Takes over the runs of the snapshot's model, if the snapshot has others than before.
  void update(const StudioSnapshot& snapshot);
  // Takes over the compared runs as chosen ones; `set` may be null.
  void adopt(const RunSet* set);
  // Carries out requested actions.
  void act(Selection& selection, Commands& commands);
  // Draws trend and table into the current window.
  void draw(Commands& commands);
  bool empty() const { return rows_.empty(); }
  bool anyChosen() const { return !chosen_.empty(); }

 private:
  // A run of the history.
  struct Row {
    const RunSummary* run = nullptr;
    double speedup = 0;      // speed over the baseline of its job; 0: unknown
    bool disturbed = false;  // the machine was not quiet while its job was measured
  };

  void sort();
  void drawTrend() const;
  void toggle(std::int64_t run, Commands& commands);

  const Ui& ui_;
  DataTable table_;
  std::shared_ptr<const RunHistory> shown_history_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::shared_ptr<const RunSet> shown_set_;
  std::string sha256_;                // of the model that is open; empty: none
  std::vector<Row> rows_;             // the runs of shown_history_ of that model, and those that are compared
  std::vector<std::int64_t> chosen_;  // numbers of the chosen runs, in the order of choice
  int marked_ = -1;                   // index into rows_ that keys have reached; -1: none
};

}  // namespace ipex_studio

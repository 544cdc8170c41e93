// The dialog that starts jobs on data: calibrate, quantize, search precisions; and the long measuring of kernels. Its
// lines are the fields of a request that have a form (core/record/request_fields.h).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request_form.h"
#include "studio/panels/dialogs/file_dialog.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class TuningDialog {
 public:
  explicit TuningDialog(const Ui& ui);
  // Opens the dialog; to be called in the window that draws it.
  void open(TuneGoal goal);
  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  bool settled() const { return browser_.settled(); }

  // The command with everything that is filled in; `restart`: an interrupted job begins anew.
  TuneCommand command(bool restart) const;
  // Why the job cannot be started, as a sentence; empty if it can.
  std::string problem() const;

 private:
  // A line of the dialog and what is filled in.
  struct Line {
    Form form;
    std::array<char, 1024> text{};
    int chosen = 0;  // index of the chosen word
  };
  void drawGoals(const StudioSnapshot& snapshot);
  void drawLine(Line* line, bool remote);
  void drawPath(Line* line);
  void drawNumber(Line* line);
  void drawChoice(Line* line);
  void drawFoot(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  // True if the job that is chosen takes the line.
  bool taken(const Line& line) const { return (line.form.goals & goalBit(goal_)) != 0; }
  const Line& lineOf(std::string_view key) const;

  const Ui& ui_;
  FileDialog browser_;
  Line* browsed_ = nullptr;  // line that the browser is open for; null: none
  TuneGoal goal_ = TuneGoal::kQuantize;
  std::vector<Line> lines_;  // never resized
  bool opening_ = false;
};

}  // namespace ipex_studio

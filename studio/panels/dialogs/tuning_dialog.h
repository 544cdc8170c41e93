// The dialog that starts jobs on data: calibrate, quantize, search precisions; and the long measuring of kernels.
#pragma once

#include <array>
#include <string>

#include "studio/panels/dialogs/file_dialog.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class TuningDialog {
 public:
  explicit TuningDialog(const Ui& ui) : ui_(ui), browser_(ui) {}
  // To be called in the window that draws it.
  void open(TuneGoal goal);
  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  bool settled() const { return browser_.settled(); }

  // The command with everything that is filled in; `restart`: an interrupted job begins anew.
  TuneCommand command(bool restart) const;
  // Why the job cannot be started, as a sentence; empty if it can.
  std::string problem() const;

 private:
  using Field = std::array<char, 1024>;
  void drawGoals(const StudioSnapshot& snapshot);
  void drawData(bool remote);
  void drawBudget();
  void drawFoot(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  void pathField(const char* id, const char* text, const char* hint, Field* field, FileWish wish);
  void number(const char* id, const char* text, const char* unit, std::array<char, 24>* field);

  const Ui& ui_;
  FileDialog browser_;
  Field* browsed_ = nullptr;  // which one the browser is open for
  TuneGoal goal_ = TuneGoal::kQuantize;
  Field data_{}, preprocess_{}, recipe_{}, save_recipe_{};
  std::array<char, 24> samples_{}, drop_{'0', '.', '0', '1'}, sqnr_{'3', '0'}, budget_{'6', '0', '0'};
  int method_ = 0;
  int metric_ = 0;
  bool opening_ = false;
};

}  // namespace ipex_studio

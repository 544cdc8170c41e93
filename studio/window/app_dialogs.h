// Dialogs that belong to no panel: they open a file, ask how far a model is trusted, and tune.
#pragma once

#include "studio/panels/dialogs/file_dialog.h"
#include "studio/panels/dialogs/tuning_dialog.h"

namespace ipex_studio {

class AppDialogs {
 public:
  explicit AppDialogs(const Ui& ui) : ui_(ui), files_(ui), tuning_(ui) {}
  // Draws the open dialog over everything else; opens on "file.open", "tune.…", and when the snapshot asks for trust.
  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
  bool settled() const { return files_.settled() && tuning_.settled(); }

 private:
  void drawTrust(const StudioSnapshot& snapshot, Commands& commands);

  const Ui& ui_;
  FileDialog files_;
  TuningDialog tuning_;
  bool answered_ = false;  // the question that the snapshot still holds
};

}  // namespace ipex_studio

// The dialog that exports: it asks for path, form and precision, and shows whether the file's results are right.
#pragma once

#include <array>
#include <optional>

#include "studio/panels/dialogs/file_dialog.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class ExportDialog {
 public:
  explicit ExportDialog(const Ui& ui) : ui_(ui), browser_(ui) {}
  // Opens the dialog; to be called in the window that draws it.
  void open(const StudioSnapshot& snapshot);
  void draw(const StudioSnapshot& snapshot, Commands& commands);
  bool settled() const { return browser_.settled(); }

 private:
  void drawForm(const StudioSnapshot& snapshot);
  void drawPrecision(const StudioSnapshot& snapshot);
  void drawResult(const StudioSnapshot& snapshot, Commands& commands);
  void drawCode(const ExportResult& result, const std::vector<InputRecord>& inputs);
  // Asks whether the file that exists already may be replaced.
  void drawQuestion(const ExportResult& result, Commands& commands) const;
  std::string remeasured(const StudioSnapshot& snapshot) const;
  ExportCommand command() const;

  const Ui& ui_;
  FileDialog browser_;
  std::array<char, 1024> path_{};
  ExportForm form_ = ExportForm::kCompiled;
  std::optional<Precision> precision_;
  std::optional<bool> tuned_;
  bool prepared_ = false;
  bool cpp_ = false;  // true: the code shown is C++, else Python
  bool opening_ = false;
};

}  // namespace ipex_studio

// The dialog for options without a widget of their own: flags of the command line, for the next run.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class FlagsDialog {
 public:
  explicit FlagsDialog(const Ui& ui) : ui_(ui) {}
  // Opens the dialog with the flags in force; to be called in the window that draws it.
  void open(const StudioSnapshot& snapshot);
  void draw(const StudioSnapshot& snapshot, Commands& commands);

 private:
  const Ui& ui_;
  std::array<char, 2048> words_{};
  bool opening_ = false;
  bool asked_ = false;        // the flags were sent and are not answered yet
  std::uint64_t answer_ = 0;  // number of the last answer that was seen
  std::string problem_;       // why they were refused; empty: they were not
};

}  // namespace ipex_studio

// Progress of a job on the terminal: one line on stderr that is redrawn, and nothing at all when stderr is no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "studio/job/session_job.h"

namespace ipex_studio {

struct TerminalStyle {
  std::size_t columns;
  bool color;
};
// Width of stdout, and whether it shows colours: not with NO_COLOR, and not through pipes.
TerminalStyle stdoutStyle();

class TerminalProgress : public JobEvents {
 public:
  TerminalProgress();
  ~TerminalProgress() override { clear(); }

  void onProgress(const std::string& stage, double fraction, double eta_s) override;
  void onLog(const std::string& text, bool warning) override;
  // Removes the line, so that other text can be printed.
  void clear();

 private:
  bool terminal_;
  bool color_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

// The text of a progress line: "[#########-----------]  45%  measure  4 s left", at most `columns` wide; without the
// time left if that is negative.
std::string progressLine(const std::string& stage, double fraction, double eta_s, bool color, int columns);

}  // namespace ipex_studio

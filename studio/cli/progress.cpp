// Draws and clears the progress line, and finds out what the terminal can show.
#include "studio/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr auto kQuietTime = std::chrono::seconds(1);  // shorter work needs no bar
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kBarCells = 24, kMinBarCells = 6;

constexpr int kPipeColumns = 120;

int terminalColumns(int fd, int otherwise) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool isTerminal(int fd) {
  const char* type = std::getenv("TERM");
  return ::isatty(fd) == 1 && (type == nullptr || std::string(type) != "dumb");
}

bool colorAllowed() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

std::string timeLeft(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s left", std::ceil(seconds));
  if (seconds < 7200) return fmt::format("{:.0f} min left", std::ceil(seconds / 60));
  return fmt::format("{:.1f} h left", seconds / 3600);
}

}  // namespace

std::string progressLine(const std::string& stage, double fraction, double eta_s, bool color, int columns) {
  const double part = std::clamp(fraction, 0.0, 1.0);
  std::string text = fmt::format(" {:3.0f}%  {}", part * 100, displayText(stage, 60));
  if (eta_s >= 0) text += "  " + timeLeft(eta_s);
  // A long text takes from the bar first.
  const int cells = std::clamp(columns - 3 - static_cast<int>(text.size()), kMinBarCells, kBarCells);
  const int filled = static_cast<int>(std::lround(part * cells));
  const std::size_t room = static_cast<std::size_t>(std::max(0, columns - cells - 3));
  if (text.size() > room) text.resize(room);
  const std::string done(static_cast<std::size_t>(filled), '#');
  const std::string rest(static_cast<std::size_t>(cells - filled), '-');
  return color ? fmt::format("[\x1b[36m{}\x1b[0m{}]{}", done, rest, text) : fmt::format("[{}{}]{}", done, rest, text);
}

TerminalStyle stdoutStyle() {
  const int columns = terminalColumns(STDOUT_FILENO, kPipeColumns);
  return {static_cast<std::size_t>(std::max(columns, 60)), isTerminal(STDOUT_FILENO) && colorAllowed()};
}

TerminalProgress::TerminalProgress() : terminal_(isTerminal(STDERR_FILENO)), color_(terminal_ && colorAllowed()) {}

void TerminalProgress::onProgress(const std::string& stage, double fraction, double eta_s) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - started_ < kQuietTime || now - last_ < kRedrawInterval) return;
  last_ = now;
  drawn_ = true;
  std::fputs(("\r\x1b[K" + progressLine(stage, fraction, eta_s, color_, terminalColumns(STDERR_FILENO, 80))).c_str(),
             stderr);
  std::fflush(stderr);
}

void TerminalProgress::onLog(const std::string& text, bool warning) {
  clear();
  std::fprintf(stderr, "%s%s\n", warning ? "warning: " : "", displayText(text, 1000).c_str());
}

void TerminalProgress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace ipex_studio

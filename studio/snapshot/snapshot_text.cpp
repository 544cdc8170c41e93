// Text that snapshots and panels share: times, shapes, and strings made fit for display.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr std::string_view kTimes = "\xC3\x97";

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

struct Unit {
  double size;
  const char* name;
};
constexpr std::array<Unit, 4> kTimeUnits = {Unit{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
constexpr std::array<Unit, 4> kByteUnits = {Unit{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}};

// Decimals that give a number three significant figures.
int decimalsOf(double value) {
  const double magnitude = std::abs(value);
  return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

std::string threeFigures(double value) { return fmt::format("{:.{}f}", value, decimalsOf(value)); }

// The largest unit of which there is one at least, as rounded.
Unit unitOf(double value, const std::array<Unit, 4>& units) {
  Unit unit = units[0];
  for (const Unit& larger : units) {
    if (std::abs(value) >= larger.size * 0.9995) unit = larger;
  }
  return unit;
}

}  // namespace

std::string formatTime(double ns) {
  if (!std::isfinite(ns)) return "–";
  if (ns == 0) return "0 ms";
  const Unit unit = unitOf(ns, kTimeUnits);
  return fmt::format("{} {}", threeFigures(ns / unit.size), unit.name);
}

std::string kernelReason(const std::string& code) {
  static constexpr std::pair<std::string_view, const char*> kReasons[] = {
      {"dtype", "not for these types of values"},
      {"layout", "not for this layout"},
      {"no-fast-implementation", "the library has no fast one for this"},
      {"post-ops", "cannot do what follows it"},
      {"not-depthwise", "for depthwise convolutions only"},
      {"depthwise", "not for depthwise convolutions"},
      {"not-one-pixel", "for results of one pixel only"},
      {"one-row", "not for a single row"},
      {"rows", "for few rows only"},
      {"transposed", "not for transposed matrices"},
      {"weights-layout", "not for weights that lie like this"},
      {"weights-not-packed", "for packed weights only"},
      {"algorithm", "Winograd would not be exact enough, or does not fit"},
      {"shape", "not for these sizes"},
      {"strided", "not for strided tensors"},
      {"slower", "slower in the plan"}};
  for (const auto& [known, words] : kReasons) {
    if (code == known) return words;
  }
  std::string words = displayText(code, 120);
  const bool plain =
      std::all_of(words.begin(), words.end(), [](unsigned char c) { return std::islower(c) != 0 || c == '-'; });
  if (plain) std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

std::string unattributedText(double ns, double of_ns, double step_scale) {
  if (step_scale < 1)
    return fmt::format("operations one by one take {:.3g} times as long; their times are scaled", 1 / step_scale);
  return fmt::format("{} unattributed ({:.1f} %)", formatTime(ns), ns / of_ns * 100);
}

std::string formatSpread(const TimeStatistics& time) {
  if (!std::isfinite(time.p50_ns) || !std::isfinite(time.half_width_ns)) return "–";
  const Unit unit = unitOf(time.p50_ns, kTimeUnits);
  const double value = time.p50_ns / unit.size;
  return fmt::format("{} ± {:.{}f} {}", threeFigures(value), time.half_width_ns / unit.size, decimalsOf(value),
                     unit.name);
}

std::string formatShape(const std::string& text) {
  std::string shape = displayText(text, 96);
  const std::size_t open = shape.find('(');
  const std::size_t close = shape.find(')', open == std::string::npos ? 0 : open);
  if (open != std::string::npos && close != std::string::npos && shape.compare(0, open, "Tensor") != 0) {
    // In "Float(1, 64, 56, 56, strides=[…])" only the sizes stand before the first word.
    std::string sizes;
    for (const char c : shape.substr(open + 1, close - open - 1)) {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) break;
      if (c != ' ') sizes += c;
    }
    while (!sizes.empty() && sizes.back() == ',') sizes.pop_back();
    for (char& c : sizes) c = c == ',' ? 'x' : c;
    if (!sizes.empty()) shape = sizes;
  }
  std::string out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool between = shape[i] == 'x' && i > 0 && i + 1 < shape.size() &&
                         std::isdigit(static_cast<unsigned char>(shape[i - 1])) != 0 &&
                         (std::isdigit(static_cast<unsigned char>(shape[i + 1])) != 0 || shape[i + 1] == '*');
    if (between) {
      out += kTimes;
    } else {
      out += shape[i];
    }
  }
  return out;
}

std::string formatBytes(std::int64_t bytes) {
  const Unit unit = unitOf(static_cast<double>(bytes), kByteUnits);
  if (unit.size == 1) return fmt::format("{} B", bytes);
  return fmt::format("{} {}", threeFigures(static_cast<double>(bytes) / unit.size), unit.name);
}

std::string formatInput(const std::string& description) {
  std::string text = description;
  constexpr std::pair<const char*, const char*> kShort[] = {
      {":float32", " f32"}, {":float64", " f64"}, {":int64", " i64"}, {":int32", " i32"}, {":bfloat16", " bf16"}};
  for (const auto& [from, to] : kShort) {
    const std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, std::string(from).size(), to);
  }
  return formatShape(text);
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string displayText(const std::string& text, std::size_t max_bytes) {
  std::size_t length = text.size();
  const bool cut = length > max_bytes;
  if (cut) {
    length = max_bytes > kEllipsis.size() ? max_bytes - kEllipsis.size() : 0;
    while (length > 0 && isContinuation(text[length])) --length;
  }
  std::string out(text, 0, length);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  if (cut) out += kEllipsis;
  return out;
}

}  // namespace ipex_studio

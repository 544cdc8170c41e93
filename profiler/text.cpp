// UTF-8 decoding and escaping, and number formats.
#include "profiler/text.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "core/record/records.h"

namespace ipex_studio {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Decodes one code point; returns its length in bytes, 0 if it is not well-formed UTF-8.
std::size_t decode(std::string_view text, std::uint32_t& point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    point = first;
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  point = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
  return length;
}

bool harmful(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0x200E || point == 0x200F || point == 0x2028 ||
         point == 0x2029;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t point = 0;
    const std::size_t length = decode(text, point);
    if (length == 0 || harmful(point)) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string htmlText(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::size_t displayWidth(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += !continues(c);
  return width;
}

std::string ellipsized(std::string_view text, std::size_t width) {
  if (displayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && ++columns == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string msText(double ns) {
  const double ms = ns / 1e6;
  if (!std::isfinite(ms) || ms == 0) return "–";
  const double size = std::fabs(ms);
  const int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 4;
  return fmt::format("{:.{}f}", ms, decimals);
}

std::string shareText(double share) {
  if (!std::isfinite(share)) return "–";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string ratioText(double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return "–";
  return fmt::format("{:.{}f}×", ratio, ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2);
}

std::string megabytes(std::int64_t bytes) {
  if (bytes <= 0) return "–";
  const double mb = static_cast<double>(bytes) / 1e6;
  return fmt::format("{:.{}f}", mb, mb >= 10 ? 0 : 1);
}

std::string dateText(std::int64_t unix_ns) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  if (!gmtime_r(&seconds, &utc)) return "–";
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return std::string(text, length);
}

std::string fileName(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string runName(std::string_view variant, std::string_view precision, std::string_view device) {
  const std::string where = device.empty() || device == "cpu" ? "" : " on " + std::string(device);
  return printable(std::string(variant) + " " + std::string(precision) + where);
}

std::string accuracyText(double sqnr_db) {
  if (!std::isfinite(sqnr_db)) return "not finite";
  return sqnr_db >= kSqnrOfEqual ? "equal" : fmt::format("{:.1f} dB", sqnr_db);
}

}  // namespace ipex_studio

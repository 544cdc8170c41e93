// See text_base64.h.
#include "studio/protocol/text_base64.h"

#include <array>
#include <cstdint>

namespace ipex_studio {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::array<std::int8_t, 256> digitValues() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::int8_t d = 0; d < 64; ++d) values[static_cast<unsigned char>(kDigits[d])] = d;
  return values;
}

}  // namespace

std::string toBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t at) { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U; };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[group >> 18 & 63];
    text += kDigits[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return text;
}

std::optional<std::string> fromBase64(std::string_view text) {
  static const std::array<std::int8_t, 256> kValues = digitValues();
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const std::size_t padding = !last || text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    unsigned group = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      const int value = d >= 4 - padding ? 0 : kValues[static_cast<unsigned char>(text[i + d])];
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<unsigned>(value);
    }
    for (std::size_t b = 0; b < 3 - padding; ++b) bytes += static_cast<char>(group >> (16 - 8 * b) & 255);
  }
  return bytes;
}

}  // namespace ipex_studio

// See fonts.h.
#include "studio/ui/fonts.h"

#include <sys/stat.h>

#include <cmath>
#include <string>
#include <vector>

namespace ipex_studio {
namespace {

// Folders of the fonts in Debian's packages fonts-inter and fonts-jetbrains-mono, and of manual installations.
const char* const kFolders[] = {"/usr/share/fonts/opentype/inter/", "/usr/share/fonts/truetype/jetbrains-mono/",
                                "/usr/share/fonts/truetype/inter/", "/usr/local/share/fonts/", "/usr/share/fonts/"};

// Ranges of the characters that the studio writes: ASCII, Latin-1, dashes, ellipsis, arrows and signs. Fewer glyphs
// make a smaller atlas and an earlier first frame.
const ImWchar kTextRanges[] = {0x0020, 0x007E, 0x00A0, 0x00FF, 0x2013, 0x2014, 0x2018, 0x201D, 0x2022,
                               0x2022, 0x2026, 0x2026, 0x2190, 0x2193, 0x2212, 0x2212, 0x2248, 0x2248,
                               0x2264, 0x2265, 0x0394, 0x0394, 0x25B6, 0x25B6, 0x25BC, 0x25BC, 0};
const ImWchar kHeadRanges[] = {0x0020, 0x007E, 0x00B1, 0x00B7, 0x00D7, 0x00D7, 0x0394, 0x0394, 0x2013, 0x2014,
                               0x2026, 0x2026, 0x2190, 0x2193, 0x2212, 0x2212, 0x25BC, 0x25BC, 0};
const ImWchar kBigRanges[] = {0x0020, 0x007E, 0x00D7, 0x00D7, 0x2013, 0x2013, 0x2026, 0x2026, 0};
const ImWchar kDigitRange[] = {'0', '9', 0};

std::string findFont(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const char* folder : kFolders) {
      struct stat info {};
      const std::string path = folder + file;
      if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return path;
    }
  }
  return {};
}

ImFontConfig sharpConfig() {
  ImFontConfig config;
  config.OversampleH = 2;
  config.OversampleV = 1;
  config.PixelSnapH = false;
  return config;
}

ImFont* defaultFont(float pixels) {
  ImFontConfig config;
  config.SizePixels = pixels;
  return ImGui::GetIO().Fonts->AddFontDefault(&config);
}

// ImGui knows no tabular figures: the digits are added a second time, each as wide as the widest. The first source of
// a glyph wins, so the digits go in before the rest.
ImFont* addFont(const std::string& path, float em_pixels, float height_em, const ImWchar* ranges, float digit_em) {
  const float pixels = std::round(em_pixels * height_em);
  if (path.empty()) return defaultFont(pixels);
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  ImFontConfig digits = sharpConfig();
  digits.GlyphMinAdvanceX = digits.GlyphMaxAdvanceX =
      digit_em > 0 ? std::round(pixels / height_em * digit_em * 4) / 4 : 0;
  if (digit_em <= 0) digits.GlyphMaxAdvanceX = ImFontConfig().GlyphMaxAdvanceX;
  ImFont* font = atlas->AddFontFromFileTTF(path.c_str(), pixels, &digits, kDigitRange);
  if (font == nullptr) return defaultFont(pixels);
  ImFontConfig rest = sharpConfig();
  rest.MergeMode = true;
  atlas->AddFontFromFileTTF(path.c_str(), pixels, &rest, ranges);
  return font;
}

}  // namespace

Fonts loadFonts(float scale) {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  atlas->Clear();
  atlas->TexGlyphPadding = 1;
  const std::string regular = findFont({"Inter-Regular.otf", "Inter-Regular.ttf"});
  const std::string semibold = findFont({"Inter-SemiBold.otf", "Inter-SemiBold.ttf", "Inter-Regular.otf"});
  const std::string mono = findFont({"JetBrainsMono-Regular.ttf", "JetBrainsMono-Regular.otf"});
  // Width of the widest digit of Inter in em.
  constexpr float kRegularDigit = 0.642F;
  constexpr float kSemiboldDigit = 0.667F;
  // Heights from ascent to descent, which is how ImGui measures sizes, in em.
  constexpr float kInter = 1.21F;
  constexpr float kMono = 1.32F;
  Fonts fonts;
  fonts.text = addFont(regular, 13 * scale, kInter, kTextRanges, kRegularDigit);
  fonts.head = addFont(semibold, 12 * scale, kInter, kHeadRanges, kSemiboldDigit);
  fonts.strong = addFont(semibold, 15 * scale, kInter, kHeadRanges, kSemiboldDigit);
  fonts.big = addFont(semibold, 26 * scale, kInter, kBigRanges, kSemiboldDigit);
  fonts.mono = addFont(mono, 12 * scale, kMono, kTextRanges, 0);
  fonts.small_mono = addFont(mono, 11 * scale, kMono, kTextRanges, 0);
  ImGui::GetIO().FontDefault = fonts.text;
  return fonts;
}

}  // namespace ipex_studio

// Text can be read on every ground that it stands on: 4.5 to 1, as WCAG 2.1 asks for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "studio/ui/theme.h"
#include "tests/studio/null_ui.h"

namespace ipex_studio {
namespace {

double luminance(ImU32 color) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  const auto linear = [](float v) { return v <= 0.03928F ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(c.x) + 0.7152 * linear(c.y) + 0.0722 * linear(c.z);
}

double contrast(ImU32 a, ImU32 b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(Contrast, OfTextIsFourAndAHalfToOne) {
  for (const char* name : {"dark", "light", "contrast"}) {
    const testing::NullUi ui(800, 600);
    const Theme theme = themeByName(name);
    applyTheme(theme, 1);
    const ImU32 hint = ImGui::ColorConvertFloat4ToU32(ImGui::GetStyle().Colors[ImGuiCol_TextDisabled]);
    for (const ImU32 ground : {theme.ground, theme.panel, theme.raised, theme.node}) {
      for (const ImU32 text : {theme.text, theme.dim, hint, theme.good, theme.warning, theme.bad})
        EXPECT_GE(contrast(text, ground), 4.5) << name << " " << std::hex << text << " on " << ground;
    }
    for (const ImU32 part : {frameLine(theme), theme.dim, theme.accent})
      EXPECT_GE(contrast(part, frameFace(theme)), 4.5) << name << ": borders, names and handles of modules";
  }
}

}  // namespace
}  // namespace ipex_studio

// See theme.h.
#include "studio/ui/theme.h"

#include <algorithm>

#include "core/base/error.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr ImU32 rgb(unsigned hex) { return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF); }

Theme darkTheme() {
  Theme theme{};
  theme.ground = rgb(0x12151a);
  theme.panel = rgb(0x181c22);
  theme.raised = rgb(0x1e232b);
  theme.node = rgb(0x1e232b);
  theme.line = rgb(0x2b323c);
  theme.text = rgb(0xdde2ea);
  theme.dim = rgb(0x8d97a6);
  theme.faint = rgb(0x5b6472);
  theme.selection = rgb(0x22344a);
  theme.accent = rgb(0x4f9dff);
  theme.on_accent = rgb(0x0b1017);
  theme.good = rgb(0x4cc38a);
  theme.warning = rgb(0xf0a44b);
  theme.bad = rgb(0xef6a6a);
  theme.kinds = {rgb(0x4f9dff), rgb(0x9b8cff), rgb(0x6f7bff), rgb(0x54c7c0), rgb(0xd48bd1),
                 rgb(0x7c8796), rgb(0xb0b35a), rgb(0xf0a44b), rgb(0x4cc38a), rgb(0x6b7482)};
  return theme;
}

Theme lightTheme() {
  Theme theme{};
  theme.ground = rgb(0xf5f6f8);
  theme.panel = rgb(0xffffff);
  theme.raised = rgb(0xeef0f4);
  theme.node = rgb(0xffffff);
  theme.line = rgb(0xd5dae2);
  theme.text = rgb(0x1b2028);
  theme.dim = rgb(0x5a6472);
  theme.faint = rgb(0x939cab);
  theme.selection = rgb(0xdbe9ff);
  theme.accent = rgb(0x1967d2);
  theme.on_accent = rgb(0xffffff);
  theme.good = rgb(0x147a4b);
  theme.warning = rgb(0x96590a);
  theme.bad = rgb(0xc0362c);
  theme.kinds = {rgb(0x2f7de1), rgb(0x7a66e8), rgb(0x4c58d8), rgb(0x1f9a93), rgb(0xb25cae),
                 rgb(0x6d7787), rgb(0x858826), rgb(0xd07f1c), rgb(0x239a63), rgb(0x8a93a1)};
  return theme;
}

Theme contrastTheme() {
  Theme theme{};
  theme.ground = rgb(0x000000);
  theme.panel = rgb(0x000000);
  theme.raised = rgb(0x1a1a1a);
  theme.node = rgb(0x101010);
  theme.line = rgb(0x8a8a8a);
  theme.text = rgb(0xffffff);
  theme.dim = rgb(0xd0d0d0);
  theme.faint = rgb(0xa6a6a6);
  theme.selection = rgb(0x003f8a);
  theme.accent = rgb(0x6cb4ff);
  theme.on_accent = rgb(0x000000);
  theme.good = rgb(0x5ff0a8);
  theme.warning = rgb(0xffc04d);
  theme.bad = rgb(0xff8a8a);
  theme.kinds = {rgb(0x6cb4ff), rgb(0xb8a8ff), rgb(0x8f9aff), rgb(0x6ff0e8), rgb(0xf5a8f0),
                 rgb(0xc0c8d4), rgb(0xd8dc70), rgb(0xffc04d), rgb(0x5ff0a8), rgb(0xa8a8a8)};
  return theme;
}

ImVec4 vec(ImU32 color) { return ImGui::ColorConvertU32ToFloat4(color); }

}  // namespace

Theme themeByName(const std::string& name) {
  if (name == "dark") return darkTheme();
  if (name == "light") return lightTheme();
  if (name == "contrast") return contrastTheme();
  throw Error(ExitCode::kUsage, "There is no theme '" + displayText(name, 40) + "'; choose dark, light or contrast.");
}

void applyTheme(const Theme& theme, float scale) {
  ImGuiStyle& style = ImGui::GetStyle();
  style = ImGuiStyle();
  style.WindowPadding = {0, 0};
  style.WindowRounding = style.ChildRounding = 0;
  style.WindowBorderSize = style.ChildBorderSize = 0;
  style.PopupRounding = 6;
  style.PopupBorderSize = 1;
  style.FrameRounding = 4;
  style.FrameBorderSize = 1;
  style.FramePadding = {10, 6};
  style.ItemSpacing = {8, 6};
  style.ItemInnerSpacing = {6, 4};
  style.CellPadding = {10, 3};
  style.ScrollbarSize = 10;
  style.ScrollbarRounding = 5;
  style.GrabRounding = 4;
  style.TabRounding = 0;
  style.ScaleAllSizes(scale);
  ImVec4* colors = style.Colors;
  const ImVec4 clear = {0, 0, 0, 0};
  for (int c = 0; c < ImGuiCol_COUNT; ++c) colors[c] = vec(theme.raised);
  colors[ImGuiCol_Text] = vec(theme.text);
  colors[ImGuiCol_TextDisabled] = vec(theme.dim);
  colors[ImGuiCol_TextSelectedBg] = vec(theme.selection);
  colors[ImGuiCol_WindowBg] = colors[ImGuiCol_ChildBg] = clear;
  colors[ImGuiCol_PopupBg] = vec(theme.raised);
  colors[ImGuiCol_Border] = colors[ImGuiCol_Separator] = vec(theme.line);
  colors[ImGuiCol_BorderShadow] = clear;
  colors[ImGuiCol_FrameBg] = vec(theme.ground);
  colors[ImGuiCol_FrameBgHovered] = colors[ImGuiCol_FrameBgActive] = vec(theme.raised);
  colors[ImGuiCol_ScrollbarBg] = clear;
  colors[ImGuiCol_ScrollbarGrab] = vec(theme.line);
  colors[ImGuiCol_ScrollbarGrabHovered] = colors[ImGuiCol_ScrollbarGrabActive] = vec(theme.faint);
  colors[ImGuiCol_ButtonHovered] = colors[ImGuiCol_ButtonActive] = vec(theme.line);
  colors[ImGuiCol_Header] = colors[ImGuiCol_HeaderActive] = vec(theme.selection);
  colors[ImGuiCol_HeaderHovered] = vec(theme.raised);
  colors[ImGuiCol_CheckMark] = colors[ImGuiCol_SliderGrab] = colors[ImGuiCol_SliderGrabActive] = vec(theme.accent);
  colors[ImGuiCol_PlotHistogram] = colors[ImGuiCol_NavHighlight] = vec(theme.accent);
  colors[ImGuiCol_TableHeaderBg] = colors[ImGuiCol_TableRowBg] = colors[ImGuiCol_TableRowBgAlt] = clear;
  colors[ImGuiCol_TableBorderStrong] = colors[ImGuiCol_TableBorderLight] = vec(theme.line);
  colors[ImGuiCol_ModalWindowDimBg] = {0, 0, 0, 0.45F};
}

ImU32 frameFace(const Theme& theme) { return mixColors(theme.ground, theme.panel, 0.55F); }
ImU32 frameLine(const Theme& theme) { return theme.dim; }

ImU32 withAlpha(ImU32 color, float alpha) {
  const auto old = static_cast<float>((color >> IM_COL32_A_SHIFT) & 0xFF);
  const auto fresh = static_cast<ImU32>(std::clamp(old * alpha, 0.F, 255.F));
  return (color & ~IM_COL32_A_MASK) | (fresh << IM_COL32_A_SHIFT);
}

ImU32 mixColors(ImU32 a, ImU32 b, float t) {
  const ImVec4 from = vec(a);
  const ImVec4 to = vec(b);
  return ImGui::ColorConvertFloat4ToU32({from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t,
                                         from.z + (to.z - from.z) * t, from.w + (to.w - from.w) * t});
}

}  // namespace ipex_studio

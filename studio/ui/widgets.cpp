// See widgets.h.
#include "studio/ui/widgets.h"

#include <algorithm>
#include <cmath>

#include "studio/snapshot/snapshot_index.h"
#include "studio/ui/imgui_compat.h"
#include "studio/ui/tab_order.h"

namespace ipex_studio {
namespace {

// Uses a font for as long as it lives; null: the current one.
class FontScope {
 public:
  explicit FontScope(ImFont* font) : pushed_(font != nullptr) {
    if (pushed_) ImGui::PushFont(font);
  }
  ~FontScope() {
    if (pushed_) ImGui::PopFont();
  }
  FontScope(const FontScope&) = delete;
  FontScope& operator=(const FontScope&) = delete;

 private:
  bool pushed_;
};

ImVec2 sizeOf(const std::string& text) { return ImGui::CalcTextSize(text.data(), text.data() + text.size()); }

void unformatted(const std::string& text) { ImGui::TextUnformatted(text.data(), text.data() + text.size()); }

// True if the reached item is pressed by a key. Space is ImGui's own where arrow keys have reached it.
bool pressedByKey(const Ui& ui) {
  return ui.tabs != nullptr && ui.tabs->at() != TabStop::kNone ? ui.tabs->pressed() : keyPressedOnce(ImGuiKey_Enter);
}

void focusRing(const Ui& ui, ImVec2 low, ImVec2 high) {
  const float gap = ui.px(2);
  ImGui::GetWindowDrawList()->AddRect({low.x - gap, low.y - gap}, {high.x + gap, high.y + gap}, ui.theme.accent,
                                      ui.px(6), 0, std::max(1.F, 1.5F * ui.scale));
}

// End of the line that begins at `begin` and fits: at a space, and not before a unit or sign that belongs to the
// number in front of it. A word that is too long has a line of its own.
std::size_t endOfLine(const std::string& text, std::size_t begin, float width) {
  std::size_t fits = std::string::npos;
  for (std::size_t space = begin; space < text.size();) {
    space = std::min(text.find(' ', space + 1), text.size());
    const bool too_wide = sizeOf(text.substr(begin, space - begin)).x > width;
    if (too_wide && fits != std::string::npos) return fits;
    const std::string next = space < text.size() ? text.substr(space + 1, 2) : std::string();
    const bool unit = next == "ms" || next == "µ" || (!next.empty() && next[0] == '%');
    if (!unit || too_wide) fits = space;
    if (too_wide) return fits;
  }
  return text.size();
}

}  // namespace

float drawFittedText(ImDrawList* list, ImFont* font, float pixels, ImVec2 at, float width, ImU32 color,
                     const std::string& text) {
  if (width <= 0 || text.empty()) return 0;
  at = {std::floor(at.x), std::floor(at.y)};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const ImVec2 full = font->CalcTextSizeA(pixels, 1e6F, 0, begin, end);
  if (full.x <= width) {
    list->AddText(font, pixels, at, color, begin, end);
    return full.x;
  }
  static constexpr char kDots[] = "\xE2\x80\xA6";
  const float dots = font->CalcTextSizeA(pixels, 1e6F, 0, kDots).x;
  const char* rest = nullptr;
  const float used = font->CalcTextSizeA(pixels, std::max(width - dots, 1.F), 0, begin, end, &rest).x;
  if (rest == nullptr || rest <= begin) return 0;
  list->AddText(font, pixels, at, color, begin, rest);
  list->AddText(font, pixels, {at.x + used, at.y}, color, kDots);
  return used + dots;
}

void label(ImU32 color, const std::string& text, ImFont* font) {
  const FontScope scope(font);
  ImGui::PushStyleColor(ImGuiCol_Text, color);
  unformatted(text);
  ImGui::PopStyleColor();
}

void paragraph(ImU32 color, const std::string& text) {
  ImGui::PushTextWrapPos(0);
  label(color, text);
  ImGui::PopTextWrapPos();
}

void message(const Ui& ui, ImU32 color, const std::string& text) {
  paragraph(color, text);
  copyMenu(ui, text);
}

void fittedLabel(const Ui& ui, ImU32 color, const std::string& text, float width, ImFont* font) {
  const FontScope scope(font);
  ImFont* current = ImGui::GetFont();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetTextLineHeight();
  const float used = drawFittedText(ImGui::GetWindowDrawList(), current, current->FontSize, at, width, color, text);
  ImGui::Dummy({std::max(1.F, std::max(used, width)), height});
  const bool cut = sizeOf(text).x > width;
  if (cut && ImGui::IsItemHovered()) {
    ImGui::PushFont(ui.fonts.text);
    tooltip(text);
    ImGui::PopFont();
  }
}

void labelRight(ImU32 color, const std::string& text, float right, ImFont* font) {
  const FontScope scope(font);
  ImGui::SetCursorPosX(std::floor(right - sizeOf(text).x));
  label(color, text);
}

int paragraphWithLinks(const Ui& ui, const std::string& text, const std::vector<TextLink>& links, float width) {
  const float line = std::floor(ImGui::GetFontSize() * 1.18F);
  const float left = ImGui::GetCursorPosX();
  float y = ImGui::GetCursorPosY();
  float used = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = endOfLine(text, begin, width);
    const std::string words = text.substr(begin, end - begin);
    ImGui::SetCursorPos({left, y});
    label(ui.theme.text, words);
    used = sizeOf(words).x;
    begin = std::min(text.find_first_not_of(' ', end), text.size());
    if (begin < text.size()) y += line;
  }
  int clicked = -1;
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (links[l].text.empty()) continue;
    const float gap = ui.px(l == 0 ? 6 : 10);
    const bool fits = used + gap + sizeOf(links[l].text).x <= width;
    if (!fits) y += line;
    const float x = fits ? used + gap : 0;
    ImGui::SetCursorPos({left + x, y});
    ImGui::PushID(static_cast<int>(l));
    if (link(ui, "link", links[l].text, links[l].why_not)) clicked = static_cast<int>(l);
    ImGui::PopID();
    used = x + sizeOf(links[l].text).x;
  }
  ImGui::SetCursorPos({left, y + line});
  return clicked;
}

bool link(const Ui& ui, const char* id, const std::string& text, const std::string& why_not) {
  ImGui::PushID(id);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size = sizeOf(text);
  const bool enabled = why_not.empty();
  bool clicked = ImGui::InvisibleButton("link", {std::max(size.x, 1.F), std::max(size.y, 1.F)});
  const bool reached = reachedByKeys(ui, TabStop::kPress);
  clicked = clicked || (reached && pressedByKey(ui));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 color = enabled ? ui.theme.accent : mixColors(ui.theme.faint, ui.theme.dim, 0.4F);
  list->AddText(at, color, text.data(), text.data() + text.size());
  if (reached) focusRing(ui, at, {at.x + size.x, at.y + size.y});
  if (ImGui::IsItemHovered() && enabled) {
    list->AddLine({at.x, at.y + size.y - 1}, {at.x + size.x, at.y + size.y - 1}, color);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  }
  if (!enabled && (ImGui::IsItemHovered() || reached)) tooltip(why_not);
  ImGui::PopID();
  return clicked && enabled;
}

ImVec2 buttonSize(const Ui& ui, const std::string& text, ImFont* font) {
  const FontScope scope(font);
  return {std::floor(sizeOf(text).x + ui.px(24)), std::floor(ui.px(font == ui.fonts.head ? 24 : 30))};
}

bool button(const Ui& ui, const char* id, const std::string& text, ButtonLook look, ImFont* font) {
  return button(ui, id, text, look, std::string(), font);
}

bool button(const Ui& ui, const char* id, const std::string& text, ButtonLook look, const std::string& why_not,
            ImFont* font) {
  const bool enabled = why_not.empty();
  const ImVec2 size = buttonSize(ui, text, font);
  const FontScope scope(font);
  ImGui::PushID(id);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed = ImGui::InvisibleButton("button", size);
  const bool reached = reachedByKeys(ui, TabStop::kPress);
  const bool clicked = enabled && (pressed || (reached && pressedByKey(ui)));
  const bool hovered = ImGui::IsItemHovered() && enabled;
  const bool held = ImGui::IsItemActive() && enabled;
  ImGui::PopID();
  const Theme& theme = ui.theme;
  ImU32 face = look == ButtonLook::kPrimary  ? theme.accent
               : look == ButtonLook::kChosen ? theme.selection
                                             : theme.raised;
  if (look == ButtonLook::kQuiet) face = withAlpha(theme.raised, 0);
  if (hovered)
    face =
        look == ButtonLook::kPrimary ? mixColors(face, theme.text, 0.15F) : mixColors(theme.raised, theme.line, 0.8F);
  if (held) face = mixColors(face, theme.ground, 0.25F);
  ImU32 ink = look == ButtonLook::kPrimary ? theme.on_accent : theme.text;
  if (look == ButtonLook::kQuiet) ink = theme.dim;
  if (!enabled) {
    face = look == ButtonLook::kQuiet ? face : theme.raised;
    ink = mixColors(theme.faint, theme.dim, 0.4F);
  }
  const ImVec2 high = {at.x + size.x, at.y + size.y};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, high, face, ui.px(5));
  if (look == ButtonLook::kPlain || !enabled) list->AddRect(at, high, theme.line, ui.px(5));
  const ImVec2 extent = sizeOf(text);
  list->AddText({std::floor(at.x + (size.x - extent.x) / 2), std::floor(at.y + (size.y - extent.y) / 2)}, ink,
                text.data(), text.data() + text.size());
  if (reached) focusRing(ui, at, high);
  if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (!enabled && (ImGui::IsItemHovered() || reached)) {
    ImGui::PushFont(ui.fonts.text);
    tooltip(why_not);
    ImGui::PopFont();
  }
  return clicked;
}

bool invisibleButton(const Ui& ui, const char* id, ImVec2 size, bool stop) {
  const bool pressed = ImGui::InvisibleButton(id, size);
  const bool reached = reachedByKeys(ui, TabStop::kPress, stop);
  if (reached) focusRing(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  return pressed || (reached && pressedByKey(ui));
}

bool reachedByKeys(const Ui& ui, TabStop kind, bool stop) {
  const bool by_tab = stop && ui.tabs != nullptr && ui.tabs->stop(kind);
  return by_tab || (ImGui::IsItemFocused() && ImGui::GetIO().NavVisible);
}

void tabField(const Ui& ui) {
  if (reachedByKeys(ui, TabStop::kField)) focusRing(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void partRing(const Ui& ui, ImVec2 low, ImVec2 high) {
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) return;
  const float gap = std::floor(ui.px(2));
  ImGui::GetForegroundDrawList()->AddRect({low.x + gap, low.y + gap}, {high.x - gap, high.y - gap}, ui.theme.accent,
                                          ui.px(4), 0, std::max(1.F, 1.5F * ui.scale));
}

const char* precisionLabel(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "FP32";
    case Precision::kBf16:
      return "BF16";
    case Precision::kFp16:
      return "FP16";
    case Precision::kInt8:
      return "INT8";
  }
  return "?";
}

void panelHead(const Ui& ui, const std::string& text) {
  const ImVec2 at = ImGui::GetWindowPos();
  const float height = std::floor(ui.px(kHeadPoints));
  ImFont* font = ui.fonts.head;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddText(font, font->FontSize, {at.x + ui.px(13), std::floor(at.y + (height - font->FontSize) / 2)},
                ui.theme.dim, text.data(), text.data() + text.size());
  list->AddLine({at.x, at.y + height - 1}, {at.x + ImGui::GetWindowWidth(), at.y + height - 1}, ui.theme.line);
  ImGui::SetCursorPos({0, height});
}

void hairline(const Ui& ui) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = ImGui::GetWindowPos().x;
  ImGui::GetWindowDrawList()->AddLine({left, at.y}, {left + ImGui::GetWindowWidth(), at.y}, ui.theme.line);
  ImGui::Dummy({1, 1});
}

void swatch(const Ui& ui, ImU32 color) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = std::floor(ui.px(9));
  const float top = std::floor(at.y + (ImGui::GetTextLineHeight() - side) / 2) + 1;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, top}, {at.x + side, top + side}, color, ui.px(1.5F));
  ImGui::Dummy({side, ImGui::GetTextLineHeight()});
}

void tooltip(const std::string& text) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {10, 8});
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 30);
  // The text is cut line by line, since line ends are the studio's own.
  constexpr std::size_t kMaxBytes = 1200;
  for (std::size_t begin = 0; begin < std::min(text.size(), kMaxBytes);) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    unformatted(displayText(text.substr(begin, end - begin), kMaxBytes));
    begin = end + 1;
  }
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopStyleVar();
}

void emptyState(const Ui& ui, const std::string& headline, const std::string& what_next) {
  offerState(ui, headline, what_next, {});
}

int offerState(const Ui& ui, const std::string& headline, const std::string& what_next,
               const std::vector<std::string>& buttons) {
  const ImVec2 area = ImGui::GetContentRegionAvail();
  const ImVec2 start = ImGui::GetCursorPos();
  const float width = std::min(area.x - ui.px(24), ui.px(420));
  if (width < ui.px(60)) return -1;
  ImGui::PushFont(ui.fonts.strong);
  const float line = ImGui::GetTextLineHeight();
  const float head_width = sizeOf(headline).x;
  ImGui::PopFont();
  const ImVec2 next = ImGui::CalcTextSize(what_next.data(), what_next.data() + what_next.size(), false, width);
  const float foot = buttons.empty() ? 0 : ui.px(18 + 30);
  float y = start.y + std::max(ui.px(12), (area.y - line - next.y - ui.px(8) - foot) / 2);
  ImGui::SetCursorPos({start.x + std::floor(std::max(ui.px(12), (area.x - head_width) / 2)), std::floor(y)});
  label(ui.theme.text, headline, ui.fonts.strong);
  y += line + ui.px(8);
  const float left = start.x + std::floor((area.x - next.x) / 2);
  ImGui::SetCursorPos({left, std::floor(y)});
  ImGui::PushTextWrapPos(left + width);
  label(ui.theme.dim, what_next);
  copyMenu(ui, what_next);
  ImGui::PopTextWrapPos();
  float row = ui.px(8) * static_cast<float>(buttons.size()) - ui.px(8);
  for (const std::string& text : buttons) row += buttonSize(ui, text).x;
  ImGui::SetCursorPos(
      {start.x + std::floor(std::max(ui.px(12), (area.x - row) / 2)), std::floor(y + next.y + ui.px(18))});
  int pressed = -1;
  for (std::size_t b = 0; b < buttons.size(); ++b) {
    if (b > 0) ImGui::SameLine(0, ui.px(8));
    const ButtonLook look = b == 0 ? ButtonLook::kPrimary : ButtonLook::kPlain;
    if (button(ui, buttons[b].c_str(), buttons[b], look)) pressed = static_cast<int>(b);
  }
  return pressed;
}

void copyMenu(const Ui& ui, const std::string& text) {
  ImGui::PushID(text.data(), text.data() + text.size());
  if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("copy");
  if (beginMenu("copy")) {
    if (menuLine(ui, "Copy")) ImGui::SetClipboardText(text.c_str());
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

bool menuLine(const Ui& ui, const char* text, const std::string& why_not) {
  if (!button(ui, text, text, ButtonLook::kQuiet, why_not, ui.fonts.text)) return false;
  ImGui::CloseCurrentPopup();
  return true;
}

bool beginMenu(const char* id, ImGuiWindowFlags flags) {
  if (!ImGui::BeginPopup(id, flags)) return false;
  // Keys move through the menu from the next frame on; App::frame ends that with the menu.
  ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  if (keyPressedOnce(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  return true;
}

bool beginDialog(const Ui& ui, const char* id, float width) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  // A dialog stands a little above the middle if there is room.
  const float middle = display.y > ui.px(760) ? 0.44F : 0.5F;
  ImGui::SetNextWindowPos({std::floor(display.x / 2), std::floor(display.y * middle)}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowSize({std::floor(std::min(ui.px(width), display.x - ui.px(24))), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(20), ui.px(18)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(8));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  const bool open = ImGui::BeginPopupModal(id, nullptr,
                                           ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                                               ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
  ImGui::PopStyleVar(3);
  // Keys move through the dialog from the next frame on; App::frame ends that with the dialog.
  if (open) ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  return open;
}

void endDialog() { ImGui::EndPopup(); }

bool confirmButton(const Ui& ui, const char* id, const std::string& text, const std::string& why_not) {
  // A field that Enter has just left is not active any more here.
  const bool entered = ImGui::IsWindowFocused() && !ImGui::IsAnyItemActive() && !ImGui::IsWindowAppearing() &&
                       !ImGui::GetIO().NavVisible && keyPressedOnce(ImGuiKey_Enter) &&
                       (ui.tabs == nullptr || ui.tabs->at() != TabStop::kPress);
  return button(ui, id, text, ButtonLook::kPrimary, why_not) || (why_not.empty() && entered);
}

float dialogLine(const Ui& ui, const std::string& text, float points) {
  const float left = ImGui::GetCursorPosX();
  const float y = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(y + std::floor(ui.px(6)));
  label(ui.theme.dim, text);
  ImGui::SetCursorPos({left + ui.px(points), y});
  return ImGui::GetContentRegionAvail().x;
}

bool beginArea(const Ui& ui, const char* id, ImVec2 size, ImU32 color, ImVec2 padding, ImGuiWindowFlags flags) {
  // The window is cleared to the panel colour: filling it again would only cost time.
  ImGui::PushStyleColor(ImGuiCol_ChildBg, color == ui.theme.panel ? 0 : color);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(padding.x), ui.px(padding.y)});
  const bool open = ImGui::BeginChild(id, size, false, flags | ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return open;
}

void endArea() { ImGui::EndChild(); }

}  // namespace ipex_studio

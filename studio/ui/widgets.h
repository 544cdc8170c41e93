// The widgets of all panels, and the data that draw them. Text is always data, never a format.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/record/options.h"
#include "studio/ui/fonts.h"
#include "studio/ui/tab_order.h"
#include "studio/ui/theme.h"

namespace ipex_studio {

class SceneService;

// Data of the window that widgets need. Theme and fonts change only between frames.
struct Ui {
  Theme theme{};
  Fonts fonts;
  float scale = 1;
  SceneService* scenes = nullptr;
  TabOrder* tabs = nullptr;                          // where Tab leads; may be null
  std::function<void()> wake;                        // asks for another frame; thread-safe; may be empty
  const std::vector<std::string>* recent = nullptr;  // files opened before, the newest first

  float px(float points) const { return points * scale; }
};

// Draws `text` cut with "…" where it does not fit into `width` pixels; returns the width used.
float drawFittedText(ImDrawList* list, ImFont* font, float pixels, ImVec2 at, float width, ImU32 color,
                     const std::string& text);

// One line of text in a colour, at the cursor.
void label(ImU32 color, const std::string& text, ImFont* font = nullptr);
// Text wrapped at the right edge of the window.
void paragraph(ImU32 color, const std::string& text);
// Likewise for a message, which a click with the right button offers to copy.
void message(const Ui& ui, ImU32 color, const std::string& text);
// One line that ends with "…" at `width` pixels; the whole text as a tooltip when it was cut.
void fittedLabel(const Ui& ui, ImU32 color, const std::string& text, float width, ImFont* font = nullptr);
// One line whose right end is `right` pixels from the window's left edge.
void labelRight(ImU32 color, const std::string& text, float right, ImFont* font = nullptr);

struct TextLink {
  std::string text;     // empty: there is none
  std::string why_not;  // as for link()
};
// Text wrapped to `width` pixels, with links after the last word. Returns the index of the clicked link; -1: none.
int paragraphWithLinks(const Ui& ui, const std::string& text, const std::vector<TextLink>& links, float width);

// Accent-coloured text; true if it was clicked. `id` tells equal texts apart. `why_not`: as for button().
bool link(const Ui& ui, const char* id, const std::string& text, const std::string& why_not = {});

enum class ButtonLook { kPlain, kPrimary, kQuiet, kChosen };
bool button(const Ui& ui, const char* id, const std::string& text, ButtonLook look, ImFont* font = nullptr);
// `why_not`: why it cannot be pressed, as a sentence, which is its tooltip then; empty if it can.
bool button(const Ui& ui, const char* id, const std::string& text, ButtonLook look, const std::string& why_not,
            ImFont* font = nullptr);
ImVec2 buttonSize(const Ui& ui, const std::string& text, ImFont* font = nullptr);
// A button that its caller draws, over the next `size` pixels. `stop`: Tab leads to it.
bool invisibleButton(const Ui& ui, const char* id, ImVec2 size, bool stop = true);
// True if keys have reached the item before, which is a stop for Tab unless `stop` is false.
bool reachedByKeys(const Ui& ui, TabStop kind, bool stop = true);
// Lets Tab lead to the text field before.
void tabField(const Ui& ui);
// Draws a frame around the part of the window between these corners, to which Tab has led.
void partRing(const Ui& ui, ImVec2 low, ImVec2 high);

// Sets the text of an input field, cut to its size.
template <std::size_t N>
void setField(std::array<char, N>* field, const std::string& text) {
  field->fill(0);
  std::copy_n(text.begin(), std::min(text.size(), N - 1), field->begin());
}

// Text of a precision's chip: "BF16".
const char* precisionLabel(Precision precision);

// The head of a panel: semibold dim text over a hairline, 34 points high, over the width of the window.
// Leaves the cursor below it.
void panelHead(const Ui& ui, const std::string& text);
constexpr float kHeadPoints = 34;

// A hairline over the width of the window at the cursor.
void hairline(const Ui& ui);
// A small filled square, as tall as the text's lower-case letters; stands for a kind or a state.
void swatch(const Ui& ui, ImU32 color);
// Offers to copy `text` when the item before is clicked with the right button.
void copyMenu(const Ui& ui, const std::string& text);
// A line of a menu; closes the menu if it was pressed.
bool menuLine(const Ui& ui, const char* text, const std::string& why_not = {});
// A tooltip for the item before, with plain text.
void tooltip(const std::string& text);
// The text of an empty panel: one headline and what to do next, in the middle of the window.
void emptyState(const Ui& ui, const std::string& headline, const std::string& what_next);
// The same with buttons below it, the first of which is the main one. Returns the index of the pressed one; -1: none.
int offerState(const Ui& ui, const std::string& headline, const std::string& what_next,
               const std::vector<std::string>& buttons);

// A menu or sheet that ImGui::OpenPopup() has opened; arrow keys move through it, Escape closes it. False if it is not
// open; ImGui::EndPopup() must follow only if true.
bool beginMenu(const char* id, ImGuiWindowFlags flags = 0);

// A dialog in the middle of the window that keeps the rest from being used; Escape closes it. Arrow keys go from
// field to field and button to button, Tab from field to field; Space and Enter press. False if the dialog is not
// open; endDialog() must follow only if true. `width`: in points.
bool beginDialog(const Ui& ui, const char* id, float width);
void endDialog();
// Draws the main button of a dialog, which Enter presses unless keys have gone to another; true if it was pressed.
// `why_not`: as for button().
bool confirmButton(const Ui& ui, const char* id, const std::string& text, const std::string& why_not = {});
// A line of a dialog: dim text at the left. Returns the width left for the item at its right.
float dialogLine(const Ui& ui, const std::string& text, float points = 120);

// A child window filled with `color`. False if nothing needs to be drawn into it; endArea() must follow either way.
bool beginArea(const Ui& ui, const char* id, ImVec2 size, ImU32 color, ImVec2 padding, ImGuiWindowFlags flags = 0);
void endArea();

}  // namespace ipex_studio

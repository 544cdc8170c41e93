// See app_actions.h.
#include "studio/window/app_actions.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>

#include "studio/panels/panel_list.h"
#include "studio/snapshot/snapshot_index.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr std::pair<const char*, ImGuiKey_> kNamedKeys[] = {
    {"Up", ImGuiKey_UpArrow},    {"Down", ImGuiKey_DownArrow},    {"Home", ImGuiKey_Home},
    {"End", ImGuiKey_End},       {"Left", ImGuiKey_LeftArrow},    {"Right", ImGuiKey_RightArrow},
    {"PageUp", ImGuiKey_PageUp}, {"PageDown", ImGuiKey_PageDown}, {"Enter", ImGuiKey_Enter},
    {"Escape", ImGuiKey_Escape}, {"Tab", ImGuiKey_Tab},           {"Space", ImGuiKey_Space}};

// True if `keys` began with the modifier, which is taken off.
bool strip(std::string* keys, const std::string& modifier) {
  if (keys->compare(0, modifier.size(), modifier) != 0) return false;
  keys->erase(0, modifier.size());
  return true;
}

bool keyIsPressed(const std::string& key) {
  if (key.size() == 1) return characterPressed(key[0]);
  if (key[0] == 'F') return functionKeyPressed(std::atoi(key.c_str() + 1));
  return std::any_of(std::begin(kNamedKeys), std::end(kNamedKeys),
                     [&](const auto& named) { return key == named.first && keyPressed(named.second); });
}

bool chordIsPressed(std::string keys, bool typing) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool ctrl = strip(&keys, "Ctrl+");
  const bool shift = strip(&keys, "Shift+");
  if (ctrl != io.KeyCtrl || shift != io.KeyShift || io.KeyAlt) return false;
  // What a text field does itself.
  if (typing && !shift && keys.size() == 1 && std::string("ACVXYZ").find(keys) != std::string::npos) return false;
  return (ctrl || !typing) && keyIsPressed(keys);
}

// Actions of the window itself, and those that several tabs can do.
std::vector<ActionGroup> windowActions() {
  return {
      {200,
       {{"file.open", "Open a model or recorded runs", "Ctrl+O"},
        {"file.sample", "Open a sample model", ""},
        {"file.measure-at-once", "Measure models at once when they open, or no longer", ""}}},
      {220,
       {{"palette", "Command palette", "Ctrl+P"},
        {"shortcuts", "Keyboard shortcuts", "F1"},
        {"words", "What the words mean", "Shift+/"},
        {"tune.quantize", "Tune: quantize to INT8", "Ctrl+D"},
        {"tune.search", "Tune: search the precision of each operation", ""},
        {"tune.calibrate", "Tune: calibrate only, for a recipe", ""},
        {"tune.kernels", "Tune: measure kernels at length", ""},
        {"tune.evaluation", "Run what was traced in training mode in evaluation mode", ""},
        {"verify.first-wrong", "First wrong node, and what is to blame", "Ctrl+Shift+B"}}},
      {310,
       {{"report.html", "Save the screen as HTML", "Ctrl+Shift+R"},
        {"report.png", "Save the screen as a picture", ""},
        {"report.folder", "Open the folder of the file written last", ""},
        {"pass.previous", "Show the pass before", "Up"},
        {"pass.next", "Show the next pass", "Down"},
        {"pass.first", "Show the first pass", "Home"},
        {"pass.last", "Show the last pass", "End"}}},
      {500,
       {{"panel.passes", "Show or hide the passes", "Ctrl+1"},
        {"panel.bottom", "Show or hide the tables", "Ctrl+2"},
        {"panel.inspector", "Show or hide the inspector", "Ctrl+3"},
        {"panel.passes-wider", "Wider passes", ""},
        {"panel.passes-narrower", "Narrower passes", ""},
        {"panel.bottom-taller", "Taller tables", ""},
        {"panel.bottom-lower", "Lower tables", ""},
        {"panel.inspector-wider", "Wider inspector", ""},
        {"panel.inspector-narrower", "Narrower inspector", ""}}},
      {520, {{"tab.next", "Next tab", "Ctrl+Right"}, {"tab.previous", "Tab before", "Ctrl+Left"}}},
      {600,
       {{"tab.save-csv", "Save what the tab shows as CSV", "Ctrl+Shift+S"},
        {"tab.save-json", "Save what the tab shows as JSON", "Ctrl+Shift+J"},
        {"tab.page-up", "A page up in the tab", "PageUp"},
        {"tab.page-down", "A page down in the tab", "PageDown"},
        {"row.next", "Next row, operation or tensor of the tab", "Shift+Down"},
        {"row.previous", "Row, operation or tensor before", "Shift+Up"},
        {"row.open", "Open or close the group of the table", "Enter"},
        {"table.copy", "Copy the selected rows of the table", "Ctrl+C"},
        {"table.filter", "Type into the filter of the tab", "Ctrl+F"},
        {"table.sort", "Sort the table by its next column", "O"},
        {"table.sort-turn", "Sort the table the other way round", "Shift+O"}}},
      {900,
       {{"theme.dark", "Dark theme", ""},
        {"theme.light", "Light theme", ""},
        {"theme.contrast", "High-contrast theme", ""},
        {"scale.larger", "Larger text", "Ctrl+="},
        {"scale.smaller", "Smaller text", "Ctrl+-"},
        {"scale.reset", "Text as large as the display asks", "Ctrl+0"}}},
  };
}

// Actions "tab.NAME" of all tabs, in the order of the tabs.
ActionGroup tabActions() {
  static std::deque<std::string> names;  // texts that actions point to; a deque does not move its elements
  ActionGroup tabs{550, {}};
  for (const PanelEntry* panel : allPanels()) {
    if (*panel->opens == '\0') continue;
    names.push_back(std::string("tab.") + panel->name);
    tabs.actions.push_back({names.back().c_str(), panel->opens, panel->keys});
  }
  return tabs;
}

}  // namespace

const std::vector<Action>& allActions() {
  static const std::vector<Action> actions = [] {
    std::vector<ActionGroup> groups = windowActions();
    groups.push_back(tabActions());
    for (const PanelEntry* panel : allPanels())
      groups.insert(groups.end(), panel->actions.begin(), panel->actions.end());
    std::stable_sort(groups.begin(), groups.end(),
                     [](const ActionGroup& a, const ActionGroup& b) { return a.place < b.place; });
    std::vector<Action> all;
    for (const ActionGroup& group : groups) all.insert(all.end(), group.actions.begin(), group.actions.end());
    return all;
  }();
  return actions;
}

const PanelEntry* tabOf(const std::string& action) {
  for (const PanelEntry* panel : allPanels()) {
    if (*panel->opens == '\0') continue;
    if (action == std::string("tab.") + panel->name) return panel;
    for (const ActionGroup& group : panel->actions) {
      for (const Action& own : group.actions) {
        if (action == own.name) return panel;
      }
    }
  }
  return nullptr;
}

const Action* pressedAction(bool typing) {
  for (const Action& action : allActions()) {
    if (action.keys[0] != 0 && chordIsPressed(action.keys, typing)) return &action;
  }
  return nullptr;
}

bool feedKeys(std::string keys, bool down) {
  const bool ctrl = strip(&keys, "Ctrl+");
  const bool shift = strip(&keys, "Shift+");
  feedModifiers(down && ctrl, down && shift);
  for (const auto& [name, key] : kNamedKeys) {
    if (keys != name) continue;
    feedKey(key, down);
    return true;
  }
  const int function = keys[0] == 'F' ? std::atoi(keys.c_str() + 1) : 0;
  if (function >= 1 && function <= 12) {
    feedFunctionKey(function, down);
  } else if (keys.size() == 1) {
    feedCharacter(keys[0], down);
  } else {
    return false;
  }
  return true;
}

std::vector<const Action*> findActions(const std::string& query) {
  std::vector<const Action*> found;
  const std::string wanted = lowered(query);
  for (const Action& action : allActions()) {
    const std::string text = lowered(std::string(action.title) + " " + action.name);
    bool all = true;
    for (std::size_t at = 0; at < wanted.size() && all;) {
      const std::size_t end = std::min(wanted.find(' ', at), wanted.size());
      all = text.find(wanted.substr(at, end - at)) != std::string::npos;
      at = end + 1;
    }
    if (all) found.push_back(&action);
  }
  return found;
}

}  // namespace ipex_studio

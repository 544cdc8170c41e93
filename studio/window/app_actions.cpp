// See app_actions.h.
#include "studio/window/app_actions.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string>

#include "studio/panels/panel_list.h"
#include "studio/snapshot/snapshot_index.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

bool keyIsPressed(const std::string& key) {
  if (key.size() == 1) return characterPressed(key[0]);
  if (key[0] == 'F') return functionKeyPressed(std::stoi(key.substr(1)));
  if (key == "Up") return keyPressed(ImGuiKey_UpArrow);
  if (key == "Down") return keyPressed(ImGuiKey_DownArrow);
  if (key == "Home") return keyPressed(ImGuiKey_Home);
  if (key == "End") return keyPressed(ImGuiKey_End);
  if (key == "Left") return keyPressed(ImGuiKey_LeftArrow);
  if (key == "Right") return keyPressed(ImGuiKey_RightArrow);
  if (key == "PageUp") return keyPressed(ImGuiKey_PageUp);
  if (key == "PageDown") return keyPressed(ImGuiKey_PageDown);
  if (key == "Enter") return keyPressed(ImGuiKey_Enter);
  return false;
}

bool chordIsPressed(std::string keys, bool typing) {
  const auto strip = [&](const std::string& modifier) {
    if (keys.compare(0, modifier.size(), modifier) != 0) return false;
    keys.erase(0, modifier.size());
    return true;
  };
  const ImGuiIO& io = ImGui::GetIO();
  const bool ctrl = strip("Ctrl+");
  const bool shift = strip("Shift+");
  if (ctrl != io.KeyCtrl || shift != io.KeyShift || io.KeyAlt) return false;
  return (ctrl || !typing) && keyIsPressed(keys);
}

// "tab.NAME" of every tab, in their order.
const std::vector<Action>& tabActions() {
  static std::deque<std::string> names;  // a deque moves nothing
  static const std::vector<Action> actions = [] {
    std::vector<Action> tabs;
    for (const PanelEntry* panel : allPanels()) {
      if (*panel->opens == '\0') continue;
      names.push_back(std::string("tab.") + panel->name);
      tabs.push_back({names.back().c_str(), panel->opens, panel->keys});
    }
    return tabs;
  }();
  return actions;
}

std::vector<Action> joined(std::initializer_list<std::vector<Action>> parts) {
  std::vector<Action> all;
  for (const std::vector<Action>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Action>& allActions() {
  static const std::vector<Action> before_tabs = {
      {"run.optimize", "Optimize the model", "F5"},
      {"run.fp32", "Choose FP32 for the next run", ""},
      {"run.bf16", "Choose BF16 for the next run", ""},
      {"run.fp16", "Choose FP16 for the next run", ""},
      {"run.int8", "Choose INT8 for the next run", ""},
      {"run.more-threads", "One thread more for the next run", ""},
      {"run.fewer-threads", "One thread less for the next run", ""},
      {"run.cancel", "Cancel the running job", "Ctrl+."},
      {"run.inputs", "Choose the inputs", "Ctrl+I"},
      {"run.flags", "Flags of the command line", "Ctrl+Shift+F"},
      {"run.export", "Export the optimized model", "Ctrl+E"},
      {"file.open", "Open a model or recorded runs", "Ctrl+O"},
      {"file.recent", "Open what was open before", "Ctrl+Shift+O"},
      {"palette", "Command palette", "Ctrl+P"},
      {"shortcuts", "Keyboard shortcuts", "F1"},
      {"tune.quantize", "Calibrate and quantize to INT8", "Ctrl+D"},
      {"tune.search", "Search the precision of each operation", ""},
      {"tune.calibrate", "Calibrate only: make a recipe for INT8", ""},
      {"tune.kernels", "Measure kernels at length", ""},
      {"advice.next", "What to do next: mark the next advice", "Ctrl+N"},
      {"advice.show", "What to do next: show what is marked", ""},
      {"advice.try", "What to do next: do what is marked", "Ctrl+Shift+N"},
      {"report.html", "Save the screen as HTML", "Ctrl+Shift+R"},
      {"report.png", "Save the screen as a picture", ""},
      {"pass.previous", "Show the pass before", "Up"},
      {"pass.next", "Show the next pass", "Down"},
      {"pass.first", "Show the first pass", "Home"},
      {"pass.last", "Show the last pass", "End"},
      {"pass.all", "Show or hide the passes that did nothing", ""},
      {"graph.search", "Search nodes", "/"},
      {"graph.next-hit", "Next node found", "Ctrl+G"},
      {"graph.previous-hit", "Node found before", "Ctrl+Shift+G"},
      {"graph.fit", "Show the whole graph", "F"},
      {"graph.zoom-selection", "Zoom to what is selected", "Z"},
      {"graph.100", "Zoom to 100 %", "1"},
      {"graph.zoom-in", "Zoom in", "="},
      {"graph.zoom-out", "Zoom out", "-"},
      {"graph.left", "Move the graph's view left", "Ctrl+Shift+Left"},
      {"graph.right", "Move the graph's view right", "Ctrl+Shift+Right"},
      {"graph.up", "Move the graph's view up", "Ctrl+Shift+Up"},
      {"graph.down", "Move the graph's view down", "Ctrl+Shift+Down"},
      {"graph.producer", "Go to what makes the input of the selected node", "P"},
      {"graph.consumer", "Go to what reads the selected node", "N"},
      {"graph.trace", "Mark all who read the selected node's value", "U"},
      {"graph.fold", "Fold the module of the selected node", "C"},
      {"graph.unfold", "Unfold the selected module", "X"},
      {"graph.fold-all", "Fold all modules", "Shift+C"},
      {"graph.unfold-all", "Unfold all modules", "Shift+X"},
      {"view.before", "Show the graph before alone", "B"},
      {"view.split", "Show before and after side by side", "S"},
      {"view.after", "Show the graph after alone", "A"},
      {"compare.frozen", "Compare with the frozen graph", "Shift+A"},
      {"compare.previous", "Compare with the graph before this pass", "Shift+B"},
      {"color.time", "Colour by time", "T"},
      {"color.precision", "Colour by precision", "Shift+P"},
      {"color.kernel", "Colour by kernel", "K"},
      {"color.error", "Colour by error", "E"},
      {"color.pass", "Colour by pass", "Shift+T"},
      {"panel.passes", "Show or hide the passes", "Ctrl+1"},
      {"panel.bottom", "Show or hide the tables", "Ctrl+2"},
      {"panel.inspector", "Show or hide the inspector", "Ctrl+3"},
      {"panel.passes-wider", "Wider passes", ""},
      {"panel.passes-narrower", "Narrower passes", ""},
      {"panel.bottom-taller", "Taller tables", ""},
      {"panel.bottom-lower", "Lower tables", ""},
      {"panel.inspector-wider", "Wider inspector", ""},
      {"panel.inspector-narrower", "Narrower inspector", ""},
      {"inspector.page-up", "Inspector: a page up", "Shift+PageUp"},
      {"inspector.page-down", "Inspector: a page down", "Shift+PageDown"},
      {"tab.next", "Next tab", "Ctrl+Right"},
      {"tab.previous", "Tab before", "Ctrl+Left"},
  };
  static const std::vector<Action> after_tabs = {
      {"tab.save-csv", "Save what the tab shows as CSV", "Ctrl+Shift+S"},
      {"tab.save-json", "Save what the tab shows as JSON", "Ctrl+Shift+J"},
      {"tab.page-up", "A page up in the tab", "PageUp"},
      {"tab.page-down", "A page down in the tab", "PageDown"},
      {"row.next", "Next row, operation or tensor of the tab", "Shift+Down"},
      {"row.previous", "Row, operation or tensor before", "Shift+Up"},
      {"row.open", "Open or close the group of the table", "Enter"},
      {"table.filter", "Type into the filter of the tab", "Ctrl+F"},
      {"table.sort", "Sort the table by its next column", "O"},
      {"table.sort-turn", "Sort the table the other way round", "Shift+O"},
      {"operations.baseline", "Operations: optimized or as it is", "V"},
      {"operations.kind", "Operations: only the next kind, then all", "G"},
      {"remarks.kind", "Remarks: missed, done or all", "R"},
      {"runs.next", "Compare: mark the next recorded run", "J"},
      {"runs.previous", "Compare: mark the run before", "Shift+J"},
      {"runs.choose", "Compare: choose the marked run, or no longer", "M"},
      {"runs.show", "Compare: open the marked run", "Shift+M"},
      {"runs.threshold", "Compare: only rows that changed more", "H"},
      {"kernel.next", "Kernels: mark the next one", "Ctrl+Down"},
      {"kernel.previous", "Kernels: mark the one before", "Ctrl+Up"},
      {"kernel.pin", "Kernels: pin one and measure", "Ctrl+K"},
      {"override.fp32", "Keep the selected operation in FP32", ""},
      {"override.bf16", "Compute the selected operation in BF16", ""},
      {"override.fp16", "Compute the selected operation in FP16", ""},
      {"override.int8", "Compute the selected operation in INT8", ""},
      {"scope.operation", "Decisions are for the selected operation", ""},
      {"scope.module", "Decisions are for its module", ""},
      {"scope.kind", "Decisions are for all of its kind", ""},
      {"point.next", "Precision plot: mark the next point", "D"},
      {"point.load", "Precision plot: load the point", "Shift+D"},
      {"override.try", "Measure what the decisions give", "Ctrl+T"},
      {"override.undo", "Take the last decision back", "Ctrl+Z"},
      {"override.redo", "Make it again", "Ctrl+Shift+Z"},
      {"group.none", "Operations: no groups", ""},
      {"group.kind", "Operations: group by kind", ""},
      {"group.module", "Operations: group by module", ""},
      {"group.kernel", "Operations: group by kernel", ""},
      {"group.precision", "Operations: group by precision", ""},
      {"timeline.recorded", "Timeline: one median run or all recorded", ""},
      {"timeline.fit", "Timeline: show all", "Shift+F"},
      {"timeline.zoom-in", "Timeline: zoom in", "Shift+."},
      {"timeline.zoom-out", "Timeline: zoom out", "Shift+,"},
      {"timeline.later", "Timeline: go on", "."},
      {"timeline.earlier", "Timeline: go back", ","},
      {"theme.dark", "Dark theme", ""},
      {"theme.light", "Light theme", ""},
      {"theme.contrast", "High-contrast theme", ""},
      {"scale.larger", "Larger text", "Ctrl+="},
      {"scale.smaller", "Smaller text", "Ctrl+-"},
      {"scale.reset", "Text as large as the display asks", "Ctrl+0"},
  };
  static const std::vector<Action> actions = joined({before_tabs, tabActions(), after_tabs});
  return actions;
}

const Action* pressedAction(bool typing) {
  for (const Action& action : allActions()) {
    if (action.keys[0] != 0 && chordIsPressed(action.keys, typing)) return &action;
  }
  return nullptr;
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

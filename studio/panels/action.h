// Actions: everything that can be done by key, by name in the command palette, and from a script.
#pragma once

#include <vector>

namespace ipex_studio {

struct Action {
  const char* name;   // name for scripts and for Selection::take(): "graph.fit"
  const char* title;  // text in the palette: "Show the whole graph"
  const char* keys;   // keys that start it: "F", "Ctrl+P", "Shift+F"; empty: none
};

// Actions that stand together in the command palette.
struct ActionGroup {
  int place;  // place in the palette, ascending; groups of tabs: 700 to 899
  std::vector<Action> actions;
};

}  // namespace ipex_studio

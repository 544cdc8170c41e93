// Actions: everything that can be done by key, by name in the command palette, and from a script.
#pragma once

#include <vector>

namespace ipex_studio {

struct Action {
  const char* name;   // "graph.fit": what scripts say and panels take from the selection
  const char* title;  // "Show the whole graph"
  const char* keys;   // "F", "Ctrl+P", "Shift+F"; empty: none
};

// Actions that stand together in the command palette.
struct ActionGroup {
  int place;  // in the palette, ascending; of what a tab can do: from 700 to 899
  std::vector<Action> actions;
};

}  // namespace ipex_studio

// Everything that can be done by key, by name in the command palette, and from a script: one list for all three.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

struct Action {
  const char* name;   // "graph.fit": what scripts say and panels take from the selection
  const char* title;  // "Show the whole graph"
  const char* keys;   // "F", "Ctrl+P", "Shift+F"; empty: none
};

const std::vector<Action>& allActions();

// The action whose keys were pressed in this frame; null: none. `typing`: a text field has the keyboard, so that only
// keys with Ctrl count.
const Action* pressedAction(bool typing);

// Actions whose title or name contains all words of `query`, in the order of the list.
std::vector<const Action*> findActions(const std::string& query);

}  // namespace ipex_studio

// The list of all actions, those of the window and of its panels: what keys, the command palette and scripts can do.
#pragma once

#include <string>
#include <vector>

#include "studio/panels/action.h"
#include "studio/panels/panel.h"

namespace ipex_studio {

// All actions, in the order of the command palette.
const std::vector<Action>& allActions();

// The tab that this action opens or that alone can do it; null: none.
const PanelEntry* tabOf(const std::string& action);

// The action whose keys were pressed in this frame; null: none. `typing`: a text field has the keyboard, so that only
// keys with Ctrl count.
const Action* pressedAction(bool typing);

// Presses keys as Action::keys writes them, or releases them; false if there are no such keys.
bool feedKeys(std::string keys, bool down);

// Actions whose title or name contains all words of `query`, in the order of the list.
std::vector<const Action*> findActions(const std::string& query);

}  // namespace ipex_studio

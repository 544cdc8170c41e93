// The list of all panels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studio/panels/panel.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {

// Entries of all panels, in the order of tabs.
const std::vector<const PanelEntry*>& allPanels();

// Makes one of each panel. `ui` must outlive the panels.
std::vector<std::unique_ptr<Panel>> makePanels(const Ui& ui);

// The entry of a panel. Throws Error(kUsage) with the names of all panels if there is no such one.
const PanelEntry& panelNamed(const std::string& name);

// The table of a panel, yet to be filled. Throws as panelNamed().
TableSource tableSource(const std::string& panel);

// The filled table of a panel, which may be empty. Throws as panelNamed().
PanelTable panelTable(const std::string& panel, const StudioSnapshot& snapshot);

}  // namespace ipex_studio

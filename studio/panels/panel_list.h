// The list of all panels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studio/panels/panel.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {

// In the order of tabs.
const std::vector<const PanelEntry*>& allPanels();

// `ui` must outlive the panels.
std::vector<std::unique_ptr<Panel>> makePanels(const Ui& ui);

// `name` as in --panel. Throws Error(kUsage) naming all panels for an unknown one.
const PanelEntry& panelNamed(const std::string& name);

// Throws as above.
TableSource tableSource(const std::string& panel);

// The table of a panel; it may be empty. Throws as above.
PanelTable panelTable(const std::string& panel, const StudioSnapshot& snapshot);

}  // namespace ipex_studio

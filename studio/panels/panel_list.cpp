// See panel_list.h. A new panel is its file and a line here.
#include "studio/panels/panel_list.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "studio/snapshot/snapshot_index.h"

// All panels, in the order of tabs.
// clang-format off: a longer name leaves the other lines as they are.
#define IPEX_PANELS(PANEL) \
  PANEL(kRunBar)           \
  PANEL(kPassesPanel)      \
  PANEL(kGraphPanel)       \
  PANEL(kInspectorPanel)   \
  PANEL(kWaterfallPanel)   \
  PANEL(kOperationsPanel)  \
  PANEL(kTimelinePanel)    \
  PANEL(kMemoryPanel)      \
  PANEL(kRooflinePanel)    \
  PANEL(kLatencyPanel)     \
  PANEL(kKernelsPanel)     \
  PANEL(kLibraryPanel)     \
  PANEL(kComparePanel)     \
  PANEL(kCurvesPanel)      \
  PANEL(kDevicesPanel)     \
  PANEL(kPrecisionPanel)   \
  PANEL(kTrainingPanel)    \
  PANEL(kRemarksPanel)     \
  PANEL(kSourcePanel)      \
  PANEL(kValuesPanel)      \
  PANEL(kTextPanel)        \
  PANEL(kLogPanel)
// clang-format on

namespace ipex_studio {

#define IPEX_DECLARE(entry) extern const PanelEntry entry;
IPEX_PANELS(IPEX_DECLARE)
#undef IPEX_DECLARE

const std::vector<const PanelEntry*>& allPanels() {
#define IPEX_LIST(entry) &entry,
  static const std::vector<const PanelEntry*> panels = {IPEX_PANELS(IPEX_LIST)};
#undef IPEX_LIST
  return panels;
}

std::vector<std::unique_ptr<Panel>> makePanels(const Ui& ui) {
  std::vector<std::unique_ptr<Panel>> panels;
  for (const PanelEntry* entry : allPanels()) panels.push_back(entry->make(ui));
  return panels;
}

const PanelEntry& panelNamed(const std::string& name) {
  std::string names;
  for (const PanelEntry* entry : allPanels()) {
    if (name == entry->name) return *entry;
    names += (names.empty() ? "" : ", ") + std::string(entry->name);
  }
  throw Error(ExitCode::kUsage,
              fmt::format("There is no panel '{}'; choose one of: {}.", displayText(name, 40), names));
}

TableSource tableSource(const std::string& panel) { return {panel, panelNamed(panel).fill}; }

PanelTable panelTable(const std::string& panel, const StudioSnapshot& snapshot) {
  return filledTable(tableSource(panel), snapshot);
}

}  // namespace ipex_studio

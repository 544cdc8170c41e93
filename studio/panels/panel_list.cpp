// See panel.h.
#include "studio/panels/panel_list.h"

namespace ipex_studio {

std::vector<std::unique_ptr<Panel>> makePanels(const Ui& ui) {
  std::vector<std::unique_ptr<Panel>> panels;
  panels.push_back(makeRunBar(ui));
  panels.push_back(makePassesPanel(ui));
  panels.push_back(makeGraphPanel(ui));
  panels.push_back(makeInspectorPanel(ui));
  panels.push_back(makeOperationsPanel(ui));
  panels.push_back(makeTimelinePanel(ui));
  panels.push_back(makeMemoryPanel(ui));
  panels.push_back(makeRooflinePanel(ui));
  panels.push_back(makeLatencyPanel(ui));
  panels.push_back(makeKernelsPanel(ui));
  panels.push_back(makeComparePanel(ui));
  panels.push_back(makePrecisionPanel(ui));
  panels.push_back(makeRemarksPanel(ui));
  panels.push_back(makeTextPanel(ui));
  panels.push_back(makeLogPanel(ui));
  return panels;
}

}  // namespace ipex_studio

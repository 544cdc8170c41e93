// One function per panel; the files of the panels define them.
#pragma once

#include "studio/panels/panel.h"

namespace ipex_studio {

std::unique_ptr<Panel> makeRunBar(const Ui& ui);
std::unique_ptr<Panel> makePassesPanel(const Ui& ui);
std::unique_ptr<Panel> makeGraphPanel(const Ui& ui);
std::unique_ptr<Panel> makeInspectorPanel(const Ui& ui);
std::unique_ptr<Panel> makeOperationsPanel(const Ui& ui);
std::unique_ptr<Panel> makeTimelinePanel(const Ui& ui);
std::unique_ptr<Panel> makeMemoryPanel(const Ui& ui);
std::unique_ptr<Panel> makeRooflinePanel(const Ui& ui);
std::unique_ptr<Panel> makeLatencyPanel(const Ui& ui);
std::unique_ptr<Panel> makeKernelsPanel(const Ui& ui);
std::unique_ptr<Panel> makeComparePanel(const Ui& ui);
std::unique_ptr<Panel> makePrecisionPanel(const Ui& ui);
std::unique_ptr<Panel> makeRemarksPanel(const Ui& ui);
std::unique_ptr<Panel> makeTextPanel(const Ui& ui);
std::unique_ptr<Panel> makeLogPanel(const Ui& ui);

}  // namespace ipex_studio

// The screen as one HTML file: the picture, and its numbers as text to search and copy.
#pragma once

#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {

struct ScreenReport {
  TableSource table;                  // table of the tab in front, if any
  std::vector<std::string> selected;  // names of what is selected
  std::string png;                    // bytes of the picture; empty: none
};

// HTML text without scripts that loads nothing from outside. Names out of the model are escaped. Long tables are cut,
// and say so.
std::string screenReportHtml(const StudioSnapshot& snapshot, const ScreenReport& report);

}  // namespace ipex_studio

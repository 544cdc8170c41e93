// The screen as one HTML file: the picture itself and, to be searched and copied, the numbers in it.
#pragma once

#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {

struct ScreenReport {
  TableSource table;                  // of the tab in front, if any
  std::vector<std::string> selected;  // names of what is selected
  std::string png;                    // the bytes of the picture; empty: none
};

// One file, no script, nothing loaded from outside. Names out of the model are escaped. Long tables are cut, and say so.
std::string screenReportHtml(const StudioSnapshot& snapshot, const ScreenReport& report);

}  // namespace ipex_studio

// Tables of panels (studio/panels): their cells, and their text as CSV and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Text, or a number; one that is not finite stands for "not known".
struct TableCell {
  TableCell(std::string value) : text(std::move(value)) {}  // NOLINT: a cell is what is put into it
  TableCell(double value) : number(value), is_number(true) {}

  std::string text;
  double number = 0;
  bool is_number = false;
};

struct PanelTable {
  std::string panel;
  std::vector<std::string> columns;  // with units: "time_ms"
  std::vector<std::vector<TableCell>> rows;
  std::vector<PanelTable> more{};  // what else the panel shows, each under its name
};

// `source.fill` must be set.
PanelTable filledTable(const TableSource& source, const StudioSnapshot& snapshot);

// RFC 4180, header first. Text that a spreadsheet would take for a formula gets a leading apostrophe. What else the panel
// shows follows after an empty line, with a header of its own.
std::string tableCsv(const PanelTable& table);
// {"schema":1,"panel":…,"rows":[{column: value, …}, …]}, and rows of what else it shows under their name; null where a number is not known. Text is UTF-8 whatever the
// model's names hold.
nlohmann::json tableJson(const PanelTable& table);

// File name of a panel's table without its end: "resnet50-operations".
std::string tableFileName(const StudioSnapshot& snapshot, const std::string& panel);

}  // namespace ipex_studio

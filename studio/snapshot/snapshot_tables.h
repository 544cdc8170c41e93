// Tables of panels (studio/panels): their cells, and their text as CSV and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// A text or a number; a number that is not finite means "not known".
struct TableCell {
  TableCell(std::string value) : text(std::move(value)) {}  // NOLINT: a cell is what is put into it
  TableCell(double value) : number(value), is_number(true) {}

  std::string text;
  double number = 0;
  bool is_number = false;
};

struct PanelTable {
  std::string panel;
  std::vector<std::string> columns;  // names with units: "time_ms"
  std::vector<std::vector<TableCell>> rows;
  std::vector<PanelTable> more{};  // further tables of the panel, each with its name
};

// Fills a table. `source.fill` must not be null.
PanelTable filledTable(const TableSource& source, const StudioSnapshot& snapshot);

// The table as CSV (RFC 4180), header first. Text that a spreadsheet would take for a formula gets a leading
// apostrophe. Further tables follow after an empty line, each with a header.
std::string tableCsv(const PanelTable& table);
// The table as JSON: {"schema":1,"panel":…,"rows":[{column: value, …}, …]}, with rows of further tables under their
// names; null where a number is not known. Text is valid UTF-8 whatever the model's names hold.
nlohmann::json tableJson(const PanelTable& table);

// File name of a panel's table without its end: "resnet50-operations".
std::string tableFileName(const StudioSnapshot& snapshot, const std::string& panel);

}  // namespace ipex_studio

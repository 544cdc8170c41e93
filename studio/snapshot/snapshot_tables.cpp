// See snapshot_tables.h.
#include "studio/snapshot/snapshot_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "profiler/text.h"

namespace ipex_studio {
namespace {

std::string csvText(const std::string& raw) {
  std::string text = printable(raw);
  const bool formula = !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos;
  if (formula) text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

PanelTable filledTable(const TableSource& source, const StudioSnapshot& snapshot) {
  PanelTable table;
  table.panel = source.panel;
  source.fill(snapshot, &table);
  return table;
}

std::string tableCsv(const PanelTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) text += (c > 0 ? "," : "") + table.columns[c];
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) text += ',';
      if (!row[c].is_number) {
        text += csvText(row[c].text);
      } else if (std::isfinite(row[c].number)) {
        text += fmt::format("{:.9g}", row[c].number);
      }
    }
    text += "\r\n";
  }
  for (const PanelTable& more : table.more) text += "\r\n" + tableCsv(more);
  return text;
}

namespace {

nlohmann::json rowsJson(const PanelTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : table.rows) {
    nlohmann::json object = nlohmann::json::object();
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      nlohmann::json& value = object[table.columns[c]];
      if (!row[c].is_number) {
        value = printable(row[c].text);
      } else if (std::isfinite(row[c].number)) {
        value = row[c].number;
      }
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace

nlohmann::json tableJson(const PanelTable& table) {
  nlohmann::json all = {{"schema", 1}, {"panel", table.panel}, {"rows", rowsJson(table)}};
  for (const PanelTable& more : table.more) all[more.panel] = rowsJson(more);
  return all;
}

std::string tableFileName(const StudioSnapshot& snapshot, const std::string& panel) {
  std::string name = fileName(snapshot.job->model.path);
  name = name.substr(0, name.rfind('.'));
  // Only characters that are safe in shells and file systems remain.
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (!plain) c = '-';
  }
  if (name.size() > 80) name.resize(80);
  return (name.empty() ? "studio" : name) + "-" + panel;
}

}  // namespace ipex_studio

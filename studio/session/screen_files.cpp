// See screen_files.h.
#include "studio/session/screen_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/base/replace_file.h"
#include "core/base/string_util.h"
#include "core/record/records_json.h"
#include "studio/job/outputs.h"
#include "studio/snapshot/snapshot_report.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/screenshot.h"

namespace ipex_studio {
namespace {

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

// The absolute path, or where it is taken the first free one of "steps-2.csv", "steps-3.csv" …
std::string freePath(const std::string& relative) {
  const std::string path = absolute(relative);
  if (!isTaken(path)) return path;
  const std::size_t dot = path.rfind('.');
  for (int number = 2;; ++number) {
    std::string other = fmt::format("{}-{}{}", path.substr(0, dot), number, path.substr(dot));
    if (!isTaken(other)) return other;
  }
}

}  // namespace

WrittenFile saveTable(const SaveTableCommand& command, const StudioSnapshot& snapshot) {
  const PanelTable table = filledTable(command.table, snapshot);
  const std::string text = endsWith(command.path, ".json") ? dumpJson(tableJson(table)) + "\n" : tableCsv(table);
  const std::string path = freePath(command.path);
  checkOutputs({{path}, {}}, "");
  writeFileAtomically(path, text);
  return {fmt::format("Wrote {} row{} to {}.", table.rows.size(), table.rows.size() == 1 ? "" : "s", path), path};
}

WrittenFile saveReport(const ReportCommand& command, const StudioSnapshot& snapshot) {
  const Picture empty;
  const Picture& picture = command.picture ? *command.picture : empty;
  const std::string png = picture.rgba.empty() ? "" : encodePng(picture.width, picture.height, picture.rgba);
  const bool html = endsWith(command.path, ".html");
  const std::string path = command.made_up ? freePath(command.path) : absolute(command.path);
  checkOutputs({{path}, {snapshot.work.file}, !command.made_up}, "");
  writeFileAtomically(path, html ? screenReportHtml(snapshot, {command.table, command.selected, png}) : png);
  return {fmt::format("Wrote what is on the screen to {}.", path), path};
}

}  // namespace ipex_studio

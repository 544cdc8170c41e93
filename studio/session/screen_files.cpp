// See screen_files.h.
#include "studio/session/screen_files.h"

#include <fmt/format.h>

#include <fstream>

#include "core/base/string_util.h"
#include "core/record/records_json.h"
#include "studio/job/session_files.h"
#include "studio/snapshot/snapshot_report.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/screenshot.h"

namespace ipex_studio {

std::string saveTable(const SaveTableCommand& command, const StudioSnapshot& snapshot) {
  const PanelTable table = filledTable(command.table, snapshot);
  const std::string text = endsWith(command.path, ".json") ? dumpJson(tableJson(table)) + "\n" : tableCsv(table);
  std::ofstream file(command.path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush())
    throw Error(ExitCode::kFailure,
                fmt::format("Cannot write {}; start the studio in a folder that can be written.", command.path));
  return fmt::format("Wrote {} rows to {}.", table.rows.size(), command.path);
}

std::string saveReport(const ReportCommand& command, const StudioSnapshot& snapshot) {
  const Picture empty;
  const Picture& picture = command.picture ? *command.picture : empty;
  const std::string png = picture.rgba.empty() ? "" : encodePng(picture.width, picture.height, picture.rgba);
  const bool html = endsWith(command.path, ".html");
  checkOutputPath(command.path);
  writeFileAtomically(command.path, html ? screenReportHtml(snapshot, {command.table, command.selected, png}) : png);
  return fmt::format("Wrote what is on the screen to {}.", command.path);
}

}  // namespace ipex_studio

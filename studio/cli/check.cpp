// The command check: a gate for a model that replaces another, with its pages for people, programs and CI.
#include <fmt/format.h>

#include "core/base/replace_file.h"
#include "core/base/string_util.h"
#include "core/record/records_json.h"
#include "studio/cli/check_page.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_files.h"

namespace ipex_studio {

int checkAgainst(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "check");
  request.force_precision = true;  // the precision of an existing file cannot be changed
  const CheckedModel old_model = checkModel(line.model), new_model = checkModel(line.other);
  for (const CheckedModel* model : {&old_model, &new_model}) sayDangers(*model, request);
  TerminalProgress progress;
  CheckPage page;
  page.old_path = line.model;
  page.new_path = line.other;
  page.max_slowdown = request.check.max_slowdown;
  page.check = checkModels(old_model, new_model, request, progress, cancellation);
  progress.clear();
  if (!line.junit.empty()) writeFileAtomically(line.junit, junitPage(page));
  if (!line.markdown.empty()) writeFileAtomically(line.markdown, markdownPage(page));
  printText(line.json ? dumpJson(jsonPage(page)) + "\n" : textPage(page));
  if (!page.check.accurate)
    throw Error(ExitCode::kAccuracy,
                fmt::format("{} is less accurate than {} ({}).", line.other, line.model, page.check.accuracy_text));
  if (page.check.speed.slower)
    throw Error(kSlower, fmt::format("{} is slower than {} ({}).", line.other, line.model, speedText(page)));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio

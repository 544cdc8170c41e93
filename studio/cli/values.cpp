// The command values: what one value of a model holds.
#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/job/session_files.h"
#include "studio/snapshot/value_text.h"

namespace ipex_studio {

int printValues(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  const JobRequest request = questionRequest(line, "values");
  const CheckedModel model = checkModel(line.model);
  sayDangers(model, request);
  TerminalProgress progress;
  const ValueRecord record = nodeValues(model, request, line.node, progress, cancellation);
  progress.clear();
  nlohmann::json page = toJson(record);
  page["schema"] = 1;
  printText(line.json ? dumpJson(page) + "\n" : valueText(record));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio

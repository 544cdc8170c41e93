// The command bisect: the first node at which an optimized model, or another file, differs from a model.
#include <optional>

#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/job/session_database.h"
#include "studio/job/session_files.h"
#include "studio/snapshot/bisect_text.h"

namespace ipex_studio {
int bisectModel(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = questionRequest(line, "bisect");
  request.force_precision = request.force_precision || !line.other.empty();  // that of a file cannot be changed
  const CheckedModel original = checkModel(line.model);
  sayDangers(original, request);
  std::optional<CheckedModel> other;
  if (!line.other.empty()) {
    other = checkModel(line.other);
    sayDangers(*other, request);
  } else if (request.optimize.tune != TuneMode::kOff) {
    request.optimize.tuning_record = JobDatabase(line.database).rememberedTuning();
  }
  TerminalProgress progress;
  const BisectRecord record = bisect(original, other ? &*other : nullptr, request, progress, cancellation);
  progress.clear();
  nlohmann::json page = toJson(record);
  page["schema"] = 1;
  page["found"] = !record.wrong.empty() || !record.results.pass;
  printText(line.json ? dumpJson(page) + "\n" : bisectText(record));
  if (page["found"] == true) throw Error(ExitCode::kAccuracy, bisectSentence(record));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio

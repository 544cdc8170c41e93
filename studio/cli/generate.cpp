// The command generate: a text that a language model writes.
#include <cstdio>

#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/job/session_files.h"
#include "studio/snapshot/generation_text.h"

namespace ipex_studio {

int printGeneration(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  const JobRequest request = questionRequest(line, "generate");
  const CheckedModel model = checkModel(line.model);
  sayDangers(model, request);
  TerminalProgress progress;
  const GenerationRecord record = generateText(model, request, progress, cancellation);
  progress.clear();
  nlohmann::json page = toJson(record);
  page["schema"] = 1;
  if (!line.json) std::fputs(generationText(record).c_str(), stderr);
  printText(line.json ? dumpJson(page) + "\n" : generatedIds(record) + "\n");
  return static_cast<int>(record.pass ? ExitCode::kOk : ExitCode::kAccuracy);
}

}  // namespace ipex_studio

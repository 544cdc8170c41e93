// The command train.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "profiler/training_table.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/flags/job_request.h"
#include "studio/job/outputs.h"
#include "studio/job/session_database.h"
#include "studio/job/session_request.h"
#include "studio/job/training_job.h"

namespace ipex_studio {
namespace {

// Beside the progress a line of what is trained, and one for each epoch: on stdout, or on stderr where JSON goes there.
class TrainingProgress : public TerminalProgress {
 public:
  explicit TrainingProgress(std::FILE* stream) : stream_(stream) {}
  void onRecord(const JobRecord& job) override {
    if (!began_) say(trainingLine(job));
    began_ = true;
    for (; told_ < job.training->ends.size(); ++told_) say(epochLine(*job.training, job.training->ends[told_]));
  }

 private:
  void say(const std::string& text) {
    clear();
    std::fprintf(stream_, "%s\n", text.c_str());
    std::fflush(stream_);
  }

  std::FILE* stream_;
  bool began_ = false;
  std::size_t told_ = 0;
};

void checkTraining(const CommandLine& line, const JobRequest& request) {
  if (request.remote)
    throw Error(ExitCode::kUnsupported, "train runs on this machine alone; run ipex-studio train there.");
  const TrainingFiles files{line.output};
  if (!line.train.resume || isTaken(files.checkpoint())) return;
  throw Error(ExitCode::kUsage,
              fmt::format("There is no checkpoint {} to go on from; leave --resume out.", files.checkpoint()));
}

// Records what there is; returns the problem with the database if there is one.
void record(const CommandLine& line, const JobRecord& job) {
  JobDatabase database(line.database);
  const auto id = database.record(job, false);
  if (database.problem())
    throw Error(ExitCode::kDatabase, fmt::format("The training is not recorded. {}", database.problem()->what()));
  std::fprintf(stderr, "Recorded as job %lld.\n", static_cast<long long>(*id));
}

// Says that the checkpoint stands, behind an error.
[[noreturn]] void rethrow(const CommandLine& line, const Error& error) {
  const std::string checkpoint = TrainingFiles{line.output}.checkpoint();
  if (!isTaken(checkpoint)) throw Error(error.code(), error.what());
  throw Error(error.code(), fmt::format("{} What was trained before is kept in {}; --resume goes on from there.",
                                        error.what(), checkpoint));
}

}  // namespace

int trainAndSave(const CommandLine& line) {
  Cancellation stop;
  const InterruptWatch watch(stop);
  const JobRequest request = jobRequest(line, "train");
  checkTraining(line, request);
  checkRequest(request);
  const CheckedModel model = checkModel(line.model);
  sayDangers(model, request);
  const TrainingFiles files{line.output};
  TrainingProgress progress(line.json ? stderr : stdout);
  JobRecord job;
  TrainingResult result;
  try {
    result = trainModel(model, request, files, job, progress, stop);
  } catch (const Error& error) {
    progress.clear();
    const bool began = job.training && (!job.training->steps.empty() || !job.training->fault.empty());
    if (began) record(line, job);
    began ? rethrow(line, error) : throw;
  }
  progress.clear();
  printText(line.json ? dumpJson({{"schema", 1},
                                  {"output", files.output},
                                  {"checkpoint", files.checkpoint()},
                                  {"step", result.step},
                                  {"finished", result.finished},
                                  {"training", toJson(*job.training)}}) +
                            "\n"
                      : stepLine(*job.training) + "\n" + profileText(*job.training));
  std::fprintf(stderr, "Written to %s; %s goes on from step %lld with --resume.\n", files.output.c_str(),
               files.checkpoint().c_str(), static_cast<long long>(result.step));
  record(line, job);
  if (!result.finished) {
    throw Error(
        kInterrupted,
        fmt::format("Interrupted at step {} of {}; nothing is lost, and the same command with --resume goes on.",
                    result.step, job.training->steps_per_epoch * job.training->epochs));
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio

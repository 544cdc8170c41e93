// Turns a request into a job for an engine, with checks and limits. Private to studio/job and studio/session.
#pragma once

#include <chrono>
#include <string>

#include "studio/job/session_job.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Limits of memory, CPU time and file sizes that no honest job reaches. `model` may be null.
EngineLimits limitsFor(const CheckedModel* model, const JobRequest& request);

// The absolute form of a path; empty for an empty path.
std::string absolutePath(const std::string& path);

// Files and folders beside the model that an engine must read for the request.
std::vector<std::string> readablePaths(const JobRequest& request);

// The start of an engine for this model, without what only one kind of job needs.
EngineStart engineStart(const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                        std::int32_t threads);

// The job for an engine. Dumps go to the folder "dump" inside `folder`.
EngineJob engineJob(JobKind kind, const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                    std::int32_t threads);

// Options of the job as records keep them: without what only the engine needs.
nlohmann::json recordedOptions(const EngineJob& job);

// Sets the command, the time of now, the model and its machine.
void beginJobRecord(const std::string& command, const CheckedModel& model, JobRecord* job);

// Pause between the turns of engines that are timed by turns: longer than OpenMP threads spin after their last parallel
// region, so that the next turn has the cores for itself.
constexpr std::chrono::milliseconds kTurnPause{20};

// Why the machine that runs the request does not compute in this precision, as a clause; empty if it does, if emulation
// is asked for, and until a worker has reported its abilities.
std::string whyNotPrecision(Precision precision, const JobRequest& request);

// Throws Error(kFailure): the engine sent a message of a type that is not expected here.
[[noreturn]] void unexpectedMessage(const std::string& type);

}  // namespace ipex_studio

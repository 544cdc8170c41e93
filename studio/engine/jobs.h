// The engine's jobs, one function per JobKind. They throw Error, c10::Error and std::bad_alloc; main makes
// sentences of them.
#pragma once

#include "studio/engine/channel.h"

namespace ipex_studio {

// Path of the model, which is an inherited descriptor.
constexpr const char* kEngineModelPath = "/proc/self/fd/4";
constexpr const char* kEngineOtherPath = "/proc/self/fd/5";  // of the second model
static_assert(kEngineModelFd == 4 && kEngineOtherFd == 5);

void runBaselineJob(const EngineJob& job, Channel& channel);
void runOptimizeJob(const EngineJob& job, Channel& channel);
void runGraphJob(const EngineJob& job, Channel& channel);
void runVerifyJob(const EngineJob& job, Channel& channel);
void runBisectJob(const EngineJob& job, Channel& channel);
void runBisectFilesJob(const EngineJob& job, Channel& channel);
void runBatchSizesJob(const EngineJob& job, Channel& channel);
void runValuesJob(const EngineJob& job, Channel& channel);
void runGenerateJob(const EngineJob& job, Channel& channel);
void runCalibrateJob(const EngineJob& job, Channel& channel);
void runTrainJob(const EngineJob& job, Channel& channel);
void runSearchJob(const EngineJob& job, Channel& channel);
void runPassesJob(Channel& channel);
void runSampleJob(Channel& channel);

}  // namespace ipex_studio

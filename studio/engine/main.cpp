// ipex-studio-engine: one job in, records out. ipex-studio starts it with descriptors 3 (channel), 4 and 5 (models). It
// opens no database and decides no file name, and whatever goes wrong here ends this process only.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "core/model/measure.h"
#include "core/torch/torch_error.h"
#include "kernels/onednn/onednn_version.h"
#include "studio/engine/jobs.h"
#include "studio/protocol/sandbox.h"

namespace ipex_studio {
namespace {

// Registers operators and classes of the user's own; the library stays until the process ends.
void loadLibrary(const std::string& path) {
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  const char* const why = ::dlerror();
  throw Error(ExitCode::kUsage, fmt::format("--library {} cannot be loaded: {}; build it against libtorch {}.", path,
                                            why == nullptr ? "no reason is known" : why, TORCH_VERSION));
}

void runJob(const EngineJob& job, Channel& channel) {
  for (const std::string& library : job.libraries) loadLibrary(library);
  setThreads(job.measure.threads);
  switch (job.kind) {
    case JobKind::kBaseline:
      return runBaselineJob(job, channel);
    case JobKind::kOptimize:
      return runOptimizeJob(job, channel);
    case JobKind::kGraph:
      return runGraphJob(job, channel);
    case JobKind::kVerify:
      return runVerifyJob(job, channel);
    case JobKind::kBisect:
      return runBisectJob(job, channel);
    case JobKind::kBisectFiles:
      return runBisectFilesJob(job, channel);
    case JobKind::kBatchSizes:
      return runBatchSizesJob(job, channel);
    case JobKind::kValues:
      return runValuesJob(job, channel);
    case JobKind::kGenerate:
      return runGenerateJob(job, channel);
    case JobKind::kCalibrate:
      return runCalibrateJob(job, channel);
    case JobKind::kTrain:
      return runTrainJob(job, channel);
    case JobKind::kSearch:
      return runSearchJob(job, channel);
    case JobKind::kPasses:
      return runPassesJob(channel);
    case JobKind::kSample:
      return runSampleJob(channel);
  }
}

// Names files in a sentence as the user knows them, instead of by their descriptors.
std::string named(std::string text, const EngineJob& job) {
  const std::string& other = job.other_name.empty() ? job.model_name : job.other_name;
  for (const auto& [path, name] : {std::pair{kEngineModelPath, job.model_name}, {kEngineOtherPath, other}}) {
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size())) {
      text.replace(at, std::char_traits<char>::length(path), name);
    }
  }
  return text;
}

constexpr char kNoMemory[] = "There is not enough memory to run this model on these inputs; try smaller ones.";

int fail(Channel& channel, ExitCode code, std::string sentence) {
  // A failed allocation of libtorch arrives as a plain exception with a long internal text.
  if (sentence.find("DefaultCPUAllocator: ") != std::string::npos) {
    sentence = kNoMemory;
    code = ExitCode::kFailure;
  }
  channel.send({{"type", "error"}, {"code", static_cast<int>(code)}, {"text", sentence.substr(0, 4000)}});
  return static_cast<int>(code);
}

int run() {
  Channel channel(kEngineChannelFd);
  channel.send({{"type", "hello"}, {"libtorch", TORCH_VERSION}, {"onednn", onednnVersion()}});
  EngineJob job;
  try {
    job = engineJobFromJson(channel.receive());
    runJob(job, channel);
    return 0;
  } catch (const Error& error) {
    return fail(channel, error.code(), named(error.what(), job));
  } catch (const std::bad_alloc&) {
    return fail(channel, ExitCode::kFailure, kNoMemory);
  } catch (const torch::jit::ErrorReport& problem) {
    // Code is compiled when it is first asked for, so an operator that is missing may show late.
    return fail(channel, ExitCode::kBadModel, loadError(job.model_name, problem).what());
  } catch (const std::exception& problem) {
    return fail(channel, ExitCode::kFailure, named("libtorch gave up: " + shortMessage(problem) + ".", job));
  }
}

}  // namespace
}  // namespace ipex_studio

int main() {
  if (::fcntl(ipex_studio::kEngineChannelFd, F_GETFD) < 0) {
    std::fputs("ipex-studio-engine is started by ipex-studio; run that instead.\n", stderr);
    return static_cast<int>(ipex_studio::ExitCode::kUsage);
  }
  ipex_studio::denyExec();
  return ipex_studio::run();
}

// Checks of a request, limits, and the job that an engine gets.
#include "studio/job/session_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "core/record/input_text.h"
#include "core/runtime/machine_facts.h"
#include "core/runtime/programs_folder.h"
#include "studio/job/devices.h"
#include "studio/job/driver_files.h"
#include "studio/protocol/sandbox.h"

namespace ipex_studio {
namespace {

// Checks the form of an --input value; the engine checks its names and values.
void checkInputText(const std::string& text) {
  const std::size_t cut = text.find_first_of(":=");
  if (cut == std::string::npos || cut == 0 || cut + 1 == text.size()) {
    throw Error(ExitCode::kUsage, fmt::format("--input {} is neither NAME:1x3x224x224 nor NAME=VALUE.", text));
  }
  if (text[cut] == '=') return;
  const std::size_t end = text.find_first_of(":[", cut + 1);
  const std::string shape = text.substr(cut + 1, end == std::string::npos ? end : end - cut - 1);
  const bool plain = shape == "scalar" || std::all_of(shape.begin(), shape.end(), [](unsigned char c) {
                       return std::isdigit(c) != 0 || c == 'x' || c == '.';
                     });
  if (!plain) {
    throw Error(ExitCode::kUsage, fmt::format("--input {}: the sizes \"{}\" must look like 1x3x224x224.", text, shape));
  }
}

std::string programsFor(const JobRequest& request) {
  return request.optimize.device == "cpu" ? "" : deviceProgramsFolder();
}

}  // namespace

EngineLimits limitsFor(const CheckedModel* model, const JobRequest& request) {
  const MachineFacts facts = machineFacts();
  EngineLimits limits;
  limits.silence_s = request.silence_s;
  // This limits address space, not memory: stacks and heaps of threads are reserved long before they are used.
  if (facts.memory_bytes > 0) {
    limits.memory_bytes = facts.memory_bytes + (std::int64_t{4} << 30) + std::int64_t{facts.cores} * (128 << 20);
  }
  const std::int64_t model_bytes = model != nullptr ? model->report.file_bytes : 0;
  limits.file_bytes = std::max<std::int64_t>(std::int64_t{1} << 30, 4 * model_bytes);
  const double day_s = 86400;
  limits.cpu_s = static_cast<std::int64_t>(std::max(facts.cores, 1) * (day_s + 4 * request.measure.duration_s));
  return limits;
}

std::string absolutePath(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

std::vector<std::string> readablePaths(const JobRequest& request) {
  std::vector<std::string> paths;
  if (request.remote) return paths;
  if (!request.inputs_path.empty()) paths.push_back(absolutePath(request.inputs_path));
  if (!request.generate.prompt_path.empty()) paths.push_back(absolutePath(request.generate.prompt_path));
  for (const std::string& library : request.libraries) paths.push_back(absolutePath(library));
  const std::string data = absolutePath(request.data.path);
  if (data.empty()) return paths;
  paths.push_back(data);
  // Labels of data in MNIST's format lie beside the images.
  const std::size_t images = data.rfind("images");
  if (images != std::string::npos && images > data.rfind('/')) {
    std::string labels = data;
    labels.replace(images, 6, "labels");
    const std::size_t dims = labels.rfind("idx3");
    if (dims != std::string::npos) labels.replace(dims, 4, "idx1");
    const bool packed = labels.size() > 3 && labels.compare(labels.size() - 3, 3, ".gz") == 0;
    paths.push_back(labels);
    paths.push_back(packed ? labels.substr(0, labels.size() - 3) : labels + ".gz");
  }
  const std::string metric = absolutePath(request.data.metric);
  if (!metric.empty() && ::access(metric.c_str(), R_OK) == 0) paths.push_back(metric);
  return paths;
}

EngineStart engineStart(const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                        std::int32_t threads) {
  EngineStart start;
  start.worker = model.worker;
  start.model_path = model.path;
  if (!model.worker.empty()) start.model_sha256 = model.report.sha256;
  if (start.worker.empty()) start.program = engineProgram();
  start.model_fd = model.fd.get();
  start.readable = readablePaths(request);
  start.device_programs = programsFor(request);
  if (!start.device_programs.empty())
    start.device_files = driverFiles(prepareDevice(request.optimize.device, start.device_programs));
  start.job_folder = folder.path();
  if (!start.device_files.empty()) copyDriverCache(start.device_programs, start.job_folder);
  start.threads = threads;
  start.sandbox = !request.trust;
  start.use_landlock = request.use_landlock;
  if (start.sandbox)
    checkSandboxLeavesOpen(start.device_files, start.use_landlock && landlockVersion() > 0, request.optimize.device);
  start.limits = limitsFor(&model, request);
  // Drivers of GPUs reserve address space for all memory of the machine and of its GPUs, and write to little of it.
  if (!start.device_files.empty()) std::swap(start.limits.memory_bytes, start.limits.data_bytes);
  return start;
}

EngineJob engineJob(JobKind kind, const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                    std::int32_t threads) {
  EngineJob job(request);
  job.kind = kind;
  job.model_name = model.path;
  job.guessed = request.remembered;
  job.job_folder = folder.path();
  job.device_programs = programsFor(request);
  job.measure.threads = threads;
  if (!request.optimize.dump_directory.empty()) job.optimize.dump_directory = folder.path() + "/dump";
  if (request.remote) return job;
  job.inputs_path = absolutePath(request.inputs_path);
  job.generate.prompt_path = absolutePath(request.generate.prompt_path);
  for (std::string& library : job.libraries) library = absolutePath(library);
  job.data.path = absolutePath(request.data.path);
  const std::string metric = absolutePath(request.data.metric);
  if (!metric.empty() && ::access(metric.c_str(), R_OK) == 0) job.data.metric = metric;
  return job;
}

nlohmann::json recordedOptions(const EngineJob& job) {
  nlohmann::json options = toJson(job);
  for (const char* internal : {"type", "kind", "job_folder", "guessed", "wait", "tune_budget_s"})
    options.erase(internal);
  return options;
}

void beginJobRecord(const std::string& command, const CheckedModel& model, JobRecord* job) {
  job->command = command;
  job->started_unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  job->model.path = model.path;
  job->model.sha256 = model.report.sha256;
  job->model.file_bytes = model.report.file_bytes;
  job->machine = model.machine;
}

// A device that is not the CPU has programs for all precisions.
std::string whyNotPrecision(Precision precision, const JobRequest& request) {
  const auto& others = request.also_devices;
  const bool on_cpu =
      request.optimize.device == "cpu" || std::find(others.begin(), others.end(), "cpu") != others.end();
  if (request.force_precision || !on_cpu) return "";
  const std::vector<PrecisionAbility> abilities = request.remote ? request.abilities : ownAbilities();
  const auto found = std::find_if(abilities.begin(), abilities.end(),
                                  [&](const PrecisionAbility& ability) { return ability.precision == precision; });
  if (found == abilities.end() || found->lacks.empty()) return "";
  return fmt::format("{} {}, slower than FP32; use --precision fp32, or add --force-precision to do it all the same",
                     request.remote ? "the worker's" : "this", found->lacks);
}

void checkForm(const JobRequest& request, ExportForm form) {
  const std::string& device = request.optimize.device;
  if (device != "cpu") {
    const bool last = std::count(request.also_devices.begin(), request.also_devices.end(), "cpu") > 0;
    throw Error(ExitCode::kUnsupported,
                fmt::format("-o: what runs on {} cannot be exported; {}.", device,
                            last ? "the last device is what is exported: name cpu last" : "use --device cpu"));
  }
  if (form == ExportForm::kCompiled || request.optimize.precision != Precision::kFp16) return;
  throw Error(ExitCode::kUnsupported,
              "--form portable: stock PyTorch of this version computes no FP16 on CPUs; use --form compiled, or "
              "--precision bf16.");
}

void unexpectedMessage(const std::string& type) {
  throw Error(ExitCode::kFailure,
              fmt::format("The engine sent a malformed message: \"{}\" is not expected here.", type.substr(0, 40)));
}

void checkRequest(const JobRequest& request) {
  std::vector<std::string> devices = request.also_devices;
  devices.push_back(request.optimize.device);
  for (const std::string& device : devices) {
    if (request.remote && device != "cpu")
      throw Error(ExitCode::kUnsupported, "--device: a worker runs on its CPU alone; use --device cpu.");
    checkDevice(device);
  }
  const std::string why = whyNotPrecision(request.optimize.precision, request);
  if (!why.empty()) {
    throw Error(ExitCode::kUnsupported,
                fmt::format("--precision {}: {}.", precisionName(request.optimize.precision), why));
  }
  for (const Precision precision : request.also) {
    const std::string why_not = whyNotPrecision(precision, request);
    if (!why_not.empty())
      throw Error(ExitCode::kUnsupported, fmt::format("--precision {}: {}.", precisionName(precision), why_not));
  }
  const std::string& data = request.data.path;
  if (!request.remote && !data.empty() && ::access(data.c_str(), R_OK) != 0) {
    throw Error(ExitCode::kUsage, fmt::format("--data {}: there is no such readable file or folder.", data));
  }
  for (const std::string& text : request.inputs) checkInputText(text);
  if (request.remote && !request.optimize.dump_directory.empty()) {
    throw Error(ExitCode::kUnsupported, "--dump: graphs cannot be dumped from a worker; run ipex-studio there.");
  }
  const bool may_write = request.trust || (request.use_landlock && landlockVersion() > 0);
  if (!request.optimize.dump_directory.empty() && !may_write) {
    throw Error(ExitCode::kUnsupported,
                "--dump: this kernel has no Landlock, so a sandboxed engine may write no files; "
                "add --trust if you trust the model.");
  }
  for (const std::string& library : request.libraries) {
    if (request.remote || ::access(library.c_str(), R_OK) == 0) continue;
    throw Error(ExitCode::kUsage, fmt::format("--library {}: there is no such readable file.", library));
  }
  const std::string& prompt = request.generate.prompt_path;
  for (const auto& [flag, path] : {std::pair{"--inputs", request.inputs_path}, {"--prompt-file", prompt}}) {
    if (request.remote || path.empty() || ::access(path.c_str(), R_OK) == 0) continue;
    throw Error(ExitCode::kUsage, fmt::format("{} {}: there is no such readable file.", flag, path));
  }
}

std::string inputText(const InputRecord& input) { return inputText(input.name, input.description); }

}  // namespace ipex_studio

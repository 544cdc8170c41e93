// Opens a device, makes its programs ready, and moves its data.
#include "kernels/xpu/opencl_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "kernels/common/index_rows.h"

namespace ipex_studio {
namespace {

constexpr unsigned kAlignment = 64;
constexpr std::size_t kLongestLog = 300;

// Expected costs of copies, until they are measured: those of a processor, whose memory is the host's, and of a card.
constexpr double kLatencyNs = 20000, kNearBytesPerNs = 8, kFarBytesPerNs = 6;

[[noreturn]] void failed(const std::string& device, const char* what, cl_int code) {
  throw Error(ExitCode::kFailure,
              fmt::format("The device {} failed to {} ({}); use --device cpu.", device, what, openClErrorText(code)));
}

}  // namespace

std::unique_ptr<OpenClDevice> OpenClDevice::open(const std::string& asked, ProgramCache cache, MayCompile may_compile) {
  std::string why;
  const OpenClApi* const api = openClApi(&why);
  if (api == nullptr) throw Error(ExitCode::kUnsupported, why);
  std::vector<std::string> faults;
  std::vector<FoundDevice> devices = findOpenClDevices([](const std::string&) {}, &faults);
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const FoundDevice& device) {
    const auto& names = device.record.asked_by;
    return std::find(names.begin(), names.end(), numberedDevice(asked)) != names.end();
  });
  if (found == devices.end())
    throw Error(ExitCode::kUnsupported,
                faults.empty()
                    ? fmt::format("There is no device {}; ipex-studio devices lists those that are there.", asked)
                    : faults[0]);
  if (!found->record.lacks.empty())
    throw Error(ExitCode::kUnsupported,
                fmt::format("{} cannot run plans: {}.", found->record.name, found->record.lacks));
  const auto index = static_cast<int>(found - devices.begin());
  std::unique_ptr<OpenClDevice> device(new OpenClDevice(*api, std::move(*found), index, std::move(cache), may_compile));
  device->properties_.asked_by = numberedDevice(asked);
  return device;
}

OpenClDevice::OpenClDevice(const OpenClApi& api, FoundDevice found, int index, ProgramCache cache,
                           MayCompile may_compile)
    : api_(api), found_(std::move(found)), cache_(std::move(cache)), may_compile_(may_compile) {
  const auto& features = found_.record.features;
  uses_tiles_ = std::find(features.begin(), features.end(), kOwnLocalMemory) != features.end();
  cl_uint width = 0;
  api_.clGetDeviceInfo(found_.device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, nullptr);
  is_wide_ = width >= 16;
  units_ = found_.record.units;
  properties_.id = {DeviceKind::kXpu, index};
  properties_.name = found_.record.name;
  properties_.memory_bytes = static_cast<std::size_t>(found_.record.memory_bytes);
  properties_.copy_latency_ns = kLatencyNs;
  properties_.reaches_host_memory = found_.record.type == "cpu";
  properties_.copy_bytes_per_ns = properties_.reaches_host_memory ? kNearBytesPerNs : kFarBytesPerNs;
  const cl_context_properties wanted[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found_.platform),
                                          0};
  cl_int code = CL_SUCCESS;
  context_ = api_.clCreateContext(wanted, 1, &found_.device, nullptr, nullptr, &code);
  if (context_ == nullptr) failed(properties_.name, "start", code);
}

OpenClDevice::~OpenClDevice() {
  for (const auto& [key, program] : programs_) api_.clReleaseProgram(program);
  api_.clReleaseContext(context_);
}

// Drivers need not notice a size that the device cannot have: some promise the host's memory beyond the device's.
void* OpenClDevice::allocate(std::size_t bytes) {
  const auto largest = static_cast<std::size_t>(found_.record.largest_bytes);
  if (largest > 0 && bytes > largest) throw std::bad_alloc();
  void* const data = api_.clSVMAlloc(context_, CL_MEM_READ_WRITE, bytes, kAlignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void OpenClDevice::free(void* data, std::size_t) noexcept { api_.clSVMFree(context_, data); }

std::unique_ptr<DeviceQueue> OpenClDevice::newQueue() {
  cl_int code = CL_SUCCESS;
  const cl_queue_properties in_order[] = {0};
  cl_command_queue queue = api_.clCreateCommandQueueWithProperties(context_, found_.device, in_order, &code);
  if (queue == nullptr) failed(properties_.name, "make a queue", code);
  return std::make_unique<OpenClQueue>(*this, queue);
}

cl_command_queue OpenClDevice::newTimedQueue() const {
  cl_int code = CL_SUCCESS;
  const cl_queue_properties timed[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  return api_.clCreateCommandQueueWithProperties(context_, found_.device, timed, &code);
}

std::int64_t OpenClDevice::nowNs() const { return ipex_studio::nowNs(); }

std::string OpenClDevice::buildOptions() const {
  return fmt::format("-cl-std=CL1.2 -w{}", uses_tiles_ ? " -D GPU" : is_wide_ ? " -D ITEM_VECTORS=2" : "");
}

std::string OpenClDevice::keyOf(const DeviceProgram& program) const {
  const DeviceRecord& device = found_.record;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", device.platform, device.vendor, device.name, device.version,
                     device.driver, buildOptions(), program.text);
}

cl_program OpenClDevice::program(const DeviceProgram& program) {
  const std::string key = keyOf(program);
  const std::lock_guard<std::mutex> lock(mutex_);
  cl_program& ready = programs_[key];
  if (ready != nullptr) return ready;
  if (const auto binary = cache_.read(key)) ready = load(*binary);
  if (ready == nullptr && may_compile_ == MayCompile::kYes) {
    ready = compile(program);
    cache_.write(key, binaryOf(ready));
  }
  if (ready == nullptr)
    throw Error(ExitCode::kFailure, fmt::format("The program {} for {} is not among the compiled ones in {}.",
                                                program.name, properties_.name, cache_.folder()));
  return ready;
}

// Null where the driver does not take it, as after an update that kept the driver's name.
cl_program OpenClDevice::load(const std::string& binary) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  cl_program program = api_.clCreateProgramWithBinary(context_, 1, &found_.device, &size, &bytes, &status, &code);
  if (program == nullptr) return nullptr;
  if (status == CL_SUCCESS && api_.clBuildProgram(program, 1, &found_.device, "", nullptr, nullptr) == CL_SUCCESS)
    return program;
  api_.clReleaseProgram(program);
  return nullptr;
}

cl_program OpenClDevice::compile(const DeviceProgram& program) {
  const char* text = program.text.c_str();
  cl_int code = CL_SUCCESS;
  cl_program made = api_.clCreateProgramWithSource(context_, 1, &text, nullptr, &code);
  if (made == nullptr) failed(properties_.name, "take a program", code);
  code = api_.clBuildProgram(made, 1, &found_.device, buildOptions().c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) compileFailed(program, made, code);
  ++compiled_;
  return made;
}

void OpenClDevice::compileFailed(const DeviceProgram& program, cl_program failed, cl_int code) const {
  std::size_t bytes = 0;
  api_.clGetProgramBuildInfo(failed, found_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  api_.clGetProgramBuildInfo(failed, found_.device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  api_.clReleaseProgram(failed);
  const std::size_t error = log.find("error:");
  if (error != std::string::npos) log.erase(0, error);
  log.resize(std::min({log.size(), kLongestLog, log.find('\n'), log.find('\0')}));
  throw Error(ExitCode::kFailure,
              fmt::format("The driver of {} cannot compile {} ({}{}{}); use --device cpu.", properties_.name,
                          program.name, openClErrorText(code), log.empty() ? "" : ": ", log));
}

// Empty where the driver gives none.
std::string OpenClDevice::binaryOf(cl_program program) const {
  std::size_t bytes = 0;
  if (api_.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return "";
  std::string binary(bytes, '\0');
  char* data = binary.data();
  return api_.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) == CL_SUCCESS ? binary : "";
}

OpenClQueue::OpenClQueue(OpenClDevice& device, cl_command_queue queue)
    : device_(device), queue_(queue), mark_(sizeof(cl_int), device) {
  const cl_int none = 0;
  copy(mark_.data(), &none, sizeof none);
}

OpenClQueue::~OpenClQueue() {
  releaseEvents();
  for (cl_command_queue queue : {queue_, timed_queue_}) {
    if (queue == nullptr) continue;
    device_.api().clFinish(queue);
    device_.api().clReleaseCommandQueue(queue);
  }
}

void OpenClQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const cl_int code = device_.api().clEnqueueSVMMemcpy(get(), CL_TRUE, to, from, bytes, 0, nullptr, nextEvent());
  if (code != CL_SUCCESS) failed(device_.properties().name, "copy", code);
}

void OpenClQueue::waitForWork() const {
  const cl_int code = device_.api().clFinish(get());
  if (code != CL_SUCCESS) failed(device_.properties().name, "finish its work", code);
}

cl_event* OpenClQueue::nextEvent() {
  if (!is_timing_ || spans_ == 0) return nullptr;
  timed_.push_back({spans_ - 1, device_.nowNs(), nullptr});
  return &timed_.back().event;
}

std::int64_t OpenClQueue::timeOf(const TimedWork& work, cl_profiling_info what) const {
  cl_ulong when = 0;
  const bool known = work.event != nullptr &&
                     device_.api().clGetEventProfilingInfo(work.event, what, sizeof when, &when, nullptr) == CL_SUCCESS;
  return known ? static_cast<std::int64_t>(when) : 0;
}

// Tried by a copy, since drivers may make such a queue and then know no times.
bool OpenClQueue::hasClock() {
  if (has_clock_) return *has_clock_;
  if (timed_queue_ == nullptr) timed_queue_ = device_.newTimedQueue();
  if (timed_queue_ == nullptr) return *(has_clock_ = false);
  cl_int same = 0;
  is_timing_ = true;
  beginSpan();
  copy(&same, mark_.data(), sizeof same);
  waitForWork();
  has_clock_ = timeOf(timed_[0], CL_PROFILING_COMMAND_QUEUED) > 0 &&
               timeOf(timed_[0], CL_PROFILING_COMMAND_START) > 0 && timeOf(timed_[0], CL_PROFILING_COMMAND_END) > 0;
  is_timing_ = false;
  releaseEvents();
  return *has_clock_;
}

void OpenClQueue::releaseEvents() {
  for (const TimedWork& work : timed_) {
    if (work.event != nullptr) device_.api().clReleaseEvent(work.event);
  }
  timed_.clear();
  spans_ = 0;
}

bool OpenClQueue::startSpans() {
  if (!hasClock()) return false;
  waitForWork();  // the order of both queues
  releaseEvents();
  is_timing_ = true;
  return true;
}

// The clocks are told apart by what both say of the first piece of work: when it was put into the queue.
std::vector<DeviceSpan> OpenClQueue::endSpans() {
  try {
    finish();
  } catch (...) {
    is_timing_ = false;
    releaseEvents();
    throw;
  }
  is_timing_ = false;
  std::vector<DeviceSpan> spans(spans_);
  std::int64_t apart_ns = 0;
  for (const TimedWork& work : timed_) {
    const std::int64_t begin = timeOf(work, CL_PROFILING_COMMAND_START), end = timeOf(work, CL_PROFILING_COMMAND_END);
    if (&work == timed_.data()) apart_ns = work.submitted_ns - timeOf(work, CL_PROFILING_COMMAND_QUEUED);
    DeviceSpan& span = spans[work.span];
    if (span.begin_ns == 0) span.begin_ns = begin + apart_ns;
    span.elapsed_ns += end - begin;
  }
  releaseEvents();
  return spans;
}

void OpenClQueue::finish() {
  waitForWork();
  if (!is_marked_) return;
  is_marked_ = false;
  cl_int mark = 0;
  copy(&mark, mark_.data(), sizeof mark);
  if (mark == 0) return;
  const cl_int none = 0;
  copy(mark_.data(), &none, sizeof none);
  throw Error(ExitCode::kFailure,
              fmt::format("The model cannot run on these inputs: {}; give it other inputs.", kIndexOutOfRange));
}

void* OpenClQueue::mark() {
  is_marked_ = true;
  return mark_.data();
}

}  // namespace ipex_studio

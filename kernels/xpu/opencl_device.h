// An OpenCL device as plans use it (core/runtime/device.h): its memory is shared virtual memory, which the host touches
// by copies alone, so that coarse-grained sharing is enough; its queue works in order. Work of a processor runs in this
// process and reaches all of its memory.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/device.h"
#include "kernels/xpu/opencl_devices.h"
#include "kernels/xpu/program_cache.h"

namespace ipex_studio {

// A program in OpenCL C. The text is the project's own, never made from a model.
struct DeviceProgram {
  std::string name;  // for messages
  std::string text;
};

// Whether programs that the cache has not may be compiled in this process: drivers start compilers and linkers.
enum class MayCompile { kNo, kYes };

class OpenClDevice final : public Device {
 public:
  // Opens the device of this value of --device. Throws Error(kUnsupported) where it is not there or lacks what plans
  // need, Error(kFailure) where its driver fails.
  static std::unique_ptr<OpenClDevice> open(const std::string& asked, ProgramCache cache, MayCompile may_compile);
  ~OpenClDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  void* allocate(std::size_t bytes) override;
  void free(void* data, std::size_t bytes) noexcept override;
  std::unique_ptr<DeviceQueue> newQueue() override;
  std::int64_t nowNs() const override;
  // A queue of the driver's that times its work; null where it has none.
  cl_command_queue newTimedQueue() const;

  // The program made ready: in this process before, from the cache, or compiled, if that is allowed, and cached. Throws
  // Error(kFailure) with the driver's first words where that fails. Thread-safe.
  cl_program program(const DeviceProgram& program);
  // How many programs were compiled, and not found.
  int compiled() const { return compiled_; }

  const DeviceRecord& record() const { return found_.record; }
  // True if work groups should share tiles: the device has local memory of its own, as GPUs have.
  bool usesTiles() const { return uses_tiles_; }
  // Columns that a work item sums side by side where it shares nothing with others: as many as registers hold.
  std::int64_t itemColumns() const { return is_wide_ ? 32 : 16; }
  // How many work groups run at the same time at least.
  int units() const { return units_; }
  // From now on it computes as a GPU of so many units would. For tests, before a program is asked for.
  void assumeTiles(int units) {
    uses_tiles_ = true;
    units_ = units;
  }
  // From now on plans expect copies to take so long. For tests, before a plan is made.
  void assumeCopies(double latency_ns, double bytes_per_ns) {
    properties_.copy_latency_ns = latency_ns;
    properties_.copy_bytes_per_ns = bytes_per_ns;
  }
  // From now on plans copy inputs to it and results from it, as for a device with memory of its own. For tests.
  void assumeOwnMemory() { properties_.reaches_host_memory = false; }
  const OpenClApi& api() const { return api_; }

 private:
  OpenClDevice(const OpenClApi& api, FoundDevice found, int index, ProgramCache cache, MayCompile may_compile);
  std::string buildOptions() const;
  std::string keyOf(const DeviceProgram& program) const;
  cl_program load(const std::string& binary) const;
  cl_program compile(const DeviceProgram& program);
  std::string binaryOf(cl_program program) const;
  [[noreturn]] void compileFailed(const DeviceProgram& program, cl_program failed, cl_int code) const;

  const OpenClApi& api_;
  FoundDevice found_;
  ProgramCache cache_;
  MayCompile may_compile_;
  bool uses_tiles_ = false, is_wide_ = false;
  int units_ = 1;
  DeviceProperties properties_;
  cl_context context_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, cl_program> programs_;  // by key
  std::atomic<int> compiled_{0};
};

// The queue of one instance. Work for it is submitted by OpenClKernel.
class OpenClQueue final : public DeviceQueue {
 public:
  OpenClQueue(OpenClDevice& device, cl_command_queue queue);
  ~OpenClQueue() override;  // waits, since memory that the work uses may be freed next

  void copy(void* to, const void* from, std::size_t bytes) override;
  // Also throws where work set its mark.
  void finish() override;
  bool startSpans() override;
  void beginSpan() override { ++spans_; }
  std::vector<DeviceSpan> endSpans() override;
  cl_command_queue get() const { return is_timing_ ? timed_queue_ : queue_; }
  // The place for the event of the next submission; null: nobody asks for one.
  cl_event* nextEvent();
  // A number on the device, 0, which work that is submitted next sets to 1 where an index is out of range.
  void* mark();

 private:
  struct TimedWork {
    std::size_t span;
    std::int64_t submitted_ns;  // by the host's clock
    cl_event event;
  };
  bool hasClock();
  std::int64_t timeOf(const TimedWork& work, cl_profiling_info what) const;
  void waitForWork() const;
  void releaseEvents();

  OpenClDevice& device_;
  cl_command_queue queue_;
  // Beside the other, since drivers may do less at the same time in a queue that times.
  cl_command_queue timed_queue_ = nullptr;
  std::optional<bool> has_clock_;
  bool is_timing_ = false;
  std::size_t spans_ = 0;
  std::vector<TimedWork> timed_;
  Buffer mark_;
  bool is_marked_ = false;  // true: work since the last finish() may set the mark
};

}  // namespace ipex_studio

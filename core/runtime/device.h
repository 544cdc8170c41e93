// Device: where tensors lie and steps run. The host is one; a plan uses it and at most one other.
//
// This interface is everything that a plan needs of a device, so a new one takes a class that implements it, and
// kernels that are listed for its kind. A plan reads and writes memory of another device only by copies, which its
// compiler places; inputs and results of a plan need none where the device reaches the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/device_id.h"

namespace ipex_studio {

struct DeviceProperties {
  DeviceId id;
  std::string name;              // as the driver gives it
  std::string asked_by;          // the value of --device that it was opened by; empty: none
  std::size_t memory_bytes = 0;  // 0: unknown
  double copy_latency_ns = 0;    // time of any copy to or from the host
  double copy_bytes_per_ns = 0;  // beyond the latency; 0: size does not matter
  // True: its work reads and writes memory of the host where it lies.
  bool reaches_host_memory = false;
};

// A stretch of time by the clock of Device::nowNs().
struct DeviceSpan {
  std::int64_t begin_ns = 0, elapsed_ns = 0;
};

// The work of one instance on one device, done in the order in which it was submitted. Used by one thread at a time.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // Copies between the device and the host, either way, or within the device, after all earlier work; `to` holds the
  // data when the call returns. Throws Error(kFailure) where the device fails.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  // Returns once all work is done. Throws Error(kFailure) where some of it failed.
  virtual void finish() = 0;

  // From here to endSpans() the device times work by a clock of its own. False where it has none: then none is timed.
  virtual bool startSpans() { return false; }
  // Begins the next span, to which all work that is submitted from here on belongs.
  virtual void beginSpan() {}
  // Waits for all work, as finish(). Returns a span for each beginSpan(): when the first piece of its work began and
  // the time that all of it took; zeros where it had none.
  virtual std::vector<DeviceSpan> endSpans() { return {}; }
};

// One device. Thread-safe. Lives as long as the process.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  // Allocates memory at a multiple of 64 bytes, contents undefined; throws std::bad_alloc. `bytes` > 0.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* data, std::size_t bytes) noexcept = 0;
  virtual std::unique_ptr<DeviceQueue> newQueue() = 0;
  // The clock by which steps are timed, in ns from an arbitrary start.
  virtual std::int64_t nowNs() const = 0;

  const DeviceId& id() const { return properties().id; }
  bool isHost() const { return id().isHost(); }
  // Its name in sentences and in names of copies: "opencl:0" where that was asked for.
  std::string label() const { return properties().asked_by.empty() ? id().str() : properties().asked_by; }
  // Expected time of a copy of this size to or from the host.
  double copyNs(std::size_t bytes) const;
};

Device& hostDevice();

// Memory of a device, 64-byte aligned.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, Device& device = hostDevice());  // contents undefined; throws std::bad_alloc
  // Host memory that `owner` keeps, such as a mapped file: aligned as above, and only read.
  Buffer(std::shared_ptr<const void> owner, const void* data, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  void* data() const { return data_; }  // the host reads and writes it only where isOnHost()
  std::size_t bytes() const { return bytes_; }
  bool isOnHost() const { return device_ == nullptr || device_->isHost(); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device* device_ = nullptr;           // null: no memory, or the owner's
  std::shared_ptr<const void> owner_;  // null: the memory is this buffer's own
};

}  // namespace ipex_studio

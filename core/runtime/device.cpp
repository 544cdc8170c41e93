// The host as a device, and buffers.
#include "core/runtime/device.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/base/huge_pages.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kPage = 4096;
// Least size of memory that comes from the system and goes back to it. Buffers of this size are made by the hundred
// while kernels are tried, and a heap would keep all of it. Smaller ones stay on the heap: arenas of many sizes come
// and go, and the process would grow and shrink with each.
constexpr std::size_t kMapped = 2 * kHugePage;

class HostQueue final : public DeviceQueue {
 public:
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void finish() override {}
};

class HostDevice final : public Device {
 public:
  HostDevice() { properties_.name = "host"; }
  const DeviceProperties& properties() const override { return properties_; }

  void* allocate(std::size_t bytes) override {
    void* data = nullptr;
    if (bytes >= kMapped) {
      data = mapPages(roundedUp(bytes, kPage), kHugePage);
      if (data == nullptr) throw std::bad_alloc();
    } else if (::posix_memalign(&data, bytes >= kHugePage ? kHugePage : 64, roundedUp(bytes, 64)) != 0) {
      throw std::bad_alloc();
    }
    wantHugePages(data, bytes);
    return data;
  }

  void free(void* data, std::size_t bytes) noexcept override {
    if (bytes >= kMapped) {
      ::munmap(data, roundedUp(bytes, kPage));
    } else {
      std::free(data);
    }
  }

  std::unique_ptr<DeviceQueue> newQueue() override { return std::make_unique<HostQueue>(); }
  std::int64_t nowNs() const override { return ipex_studio::nowNs(); }

 private:
  DeviceProperties properties_;
};

}  // namespace

double Device::copyNs(std::size_t bytes) const {
  const DeviceProperties& device = properties();
  const double moving = device.copy_bytes_per_ns > 0 ? static_cast<double>(bytes) / device.copy_bytes_per_ns : 0;
  return device.copy_latency_ns + moving;
}

Device& hostDevice() {
  static HostDevice device;
  return device;
}

Buffer::Buffer(std::size_t bytes, Device& device) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = device.allocate(bytes);
  device_ = &device;
}

Buffer::Buffer(std::shared_ptr<const void> owner, const void* data, std::size_t bytes)
    : data_(const_cast<void*>(data)), bytes_(bytes), owner_(std::move(owner)) {}

Buffer::~Buffer() {
  if (device_ != nullptr) device_->free(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(owner_, other.owner_);
  return *this;
}

}  // namespace ipex_studio

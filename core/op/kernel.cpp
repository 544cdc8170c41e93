// Aligned buffers, the cache of packed weights, and defaults of Kernel.
#include "core/op/kernel.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/base/huge_pages.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kPage = 4096;
// Buffers from this size on are mapped from the system and returned to it. They are made by the hundred while kernels
// are tried; on the heap, small allocations between them would keep all that memory. Smaller buffers stay on the heap:
// arenas of many sizes come and go, and the process would grow and shrink with each.
constexpr std::size_t kMapped = 2 * kHugePage;

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes >= kMapped) {
    data_ = mapPages(roundedUp(bytes, kPage), kHugePage);
    if (data_ == nullptr) throw std::bad_alloc();
  } else if (::posix_memalign(&data_, bytes >= kHugePage ? kHugePage : 64, roundedUp(bytes, 64)) != 0) {
    throw std::bad_alloc();
  }
  wantHugePages(data_, bytes);
}

AlignedBuffer::AlignedBuffer(std::shared_ptr<const void> owner, const void* data, std::size_t bytes)
    : data_(const_cast<void*>(data)), bytes_(bytes), owner_(std::move(owner)) {}

AlignedBuffer::~AlignedBuffer() {
  if (owner_) return;
  if (bytes_ >= kMapped) {
    ::munmap(data_, roundedUp(bytes_, kPage));
  } else {
    std::free(data_);
  }
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(other.data_), bytes_(other.bytes_), owner_(std::move(other.owner_)) {
  other.data_ = nullptr;
  other.bytes_ = 0;
}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(owner_, other.owner_);
  return *this;
}

WeightCache::Packed WeightCache::getOrPack(const void* source, const std::string& form, std::size_t bytes,
                                           const std::function<void(void* packed)>& pack) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Packed& entry = packed_[{source, form}];
  if (entry && entry->bytes() == bytes) return entry;
  AlignedBuffer buffer(bytes);
  pack(buffer.data());
  entry = std::make_shared<const AlignedBuffer>(std::move(buffer));
  return entry;
}

void WeightCache::put(const void* source, const std::string& form, Packed packed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  packed_[{source, form}] = std::move(packed);
}

std::size_t WeightCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t total = 0;
  for (const auto& [key, buffer] : packed_) total += buffer ? buffer->bytes() : 0;
  return total;
}

void WeightCache::releaseUnused() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<const char*, std::size_t>> freed;
  for (auto at = packed_.begin(); at != packed_.end();) {
    const bool used = at->second.use_count() > 1;
    if (!used && at->second) freed.emplace_back(static_cast<const char*>(at->second->data()), at->second->bytes());
    at = used ? std::next(at) : packed_.erase(at);
  }
  // Buffers packed from the freed ones must not be found again either, because their addresses will be reused.
  for (const auto& [begin, bytes] : freed) {
    packed_.erase(packed_.lower_bound({begin, std::string()}), packed_.lower_bound({begin + bytes, std::string()}));
  }
}

void WeightCache::forEach(const std::function<void(const AlignedBuffer&)>& visit) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, buffer] : packed_) {
    if (buffer) visit(*buffer);
  }
}

std::vector<WeightCache::Entry> WeightCache::entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Entry> all;
  for (const auto& [key, buffer] : packed_) {
    if (buffer) all.push_back({key.first, key.second, buffer});
  }
  return all;
}

}  // namespace ipex_studio

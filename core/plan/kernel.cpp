#include "core/plan/kernel.h"

#include <cstdlib>
#include <new>

#include "core/plan/huge_pages.h"

namespace ipex_studio {

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  if (::posix_memalign(&data_, alignment, (bytes + 63) / 64 * 64) != 0) throw std::bad_alloc();
  wantHugePages(data_, bytes);
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
  other.data_ = nullptr;
  other.bytes_ = 0;
}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

WeightCache::Packed WeightCache::getOrPack(const void* source, const std::string& form,
                                           const std::function<AlignedBuffer()>& pack) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Packed& entry = packed_[{source, form}];
  if (!entry) entry = std::make_shared<const AlignedBuffer>(pack());
  return entry;
}

std::size_t WeightCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t total = 0;
  for (const auto& [key, buffer] : packed_) total += buffer ? buffer->bytes() : 0;
  return total;
}

void WeightCache::forEach(const std::function<void(const AlignedBuffer&)>& visit) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, buffer] : packed_) {
    if (buffer) visit(*buffer);
  }
}

}  // namespace ipex_studio

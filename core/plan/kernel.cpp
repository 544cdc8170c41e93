#include "core/plan/kernel.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace ipex_studio {

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // Weights are streamed from memory and arenas used all over: with pages of 2 MB the first touch costs 500 times fewer
  // faults, and the TLB covers them. The last part of a buffer stays on small pages, so that none is wasted.
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t huge = bytes / kHugePage * kHugePage;
  const std::size_t alignment = huge > 0 ? kHugePage : 64;
  if (::posix_memalign(&data_, alignment, (bytes + 63) / 64 * 64) != 0) throw std::bad_alloc();
  if (huge > 0) ::madvise(data_, huge, MADV_HUGEPAGE);  // a hint
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

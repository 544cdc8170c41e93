// The cache of packed weights.
#include "core/op/kernel.h"

#include <fmt/format.h>

#include <utility>

namespace ipex_studio {

WeightCache::Packed WeightCache::getOrPack(const void* source, const std::string& form, std::size_t bytes,
                                           const std::function<void(void* packed)>& pack) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Packed& entry = packed_[{source, form}];
  if (entry && entry->bytes() == bytes) return entry;
  Buffer buffer(bytes);
  pack(buffer.data());
  entry = std::make_shared<const Buffer>(std::move(buffer));
  return entry;
}

WeightCache::Packed WeightCache::copyTo(Device& device, const void* source, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Packed& entry = packed_[{source, fmt::format("copy on {}", device.id().str())}];
  if (entry && entry->bytes() == bytes) return entry;
  Buffer buffer(bytes, device);
  device.newQueue()->copy(buffer.data(), source, bytes);
  entry = std::make_shared<const Buffer>(std::move(buffer));
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

void WeightCache::forEach(const std::function<void(const Buffer&)>& visit) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, buffer] : packed_) {
    if (buffer && buffer->isOnHost()) visit(*buffer);
  }
}

std::vector<WeightCache::Entry> WeightCache::entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Entry> all;
  for (const auto& [key, buffer] : packed_) {
    if (buffer && buffer->isOnHost()) all.push_back({key.first, key.second, buffer});
  }
  return all;
}

}  // namespace ipex_studio

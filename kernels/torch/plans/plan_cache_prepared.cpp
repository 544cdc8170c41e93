// Weights that are not packed here: taken from a file beside the export, and given to one.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/crc32.h"
#include "kernels/torch/plans/plan_cache.h"
#include "kernels/torch/plans/prepared_files.h"

namespace ipex_studio {

void PlanCache::takePrepared() {
  const auto files = std::exchange(prepared_files_, {});
  if (files.empty()) return;
  const std::vector<const void*> constants = constantData();
  std::map<std::uint64_t, std::uint32_t> crcs;
  const auto isSame = [&](const PreparedWeights::Place& place) {
    if (place.constant >= constants.size() || place.offset >= spec_.constants[place.constant].bytes()) return false;
    const auto [known, fresh] = crcs.emplace(place.constant, 0);
    if (fresh) known->second = crc32Update(0, constants[place.constant], spec_.constants[place.constant].bytes());
    return known->second == place.constant_crc;
  };
  const std::string id = preparedRegionId(spec_);
  for (const std::shared_ptr<const PreparedWeights>& file : files) {
    const std::vector<PreparedWeights::Place>* places = file->places(id);
    if (places == nullptr) continue;
    bool belongs = places->empty();
    for (const PreparedWeights::Place& place : *places) {
      if (!isSame(place)) continue;
      belongs = true;
      WeightCache::Packed packed = file->take(place);
      if (!packed) {
        warnOnce(file->path() + " is damaged; what is damaged in it is packed again.");
        continue;
      }
      prepared_.push_back(
          {static_cast<const char*>(constants[place.constant]) + place.offset, place.form, std::move(packed)});
    }
    if (belongs) return;
  }
  warnOnce(files.front()->path() + " belongs to another export; weights are packed again.");
}

PreparedRegion PlanCache::packedRegion(std::vector<WeightCache::Packed>* keep) const {
  const std::vector<const void*> constants = constantData();
  std::map<std::size_t, std::uint32_t> crcs;
  PreparedRegion region;
  region.id = preparedRegionId(spec_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (weights_.empty()) return region;
  for (WeightCache::Entry& entry : weights_.begin()->second.entries()) {  // every node's are equal
    for (std::size_t c = 0; c < constants.size(); ++c) {
      const std::ptrdiff_t offset = static_cast<const char*>(entry.source) - static_cast<const char*>(constants[c]);
      if (offset < 0 || static_cast<std::size_t>(offset) >= spec_.constants[c].bytes()) continue;
      const auto [crc, fresh] = crcs.emplace(c, 0);
      if (fresh) crc->second = crc32Update(0, constants[c], spec_.constants[c].bytes());
      region.weights.push_back({c, crc->second, static_cast<std::uint64_t>(offset), entry.form, entry.buffer->data(),
                                entry.buffer->bytes()});
      keep->push_back(std::move(entry.buffer));
      break;
    }
  }
  // In the order of the network, in which they are read.
  std::stable_sort(region.weights.begin(), region.weights.end(), [](const auto& a, const auto& b) {
    return std::tie(a.constant, a.offset) < std::tie(b.constant, b.offset);
  });
  return region;
}

}  // namespace ipex_studio

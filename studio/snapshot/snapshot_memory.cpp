// See snapshot_memory.h.
#include "studio/snapshot/snapshot_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ipex_studio {
namespace {

// Largest size that is taken for true.
constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 48;

bool isBelievable(const StepRecord& step) {
  return step.arena_begin >= 0 && step.arena_size > 0 && step.arena_begin < kMaxMemoryBytes &&
         step.arena_size < kMaxMemoryBytes;
}

void findLevels(ArenaUse* use) {
  std::vector<std::pair<double, std::int64_t>> changes;
  for (const ArenaTensor& tensor : use->tensors) {
    changes.emplace_back(tensor.begin_ns, tensor.bytes);
    changes.emplace_back(tensor.end_ns, -tensor.bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t alive = 0;
  for (std::size_t c = 0; c < changes.size();) {
    const double at = changes[c].first;
    for (; c < changes.size() && changes[c].first == at; ++c) alive += changes[c].second;
    use->levels.push_back({at, alive});
    if (alive <= use->peak_bytes) continue;
    use->peak_bytes = alive;
    // The peak is placed in the middle of its interval, where the live tensors are certain.
    use->peak_at_ns = c < changes.size() ? (at + changes[c].first) / 2 : at;
  }
}

}  // namespace

ArenaUse arenaUse(const RunIndex& run) {
  ArenaUse use;
  if (run.run == nullptr) return use;
  const bool timed =
      std::any_of(run.rows.begin(), run.rows.end(), [](const OperationRow& row) { return row.time.p50_ns > 0; });
  std::vector<double> begin;
  std::unordered_map<std::int32_t, std::size_t> row_of_step;
  std::map<std::int32_t, std::int64_t> region_bytes;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    const OperationRow& row = run.rows[r];
    begin.push_back(use.end_ns);
    use.end_ns += timed ? row.time.p50_ns : 1e6;
    if (row.step < 0) continue;
    const StepRecord& step = run.run->steps[static_cast<std::size_t>(row.step)];
    row_of_step.emplace(step.index, r);
    if (!isBelievable(step)) continue;
    std::int64_t& bytes = region_bytes[step.region];
    bytes = std::max(bytes, step.arena_begin + step.arena_size);
  }
  begin.push_back(use.end_ns);
  std::map<std::int32_t, std::int64_t> region_base;
  for (const auto& [region, bytes] : region_bytes) {
    region_base[region] = use.arena_bytes;
    use.arena_bytes = std::min(use.arena_bytes + bytes, kMaxMemoryBytes);
  }
  std::vector<std::size_t> alive;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    if (run.rows[r].step < 0) continue;
    const StepRecord& step = run.run->steps[static_cast<std::size_t>(run.rows[r].step)];
    if (!isBelievable(step)) continue;
    // A write ends the tensor that lay there before, whatever was recorded of its memory: results in place and views
    // count once.
    const std::int64_t offset = region_base[step.region] + step.arena_begin;
    const auto ends = [&](std::size_t t) {
      ArenaTensor& other = use.tensors[t];
      const bool shared = other.offset < offset + step.arena_size && offset < other.offset + other.bytes;
      if (shared) other.end_ns = std::min(other.end_ns, begin[r]);
      return shared || other.end_ns <= begin[r];
    };
    alive.erase(std::remove_if(alive.begin(), alive.end(), ends), alive.end());
    const auto last = row_of_step.find(step.last_use);
    const std::size_t end = last == row_of_step.end() ? r : std::max(r, last->second);
    alive.push_back(use.tensors.size());
    use.tensors.push_back({static_cast<std::int32_t>(r), offset, step.arena_size, begin[r], begin[end + 1]});
  }
  findLevels(&use);
  return use;
}

}  // namespace ipex_studio

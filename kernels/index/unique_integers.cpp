// Integers of a narrow range are counted in a table; others are sorted.
#include "kernels/index/unique_integers.h"

#include <algorithm>

namespace ipex_studio {
namespace {

// The largest table, in entries for each number.
constexpr std::uint64_t kEntriesPerNumber = 8, kSmallTable = 4096;

UniqueIntegers byTable(const std::int64_t* numbers, std::int64_t count, std::int64_t low, std::size_t range,
                       bool with_places) {
  UniqueIntegers found;
  std::vector<std::int64_t> table(range, 0);
  const auto entry = [&](std::int64_t i) -> std::int64_t& {
    return table[static_cast<std::size_t>(numbers[i]) - static_cast<std::size_t>(low)];
  };
  for (std::int64_t i = 0; i < count; ++i) ++entry(i);
  for (std::size_t offset = 0; offset < range; ++offset) {
    if (table[offset] == 0) continue;
    found.counts.push_back(table[offset]);
    table[offset] = static_cast<std::int64_t>(found.values.size());
    found.values.push_back(low + static_cast<std::int64_t>(offset));
  }
  if (with_places) found.places.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; with_places && i < count; ++i) found.places[static_cast<std::size_t>(i)] = entry(i);
  return found;
}

UniqueIntegers bySorting(const std::int64_t* numbers, std::int64_t count, bool with_places) {
  UniqueIntegers found;
  std::vector<std::int64_t> sorted(numbers, numbers + count);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    found.values.push_back(sorted[begin]);
    found.counts.push_back(static_cast<std::int64_t>(end - begin));
  }
  if (with_places) found.places.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < found.places.size(); ++i)
    found.places[i] = std::lower_bound(found.values.begin(), found.values.end(), numbers[i]) - found.values.begin();
  return found;
}

}  // namespace

UniqueIntegers uniqueIntegers(const std::int64_t* numbers, std::int64_t count, bool with_places) {
  if (count == 0) return {};
  const auto [low, high] = std::minmax_element(numbers, numbers + count);
  const std::uint64_t span = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low);
  const bool narrow = span < std::max(kSmallTable, kEntriesPerNumber * static_cast<std::uint64_t>(count));
  return narrow ? byTable(numbers, count, *low, static_cast<std::size_t>(span) + 1, with_places)
                : bySorting(numbers, count, with_places);
}

}  // namespace ipex_studio

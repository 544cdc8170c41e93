// Places are counted in parts, so that each part knows where its own begin, and written without a branch per element.
#include "kernels/index/chosen_places.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kPart = 8192;

template <typename Number>
std::vector<std::int64_t> placesOf(const Number* numbers, std::int64_t count, std::int32_t threads) {
  const std::int64_t parts = (count + kPart - 1) / kPart;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(parts) + 1, 0);
  parallelFor(parts, grainFor(kPart), threads, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t part = first; part < last; ++part) {
      std::int64_t chosen = 0;
      const std::int64_t end = std::min(count, (part + 1) * kPart);
      for (std::int64_t i = part * kPart; i < end; ++i) chosen += numbers[i] != 0 ? 1 : 0;
      begins[static_cast<std::size_t>(part) + 1] = chosen;
    }
  });
  for (std::size_t part = 1; part < begins.size(); ++part) begins[part] += begins[part - 1];
  std::vector<std::int64_t> places(static_cast<std::size_t>(begins.back()));
  parallelFor(parts, grainFor(2 * kPart), threads, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t begin = begins[static_cast<std::size_t>(part)],
                         chosen = begins[static_cast<std::size_t>(part) + 1] - begin;
      // Further places would be written behind the part's own, so the walk ends with the last of them.
      std::int64_t* to = places.data() + begin;
      std::int64_t found = 0;
      for (std::int64_t i = part * kPart; found < chosen; ++i) {
        to[found] = i;
        found += numbers[i] != 0 ? 1 : 0;
      }
    }
  });
  return places;
}

template <typename Word>
void readWords(const ChosenRows& rows, const void* source, void* dense) {
  const auto* from = static_cast<const Word*>(source);
  auto* to = static_cast<Word*>(dense);
  const auto chosen = static_cast<std::int64_t>(rows.places.size());
  for (std::int64_t block = 0; block < rows.blocks; ++block, from += rows.per_block, to += chosen) {
    parallelFor(chosen, grainFor(2), rows.threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = from[rows.places[static_cast<std::size_t>(i)]];
    });
  }
}

template <typename Word>
void writeWords(const ChosenRows& rows, const void* dense, void* target) {
  const auto* from = static_cast<const Word*>(dense);
  auto* to = static_cast<Word*>(target);
  const auto chosen = static_cast<std::int64_t>(rows.places.size());
  for (std::int64_t block = 0; block < rows.blocks; ++block, from += chosen, to += rows.per_block) {
    parallelFor(chosen, grainFor(2), rows.threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) to[rows.places[static_cast<std::size_t>(i)]] = from[i];
    });
  }
}

// Calls copy(place of the row among all of the source, place among those of the dense rows), both in bytes.
template <typename Copy>
void forEachRow(const ChosenRows& rows, const Copy& copy) {
  const auto chosen = static_cast<std::int64_t>(rows.places.size());
  parallelFor(rows.blocks * chosen, grainFor(rows.row_bytes / 8 + 4), rows.threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t row = begin; row < end; ++row) {
                  const std::int64_t block = row / chosen, place = rows.places[static_cast<std::size_t>(row % chosen)];
                  copy((block * rows.per_block + place) * rows.row_bytes, row * rows.row_bytes);
                }
              });
}

}  // namespace

std::vector<std::int64_t> chosenPlaces(const std::uint8_t* mask, std::int64_t count, std::int32_t threads) {
  return placesOf(mask, count, threads);
}
std::vector<std::int64_t> nonzeroPlaces(const float* numbers, std::int64_t count, std::int32_t threads) {
  return placesOf(numbers, count, threads);
}
std::vector<std::int64_t> nonzeroPlaces(const std::int64_t* numbers, std::int64_t count, std::int32_t threads) {
  return placesOf(numbers, count, threads);
}
std::vector<std::int64_t> nonzeroPlaces(const std::int32_t* numbers, std::int64_t count, std::int32_t threads) {
  return placesOf(numbers, count, threads);
}

void readChosenRows(const ChosenRows& rows, const void* source, void* dense) {
  if (rows.row_bytes == 1) return readWords<std::uint8_t>(rows, source, dense);
  if (rows.row_bytes == 4) return readWords<std::uint32_t>(rows, source, dense);
  if (rows.row_bytes == 8) return readWords<std::uint64_t>(rows, source, dense);
  const auto* from = static_cast<const std::uint8_t*>(source);
  auto* to = static_cast<std::uint8_t*>(dense);
  forEachRow(rows, [&](std::int64_t place, std::int64_t row) {
    std::memcpy(to + row, from + place, static_cast<std::size_t>(rows.row_bytes));
  });
}

void writeChosenRows(const ChosenRows& rows, const void* dense, void* target) {
  if (rows.row_bytes == 1) return writeWords<std::uint8_t>(rows, dense, target);
  if (rows.row_bytes == 4) return writeWords<std::uint32_t>(rows, dense, target);
  if (rows.row_bytes == 8) return writeWords<std::uint64_t>(rows, dense, target);
  const auto* from = static_cast<const std::uint8_t*>(dense);
  auto* to = static_cast<std::uint8_t*>(target);
  forEachRow(rows, [&](std::int64_t place, std::int64_t row) {
    std::memcpy(to + place, from + row, static_cast<std::size_t>(rows.row_bytes));
  });
}

}  // namespace ipex_studio

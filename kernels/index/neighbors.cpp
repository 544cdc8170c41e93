// The neighbours of the rows of a sparse matrix: how edges are grouped, and how rows are shared among threads.
#include "kernels/index/neighbors.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"
#include "kernels/index/neighbor_math.h"
#include "kernels/index/row_shares.h"

namespace ipex_studio {
namespace {

template <typename T>
const NeighborMath<T>& neighborMath() {
  static const NeighborMath<T> math = [] {
    if constexpr (std::is_same_v<T, float>)
      return neighborMathSimd(machineFacts().isa);
    else
      return neighborMathRef();
  }();
  return math;
}

template <typename T>
void shareJob(NeighborJob<T> job, void (*work)(const NeighborJob<T>&), std::int32_t threads) {
  shareRows(*job.matrix, 4 + job.width / 2, threads, [&](std::int64_t begin, std::int64_t end) {
    NeighborJob<T> part = job;
    part.begin = begin;
    part.end = end;
    work(part);
  });
}

}  // namespace

std::string checkIndex(const std::int64_t* index, std::int64_t count, std::int64_t rows, std::int32_t threads) {
  std::atomic<std::int64_t> sign{0};  // negative once a row or the distance to the last row is
  parallelFor(count, grainFor(1), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t all = 0;
    for (std::int64_t i = begin; i < end; ++i) all |= index[i] | (rows - 1 - index[i]);
    sign |= all;
  });
  if (sign >= 0) return {};
  const auto isWrong = [rows](std::int64_t row) { return row < 0 || row >= rows; };
  const std::int64_t* const fault = std::find_if(index, index + count, isWrong);
  return "position " + std::to_string(fault - index) + " holds " + std::to_string(*fault) + ", and there are " +
         std::to_string(rows) + " rows";
}

std::string checkBegins(const std::int64_t* begins, std::int64_t rows, std::int64_t entries) {
  if (begins[0] != 0) return "the first is " + std::to_string(begins[0]) + " instead of 0";
  for (std::int64_t row = 0; row < rows; ++row) {
    if (begins[row + 1] < begins[row]) return "they decrease at position " + std::to_string(row + 1);
  }
  if (begins[rows] == entries) return {};
  return "the last is " + std::to_string(begins[rows]) + ", and there are " + std::to_string(entries) + " entries";
}

void groupByRow(const std::int64_t* index, std::int64_t count, std::int64_t rows, std::int64_t* begins,
                std::int64_t* places) {
  std::fill(begins, begins + rows + 1, 0);
  for (std::int64_t e = 0; e < count; ++e) ++begins[index[e] + 1];
  for (std::int64_t row = 0; row < rows; ++row) begins[row + 1] += begins[row];
  for (std::int64_t e = 0; e < count; ++e) places[begins[index[e]]++] = e;
  // Each begin has moved to its row's end.
  std::copy_backward(begins, begins + rows, begins + rows + 1);
  begins[0] = 0;
}

GroupedEdges groupByRow(const std::int64_t* index, std::int64_t count, std::int64_t rows) {
  GroupedEdges grouped;
  grouped.begins.resize(static_cast<std::size_t>(rows + 1));
  grouped.places.resize(static_cast<std::size_t>(count));
  groupByRow(index, count, rows, grouped.begins.data(), grouped.places.data());
  return grouped;
}

TransposedRows transposeRows(const SparseRows& matrix, std::int64_t columns) {
  const std::int64_t entries = matrix.entries();
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(entries));
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    std::fill(row_of.begin() + matrix.begins[row], row_of.begin() + matrix.begins[row + 1], row);
  GroupedEdges grouped = groupByRow(matrix.columns, entries, columns);
  TransposedRows transposed{std::move(grouped.begins), {}, std::move(grouped.places)};
  transposed.rows.reserve(transposed.places.size());
  for (std::int64_t& place : transposed.places) {
    transposed.rows.push_back(row_of[static_cast<std::size_t>(place)]);
    place = matrix.placeOf(place);
  }
  return transposed;
}

template <typename T>
void aggregateNeighbors(const SparseRows& matrix, Aggregation aggregation, const T* x, std::int64_t width,
                        const EntryValues<T>& values, T* out, std::int32_t* winners, std::int32_t threads) {
  NeighborJob<T> job;
  job.matrix = &matrix;
  job.width = width;
  job.values = values;
  job.x = x;
  job.out = out;
  job.winners = winners;
  job.mean = aggregation == Aggregation::kMean;
  job.minima = aggregation == Aggregation::kMin;
  const bool sums = aggregation == Aggregation::kSum || job.mean;
  shareJob(job, sums ? neighborMath<T>().sum : neighborMath<T>().extremes, threads);
}

template <typename T>
void gradientOfExtremes(const SparseRows& transposed, const T* gradient, std::int64_t width,
                        const EntryValues<T>& values, const std::int32_t* winners, T* out, std::int32_t threads) {
  NeighborJob<T> job;
  job.matrix = &transposed;
  job.width = width;
  job.values = values;
  job.x = gradient;
  job.given_winners = winners;
  job.out = out;
  shareJob(job, neighborMath<T>().won_sum, threads);
}

template <typename T>
void gradientOfValues(const SparseRows& matrix, const T* gradient, const T* x, std::int64_t width, std::int64_t groups,
                      const std::int32_t* winners, T* out, std::int32_t threads) {
  NeighborJob<T> job;
  job.matrix = &matrix;
  job.width = width;
  job.values.groups = groups;
  job.gradient = gradient;
  job.x = x;
  job.given_winners = winners;
  job.out = out;
  shareJob(job, neighborMath<T>().products, threads);
}

#define IPEX_FOR(T)                                                                                                  \
  template void aggregateNeighbors<T>(const SparseRows&, Aggregation, const T*, std::int64_t, const EntryValues<T>&, \
                                      T*, std::int32_t*, std::int32_t);                                              \
  template void gradientOfExtremes<T>(const SparseRows&, const T*, std::int64_t, const EntryValues<T>&,              \
                                      const std::int32_t*, T*, std::int32_t);                                        \
  template void gradientOfValues<T>(const SparseRows&, const T*, const T*, std::int64_t, std::int64_t,               \
                                    const std::int32_t*, T*, std::int32_t);
IPEX_FOR(float)
IPEX_FOR(double)
#undef IPEX_FOR

}  // namespace ipex_studio

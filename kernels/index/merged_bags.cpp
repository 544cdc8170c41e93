// Embedding bags of many tables in one call: the walks over bags, touched rows and their reads, for both precisions.
//
// Bags and touched rows of all tables stand in one line, of which threads take equal parts. A row's reads are in the
// order of its ids, so sums do not depend on who computes them.
#include "kernels/index/merged_bags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/runtime/machine_facts.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/parallel.h"
#include "kernels/index/embedding_bag_job.h"
#include "kernels/index/row_math.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kTogether = 16;  // rows that are summed in registers
constexpr std::int64_t kRowsAhead = 8;  // touched rows that are fetched before they are updated

template <typename T>
const RowMath<T>& rowMath() {
  static const RowMath<T> math = [] {
    if constexpr (std::is_same_v<T, float>)
      return rowMathSimd(machineFacts().isa);
    else
      return rowMathRef();
  }();
  return math;
}

std::int64_t idAt(const Bags& bags, std::int64_t position) { return indexAt(bags.ids, bags.index_type, position); }
std::int64_t beginOf(const Bags& bags, std::int64_t bag) {
  return bag < bags.offset_count ? indexAt(bags.offsets, bags.index_type, bag) : bags.id_count;
}

// A part of a table's bags or touched rows.
struct Share {
  std::size_t table = 0;
  std::int64_t begin = 0, end = 0;
};

// Calls fn(share) for parts of all tables that together are all of them.
template <typename Fn>
void shareOut(const std::vector<std::int64_t>& counts, std::int64_t ops_each, std::int32_t threads, const Fn& fn) {
  std::int64_t all = 0;
  for (const std::int64_t count : counts) all += count;
  parallelFor(all, grainFor(ops_each), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t first = 0;
    for (std::size_t table = 0; table < counts.size(); first += counts[table++]) {
      const Share share{table, std::max<std::int64_t>(0, begin - first), std::min(counts[table], end - first)};
      if (share.begin < share.end) fn(share);
    }
  });
}

std::int64_t widest(const std::vector<Bags>& tables) {
  std::int64_t width = 1;
  for (const Bags& bags : tables) width = std::max(width, bags.width);
  return width;
}

std::vector<std::int64_t> bagCounts(const std::vector<Bags>& tables) {
  std::vector<std::int64_t> counts;
  for (const Bags& bags : tables) counts.push_back(bags.bags);
  return counts;
}

std::vector<std::int64_t> rowCounts(const std::vector<TouchedRows>& touched) {
  std::vector<std::int64_t> counts;
  for (const TouchedRows& rows : touched) counts.push_back(static_cast<std::int64_t>(rows.rows.size()));
  return counts;
}

template <typename T>
void fetchRow(const T* row, std::int64_t width) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t e = 0; e < width; e += kLine) __builtin_prefetch(row + e);
}

// Ids of a bag without padding.
std::int64_t readCount(const Bags& bags, std::int64_t begin, std::int64_t end) {
  if (bags.padding < 0) return end - begin;
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) count += idAt(bags, i) != bags.padding ? 1 : 0;
  return count;
}

// Sums one bag by lists of rows: padding is left out, or rows have weights. Others go through rowMath().sum_bags.
template <typename T>
void sumBag(const Bags& bags, BagMode mode, const T* table, std::int64_t begin, std::int64_t end, T* sums) {
  const T *rows[kTogether], *upcoming[kTogether];
  T factors[kTogether];
  const auto* sample_weights = static_cast<const T*>(bags.sample_weights);
  RowAddends<T> addends{rows, 0, upcoming, sample_weights == nullptr ? nullptr : factors};
  std::int64_t all = 0;
  const auto add = [&] {
    rowMath<T>().add_rows(addends, bags.width, sums, all == 0);
    all += addends.count;
    addends.count = 0;
  };
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = idAt(bags, i);
    if (row == bags.padding) continue;
    rows[addends.count] = table + row * bags.width;
    upcoming[addends.count] = table + idAt(bags, std::min(i + kBagIdsAhead, bags.id_count - 1)) * bags.width;
    factors[addends.count] = sample_weights == nullptr ? T(1) : sample_weights[i];
    if (++addends.count == kTogether) add();
  }
  if (addends.count > 0 || all == 0) add();
  if (mode != BagMode::kMean || all == 0) return;
  for (std::int64_t e = 0; e < bags.width; ++e) sums[e] /= static_cast<T>(all);
}

// NaN counts as the greatest, as it does in libtorch's maxima.
template <typename T>
void maximaOfBag(const Bags& bags, const T* table, std::int64_t begin, std::int64_t end, T* maxima,
                 std::int64_t* places) {
  std::fill(maxima, maxima + bags.width, T(0));
  std::fill(places, places + bags.width, -1);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = idAt(bags, i);
    if (row == bags.padding) continue;
    const T* const values = table + row * bags.width;
    for (std::int64_t e = 0; e < bags.width; ++e) {
      if (places[e] >= 0 && !(values[e] > maxima[e])) continue;
      maxima[e] = values[e];
      places[e] = row;
    }
  }
}

// Sorts by the upper 32 bits, in which numbers below `rows` stand; equal ones keep their order.
void sortByRow(std::vector<std::uint64_t>* keys, std::int64_t rows) {
  constexpr int kBits = 11;
  std::vector<std::uint64_t> other(keys->size());
  for (int shift = 32; shift < 64 && (rows - 1) >> (shift - 32) != 0; shift += kBits) {
    std::array<std::size_t, (1 << kBits) + 1> begins{};
    const auto digit = [&](std::uint64_t key) { return (key >> shift) & ((1 << kBits) - 1); };
    for (const std::uint64_t key : *keys) ++begins[digit(key) + 1];
    for (std::size_t d = 1; d < begins.size(); ++d) begins[d] += begins[d - 1];
    for (const std::uint64_t key : *keys) other[begins[digit(key)]++] = key;
    keys->swap(other);
  }
}

TouchedRows touchedRowsOf(const Bags& bags) {
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> bag_of(static_cast<std::size_t>(bags.id_count));
  keys.reserve(static_cast<std::size_t>(bags.id_count));
  for (std::int64_t bag = 0; bag < bags.bags; ++bag) {
    for (std::int64_t i = beginOf(bags, bag); i < beginOf(bags, bag + 1); ++i) {
      bag_of[static_cast<std::size_t>(i)] = bag;
      const std::int64_t row = idAt(bags, i);
      if (row != bags.padding) keys.push_back(static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(i));
    }
  }
  sortByRow(&keys, bags.rows);
  TouchedRows touched;
  touched.reads.reserve(keys.size());
  for (const std::uint64_t key : keys) {
    const auto row = static_cast<std::int64_t>(key >> 32), position = static_cast<std::int64_t>(key & 0xffffffffu);
    if (touched.rows.empty() || touched.rows.back() != row) {
      touched.rows.push_back(row);
      touched.begins.push_back(static_cast<std::int64_t>(touched.reads.size()));
    }
    touched.reads.push_back({position, bag_of[static_cast<std::size_t>(position)]});
  }
  touched.begins.push_back(static_cast<std::int64_t>(touched.reads.size()));
  return touched;
}

// The operands of one table's gradients.
template <typename T>
struct GradientSource {
  const Bags& bags;
  BagMode mode;
  const TouchedRows& touched;
  const T* of_results;
  const std::int64_t* places;
};

// Adds what bags hand on to one row where its values were the largest; an id twice in a bag counts once.
template <typename T>
void addMaxima(const GradientSource<T>& from, std::int64_t row, std::int64_t begin, std::int64_t end, T* sums) {
  const std::int64_t width = from.bags.width;
  std::int64_t last_bag = -1;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t bag = from.touched.reads[static_cast<std::size_t>(r)].bag;
    if (bag == last_bag) continue;
    last_bag = bag;
    for (std::int64_t e = 0; e < width; ++e) {
      if (from.places[bag * width + e] == row) sums[e] += from.of_results[bag * width + e];
    }
  }
}

// The gradient of touched row `index`: in `room`, or where the gradient of the only bag that read it lies.
template <typename T>
const T* rowGradient(const GradientSource<T>& from, std::int64_t index, T* room) {
  const auto at = static_cast<std::size_t>(index);
  const std::int64_t width = from.bags.width, begin = from.touched.begins[at], end = from.touched.begins[at + 1];
  if (from.mode == BagMode::kMax) {
    std::fill(room, room + width, T(0));
    addMaxima(from, from.touched.rows[at], begin, end, room);
    return room;
  }
  const T* rows[kTogether];
  T factors[kTogether];
  const auto* sample_weights = static_cast<const T*>(from.bags.sample_weights);
  const bool weighted = from.mode == BagMode::kMean || sample_weights != nullptr;
  if (end - begin == 1 && !weighted)
    return from.of_results + from.touched.reads[static_cast<std::size_t>(begin)].bag * width;
  for (std::int64_t first = begin; first < end; first += kTogether) {
    const std::int64_t count = std::min(kTogether, end - first);
    for (std::int64_t r = 0; r < count; ++r) {
      const TouchedRows::Read& read = from.touched.reads[static_cast<std::size_t>(first + r)];
      rows[r] = from.of_results + read.bag * width;
      factors[r] = sample_weights != nullptr ? sample_weights[read.position] : T(1);
      if (from.mode != BagMode::kMean) continue;
      const std::int64_t ids = readCount(from.bags, beginOf(from.bags, read.bag), beginOf(from.bags, read.bag + 1));
      factors[r] = T(1) / static_cast<T>(ids);
    }
    rowMath<T>().add_rows({rows, count, nullptr, weighted ? factors : nullptr}, width, room, first == begin);
  }
  return room;
}

// `room`: for a gradient of one row.
template <typename T>
void updateRow(const RowUpdate& update, std::int64_t row, std::int64_t width, T* table, T* state, const T* gradient,
               T* room) {
  T* const w = table + row * width;
  const T lr = static_cast<T>(update.learning_rate), decay = static_cast<T>(update.weight_decay),
          eps = static_cast<T>(update.eps);
  if (update.kind == RowUpdate::Kind::kAdagrad) {
    rowMath<T>().adagrad(w, state + row * width, gradient, width, lr, decay, eps);
    return;
  }
  if (update.kind == RowUpdate::Kind::kSgd) {
    rowMath<T>().step(w, gradient, width, lr, decay);
    return;
  }
  for (std::int64_t e = 0; e < width; ++e) room[e] = gradient[e] + decay * w[e];
  state[row] += rowMath<T>().product(room, room, width) / static_cast<T>(width);
  rowMath<T>().step(w, room, width, lr / (std::sqrt(state[row]) + eps), T(0));
}

EmbeddingBagJob jobOf(const Bags& bags, BagMode mode) {
  return {bags.index_type, bags.id_count, bags.offset_count, bags.rows, bags.width, mode == BagMode::kMean};
}

}  // namespace

std::string checkBags(const Bags& bags) {
  const auto at = [](std::int64_t position) { return "position " + std::to_string(position); };
  constexpr std::int64_t kMost = std::int64_t{1} << 32;  // rows and positions share a sorted number
  if (bags.rows > kMost || bags.id_count > kMost) return "there are more than 2^32 rows or indices";
  // The walk below finds the first fault; offsets that start at 0 and fit as bags leave no id out.
  const bool from_start = bags.offset_count > 0 && indexAt(bags.offsets, bags.index_type, 0) == 0;
  if (from_start && bagsFit(jobOf(bags, BagMode::kSum), bags.ids, bags.offsets, 0, bags.offset_count)) return {};
  std::int64_t last = 0;
  for (std::int64_t bag = 0; bag < bags.offset_count; ++bag) {
    const std::int64_t offset = indexAt(bags.offsets, bags.index_type, bag);
    if (bag == 0 && offset != 0) return "the first offset is " + std::to_string(offset) + " instead of 0";
    if (offset < last) return "offsets decrease at " + at(bag);
    if (offset > bags.id_count) {
      return "the offset at " + at(bag) + " is " + std::to_string(offset) + ", and there are " +
             std::to_string(bags.id_count) + " indices";
    }
    last = offset;
  }
  for (std::int64_t i = 0; i < bags.id_count; ++i) {
    const std::int64_t row = idAt(bags, i);
    if (row < 0 || row >= bags.rows)
      return at(i) + " holds " + std::to_string(row) + ", and the table has " + std::to_string(bags.rows) + " rows";
  }
  return {};
}

template <typename T>
void sumBags(const std::vector<Bags>& tables, BagMode mode, const std::vector<const T*>& weights,
             const std::vector<T*>& results, const std::vector<std::int64_t*>& places, std::int32_t threads) {
  shareOut(bagCounts(tables), 8 * widest(tables), threads, [&](const Share& share) {
    const Bags& bags = tables[share.table];
    if (mode != BagMode::kMax && bags.padding < 0 && bags.sample_weights == nullptr) {
      rowMath<T>().sum_bags(jobOf(bags, mode), bags.ids, bags.offsets, weights[share.table], results[share.table],
                            share.begin, share.end);
      return;
    }
    for (std::int64_t bag = share.begin; bag < share.end; ++bag) {
      const std::int64_t begin = beginOf(bags, bag), end = beginOf(bags, bag + 1), place = bag * bags.width;
      if (mode == BagMode::kMax) {
        maximaOfBag(bags, weights[share.table], begin, end, results[share.table] + place, places[share.table] + place);
      } else {
        sumBag(bags, mode, weights[share.table], begin, end, results[share.table] + place);
      }
    }
  });
}

std::vector<TouchedRows> touchedRows(const std::vector<Bags>& tables, std::int32_t threads) {
  std::vector<TouchedRows> touched(tables.size());
  std::int64_t most = 1;
  for (const Bags& bags : tables) most = std::max(most, bags.id_count);
  parallelFor(static_cast<std::int64_t>(tables.size()), grainFor(8 * most), threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t t = begin; t < end; ++t) {
                  touched[static_cast<std::size_t>(t)] = touchedRowsOf(tables[static_cast<std::size_t>(t)]);
                }
              });
  return touched;
}

template <typename T>
void rowGradients(const std::vector<Bags>& tables, BagMode mode, const std::vector<TouchedRows>& touched,
                  const std::vector<const T*>& result_gradients, const std::vector<const std::int64_t*>& places,
                  const std::vector<T*>& gradients, std::int32_t threads) {
  shareOut(rowCounts(touched), 2 * widest(tables), threads, [&](const Share& share) {
    const std::size_t t = share.table;
    const GradientSource<T> from{tables[t], mode, touched[t], result_gradients[t],
                                 mode == BagMode::kMax ? places[t] : nullptr};
    const std::int64_t width = tables[t].width;
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      T* const room = gradients[t] + i * width;
      const T* const gradient = rowGradient(from, i, room);
      if (gradient != room) std::copy(gradient, gradient + width, room);
    }
  });
}

template <typename T>
void sampleWeightGradients(const std::vector<Bags>& tables, const std::vector<const T*>& weights,
                           const std::vector<const T*>& result_gradients, const std::vector<T*>& gradients,
                           std::int32_t threads) {
  shareOut(bagCounts(tables), 8 * widest(tables), threads, [&](const Share& share) {
    const Bags& bags = tables[share.table];
    for (std::int64_t bag = share.begin; bag < share.end; ++bag) {
      const T* const gradient = result_gradients[share.table] + bag * bags.width;
      for (std::int64_t i = beginOf(bags, bag); i < beginOf(bags, bag + 1); ++i) {
        const std::int64_t row = idAt(bags, i);
        const T* const values = weights[share.table] + row * bags.width;
        gradients[share.table][i] = row == bags.padding ? T(0) : rowMath<T>().product(gradient, values, bags.width);
      }
    }
  });
}

template <typename T>
void updateRows(const std::vector<Bags>& tables, BagMode mode, const std::vector<TouchedRows>& touched,
                const std::vector<const T*>& result_gradients, const std::vector<const std::int64_t*>& places,
                const RowUpdate& update, const std::vector<T*>& weights, const std::vector<T*>& states,
                std::int32_t threads) {
  const std::int64_t width = widest(tables);
  shareOut(rowCounts(touched), 4 * width, threads, [&](const Share& share) {
    const std::size_t t = share.table;
    const GradientSource<T> from{tables[t], mode, touched[t], result_gradients[t],
                                 mode == BagMode::kMax ? places[t] : nullptr};
    const Bags& bags = tables[t];
    const std::vector<std::int64_t>& rows = touched[t].rows;
    T* const state = update.kind == RowUpdate::Kind::kSgd ? nullptr : states[t];
    std::vector<T> room(static_cast<std::size_t>(bags.width));
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      if (i + kRowsAhead < share.end) {
        const std::int64_t next = rows[static_cast<std::size_t>(i + kRowsAhead)] * bags.width;
        fetchRow(weights[t] + next, bags.width);
        if (update.kind == RowUpdate::Kind::kAdagrad) fetchRow(state + next, bags.width);
      }
      const T* const gradient = rowGradient(from, i, room.data());
      updateRow(update, rows[static_cast<std::size_t>(i)], bags.width, weights[t], state, gradient, room.data());
    }
  });
}

#define IPEX_MERGED_BAGS(T)                                                                                            \
  template void sumBags<T>(const std::vector<Bags>&, BagMode, const std::vector<const T*>&, const std::vector<T*>&,    \
                           const std::vector<std::int64_t*>&, std::int32_t);                                           \
  template void rowGradients<T>(const std::vector<Bags>&, BagMode, const std::vector<TouchedRows>&,                    \
                                const std::vector<const T*>&, const std::vector<const std::int64_t*>&,                 \
                                const std::vector<T*>&, std::int32_t);                                                 \
  template void sampleWeightGradients<T>(const std::vector<Bags>&, const std::vector<const T*>&,                       \
                                         const std::vector<const T*>&, const std::vector<T*>&, std::int32_t);          \
  template void updateRows<T>(const std::vector<Bags>&, BagMode, const std::vector<TouchedRows>&,                      \
                              const std::vector<const T*>&, const std::vector<const std::int64_t*>&, const RowUpdate&, \
                              const std::vector<T*>&, const std::vector<T*>&, std::int32_t);
IPEX_MERGED_BAGS(float)
IPEX_MERGED_BAGS(double)
#undef IPEX_MERGED_BAGS

}  // namespace ipex_studio

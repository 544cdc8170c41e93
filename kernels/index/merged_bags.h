// Embedding bags of many tables in one call (recommendation models), with their gradients and with updates of the rows
// that a batch touched. Works on memory that the caller keeps; knows no tensors of libtorch.
//
// All functions share their work among `threads` OpenMP threads, give the same bits for any number of them, and check
// nothing: checkBags() has to have found no fault. T is float, or double: the plain version, which tests compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/tensor_view.h"

namespace ipex_studio {

enum class BagMode { kSum, kMean, kMax };

// The ids of one table's bags. Bag b holds ids [offsets[b], offsets[b+1]), the last one without that up to the end.
// Ids equal to `padding` count as absent.
struct Bags {
  std::int64_t rows = 0, width = 0;  // of the table
  DType index_type = DType::kS64;    // of ids and offsets: s64 or s32
  const void* ids = nullptr;
  std::int64_t id_count = 0;
  const void* offsets = nullptr;
  std::int64_t offset_count = 0;
  std::int64_t bags = 0;                 // offset_count, or one less where the last offset is the end
  const void* sample_weights = nullptr;  // T, one for each id; only of sums; may be null
  std::int64_t padding = -1;
};

// Returns the first fault of ids or offsets, as "position 7 holds 70, and the table has 50 rows"; empty if there is
// none.
std::string checkBags(const Bags& bags);

// results[t]: [bags, width] of table t. places[t]: for kMax, [bags, width] of s64: the ids that gave the maxima, -1 for
// empty bags; not read otherwise. Empty bags give zeros.
template <typename T>
void sumBags(const std::vector<Bags>& tables, BagMode mode, const std::vector<const T*>& weights,
             const std::vector<T*>& results, const std::vector<std::int64_t*>& places, std::int32_t threads);

// The rows of a table that a batch reads, sorted, each with its ids in order. Sums in this order are the same for any
// number of threads.
struct TouchedRows {
  struct Read {
    std::int64_t position = 0;  // among the ids
    std::int64_t bag = 0;
  };
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> begins;  // of each row's reads, and the end
  std::vector<Read> reads;
};
std::vector<TouchedRows> touchedRows(const std::vector<Bags>& tables, std::int32_t threads);

// Gradients of the touched rows, given those of the results: gradients[t] is [touched rows, width].
template <typename T>
void rowGradients(const std::vector<Bags>& tables, BagMode mode, const std::vector<TouchedRows>& touched,
                  const std::vector<const T*>& result_gradients, const std::vector<const std::int64_t*>& places,
                  const std::vector<T*>& gradients, std::int32_t threads);

// The gradient of the weights of ids, given that of the results: one for each id, those of padding zero. Only of sums.
template <typename T>
void sampleWeightGradients(const std::vector<Bags>& tables, const std::vector<const T*>& weights,
                           const std::vector<const T*>& result_gradients, const std::vector<T*>& gradients,
                           std::int32_t threads);

// An optimizer of rows. Rows that the batch did not touch stay as they are, weight decay included.
struct RowUpdate {
  enum class Kind {
    kSgd,             // w -= lr·(g + weight_decay·w)
    kAdagrad,         // h += g²; w -= lr·g/(√h + eps), g with weight_decay·w
    kRowwiseAdagrad,  // h (one number a row) += mean(g²), else as kAdagrad
  };
  Kind kind = Kind::kSgd;
  double learning_rate = 0.01, weight_decay = 0, eps = 1e-10;
};

// Gradients and update of each touched row in one visit: what rowGradients() gives is never stored. states[t]: h of
// table t, [rows, width], or [rows] for kRowwiseAdagrad; not read for kSgd.
template <typename T>
void updateRows(const std::vector<Bags>& tables, BagMode mode, const std::vector<TouchedRows>& touched,
                const std::vector<const T*>& result_gradients, const std::vector<const std::int64_t*>& places,
                const RowUpdate& update, const std::vector<T*>& weights, const std::vector<T*>& states,
                std::int32_t threads);

}  // namespace ipex_studio

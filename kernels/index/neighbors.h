// Sums, means, maxima and minima over the neighbours of each row of a sparse matrix (a graph network's messages), with
// their gradients; and the grouping of unsorted edges by row. Works on memory that the caller keeps; knows no tensors.
//
// All functions share their work among `threads` OpenMP threads by numbers of entries, so that a few rows with very
// many do not stop the others. A row is computed by one thread in the order of its entries: the bits are the same for
// any number of threads. They check nothing: checkIndex() and checkBegins() have to have found no fault. T is float, or
// double: the plain version, which tests compare with. A matrix has fewer than 2^31 entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

// The rows of a sparse matrix (CSR). Row r has entries [begins[r], begins[r+1]).
struct SparseRows {
  std::int64_t rows = 0;
  const std::int64_t* begins = nullptr;   // rows + 1
  const std::int64_t* columns = nullptr;  // of each entry: a row of what is read
  const std::int64_t* places = nullptr;   // of each entry's value among all values; null: entry e's is at e

  std::int64_t entries() const { return begins[rows]; }
  std::int64_t placeOf(std::int64_t entry) const { return places == nullptr ? entry : places[entry]; }
};

// `groups` values at each place, of which each stands for width / groups features in a row (heads of attention). data
// null: all values are 1.
template <typename T>
struct EntryValues {
  const T* data = nullptr;
  std::int64_t groups = 1;
};

enum class Aggregation { kSum, kMean, kMax, kMin };

// Returns the first fault of indices, as "position 7 holds 70, and there are 50 rows"; empty if there is none.
std::string checkIndex(const std::int64_t* index, std::int64_t count, std::int64_t rows, std::int32_t threads);
// Returns the first fault of begins[rows + 1] over so many entries.
std::string checkBegins(const std::int64_t* begins, std::int64_t rows, std::int64_t entries);

// Edges grouped by row; those of one row keep their order.
struct GroupedEdges {
  std::vector<std::int64_t> begins;  // rows + 1
  std::vector<std::int64_t> places;  // of the edges, row by row
};
GroupedEdges groupByRow(const std::int64_t* index, std::int64_t count, std::int64_t rows);
// The same into memory of rows + 1 and of `count` numbers.
void groupByRow(const std::int64_t* index, std::int64_t count, std::int64_t rows, std::int64_t* begins,
                std::int64_t* places);

// The transposed matrix of `columns` rows: `grouped` holds its rows, `rows` the row of each of its entries, and its
// places are those of the matrix.
struct TransposedRows {
  std::vector<std::int64_t> begins, rows, places;
};
TransposedRows transposeRows(const SparseRows& matrix, std::int64_t columns);

// out[r] = the sum, mean or extreme of value(e)·x[column(e)] over the entries e of row r; 0 for rows without entries.
// x: [columns, width], out: [rows, width]. winners: of extremes, [rows, width]: the places of the entries that gave
// them, the first of equal ones and -1 for none; NaN is more extreme than all numbers. It may be null.
template <typename T>
void aggregateNeighbors(const SparseRows& matrix, Aggregation aggregation, const T* x, std::int64_t width,
                        const EntryValues<T>& values, T* out, std::int32_t* winners, std::int32_t threads);

// The gradient of x from that of an extreme: out[c] = over the entries of row c of the transposed matrix:
// value·gradient[row] where the entry was the winner. out: [columns, width].
template <typename T>
void gradientOfExtremes(const SparseRows& transposed, const T* gradient, std::int64_t width,
                        const EntryValues<T>& values, const std::int32_t* winners, T* out, std::int32_t threads);

// The gradient of the values: out[place(e)][g] = Σ gradient[row(e)]·x[column(e)] over the features of group g; of those
// where the entry was the winner, if there are winners.
template <typename T>
void gradientOfValues(const SparseRows& matrix, const T* gradient, const T* x, std::int64_t width, std::int64_t groups,
                      const std::int32_t* winners, T* out, std::int32_t threads);

}  // namespace ipex_studio

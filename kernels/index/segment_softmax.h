// Softmax over the entries of each row of a sparse matrix (attention in graph networks), with its gradient.
//
// Rows are shared among `threads` OpenMP threads by their numbers of entries; the bits are the same for any number of
// them. T is float, or double: the plain version.
#pragma once

#include "kernels/index/neighbors.h"

namespace ipex_studio {

// out[place][g] = exp(scores[place][g] - m) / Σ exp(…) over the entries of a row, m their maximum. Reads no columns.
template <typename T>
void segmentSoftmax(const SparseRows& rows, std::int64_t groups, const T* scores, T* out, std::int32_t threads);

// out[place][g] = y·(gradient - Σ gradient·y) with the softmax y.
template <typename T>
void segmentSoftmaxGradient(const SparseRows& rows, std::int64_t groups, const T* softmax, const T* gradient, T* out,
                            std::int32_t threads);

// Replaces `count` numbers by their exponentials, for `isa` (a machine_facts tier).
using ExpInPlace = void (*)(float* values, std::int64_t count);
ExpInPlace expInPlaceSimd(const std::string& isa);

}  // namespace ipex_studio

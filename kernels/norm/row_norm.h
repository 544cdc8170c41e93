// Layer norm and RMS norm of rows with their gradients, for operators that are called outside of plans.
//
// T is float, or double: the plain version. Rows lie densely. Rows are shared among `threads` OpenMP threads; the bits
// are the same for any number of them.
#pragma once

#include "core/op/kernel.h"
#include "kernels/common/row_job.h"

namespace ipex_studio {

struct RowNormJob {
  RowNorm norm = RowNorm::kRootMeanSquare;  // not kLength
  std::int64_t rows = 0, size = 0;          // size: values of a row, at least 1
  double eps = 0;
};

// y = (x + residual - mean) · factor · gamma + beta. residual, gamma, beta and sum may be null; sum, which gets
// x + residual, is null without a residual. y may be x or residual, and sum either of them.
template <typename T>
void normalizeRows(const RowNormJob& job, const T* x, const T* residual, const T* gamma, const T* beta, T* y, T* sum,
                   std::int32_t threads);

template <typename T>
struct RowNormGradients {
  T* x = nullptr;  // also that of the residual
  T* gamma = nullptr;
  T* beta = nullptr;  // may be null, as gamma may be
};

// x: what was normalized, with the residual. of_y: the gradient of y; of_sum: that of the sum, or null.
template <typename T>
void normalizeRowsGradient(const RowNormJob& job, const T* x, const T* gamma, const T* of_y, const T* of_sum,
                           const RowNormGradients<T>& gradients, std::int32_t threads);

// The forward code of plans for rows [begin, end): sources x, gamma, beta and residual, of which the last three may be
// null. `isa`: a machine_facts tier.
using LayerNormRun = void (*)(const LayerNormJob&, const float* const* src, float* y, float* sum, std::int64_t begin,
                              std::int64_t end);
LayerNormRun layerNormSimd(const std::string& isa);

// The gradient of one row; adds to the gradients of gamma and beta, which may be null.
template <typename T>
using RowGradient = void (*)(const RowNormJob& job, const T* x, const T* gamma, const T* of_y, const T* of_sum,
                             const RowNormGradients<T>& row);
RowGradient<float> rowGradientSimd(const std::string& isa);
void rowGradientRef(const RowNormJob& job, const double* x, const double* gamma, const double* of_y,
                    const double* of_sum, const RowNormGradients<double>& row);
// One row forward.
void normalizeRowRef(const RowNormJob& job, const double* x, const double* residual, const double* gamma,
                     const double* beta, double* y, double* sum);

}  // namespace ipex_studio

// The one table of kernel cases: correctness and speed are measured on the same rows.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio::kernel_test {

// The values that fill a source. kBytes: all integers of u8 or s8. kExtreme: their lowest and highest (or ±limit), in
// runs. kSmall: around 0.004, as scales are. kRows: bytes, then scale and offset of the row as f32.
enum class Fill { kNormal, kPositive, kIndex, kOffsets, kBytes, kExtreme, kSmall, kRows };

struct Source {
  Dims dims;  // rank 0 and absent: see none()
  DType dtype = DType::kF32;
  Fill fill = Fill::kNormal;
  std::int64_t limit = 0;  // kIndex: ids below it; kOffsets: the last offset
  bool constant = false;
  bool dies = false;
  bool absent = false;

  static Source of(Dims dims) { return {dims}; }
  static Source weight(Dims dims) {
    Source s{dims};
    s.constant = true;
    return s;
  }
  static Source dying(Dims dims) {
    Source s{dims};
    s.dies = true;
    return s;
  }
  static Source positive(Dims dims) {
    Source s{dims};
    s.fill = Fill::kPositive;
    return s;
  }
  static Source u8(Dims dims) { return {dims, DType::kU8, Fill::kBytes}; }
  static Source s8(Dims dims) { return {dims, DType::kS8, Fill::kBytes}; }
  static Source s8Weight(Dims dims) {
    Source s{dims, DType::kS8, Fill::kBytes};
    s.constant = true;
    return s;
  }
  // A weight of 4 bits, two in each byte.
  static Source nibbleWeight(Dims dims) {
    Source s{dims, DType::kU8, Fill::kBytes};
    s.constant = true;
    return s;
  }
  // A table whose rows carry scale and offset.
  static Source scaledRows(Dims dims) {
    Source s{dims, DType::kU8, Fill::kRows};
    s.constant = true;
    return s;
  }
  static Source bf16(Dims dims) { return {dims, DType::kBf16}; }
  // Constant scales of channels.
  static Source scales(Dims dims) {
    Source s{dims, DType::kF32, Fill::kSmall};
    s.constant = true;
    return s;
  }
  // Zeros and ones as float.
  static Source flags(Dims dims) { return {dims, DType::kF32, Fill::kIndex, 2}; }
  static Source ids(Dims dims, std::int64_t limit, DType dtype = DType::kS64) {
    return {dims, dtype, Fill::kIndex, limit};
  }
  static Source offsets(std::int64_t bags, std::int64_t last) {
    return {Dims{bags}, DType::kS64, Fill::kOffsets, last};
  }
  static Source none() {
    Source s;
    s.absent = true;
    return s;
  }
};

struct Case {
  std::string spec;
  std::vector<Source> src;
  std::string kernel = {};  // must accept the case in row-major layout; empty: any may decline
  double tolerance = 2e-6;  // of max|reference|
  bool bench = false;       // large enough to be timed
};

// The text by which GoogleTest names a case.
inline void PrintTo(const Case& test, std::ostream* out) { *out << test.spec; }

// "convolution_7": the kind of the operation, and the number of the case in its list. For INSTANTIATE_TEST_SUITE_P.
struct CaseName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.spec.substr(0, info.param.spec.find('{')) + "_" + std::to_string(info.index);
  }
};

// The lists of cases, with the names of their tests. A new list is its file and a row here.
// clang-format off: a longer name leaves the other lines as they are.
#define IPEX_CASE_LISTS(LIST)                       \
  LIST(Convolution, convolutionCases)               \
  LIST(Matrix, matrixCases)                         \
  LIST(Pointwise, pointwiseCases)                   \
  LIST(Norm, normCases)                             \
  LIST(AttentionBf16, attentionBf16Cases)           \
  LIST(Recurrent, recurrentCases)                   \
  LIST(Attention, attentionCases)                   \
  LIST(Rotary, rotaryCases)                         \
  LIST(SqueezeExcite, squeezeExciteCases)           \
  LIST(PointwiseDepthwise, pointwiseDepthwiseCases) \
  LIST(Bf16, bf16Cases)                             \
  LIST(F16, f16Cases)                               \
  LIST(IntegerProduct, integerProductCases)         \
  LIST(IntegerExtreme, integerExtremeCases)         \
  LIST(Requantization, integerChainCases)           \
  LIST(WoqWeights, woqCases)                        \
  LIST(Order, orderCases)                           \
  LIST(Movement, movementCases)                     \
  LIST(Vision, visionCases)                         \
  LIST(Fourier, fourierCases)                       \
  LIST(Complex, complexCases)                       \
  LIST(Interaction, interactionCases)               \
  LIST(GatherScatter, gatherScatterCases)
// clang-format on

#define IPEX_DECLARE(name, cases) const std::vector<Case>& cases();
IPEX_CASE_LISTS(IPEX_DECLARE)
#undef IPEX_DECLARE
// Layers of networks: large, with tests of their own.
const std::vector<Case>& layerCases();

}  // namespace ipex_studio::kernel_test

// Matrix products with packed weights, which all dense operations of ours are (convolutions as products over gathered
// pixels, linear layers): C[m, n] = Σk A[m, k] · W[n, k] + bias[n], then post-operations while the tile lies in
// registers or the first-level cache.
//
// Weights are packed into panels of a few vectors' width, each [K][width], zeros in columns that do not exist. Rows of
// A are read where they lie, from a padded copy of the image's lines, or gathered; see GemmSource. The scheme of panels
// and blocks follows Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication (2008); reading pixels'
// windows as rows without a matrix in memory is implicit im2col as in cuDNN (Chetlur et al. 2014).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/pointwise_ops.h"
#include "kernels/common/smooth_activation.h"

namespace ipex_studio {

constexpr int kGemmMaxRows = 14;
constexpr int kGemmMaxWidth = 48;
constexpr int kGemmMaxPieces = 64;  // of rows of which pieces are left out

enum class GemmActivation { kClamp, kHardSwish };

// c = activation(a · b + bias + addend) for up to kGemmMaxRows rows `row_stride` apart. A row is pieces of `length`
// values each, number i at offsets[i] from its begin; `pieces` names the `segments` of them that are multiplied.
struct GemmTile {
  const float* a = nullptr;
  std::int64_t row_stride = 0;
  const std::int64_t* offsets = nullptr;
  const std::int32_t* pieces = nullptr;
  std::int64_t segments = 1, length = 0;
  const float* b = nullptr;
  const float* bias = nullptr;   // width values
  const void* addend = nullptr;  // may be null
  DType addend_type = DType::kF32;
  std::int64_t addend_stride = 0;  // elements, as c_stride
  void* c = nullptr;
  DType c_type = DType::kF32;
  std::int64_t c_stride = 0;
  const char* lines = nullptr;    // lines of the result to prefetch meanwhile: c, or where c goes later
  std::int64_t lines_stride = 0;  // bytes
  GemmActivation activation = GemmActivation::kClamp;
  float low = 0, high = 0;
};

// A panel: `width` columns of the result from `column` on, of which `columns` exist.
struct GemmPanel {
  std::int64_t group = 0, column = 0;
  std::int32_t width = 0, columns = 0;
  std::int64_t weights = 0, bias = 0;  // offsets in floats
};

// The source of a row: the window of one pixel of the result, up to three spatial axes (missing ones first, size 1).
struct GemmRows {
  std::int64_t images = 1;
  std::array<std::int64_t, 3> out{1, 1, 1}, in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{};
  std::array<std::int64_t, 3> x_stride{};
  std::int64_t image_stride = 0, channel_stride = 1;
  std::int64_t groups = 1, channels = 0;  // per group
  // Order of a row's values: channels innermost, or (rows of few channels in row-major images) the taps.
  bool channels_innermost = true;
  // Pixels from one value of a copied line to the next if values are pairs of neighbouring pixels in bf16: 2, or 1
  // where pairs overlap. Then `in`, `padding` and the strides of x count pixels; `kernel`, `stride` and `dilation` of
  // the last axis count values. 0: values are numbers, or pairs of channels.
  std::int64_t pair_step = 0;

  std::int64_t pixels() const { return out[0] * out[1] * out[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t depth() const { return taps() * channels; }
};

// Post operand `src` (index among the operation's sources) at row (image, pixel) and column.
struct GemmOperand {
  int src = 0;
  std::int64_t image_stride = 0, pixel_stride = 0, column_stride = 0;
};

// The place that tiles read their rows from.
enum class GemmSource {
  kInPlace,  // in the image itself: no padding, or a matrix
  kWindow,   // in a copy of the image's lines with their padding, line after line
  kGather,   // in a matrix, row after row: lines too short for a tile, strides that meet in few sets of the cache
};

struct GemmJob {
  GemmRows rows;
  std::int64_t row_count = 0, columns = 0;  // columns of all groups
  std::vector<GemmPanel> panels;            // by group, then column
  // Rows are cut into blocks, each within one plane. Rows of a span are row_stride apart, spans of a block span_stride,
  // groups group_stride; segments as in GemmTile.
  GemmSource source = GemmSource::kGather;
  float outside = 0;                      // the value of padding
  bool matrix = false;                    // all rows are row_stride apart, in place
  std::int64_t tile_rows = kGemmMaxRows;  // blocks of small rows are multiples of it
  std::int64_t planes = 1, plane_rows = 0, span_rows = 0, block_rows = 0;
  std::int64_t row_stride = 0, span_stride = 0, group_stride = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> pieces;  // all of them
  std::int64_t length = 0;
  // True if tiles leave out the pieces that all their rows have in the padding, of zeros; a piece is then a tap, or a
  // line of taps (joined). To be set where the code can do that; planning takes it back where it does not pay.
  bool leaves_out = false, joined = false;
  std::int64_t window_lines = 0, window_width = 0, pixel_stride = 0;  // kWindow: of one plane or channel plane
  std::int64_t row_shares = 1, column_shares = 1;                     // number of tasks: their product
  // Post-operations: those that the tile computes in registers, then the rest of the chain.
  int addend = -1;  // index into operands
  GemmActivation activation = GemmActivation::kClamp;
  float low = 0, high = 0;
  const SmoothActivation* smooth = nullptr;  // the last of the chain, of a result in bf16; then there is no tail
  std::vector<PostOp> tail;
  std::vector<GemmOperand> operands;  // by post operand
  std::vector<DType> operand_types;
  DType result = DType::kF32;
  PointwiseApply pointwise = nullptr;

  std::int64_t blocksPerPlane() const { return (plane_rows + block_rows - 1) / block_rows; }
  // Floats of working memory per thread: copied rows, a tile, an operand's tile.
  std::int64_t copied_floats = 0;
  std::int64_t scratchFloats() const { return copied_floats + 2 * kGemmMaxRows * kGemmMaxWidth; }
};

struct GemmCall {
  const float* x = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  const void* const* src = nullptr;
  void* dst = nullptr;  // dense rows
};

// The call of a layer whose weights and bias are packed.
inline GemmCall gemmCall(const Buffer& weights, const Buffer& bias, const void* const* from, void* const* to) {
  return {static_cast<const float*>(from[kSrc]), static_cast<const float*>(weights.data()),
          static_cast<const float*>(bias.data()), from, to[0]};
}

// Traits of the code of one instruction set.
struct GemmTraits {
  std::int32_t lanes = 0;
  bool half_vectors = false;  // panels may end in half a vector
};

using GemmRun = void (*)(const GemmJob& job, const GemmCall& call, float* scratch, std::int64_t task);

inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// --- planning (packed_gemm_plan.cpp) -------------------------------------------------------------------------------

// Cuts `columns` (of each group) into panels so that as few lanes as possible are wasted.
std::vector<GemmPanel> cutIntoPanels(std::int64_t columns, std::int64_t groups, std::int64_t depth,
                                     const GemmTraits& traits);

// The windows of a convolution: all members of GemmRows except those about channels, which each kernel counts in its
// own units.
GemmRows windowRows(const PrepareArgs& args);

// Chooses the layouts in which the post operands of a result in `dst` are read (operands of its size have its layout)
// and describes them. Rows are the pixels of each image for convolutions, else the leading dimensions; columns are the
// channels or the last dimension. False if an operand broadcasts along some of a row's axes only.
bool describeOperands(const PrepareArgs& args, const TensorDesc& dst, std::vector<TensorDesc>* layouts,
                      std::vector<GemmOperand>* operands);

// Splits post_ops into what tiles do in registers and the rest; a chain's operands must have been described, and the
// type of the result be known.
void planPostOps(const std::vector<PostOp>& post_ops, GemmJob* job);

// Names in `pieces` those that at least one of the rows [row, row + count) has inside of the image; returns their
// number.
std::int64_t piecesInside(const GemmJob& job, std::int64_t row, std::int64_t count, std::int32_t* pieces);

// Chooses where rows are read, blocks and shares for `threads`.
void planRows(std::int32_t threads, GemmJob* job);

// --- weights (packed_gemm_weights.cpp) -----------------------------------------------------------------------------

// w: plain [O, C/g, k…] (or [N, K]) in the order that job.rows says, of f32 or bf16. Pairs of pixels end in a zero
// where the taps of a line are odd.
void packWeights(const GemmJob& job, const TensorDesc& w, const void* data, float* packed);
void packBias(const GemmJob& job, const float* data, float* packed);  // null: zeros
std::size_t packedWeightBytes(const GemmJob& job);
std::size_t packedBiasBytes(const GemmJob& job);

// --- the operation (packed_gemm.cpp) -------------------------------------------------------------------------------

GemmTraits gemmTraits(const std::string& isa);

// Products of BF16, two numbers in the place of a float (VNNI-2): channels, strides and depths of `rows` are in pairs.
constexpr std::int64_t kVnni2Numbers = 2;

// Requirements of kernels with packed FP32 weights: FP32 throughout, a result that is not empty, and
// weights and bias that are constant. Declines: dtype, empty, blocked-weights, weights-not-constant,
// bias-not-constant.
Verdict takesPackedWeights(const PrepareArgs& args);

// Likewise of kernels that read BF16, whose result and operands may be bf16 or f32.
Verdict takesPackedBf16(const PrepareArgs& args);

// Likewise of kernels with packed pairs of channels in BF16. Declines besides: odd-channels.
Verdict takesPackedPairs(const PrepareArgs& args);

// The bias of the layer as `pack` writes it into `bytes` bytes, kept under `form`; `data` is null if there is none, for
// which the cache keeps what is packed under the key of the weights.
WeightCache::Packed packedBias(const PrepareArgs& args, const std::string& form, std::size_t bytes,
                               const std::function<void(const float* data, float* packed)>& pack);

// Fills what planning leaves open and makes the operation: `job` has rows, row_count, columns and operands; `layouts`
// are those it reads. The weights must be constant; an absent or constant bias likewise.
std::unique_ptr<PreparedOp> makePackedGemm(const PrepareArgs& args, GemmJob job, std::vector<TensorDesc> layouts,
                                           const TensorDesc& dst);

}  // namespace ipex_studio

// A squeeze-and-excitation block (Hu et al., Squeeze-and-Excitation Networks, arXiv:1709.01507) as one step: x ·
// gate(expand · activation(reduce · mean(x) + bias) + bias). Each thread averages its share of the channels, multiplies
// these averages by their rows of the first weights, and, once all threads have done so, adds up their products and
// computes and applies the gates of its own channels, so threads wait for each other once. Where there are as many
// images as threads, each takes whole images and does not wait at all. Works in row-major, channels-last and
// channel-blocked layouts. x and result are f32 or bf16; everything between them is f32.
#define HWY_TARGET_INCLUDE "kernels/squeeze_excite/squeeze_excite_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <type_traits>

#include "kernels/common/bf16-inl.h"
#include "kernels/squeeze_excite/squeeze_excite_job.h"
#include "kernels/squeeze_excite/squeeze_excite_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// --- averages ------------------------------------------------------------------------------------------------------

// Calls fn(offset of the first, first channel, how many) for the channels of [begin, end) that lie side by side.
template <class Fn>
HWY_INLINE void forSides(const SqueezeExciteJob& job, std::int64_t begin, std::int64_t end, const Fn& fn) {
  for (std::int64_t c = begin; c < end;) {
    const std::int64_t in_side = c % job.side, count = std::min(job.side - in_side, end - c);
    fn(c / job.side * job.side_stride + in_side, c, count);
    c += count;
  }
}

// Number of channels that memory holds, as blocks are whole.
std::int64_t heldChannels(const SqueezeExciteJob& job) { return (job.channels + job.side - 1) / job.side * job.side; }

// The part of x that a unit covers: images from the first on, channels [begin, end), pixels from first_pixel on.
struct Part {
  Part(const SqueezeExciteJob& job, std::int64_t unit, bool by_pixels)
      : share(unit % job.shares),
        first(unit / job.shares * job.group),
        images(std::min(job.group, job.images - first)) {
    const std::int64_t channel_share = by_pixels ? 0 : share, channel_shares = by_pixels ? 1 : job.shares;
    begin = job.channelRow() / kExciteWidth * channel_share / channel_shares * kExciteWidth;
    end = job.channelRow() / kExciteWidth * (channel_share + 1) / channel_shares * kExciteWidth;
    const std::int64_t last_pixel = by_pixels ? job.pixels * (share + 1) / job.shares : job.pixels;
    first_pixel = by_pixels ? job.pixels * share / job.shares : 0;
    pixels = last_pixel - first_pixel;
  }
  std::int64_t share, first, images, begin, end, first_pixel, pixels;
};

// Adds the unit's pixels to the averages of its channels.
template <class T>
void average(const SqueezeExciteJob& job, const Part& part, const T* image, float* mean) {
  const float factor = 1.0f / static_cast<float>(job.pixels);
  forSides(job, part.begin, std::min(part.end, heldChannels(job)),
           [&](std::int64_t offset, std::int64_t c, std::int64_t count) {
             const T* const x = image + offset + part.first_pixel * job.pixel_stride;
             if (job.side == 1) {
               mean[c] = sumRun(x, part.pixels, factor);
             } else {
               sumSides(x, count, part.pixels, job.pixel_stride, factor, mean + c);
             }
           });
}

// --- products ------------------------------------------------------------------------------------------------------

// A product of rows `in` and panels of weights; rows of `out` have as many whole panels.
struct PanelProduct {
  const float* in = nullptr;
  std::int64_t in_stride = 0, depth = 0;
  const float* weights = nullptr;
  std::int64_t panel_stride = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;
};

template <int kRows, int kPanels>
HWY_INLINE void multiplyPanels(const PanelProduct& at) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  constexpr int kVectors = static_cast<int>(kExciteWidth / kLanes);
  // The depth is summed in short pieces, then the pieces: terms may cancel, and gates are as exact as their sums.
  constexpr std::int64_t kPiece = 8;
  VF total[kRows][kPanels][kVectors];
  for (auto& row : total) {
    for (auto& panel : row) {
      for (VF& value : panel) value = hn::Zero(d);
    }
  }
  for (std::int64_t begin = 0; begin < at.depth; begin += kPiece) {
    const std::int64_t end = std::min(at.depth, begin + kPiece);
    VF sum[kRows][kPanels][kVectors];
    for (auto& row : sum) {
      for (auto& panel : row) {
        for (VF& value : panel) value = hn::Zero(d);
      }
    }
    for (std::int64_t k = begin; k < end; ++k) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const VF w = hn::Load(d, at.weights + p * at.panel_stride + k * kExciteWidth + v * kLanes);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r)
            sum[r][p][v] = hn::MulAdd(w, hn::Set(d, at.in[r * at.in_stride + k]), sum[r][p][v]);
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int p = 0; p < kPanels; ++p) {
        for (int v = 0; v < kVectors; ++v) total[r][p][v] = hn::Add(total[r][p][v], sum[r][p][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) {
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(total[r][p][v], d, at.out + r * at.out_stride + p * kExciteWidth + v * kLanes);
      }
    }
  }
}

// Multiplies as many panels at once as fit the registers beside four rows.
template <int kRows>
void multiplyRows(PanelProduct at, std::int64_t panels) {
  constexpr int kTogether = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  for (; panels >= kTogether; panels -= kTogether) {
    multiplyPanels<kRows, kTogether>(at);
    at.weights += kTogether * at.panel_stride;
    at.out += kTogether * kExciteWidth;
  }
  for (; panels > 0; --panels) {
    multiplyPanels<kRows, 1>(at);
    at.weights += at.panel_stride;
    at.out += kExciteWidth;
  }
}

void multiply(const PanelProduct& at, std::int64_t rows, std::int64_t panels) {
  switch (rows) {
    case 1:
      return multiplyRows<1>(at, panels);
    case 2:
      return multiplyRows<2>(at, panels);
    case 3:
      return multiplyRows<3>(at, panels);
    default:
      return multiplyRows<4>(at, panels);
  }
}

// --- gates ---------------------------------------------------------------------------------------------------------

// Runs the post-operations over the values of `tile`, in rows of `width`; rows of the result are `stride` apart, the
// first at `offset`. Behind the tile is room for a post operand.
template <class T>
void finishTile(const SqueezeExciteJob& job, const SqueezeExciteCall& call, float* tile, std::int64_t rows,
                std::int64_t width, std::int64_t offset, std::int64_t stride) {
  constexpr bool kFloats = std::is_same_v<T, float>;
  float* const operand = tile + kExciteTile;
  T* const y = static_cast<T*>(call.y) + offset;
  PointwiseRows values;
  values.in = tile;
  values.in_stride = values.out_stride = width;
  values.other_stride = kFloats ? stride : width;
  values.rows = static_cast<std::size_t>(rows);
  values.count = static_cast<std::size_t>(width);
  for (const PostOp& op : job.post_ops) {
    if (isBinary(op.kind)) {
      const T* const from = static_cast<const T*>(call.src[kExcitePost + op.operand]) + offset;
      if constexpr (kFloats) {
        values.other = from;
      } else {
        for (std::int64_t r = 0; r < rows; ++r)
          upconvertBf16(from + r * stride, operand + r * width, static_cast<std::size_t>(width));
        values.other = operand;
      }
    }
    values.out = tile;
    if constexpr (kFloats) {
      if (&op == &job.post_ops.back()) {
        values.out = y;
        values.out_stride = stride;
      }
    }
    job.pointwise(op, values);
  }
  if constexpr (!kFloats) {
    for (std::int64_t r = 0; r < rows; ++r)
      downconvertToBf16(tile + r * width, y + r * stride, static_cast<std::size_t>(width));
  }
}

// Multiplies `count` contiguous channels by their gates; the first pixel is at `offset`.
template <class T>
void applyGates(const SqueezeExciteJob& job, const SqueezeExciteCall& call, const ScaledRows<T, T>& all,
                std::int64_t offset, std::int64_t width, float* tile) {
  const bool runs = job.side == 1;
  const auto scale = [&](const auto& some, std::int64_t count) {
    if (runs) {
      scaleRun(some.x, *some.gate, count, some.y);
    } else {
      scaleRows(some, count);
    }
  };
  if (job.post_ops.empty()) return scale(all, width);
  const std::int64_t together = std::max<std::int64_t>(1, kExciteTile / width);
  for (std::int64_t column = 0; column < width; column += kExciteTile) {
    const std::int64_t count = std::min(kExciteTile, width - column);
    for (std::int64_t r = 0; r < all.rows; r += together) {
      ScaledRows<T, float> some;
      some.x = all.x + column + r * all.stride;
      some.stride = all.stride;
      some.gate = all.gate + (runs ? 0 : column);
      some.rows = std::min(together, all.rows - r);
      some.y = tile;
      some.y_stride = count;
      scale(some, count);
      finishTile<T>(job, call, tile, some.rows, count, offset + column + r * all.stride, all.stride);
    }
  }
}

// --- units ---------------------------------------------------------------------------------------------------------

template <class T>
void squeeze(const SqueezeExciteJob& job, const SqueezeExciteCall& call, std::int64_t unit, float*) {
  const Part part(job, unit, job.by_pixels);
  float* const mean = call.scratch + job.meanOffset(part.first, part.share);
  for (std::int64_t n = 0; n < part.images; ++n) {
    average(job, part, static_cast<const T*>(call.x) + (part.first + n) * job.image_stride,
            mean + n * job.meanStride());
  }
  PanelProduct product;
  product.in = mean + part.begin;
  product.in_stride = job.meanStride();
  product.depth = std::min(part.end, job.channels) - part.begin;
  product.weights = call.reduce + part.begin * kExciteWidth;
  product.panel_stride = job.channels * kExciteWidth;
  product.out = call.scratch + job.partOffset() + (part.first * job.shares + part.share) * job.hiddenRow();
  product.out_stride = job.shares * job.hiddenRow();
  multiply(product, part.images, job.hiddenRow() / kExciteWidth);
}

void applyInPlace(const SqueezeExciteJob& job, const PostOp& op, float* values, std::int64_t count) {
  PointwiseRows rows;
  rows.in = rows.out = values;
  rows.count = static_cast<std::size_t>(count);
  job.pointwise(op, rows);
}

// Sums the parts of all shares to the hidden values of image n, in the copy of one share.
void sumHidden(const SqueezeExciteJob& job, const SqueezeExciteCall& call, std::int64_t n, float* hidden) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const float* const parts = call.scratch + job.partOffset() + n * job.shares * job.hiddenRow();
  for (std::int64_t r = 0; r < job.hiddenRow(); r += kLanes) {
    VF sum = hn::LoadU(d, parts + r);
    for (std::int64_t s = 1; s < job.shares; ++s) sum = hn::Add(sum, hn::LoadU(d, parts + s * job.hiddenRow() + r));
    hn::StoreU(hn::Add(sum, hn::LoadU(d, call.reduce_bias + r)), d, hidden + r);
  }
  applyInPlace(job, job.activation, hidden, job.hidden);
}

void excite(const SqueezeExciteJob& job, const SqueezeExciteCall& call, std::int64_t unit, float*) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const Part part(job, unit, job.by_pixels);
  float* const hidden = call.scratch + job.hiddenOffset() + (part.first * job.shares + part.share) * job.hiddenRow();
  float* const gates = call.scratch + job.meanOffset(part.first, part.share);
  for (std::int64_t n = 0; n < part.images; ++n)
    sumHidden(job, call, part.first + n, hidden + n * job.shares * job.hiddenRow());
  PanelProduct product;
  product.in = hidden;
  product.in_stride = job.shares * job.hiddenRow();
  product.depth = job.hidden;
  product.weights = call.expand + part.begin * job.hidden;
  product.panel_stride = job.hidden * kExciteWidth;
  product.out = gates + part.begin;
  product.out_stride = job.meanStride();
  multiply(product, part.images, (part.end - part.begin) / kExciteWidth);
  const std::int64_t end = std::min(part.end, job.channels);
  for (std::int64_t n = 0; n < part.images; ++n) {
    float* const gate = gates + n * job.meanStride();
    for (std::int64_t c = part.begin; c < part.end; c += kLanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, gate + c), hn::LoadU(d, call.expand_bias + c)), d, gate + c);
    }
    applyInPlace(job, job.gate, gate + part.begin, end - part.begin);
    std::fill(gate + end, gate + part.end, 0.0f);  // channels that only fill blocks stay zero
  }
}

template <class T>
void scaleImages(const SqueezeExciteJob& job, const SqueezeExciteCall& call, std::int64_t unit, float* tile) {
  const Part part(job, unit, job.by_pixels || job.scales_pixels);
  const bool run = job.side == 1;
  for (std::int64_t n = 0; n < part.images; ++n) {
    const float* const gate = call.scratch + job.meanOffset(part.first + n, part.share);
    const std::int64_t begin = (part.first + n) * job.image_stride + part.first_pixel * job.pixel_stride;
    forSides(job, part.begin, std::min(part.end, heldChannels(job)),
             [&](std::int64_t offset, std::int64_t c, std::int64_t count) {
               const std::int64_t at = begin + offset;
               const ScaledRows<T, T> rows{static_cast<const T*>(call.x) + at,
                                           static_cast<T*>(call.y) + at,
                                           run ? 1 : part.pixels,
                                           job.pixel_stride,
                                           job.pixel_stride,
                                           gate + c};
               applyGates(job, call, rows, at, run ? part.pixels : count, tile);
             });
  }
}

SqueezeExciteRuns excitesOf(DType type) {
  if (type == DType::kBf16) return {&squeeze<std::uint16_t>, &excite, &scaleImages<std::uint16_t>};
  return {&squeeze<float>, &excite, &scaleImages<float>};
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(excitesOf);

SqueezeExciteRuns squeezeExciteFor(const std::string& isa, DType type) {
  return IPEX_SELECT_TARGET(excitesOf, isa)(type);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE

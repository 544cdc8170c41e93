// Convolution 3 × 3 with stride 1 and any dilation of channels-last images by Winograd's minimal filtering: tiles of
// 2 × 2 results need 4 instead of 9 products per result and round as a sum of products does, tiles of 4 × 4 results
// need 2.25 and round up to twice as much. Where a result is not finite, its tile is computed once more as a sum of
// products: one value that is not would otherwise reach results whose window it is not in. Images, weights, results and
// operands of BF16 are floats on the way, so that nothing but the result is rounded.
// Sources: Lavin, Gray: Fast Algorithms for Convolutional Neural Networks (2015); that the choice of points decides
// on the error: Barabasz, Anderson, Soodhalter, Gregg: Error Analysis and Improving the Accuracy of Winograd
// Convolution for Deep Neural Networks (2020).
//
// Declines: dtype, rank, empty, geometry (another window, a stride, groups), few-channels, few-pixels,
// weights-not-constant, weights-not-finite, bias-not-constant, blocked-weights, post-ops (operands that broadcast along
// some of the spatial axes only).
#define HWY_TARGET_INCLUDE "kernels/gemm/convolution_winograd_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/byte_convert-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/gemm/winograd.h"
#include "kernels/gemm/winograd_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr int kWinogradPanelVectors = 2;

// The first pixel of the results of a tile.
struct WinogradPlace {
  std::int64_t image = 0, y = 0, x = 0;
};

// The first line of the tiles in row `number` of `count`, or the first column: grids follow each other.
inline std::int64_t firstOfTile(std::int64_t number, std::int64_t count, std::int64_t results, std::int64_t step,
                                std::int64_t tile) {
  const std::int64_t of_grid = count / std::min(step, results);
  return number / of_grid + number % of_grid * tile * step;
}

inline WinogradPlace placeOfTile(const WinogradJob& job, std::int64_t tile) {
  const std::int64_t of_image = job.tile_lines * job.line_tiles, in_image = tile % of_image;
  return {tile / of_image, firstOfTile(in_image / job.line_tiles, job.tile_lines, job.out_height, job.step_y, job.tile),
          firstOfTile(in_image % job.line_tiles, job.line_tiles, job.out_width, job.step_x, job.tile)};
}

// The places of the values of a tile's window; `zeros` outside of the image. T: float, or std::uint16_t of bf16.
template <int kTile, class T>
using WinogradWindow = const T * [kTile + 2][kTile + 2];

template <int kTile, class T>
void findWindow(const WinogradJob& job, const T* x, std::int64_t tile, const T* zeros,
                WinogradWindow<kTile, T> window) {
  constexpr int kWindow = kTile + 2;
  const WinogradPlace place = placeOfTile(job, tile);
  for (int i = 0; i < kWindow; ++i) {
    for (int j = 0; j < kWindow; ++j) {
      const std::int64_t row = place.y - job.pad_top + i * job.step_y, column = place.x - job.pad_left + j * job.step_x;
      const bool inside = row >= 0 && row < job.height && column >= 0 && column < job.width;
      window[i][j] =
          inside ? x + place.image * job.image_stride + row * job.line_stride + column * job.pixel_stride : zeros;
    }
  }
}

// Values of `count` tiles from `first` on: at point p and tile t a row of channels at p · valueStride() + t ·
// channel_room. `zeros`: a row of channels outside of the image.
template <int kTile, class T>
void transformImage(const WinogradJob& job, const T* x, std::int64_t first, std::int64_t count, const T* zeros,
                    float* values) {
  constexpr int kWindow = kTile + 2;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t point_stride = job.valueStride();
  // The hardware does not predict the order of a window's lines.
  constexpr std::int64_t kTilesAhead = 2;
  const std::int64_t ahead = kTilesAhead * kTile * job.step_x * job.pixel_stride;
  for (std::int64_t t = 0; t < count; ++t) {
    WinogradWindow<kTile, T> from;
    findWindow<kTile>(job, x, first + t, zeros, from);
    float* const to = values + t * job.channel_room;
    for (std::int64_t c = 0; c < job.channels; c += lanes) {
      const std::int64_t left = job.channels - c;
      const bool whole = left >= lanes;
      for (int i = 0; i < kWindow; ++i) {
        for (int j = 2; j < kWindow; ++j) hwy::Prefetch(from[i][j] + c + ahead);
      }
      VF lines[kWindow][kWindow];
      for (int i = 0; i < kWindow; ++i) {
        VF line[kWindow];
        for (int j = 0; j < kWindow; ++j)
          line[j] = whole ? loadFloats(d, from[i][j] + c) : loadFirstFloats(from[i][j] + c, left);
        WinogradLine<kTile>::image(line, lines[i]);
      }
      for (int j = 0; j < kWindow; ++j) {
        VF column[kWindow], done[kWindow];
        for (int i = 0; i < kWindow; ++i) column[i] = lines[i][j];
        WinogradLine<kTile>::image(column, done);
        for (int i = 0; i < kWindow; ++i) hn::StoreU(done[i], d, to + (i * kWindow + j) * point_stride + c);
      }
    }
  }
}

// Products of all points of one panel: at point p and tile t a row of the panel at p · productStride() + t ·
// panel_width.
inline void multiplyPoints(const WinogradJob& job, const float* values, const float* weights, const float* zeros,
                           std::int64_t count, float* products) {
  const TileKind& kind = kindOf<FloatTiles>(job.panel_width);
  constexpr std::int32_t piece = 0;
  const std::int64_t offset = 0, shares = (count + kind.max_rows - 1) / kind.max_rows;
  GemmTile tile;
  tile.row_stride = job.channel_room;
  tile.offsets = &offset;
  tile.pieces = &piece;
  tile.length = job.channels;
  tile.bias = zeros;
  tile.c_stride = job.panel_width;
  tile.lines_stride = job.panel_width * static_cast<std::int64_t>(sizeof(float));
  tile.low = -std::numeric_limits<float>::infinity();
  tile.high = std::numeric_limits<float>::infinity();
  for (std::int64_t p = 0; p < job.points(); ++p) {
    tile.b = weights + p * job.channels * job.panel_width;
    for (std::int64_t share = 0; share < shares; ++share) {
      const std::int64_t begin = count * share / shares, rows = count * (share + 1) / shares - begin;
      tile.a = values + p * job.valueStride() + begin * job.channel_room;
      tile.c = products + p * job.productStride() + begin * job.panel_width;
      tile.lines = static_cast<const char*>(tile.c);
      kind.run[rows](tile);
    }
  }
}

// Results of one tile with their bias: [pixel of the tile][panel_width]. False if one is not finite.
template <int kTile>
bool transformResult(const WinogradJob& job, const float* products, const float* bias, float* results) {
  constexpr int kWindow = kTile + 2;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t point_stride = job.productStride();
  VF distance = hn::Zero(d);  // v - v is zero where v is finite, else NaN
  for (std::int64_t c = 0; c < job.panel_width; c += lanes) {
    VF lines[kWindow][kTile];
    for (int i = 0; i < kWindow; ++i) {
      VF line[kWindow];
      for (int j = 0; j < kWindow; ++j) line[j] = hn::LoadU(d, products + (i * kWindow + j) * point_stride + c);
      WinogradLine<kTile>::result(line, lines[i]);
    }
    const VF first = hn::LoadU(d, bias + c);
    for (int j = 0; j < kTile; ++j) {
      VF column[kWindow], done[kTile];
      for (int i = 0; i < kWindow; ++i) column[i] = lines[i][j];
      WinogradLine<kTile>::result(column, done);
      for (int i = 0; i < kTile; ++i) {
        const VF result = hn::Add(done[i], first);
        distance = hn::Add(distance, hn::Sub(result, result));
        hn::StoreU(result, d, results + (i * kTile + j) * job.panel_width + c);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(distance, hn::Zero(d)));
}

// A weight from its values.
template <int kTile>
HWY_INLINE VF tapOfLine(const VF* points, int tap) {
  if (tap != 1) return points[tap == 0 ? 0 : kTile + 1];
  return hn::Mul(hn::Set(F32(), WinogradLine<kTile>::kMiddle), hn::Sub(points[1], points[2]));
}

// The same results as sums of products of the window's own values.
template <int kTile, class T>
void sumProducts(const WinogradJob& job, const WinogradWindow<kTile, T> from, const float* weights, const float* bias,
                 float* results) {
  constexpr int kWindow = kTile + 2;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t column = 0; column < job.panel_width; column += lanes) {
    VF sums[kTile][kTile];
    for (auto& line : sums) std::fill_n(line, kTile, hn::LoadU(d, bias + column));
    for (std::int64_t c = 0; c < job.channels; ++c) {
      VF lines[kWindow][3];
      for (int i = 0; i < kWindow; ++i) {
        VF points[kWindow];
        for (int j = 0; j < kWindow; ++j)
          points[j] = hn::LoadU(d, weights + ((i * kWindow + j) * job.channels + c) * job.panel_width + column);
        for (int v = 0; v < 3; ++v) lines[i][v] = tapOfLine<kTile>(points, v);
      }
      for (int v = 0; v < 3; ++v) {
        VF points[kWindow];
        for (int i = 0; i < kWindow; ++i) points[i] = lines[i][v];
        for (int u = 0; u < 3; ++u) {
          const VF tap = tapOfLine<kTile>(points, u);
          for (int i = 0; i < kTile; ++i) {
            for (int j = 0; j < kTile; ++j)
              sums[i][j] = hn::MulAdd(hn::Set(d, loadFloat(from[i + u][j + v] + c)), tap, sums[i][j]);
          }
        }
      }
    }
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < kTile; ++j) hn::StoreU(sums[i][j], d, results + (i * kTile + j) * job.panel_width + column);
    }
  }
}

// Calls visit(row, image, pixel) for each pixel of a tile that the image has; row: its place among the results.
template <class Visit>
void visitPixels(const WinogradJob& job, std::int64_t tile, const Visit& visit) {
  const WinogradPlace place = placeOfTile(job, tile);
  const std::int64_t lines = std::min(job.tile, (job.out_height - place.y + job.step_y - 1) / job.step_y);
  const std::int64_t columns = std::min(job.tile, (job.out_width - place.x + job.step_x - 1) / job.step_x);
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      visit(i * job.tile + j, place.image, (place.y + i * job.step_y) * job.out_width + place.x + j * job.step_x);
    }
  }
}

// The columns of a panel on their way through the post-operations to the destination, tile by tile.
struct WinogradPanel {
  std::int64_t column = 0, columns = 0;  // of the result
  float* results = nullptr;              // of one tile, in the first-level cache
  float* operand = nullptr;
};

inline void layOutWinogradOperand(const WinogradJob& job, const GemmCall& call, int k, const WinogradPanel& panel,
                                  std::int64_t tile) {
  const GemmOperand& o = job.operands[k];
  const DType dtype = job.operand_types[k];
  const auto* const data = static_cast<const char*>(call.src[o.src]);
  const bool ragged = panel.columns < job.panel_width || job.out_height % job.tile || job.out_width % job.tile;
  if (ragged) std::fill_n(panel.operand, job.resultFloats(), 1.0f);
  visitPixels(job, tile, [&](std::int64_t row, std::int64_t image, std::int64_t pixel) {
    const std::int64_t at = image * o.image_stride + pixel * o.pixel_stride + panel.column * o.column_stride;
    gatherValues(dtype, data + at * elementBytes(dtype), o.column_stride, panel.operand + row * job.panel_width,
                 panel.columns);
  });
}

template <class T>
void storeTileResults(const WinogradJob& job, const WinogradPanel& panel, std::int64_t tile, T* dst) {
  visitPixels(job, tile, [&](std::int64_t row, std::int64_t image, std::int64_t pixel) {
    const float* const from = panel.results + row * job.panel_width;
    T* const to = dst + (image * job.out_height * job.out_width + pixel) * job.columns + panel.column;
    const F32 d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    std::int64_t j = 0;
    for (; j + kLanes <= panel.columns; j += kLanes) storeFloats(d, hn::LoadU(d, from + j), to + j);
    for (; j < panel.columns; ++j) storeFloat(from[j], to + j);
  });
}

inline void finishTile(const WinogradJob& job, const GemmCall& call, const WinogradPanel& panel, std::int64_t tile) {
  PointwiseRows rows;
  rows.in = rows.out = panel.results;
  rows.other = panel.operand;
  rows.count = static_cast<std::size_t>(job.resultFloats());
  for (const PostOp& op : job.post_ops) {
    if (isBinary(op.kind)) layOutWinogradOperand(job, call, op.operand, panel, tile);
    job.pointwise(op, rows);
  }
  if (job.result == DType::kBf16) return storeTileResults(job, panel, tile, static_cast<std::uint16_t*>(call.dst));
  storeTileResults(job, panel, tile, static_cast<float*>(call.dst));
}

template <int kTile, class T>
void runWinogradBlock(const WinogradJob& job, const GemmCall& call, std::int64_t block, float* scratch) {
  const std::int64_t first = block * job.block_tiles, count = std::min(job.block_tiles, job.tiles() - first);
  float* const values = scratch;
  float* const products = values + job.valueFloats();
  WinogradPanel panel;
  panel.results = products + job.productFloats();
  panel.operand = panel.results + job.resultFloats();
  float* const zeros = panel.operand + job.resultFloats();
  std::fill_n(zeros, job.channel_room, 0.0f);
  const T* const x = reinterpret_cast<const T*>(call.x);
  const T* const outside = reinterpret_cast<const T*>(zeros);
  transformImage<kTile>(job, x, first, count, outside, values);
  for (std::int64_t p = 0; p < job.panels(); ++p) {
    panel.column = p * job.panel_width;
    panel.columns = std::min<std::int64_t>(job.panel_width, job.columns - panel.column);
    const float* const weights = call.weights + p * job.panelFloats();
    const float* const bias = call.bias + panel.column;
    multiplyPoints(job, values, weights, zeros, count, products);
    for (std::int64_t t = 0; t < count; ++t) {
      if (!transformResult<kTile>(job, products + t * job.panel_width, bias, panel.results)) {
        WinogradWindow<kTile, T> window;
        findWindow<kTile>(job, x, first + t, outside, window);
        sumProducts<kTile, T>(job, window, weights, bias, panel.results);
      }
      finishTile(job, call, panel, first + t);
    }
  }
}

template <class T>
void runWinogradOf(const WinogradJob& job, const GemmCall& call, std::int64_t block, float* scratch) {
  job.tile == 2 ? runWinogradBlock<2, T>(job, call, block, scratch) : runWinogradBlock<4, T>(job, call, block, scratch);
}

void runWinograd(const WinogradJob& job, const GemmCall& call, std::int64_t block, float* scratch) {
  if (job.source == DType::kBf16) return runWinogradOf<std::uint16_t>(job, call, block, scratch);
  runWinogradOf<float>(job, call, block, scratch);
}

// Columns of a panel, and rows of its products that the registers take.
std::pair<std::int32_t, std::int32_t> winogradPanel() {
  const auto width = static_cast<std::int32_t>(kWinogradPanelVectors * hn::MaxLanes(F32()));
  return {width, kindOf<FloatTiles>(width).max_rows};
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <fmt/format.h>

#include "kernels/common/convolution_geometry.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runWinograd);
HWY_EXPORT(winogradPanel);

// The values of a block of tiles stay in the second-level cache, beside products and weights, while all panels read
// them.
constexpr std::int64_t kValuesInL2 = 256 << 10;
constexpr std::int64_t kMinChannels = 16, kMinTiles = 16;

bool allFinite(const float* values, std::int64_t count) {
  return std::all_of(values, values + count, [](float value) { return std::isfinite(value); });
}

class WinogradOp final : public PreparedOp {
 public:
  WinogradJob job;
  WinogradRun run = nullptr;
  WeightCache::Packed weights, bias;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const GemmCall call = gemmCall(*weights, *bias, from, to);
    parallelFor(job.blocks(), 1, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const own = static_cast<float*>(scratch) + thread * job.scratchFloats();
      for (std::int64_t block = begin; block < end; ++block) run(job, call, block, own);
    });
  }
};

class ConvolutionWinograd final : public Kernel {
 public:
  explicit ConvolutionWinograd(std::int64_t tile) : tile_(tile) {}

  const char* name() const override { return tile_ == 2 ? "convolution_winograd" : "convolution_winograd_4x4"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const bool bf16 = args.src[kSrc].dtype == DType::kBf16;
    const Verdict verdict = bf16 ? takesPackedBf16(args) : takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank != 4) return Verdict::no("rank");
    const ConvolutionGeometry geometry = convolutionGeometry(args.spec, 2);
    const bool plain = w.dims[2] == 3 && w.dims[3] == 3 && args.spec.intOr("groups", 1) == 1;
    const auto all = [](const Ints& list, std::int64_t value) {
      return std::all_of(list.begin(), list.end(), [&](std::int64_t item) { return item == value; });
    };
    if (!plain || !all(geometry.stride, 1)) return Verdict::no("geometry");
    if (std::min(x.dims[1], w.dims[0]) < kMinChannels) return Verdict::no("few-channels");
    if (args.dst[0].dims[0] * args.dst[0].dims[2] * args.dst[0].dims[3] < kMinTiles * tile_ * tile_)
      return Verdict::no("few-pixels");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(args.dst[0].dtype, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    layouts[kSrc] = channelsLastDesc(args.src[kSrc].dtype, args.src[kSrc].dims);
    auto op = std::make_unique<WinogradOp>();
    WinogradJob& job = op->job;
    if (!describeOperands(args, dst, &layouts, &job.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) job.operand_types.push_back(args.src[s].dtype);
    job.source = args.src[kSrc].dtype;
    job.result = dst.dtype;
    job.post_ops = args.spec.post_ops;
    job.pointwise = pointwiseApply(args.target.isa);
    describe(args, layouts[kSrc], &job);
    packConstants(args, op.get());
    if (!allFinite(static_cast<const float*>(op->weights->data()), job.panels() * job.panelFloats())) {
      *reason = "weights-not-finite";
      return nullptr;
    }
    op->threads = static_cast<std::int32_t>(std::min<std::int64_t>(args.target.threads, job.blocks()));
    op->run = IPEX_SELECT_TARGET(runWinograd, args.target.isa);
    op->scratch_bytes = static_cast<std::size_t>(op->threads * job.scratchFloats()) * sizeof(float);
    op->flops = 2 * 9 * dst.dims.count() * job.channels;
    op->src = std::move(layouts);
    op->dst = {dst};
    return op;
  }

 private:
  std::int64_t tilesOfAxis(std::int64_t results, std::int64_t step) const {
    return std::min(step, results) * ceilDiv(ceilDiv(results, step), tile_);
  }

  void describe(const PrepareArgs& args, const TensorDesc& x, WinogradJob* job) const {
    const GemmRows rows = windowRows(args);
    job->tile = tile_;
    job->images = rows.images;
    job->channels = x.dims[1];
    job->columns = args.dst[0].dims[1];
    job->height = rows.in[1];
    job->width = rows.in[2];
    job->out_height = rows.out[1];
    job->out_width = rows.out[2];
    job->pad_top = rows.padding[1];
    job->pad_left = rows.padding[2];
    job->image_stride = x.strides[0];
    job->line_stride = x.strides[2];
    job->pixel_stride = x.strides[3];
    const ConvolutionGeometry geometry = convolutionGeometry(args.spec, 2);
    job->step_y = geometry.dilation[0] + 1;
    job->step_x = geometry.dilation[1] + 1;
    job->tile_lines = tilesOfAxis(job->out_height, job->step_y);
    job->line_tiles = tilesOfAxis(job->out_width, job->step_x);
    const auto [width, max_rows] = IPEX_SELECT_TARGET(winogradPanel, args.target.isa)();
    job->panel_width = width;
    const std::int64_t lanes = width / 2;
    job->channel_room = std::max<std::int64_t>(ceilDiv(job->channels, lanes) * lanes, width);
    const std::int64_t fitting = std::max<std::int64_t>(
        max_rows, kValuesInL2 / static_cast<std::int64_t>(sizeof(float)) / (job->points() * job->channel_room));
    const std::int64_t rounds = ceilDiv(ceilDiv(job->tiles(), args.target.threads), fitting);
    job->block_tiles = ceilDiv(ceilDiv(job->tiles(), rounds * args.target.threads), max_rows) * max_rows;
  }

  static void packConstants(const PrepareArgs& args, WinogradOp* op) {
    const WinogradJob& job = op->job;
    const void* const w = args.constant[kWeights];
    const std::string form = fmt::format("winograd {} width {} dims {} strides {}", job.tile, job.panel_width,
                                         args.src[kWeights].dims.str(), args.src[kWeights].strides.str());
    const auto floats = static_cast<std::size_t>(job.panels() * job.panelFloats());
    op->weights = args.weights->getOrPack(w, form, floats * sizeof(float), [&](void* packed) {
      packWinogradWeights(job, args.src[kWeights], w, static_cast<float*>(packed));
    });
    const auto room = static_cast<std::size_t>(job.panels() * job.panel_width);
    op->bias = packedBias(args, form, room * sizeof(float), [&](const float* data, float* packed) {
      std::fill_n(packed, room, 0.0f);
      if (data != nullptr) std::copy_n(data, job.columns, packed);
    });
    op->packed.assign(args.src.size(), false);
    op->packed[kWeights] = true;
    op->packed[kBias] = !args.src[kBias].absent();
  }

  const std::int64_t tile_;
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionWinograd() { return std::make_unique<ConvolutionWinograd>(2); }
std::unique_ptr<Kernel> makeConvolutionWinograd4x4() { return std::make_unique<ConvolutionWinograd>(4); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

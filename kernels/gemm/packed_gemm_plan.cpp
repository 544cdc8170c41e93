// Partition of a packed matrix product: panels of columns by lanes, blocks of rows by cache, shares by threads.
#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/common/convolution_geometry.h"
#include "kernels/common/loop_nest.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kCopyOverrun = 16;
// Bytes of a cache that gathered rows may take, and that weights may take to be read repeatedly.
constexpr std::int64_t kRowsInL2 = 384 << 10, kWeightsInL2 = 512 << 10, kRowsInL1 = 20 << 10, kWeightsInL1 = 16 << 10;

// Widths, in units, that cut `units` columns: four units to a panel where half vectors count, else two; a rest of one
// or two joins the last panel, so that no panel is a lone thin one.
std::vector<std::int32_t> panelUnits(std::int64_t units, std::int32_t main) {
  std::vector<std::int32_t> widths(static_cast<std::size_t>(units / main), main);
  const auto rest = static_cast<std::int32_t>(units % main);
  if (rest == 0) return widths;
  if (rest <= main / 2 && !widths.empty()) {
    widths.back() += rest;
  } else {
    widths.push_back(rest);
  }
  return widths;
}

}  // namespace

std::vector<GemmPanel> cutIntoPanels(std::int64_t columns, std::int64_t groups, std::int64_t depth,
                                     const GemmTraits& traits) {
  const std::int32_t unit = traits.half_vectors ? traits.lanes / 2 : traits.lanes;
  const std::vector<std::int32_t> widths = panelUnits(ceilDiv(columns, unit), traits.half_vectors ? 4 : 2);
  std::vector<GemmPanel> panels;
  std::int64_t weights = 0, bias = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    std::int64_t column = 0;
    for (const std::int32_t units : widths) {
      GemmPanel panel;
      panel.group = group;
      panel.column = group * columns + column;
      panel.width = units * unit;
      panel.columns = static_cast<std::int32_t>(std::min<std::int64_t>(panel.width, columns - column));
      panel.weights = weights;
      panel.bias = bias;
      constexpr std::int64_t kLine = 16;
      weights += ceilDiv(panel.width * depth, kLine) * kLine;
      bias += ceilDiv(panel.width, kLine) * kLine;
      column += panel.columns;
      panels.push_back(panel);
    }
  }
  return panels;
}

GemmRows windowRows(const PrepareArgs& args) {
  const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
  const int spatial = x.dims.rank - 2;
  const ConvolutionGeometry geometry = convolutionGeometry(args.spec, spatial);
  GemmRows rows;
  rows.images = x.dims[0];
  rows.groups = args.spec.intOr("groups", 1);
  for (int axis = 0; axis < spatial; ++axis) {
    const int to = 3 - spatial + axis;
    rows.in[to] = x.dims[2 + axis];
    rows.out[to] = args.dst[0].dims[2 + axis];
    rows.kernel[to] = w.dims[2 + axis];
    rows.stride[to] = geometry.stride[axis];
    rows.dilation[to] = geometry.dilation[axis] + 1;
    rows.padding[to] = geometry.padding_begin[axis];
  }
  return rows;
}

namespace {

// The axes that rows count over: [pixel_begin, pixel_end) for each index of image_axis (-1: none).
struct RowAxes {
  int image_axis = -1, pixel_begin = 0, pixel_end = 0, column_axis = 0;
};

bool describeOperand(const TensorDesc& layout, const Dims& dst, const RowAxes& axes, GemmOperand* operand) {
  if (layout.block != 0 || layout.dims.rank > dst.rank) return false;
  const TensorDesc seen = alignRank(layout, dst.rank);
  const auto strideOf = [&](int axis) { return axis < 0 || seen.dims[axis] == 1 ? 0 : seen.strides[axis]; };
  operand->image_stride = strideOf(axes.image_axis);
  operand->column_stride = strideOf(axes.column_axis);
  operand->pixel_stride = 0;
  std::int64_t pixels = 1;
  for (int axis = axes.pixel_end - 1; axis >= axes.pixel_begin; --axis) {
    if (dst[axis] == 1) continue;
    const std::int64_t stride = strideOf(axis);
    if (pixels == 1) operand->pixel_stride = stride;
    if (stride != operand->pixel_stride * pixels) return false;
    pixels *= dst[axis];
  }
  return true;
}

}  // namespace

bool describeOperands(const PrepareArgs& args, const TensorDesc& dst, std::vector<TensorDesc>* layouts,
                      std::vector<GemmOperand>* operands) {
  const int rank = dst.dims.rank;
  const bool image = args.spec.kind == OpKind::kConvolution;
  const RowAxes axes = image ? RowAxes{0, 2, rank, 1} : RowAxes{-1, 0, rank - 1, rank - 1};
  for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
    const TensorDesc& given = args.src[s];
    TensorDesc& layout = (*layouts)[s];
    layout = given;
    if (given.dims == dst.dims) {
      layout = dst;
      layout.dtype = given.dtype;
    } else if (given.block != 0) {
      layout = image ? channelsLastDesc(given.dtype, given.dims) : contiguousDesc(given.dtype, given.dims);
    }
    GemmOperand operand;
    operand.src = static_cast<int>(s);
    if (!describeOperand(layout, dst.dims, axes, &operand)) return false;
    operands->push_back(operand);
  }
  return true;
}

void planPostOps(const std::vector<PostOp>& post_ops, GemmJob* job) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  job->low = -kInfinity;
  job->high = kInfinity;
  std::size_t next = 0;
  if (next < post_ops.size() && post_ops[next].kind == PostOpKind::kAdd && post_ops[next].alpha == 1) {
    const GemmOperand& operand = job->operands[post_ops[next].operand];
    if (operand.column_stride == 1 && operand.pixel_stride == job->columns) {
      job->addend = post_ops[next].operand;
      ++next;
    }
  }
  if (next < post_ops.size()) {
    const PostOp& op = post_ops[next];
    ++next;
    if (op.kind == PostOpKind::kRelu) {
      job->low = 0;
    } else if (op.kind == PostOpKind::kClip) {
      job->low = static_cast<float>(op.alpha);
      job->high = static_cast<float>(op.beta);
    } else if (op.kind == PostOpKind::kHardSwish) {
      job->activation = GemmActivation::kHardSwish;
    } else {
      --next;
    }
  }
  if (job->result == DType::kBf16 && next + 1 == post_ops.size()) {
    job->smooth = smoothActivationOf(post_ops[next].kind);
    if (job->smooth != nullptr) ++next;
  }
  job->tail.assign(post_ops.begin() + static_cast<std::ptrdiff_t>(next), post_ops.end());
}

namespace {

// True if rows of a tile at this distance (in floats) evict each other from the first-level cache, which has 64 sets of
// 64 bytes.
bool meetsInFewSets(std::int64_t stride) {
  constexpr std::int64_t kLine = 16, kFewSets = 32;
  return stride % (kLine * kFewSets) == 0;
}

std::int64_t apart(std::int64_t floats) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t lines = ceilDiv(floats, kLine);
  return (lines % 2 == 0 ? lines + 1 : lines) * kLine;
}

bool isPadded(const GemmRows& r) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t last =
        (r.out[axis] - 1) * r.stride[axis] - r.padding[axis] + (r.kernel[axis] - 1) * r.dilation[axis];
    if (r.padding[axis] != 0 || last >= r.in[axis]) return true;
  }
  return false;
}

// The distance between neighbouring pixels if it is the same within and between images; -1 if it is not, or if rows are
// more than one pixel.
std::int64_t matrixStride(const GemmRows& r) {
  if (r.taps() != 1 || !r.channels_innermost || isPadded(r)) return -1;
  std::int64_t distance = 0, count = 1;
  const std::int64_t sizes[] = {r.images, r.out[0], r.out[1], r.out[2]};
  const std::int64_t strides[] = {r.image_stride, r.x_stride[0] * r.stride[0], r.x_stride[1] * r.stride[1],
                                  r.x_stride[2] * r.stride[2]};
  for (int axis = 3; axis >= 0; --axis) {
    if (sizes[axis] == 1) continue;
    if (count == 1) distance = strides[axis];
    if (strides[axis] != distance * count) return -1;
    count *= sizes[axis];
  }
  return distance;
}

// Plans the segments of one row; `tap` are the distances of taps along the three axes, `channel` that of planes.
void planSegments(const std::array<std::int64_t, 3>& tap, std::int64_t channel, GemmJob* job) {
  const GemmRows& r = job->rows;
  const std::int64_t run = r.channels_innermost ? r.channels : 1;
  const bool joined = job->joined = tap[2] == run;
  const std::int64_t outer = r.channels_innermost ? 1 : r.channels;
  job->length = run * (joined ? r.kernel[2] : 1);
  job->offsets.clear();
  for (std::int64_t c = 0; c < outer; ++c) {
    for (std::int64_t z = 0; z < r.kernel[0]; ++z) {
      for (std::int64_t y = 0; y < r.kernel[1]; ++y) {
        for (std::int64_t x = 0; x < (joined ? 1 : r.kernel[2]); ++x) {
          job->offsets.push_back(c * channel + z * tap[0] + y * tap[1] + x * tap[2]);
        }
      }
    }
  }
}

void planInPlace(GemmJob* job) {
  const GemmRows& r = job->rows;
  planSegments({r.dilation[0] * r.x_stride[0], r.dilation[1] * r.x_stride[1], r.dilation[2] * r.x_stride[2]},
               r.channel_stride, job);
  job->row_stride = r.stride[2] * r.x_stride[2];
  job->span_stride = r.stride[1] * r.x_stride[1];
  job->group_stride = r.channels * r.channel_stride;
}

void planWindow(GemmJob* job) {
  const GemmRows& r = job->rows;
  const std::int64_t lines = ceilDiv(job->block_rows, job->span_rows);
  job->window_lines = (lines - 1) * r.stride[1] + (r.kernel[1] - 1) * r.dilation[1] + 1;
  job->window_width = (r.out[2] - 1) * r.stride[2] + (r.kernel[2] - 1) * r.dilation[2] + 1;
  job->pixel_stride = r.channels_innermost ? r.channels * r.groups : 1;
  if (r.channels_innermost && meetsInFewSets(job->pixel_stride * r.stride[2]))
    job->pixel_stride = apart(job->pixel_stride);
  const std::int64_t line = job->window_width * job->pixel_stride, plane = job->window_lines * line;
  planSegments({plane, r.dilation[1] * line, r.dilation[2] * job->pixel_stride}, r.kernel[0] * plane, job);
  job->row_stride = r.stride[2] * job->pixel_stride;
  job->span_stride = r.stride[1] * line;
  job->group_stride = r.channels;
  job->copied_floats = apart((r.channels_innermost ? 1 : r.channels) * r.kernel[0] * plane + kCopyOverrun);
}

void planGather(GemmJob* job) {
  const GemmRows& r = job->rows;
  job->offsets.clear();
  job->length = job->leaves_out ? r.channels : r.depth();
  for (std::int64_t begin = 0; begin < r.depth(); begin += job->length) job->offsets.push_back(begin);
  // Copies write whole vectors: the distance keeps them out of the row of another group.
  job->row_stride = apart(r.depth() + kCopyOverrun);
  job->span_stride = 0;
  job->group_stride = job->block_rows * job->row_stride;
  job->copied_floats = apart(job->group_stride * r.groups);
}

void planShares(std::int32_t threads, std::int64_t width, GemmJob* job) {
  const std::int64_t depth = job->rows.depth();
  // A share below this many multiplications is not worth waking a thread for: about 10 µs.
  constexpr double kShare = 300e3;
  const double work = static_cast<double>(job->row_count) * static_cast<double>(width) * static_cast<double>(depth);
  const auto shares = static_cast<std::int64_t>(std::min<double>(threads, work / kShare));
  const std::int64_t tasks = std::max<std::int64_t>(1, shares);
  const auto panels = static_cast<std::int64_t>(job->panels.size());
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t row_shares = 1; row_shares <= tasks; ++row_shares) {
    if (tasks % row_shares != 0) continue;
    const std::int64_t column_shares = tasks / row_shares;
    if (row_shares > job->row_count / job->span_rows || column_shares > panels) continue;
    const auto rows = static_cast<double>(ceilDiv(job->row_count, row_shares));
    const double columns = static_cast<double>(ceilDiv(panels, column_shares) * width) / static_cast<double>(panels);
    // A value that is loaded into a core's cache costs as much as some multiplications.
    constexpr double kLoad = 12;
    const double cost = static_cast<double>(depth) *
                        (rows * columns + kLoad * (rows * static_cast<double>(job->rows.groups) + columns));
    if (cost >= best) continue;
    best = cost;
    job->row_shares = row_shares;
    job->column_shares = column_shares;
  }
}

}  // namespace

void planRows(std::int32_t threads, GemmJob* job) {
  const GemmRows& r = job->rows;
  const bool padded = isPadded(r);
  const std::int64_t matrix_stride = matrixStride(r);
  const bool matrix = matrix_stride >= 0;
  const std::int64_t stride = matrix ? matrix_stride : r.stride[2] * r.x_stride[2];
  // Rows of a tile if no tile crosses the end of a line.
  const std::int64_t tile_rows = r.out[2] / ceilDiv(r.out[2], kGemmMaxRows);
  constexpr std::int64_t kShortTile = 10;
  if (r.pair_step != 0) {
    job->source = GemmSource::kWindow;
  } else if (matrix) {
    job->source = meetsInFewSets(stride) ? GemmSource::kGather : GemmSource::kInPlace;
  } else if (tile_rows < kShortTile && job->row_count > r.out[2]) {
    job->source = GemmSource::kGather;
  } else if (padded) {
    job->source = GemmSource::kWindow;
  } else {
    job->source = meetsInFewSets(stride) ? GemmSource::kGather : GemmSource::kInPlace;
  }
  const bool by_lines = !matrix && job->source != GemmSource::kGather;
  job->planes = by_lines ? r.images * r.out[0] : 1;
  job->plane_rows = job->row_count / job->planes;
  job->span_rows = by_lines ? r.out[2] : 1;

  std::int64_t width = 0;
  for (const GemmPanel& panel : job->panels) width += panel.width;
  planShares(threads, width, job);
  const std::int64_t row_bytes =
      (by_lines ? r.stride[1] * r.stride[2] * r.channels : r.depth()) * r.groups * kFloatBytes;
  const std::int64_t weights = width * r.depth() * kFloatBytes / job->column_shares;
  // Few weights stay in the first-level cache: then all columns of one tile of rows are computed before the next.
  const std::int64_t rows_bytes = by_lines                  ? kRowsInL2
                                  : weights <= kWeightsInL1 ? 0
                                  : weights <= kWeightsInL2 ? kRowsInL1
                                                            : kRowsInL2;
  const std::int64_t budget = rows_bytes / row_bytes;
  const std::int64_t unit = by_lines ? r.out[2] : job->tile_rows;
  const std::int64_t fitting = std::max<std::int64_t>(1, budget / unit) * unit;
  const std::int64_t shares_per_plane = ceilDiv(job->row_shares, job->planes);
  const std::int64_t share = ceilDiv(ceilDiv(job->plane_rows, job->span_rows), shares_per_plane) * job->span_rows;
  job->block_rows = ceilDiv(ceilDiv(share, ceilDiv(share, fitting)), job->span_rows) * job->span_rows;
  if (!by_lines) job->span_rows = job->block_rows;
  // To look for what can be left out costs some ten nanoseconds per tile.
  constexpr std::int64_t kLongPiece = 64;
  job->leaves_out = job->leaves_out && padded && r.channels_innermost && r.taps() > 1 && r.taps() <= kGemmMaxPieces &&
                    r.channels >= kLongPiece;
  if (job->source == GemmSource::kInPlace) planInPlace(job);
  if (job->source == GemmSource::kWindow) planWindow(job);
  if (job->source == GemmSource::kGather) planGather(job);
  job->pieces.resize(job->offsets.size());
  std::iota(job->pieces.begin(), job->pieces.end(), 0);
  job->matrix = matrix && job->source == GemmSource::kInPlace;
  if (job->matrix) job->row_stride = stride;
}

namespace {

struct Places {
  std::array<std::int64_t, 3> first{}, last{};
};

// The places along the three axes that the rows [row, row + count) lie between.
Places placesOf(const GemmRows& r, std::int64_t row, std::int64_t count) {
  Places places;
  std::int64_t first = row, last = row + count - 1;
  for (int axis = 2; axis >= 0; --axis) {
    const bool same = first / r.out[axis] == last / r.out[axis];
    places.first[axis] = same ? first % r.out[axis] : 0;
    places.last[axis] = same ? last % r.out[axis] : r.out[axis] - 1;
    first /= r.out[axis];
    last /= r.out[axis];
  }
  return places;
}

}  // namespace

std::int64_t piecesInside(const GemmJob& job, std::int64_t row, std::int64_t count, std::int32_t* pieces) {
  const GemmRows& r = job.rows;
  const Places places = placesOf(r, row, count);
  const auto inside = [&](int axis, std::int64_t tap) {
    const std::int64_t shift = tap * r.dilation[axis] - r.padding[axis];
    return places.first[axis] * r.stride[axis] + shift < r.in[axis] && places.last[axis] * r.stride[axis] + shift >= 0;
  };
  const std::int64_t of_line = job.joined ? 1 : r.kernel[2];
  std::int32_t piece = 0;
  std::int64_t found = 0;
  for (std::int64_t z = 0; z < r.kernel[0]; ++z) {
    for (std::int64_t y = 0; y < r.kernel[1]; ++y) {
      const bool line_inside = inside(0, z) && inside(1, y);
      for (std::int64_t x = 0; x < of_line; ++x, ++piece) {
        if (line_inside && (job.joined || inside(2, x))) pieces[found++] = piece;
      }
    }
  }
  return found;
}

namespace {

Verdict takesConstants(const PrepareArgs& args) {
  if (args.src[kSrc].dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
  if (args.src[kWeights].block != 0) return Verdict::no("blocked-weights");
  if (args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
  const bool bias_fixed = args.src[kBias].absent() || args.constant[kBias] != nullptr;
  return bias_fixed ? Verdict::yes() : Verdict::no("bias-not-constant");
}

}  // namespace

Verdict takesPackedWeights(const PrepareArgs& args) {
  for (const TensorDesc& src : args.src) {
    if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
  }
  if (args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
  return takesConstants(args);
}

Verdict takesPackedBf16(const PrepareArgs& args) {
  const auto isFloat = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kBf16; };
  if (args.src[kSrc].dtype != DType::kBf16 || args.src[kWeights].dtype != DType::kBf16) return Verdict::no("dtype");
  if (!args.src[kBias].absent() && args.src[kBias].dtype != DType::kF32) return Verdict::no("dtype");
  for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
    if (!isFloat(args.src[s].dtype)) return Verdict::no("dtype");
  }
  if (!isFloat(args.dst[0].dtype)) return Verdict::no("dtype");
  return takesConstants(args);
}

Verdict takesPackedPairs(const PrepareArgs& args) {
  const Verdict verdict = takesPackedBf16(args);
  if (verdict.ok && args.src[kWeights].dims[1] % kVnni2Numbers != 0) return Verdict::no("odd-channels");
  return verdict;
}

}  // namespace ipex_studio

// Copies between layouts that run along different axes, as channels-last and row-major do, by transposing tiles in
// registers: 4x4 elements of four bytes, 8x8 of two. The destination is exactly PrepareArgs::dst.
//
// Declines: dtype (elements of four or two bytes), post-ops, layout (other blocks, blocks that are not full, no axis
// that the source runs along, sides shorter than a tile).

#define HWY_TARGET_INCLUDE "kernels/copy/reorder_transposed_simd.cpp"
#include "kernels/common/simd-inl.h"

namespace ipex_studio {

using TransposeTile = void (*)(const void* in, std::int64_t in_stride, void* out, std::int64_t out_stride,
                               std::int64_t rows, std::int64_t columns, std::int64_t block);

}  // namespace ipex_studio

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// The four rows at `in` become four columns at `out`.
HWY_INLINE void transposeSquare(const std::uint32_t* in, std::int64_t in_stride, std::uint32_t* out,
                                std::int64_t out_stride) {
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<std::uint64_t, 2> d2;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + in_stride);
  const auto c = hn::LoadU(d, in + 2 * in_stride), e = hn::LoadU(d, in + 3 * in_stride);
  const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d, a, b)),
             ab_high = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d2, hn::InterleaveLower(d, c, e)),
             ce_high = hn::BitCast(d2, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_high, ce_high)), d, out + 3 * out_stride);
}

// The eight rows at `in` become eight columns at `out`: three times row i is interleaved with row i + 4.
HWY_INLINE void transposeSquare(const std::uint16_t* in, std::int64_t in_stride, std::uint16_t* out,
                                std::int64_t out_stride) {
  const hn::FixedTag<std::uint16_t, 8> d;
  hn::Vec<decltype(d)> rows[8], made[8];
  for (int i = 0; i < 8; ++i) rows[i] = hn::LoadU(d, in + i * in_stride);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      made[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + 4]);
      made[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 4]);
    }
    for (int i = 0; i < 8; ++i) rows[i] = made[i];
  }
  for (int i = 0; i < 8; ++i) hn::StoreU(rows[i], d, out + i * out_stride);
}
#endif

// out[c·out_stride + r] = in[r·in_stride + c]; `block`: rows, a multiple of 8, that are copied before the next columns.
template <class T>
void transposeTile(const void* from, std::int64_t in_stride, void* to, std::int64_t out_stride, std::int64_t rows,
                   std::int64_t columns, std::int64_t block) {
  const T* const in = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  std::int64_t full_rows = 0, full_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::int64_t kSide = 16 / sizeof(T);
  full_rows = rows / kSide * kSide;
  full_columns = columns / kSide * kSide;
  for (std::int64_t begin = 0; begin < full_rows; begin += block) {
    const std::int64_t end = begin + block < full_rows ? begin + block : full_rows;
    for (std::int64_t c = 0; c < full_columns; c += kSide) {
      for (std::int64_t r = begin; r < end; r += kSide)
        transposeSquare(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
    }
  }
#endif
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < full_rows ? full_columns : 0; c < columns; ++c)
      out[c * out_stride + r] = in[r * in_stride + c];
  }
}

TransposeTile transposeOf(std::int64_t element) {
  return element == sizeof(std::uint16_t) ? &transposeTile<std::uint16_t> : &transposeTile<std::uint32_t>;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/strided_copy.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(transposeOf);

constexpr std::int64_t kTileBytes = 16;  // of a side
// Elements whose multiples as a stride put all lines of a column into one set of the first-level cache.
constexpr std::int64_t kSameSet = 1024;

// Whole lines of the destination are written at once, and lines of the source stay in the first-level cache from strip
// to strip; fewer where they would push each other out.
std::int64_t rowsAtOnce(std::int64_t in_stride) { return in_stride % kSameSet == 0 ? 8 : 16; }
std::int64_t columnsOfStrip(std::int64_t out_stride) { return out_stride % kSameSet == 0 ? 16 : 64; }

// The walk over both tensors as transposes of matrices: rows lie side by side in the destination, columns in the
// source.
struct TransposeWalk {
  LoopNest outer;  // tensor 0 is the destination
  std::int64_t rows = 0, columns = 0, in_stride = 0, out_stride = 0;
};

bool makeTransposeWalk(const TensorDesc& src, const TensorDesc& dst, TransposeWalk* walk) {
  LoopNest nest;
  if (!makeCopyNest(src, dst, &nest)) return false;
  const int last = nest.loops() - 1;
  const auto from = std::find(nest.stride[1].begin(), nest.stride[1].end(), 1);
  if (nest.stride[0][last] != 1 || from == nest.stride[1].end()) return false;
  const auto column = static_cast<int>(from - nest.stride[1].begin());
  if (column == last) return false;
  walk->rows = nest.size[last];
  walk->in_stride = nest.stride[1][last];
  walk->columns = nest.size[column];
  walk->out_stride = nest.stride[0][column];
  for (std::vector<std::int64_t>* loops : {&nest.size, &nest.stride[0], &nest.stride[1]}) {
    loops->pop_back();
    loops->erase(loops->begin() + column);
  }
  if (nest.size.empty()) nest = {{1}, {{0}, {0}}};
  walk->outer = nest;
  const std::int64_t side = kTileBytes / elementBytes(src.dtype);
  return walk->rows >= side && walk->columns >= side;
}

class ReorderTransposedOp final : public PreparedOp {
 public:
  TransposeTile run = nullptr;
  TransposeWalk walk;
  std::int64_t strip = 1, strips = 1;  // columns of a strip; strips of one matrix
  std::int64_t block = 1, grain = 1, element = 4;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(walk.outer.count() * strips, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t matrix = unit / strips, column = unit % strips * strip;
        const std::int64_t in = walk.outer.offset(1, matrix, walk.outer.loops()) + column;
        const std::int64_t out = walk.outer.offset(0, matrix, walk.outer.loops()) + column * walk.out_stride;
        run(static_cast<const char*>(from[0]) + in * element, walk.in_stride, static_cast<char*>(to[0]) + out * element,
            walk.out_stride, walk.rows, std::min(strip, walk.columns - column), block);
      }
    });
  }
};

class ReorderTransposedSimd final : public Kernel {
 public:
  const char* name() const override { return "reorder_transposed_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const std::int64_t element = elementBytes(args.dst[0].dtype);
    if (args.src[0].dtype != args.dst[0].dtype || (element != 4 && element != 2)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    TransposeWalk walk;
    return makeTransposeWalk(args.src[0], args.dst[0], &walk) ? Verdict::yes() : Verdict::no("layout");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ReorderTransposedOp>();
    makeTransposeWalk(args.src[0], args.dst[0], &op->walk);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    op->strip = columnsOfStrip(op->walk.out_stride);
    op->strips = (op->walk.columns + op->strip - 1) / op->strip;
    op->block = rowsAtOnce(op->walk.in_stride);
    op->grain = grainFor(op->walk.rows * std::min(op->strip, op->walk.columns));
    op->element = elementBytes(args.dst[0].dtype);
    op->run = IPEX_SELECT_TARGET(transposeOf, args.target.isa)(op->element);
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeReorderTransposedSimd() { return std::make_unique<ReorderTransposedSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

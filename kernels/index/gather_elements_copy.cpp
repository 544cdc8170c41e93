// Elements picked along an axis by an index of their own each (aten::gather), and written to such places
// (aten::scatter), any dtype, or added there (aten::scatter_add, aten::index_add), f32. An index that many neighbours
// share, as an expanded one is, moves them as one run. An index out of range fails the run; what it picks is NaN
// (floats) or zero until then, and it writes nothing.
//
// Declines: dtype, post-ops.
#include <cstring>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

void addRun(float* to, const float* from, std::int64_t run) {
  for (std::int64_t i = 0; i < run; ++i) to[i] += from[i];
}

// An index of one dimension, expanded along all other axes of `small`.
TensorDesc spreadIndex(const TensorDesc& index, const TensorDesc& small, int axis) {
  if (index.dims.rank == small.dims.rank) return index;
  TensorDesc spread = index;
  spread.dims = spread.strides = small.dims;
  for (int a = 0; a < small.dims.rank; ++a) spread.strides[a] = a == axis ? index.strides[0] : 0;
  return spread;
}

// The walk of positions through the index and through the large and small tensors (of its sizes) beside it.
struct ElementWalk {
  Dims dims;                               // of the index, without the axes that make a run
  Dims index, large, small;                // strides in elements; 0 for `large` along the axis
  std::int64_t axis_stride = 0, rows = 0;  // of the large tensor along the axis
  std::int64_t run = 1;                    // neighbours that are moved together

  std::int64_t positions() const { return dims.count(); }
};

ElementWalk elementWalk(const TensorDesc& large, const TensorDesc& index, const TensorDesc& small, int axis) {
  ElementWalk walk{index.dims, index.strides, large.strides, small.strides};
  walk.axis_stride = large.strides[axis];
  walk.rows = large.dims[axis];
  walk.large[axis] = 0;
  // Trailing axes along which the index stays the same and both others lie side by side.
  while (walk.dims.rank - 1 > axis) {
    const int last = walk.dims.rank - 1;
    const bool one = walk.dims[last] == 1;
    if (!one && (walk.index[last] != 0 || walk.large[last] != walk.run || walk.small[last] != walk.run)) break;
    walk.run *= walk.dims[last];
    walk.dims.rank = walk.index.rank = walk.large.rank = walk.small.rank = last;
  }
  return walk;
}

template <std::size_t kBytes>
void moveRun(char* to, const char* from, std::int64_t run) {
  if (run == 1) {
    std::memcpy(to, from, kBytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(run) * kBytes);
  }
}

// Calls fn(index, large, small) with the offsets of positions [begin, end).
template <typename Fn>
void forPositions(const ElementWalk& walk, std::int64_t begin, std::int64_t end, const Fn& fn) {
  Dims at;
  std::int64_t index = 0, large = 0, small = 0, rest = begin;
  for (int a = walk.dims.rank - 1; a >= 0; --a) {
    at[a] = rest % walk.dims[a];
    rest /= walk.dims[a];
    index += at[a] * walk.index[a];
    large += at[a] * walk.large[a];
    small += at[a] * walk.small[a];
  }
  for (std::int64_t p = begin; p < end; ++p) {
    fn(index, large, small);
    for (int a = walk.dims.rank - 1; a >= 0; --a) {
      index += walk.index[a];
      large += walk.large[a];
      small += walk.small[a];
      if (++at[a] < walk.dims[a]) break;
      at[a] = 0;
      index -= walk.dims[a] * walk.index[a];
      large -= walk.dims[a] * walk.large[a];
      small -= walk.dims[a] * walk.small[a];
    }
  }
}

class ElementsOp final : public PreparedOp {
 public:
  ElementWalk walk;
  bool scatters = false, adds = false;
  std::int64_t whole = 0, grain = 1;  // whole: bytes of the result
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    switch (elementBytes(src[0].dtype)) {
      case 1:
        return run<1>(state, from, to);
      case 2:
        return run<2>(state, from, to);
      case 4:
        return run<4>(state, from, to);
      default:
        return run<8>(state, from, to);
    }
  }

 private:
  template <std::size_t kBytes>
  void run(ExecState* state, const void* const* from, void* const* to) const {
    const void* const indices = from[1];
    const DType type = src[1].dtype;
    constexpr auto kStep = static_cast<std::int64_t>(kBytes);
    char* const out = static_cast<char*>(to[0]);
    if (scatters) {
      // One thread writes in order, as places may be equal.
      std::memcpy(out, from[0], static_cast<std::size_t>(whole));
      const char* const updates = static_cast<const char*>(from[2]);
      forPositions(walk, 0, walk.positions(), [&](std::int64_t index, std::int64_t large, std::int64_t small) {
        const std::int64_t row = indexAt(indices, type, index);
        if (row < 0 || row >= walk.rows) return state->fail(kIndexOutOfRange);
        const std::int64_t place = large + row * walk.axis_stride;
        if (adds)
          return addRun(reinterpret_cast<float*>(out) + place, static_cast<const float*>(from[2]) + small, walk.run);
        moveRun<kBytes>(out + place * kStep, updates + small * kStep, walk.run);
      });
      return;
    }
    const char* const table = static_cast<const char*>(from[0]);
    parallelFor(walk.positions(), grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      forPositions(walk, begin, end, [&](std::int64_t index, std::int64_t large, std::int64_t small) {
        const std::int64_t row = indexAt(indices, type, index);
        if (row < 0 || row >= walk.rows) {
          fillInvalid(src[0].dtype, out + small * kStep, walk.run * kStep);
          return state->fail(kIndexOutOfRange);
        }
        moveRun<kBytes>(out + small * kStep, table + (large + row * walk.axis_stride) * kStep, walk.run);
      });
    });
  }
};

class ElementsCopy final : public Kernel {
 public:
  explicit ElementsCopy(bool scatters) : scatters_(scatters) {}

  const char* name() const override { return scatters_ ? "scatter_elements_copy" : "gather_elements_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.dst[0].dtype != args.src[0].dtype) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ElementsOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
    // An expanded index is read in place.
    if (args.src[1].block == 0) op->src[1] = args.src[1];
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->scatters = scatters_;
    op->adds = args.spec.stringOr("reduction", "") == "add";
    const int axis = linesAlong(args.spec, args.src[0].dims).axis;
    const TensorDesc &large = scatters_ ? op->dst[0] : op->src[0], &small = scatters_ ? op->src[2] : op->dst[0];
    op->walk = elementWalk(large, spreadIndex(op->src[1], small, axis), small, axis);
    op->whole = static_cast<std::int64_t>(op->dst[0].bytes());
    op->grain = grainFor(4 + op->walk.run / 8);
    op->threads = args.target.threads;
    return op;
  }

 private:
  bool scatters_;
};

}  // namespace

std::unique_ptr<Kernel> makeGatherElementsCopy() { return std::make_unique<ElementsCopy>(false); }
std::unique_ptr<Kernel> makeScatterElementsCopy() { return std::make_unique<ElementsCopy>(true); }

}  // namespace ipex_studio

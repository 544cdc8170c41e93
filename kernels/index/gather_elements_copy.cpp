// Elements picked along an axis by an index of their own each (aten::gather), and written to such places
// (aten::scatter), any dtype. An index that many neighbours share, as an expanded one is, moves them as one run. An
// index out of range fails the run; what it picks is NaN (floats) or zero until then, and it writes nothing.
//
// Declines: dtype, post-ops, reduction (sums are another kernel's).
#include <algorithm>
#include <cstring>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"
#include "kernels/index/element_walk.h"

namespace ipex_studio {
namespace {

// A value of kBytes.
template <std::size_t kBytes>
struct ValueOf;
template <>
struct ValueOf<1> {
  using Type = std::uint8_t;
};
template <>
struct ValueOf<2> {
  using Type = std::uint16_t;
};
template <>
struct ValueOf<4> {
  using Type = std::uint32_t;
};
template <>
struct ValueOf<8> {
  using Type = std::uint64_t;
};

// The value of an element whose index is out of range.
template <class Value>
Value invalidValue(DType dtype) {
  Value value{};
  fillInvalid(dtype, &value, sizeof(Value));
  return value;
}

// Picks a line of elements; false if an index was out of range. kDense: index and results lie side by side, and so do
// the values along the axis, all of one line.
template <bool kDense, class Index, class Value>
bool gatherLine(const ElementWalk& walk, DType dtype, const Index* index, const Value* from, Value* to,
                std::int64_t count) {
  const int last = walk.last();
  const std::int64_t index_step = kDense ? 1 : walk.index[last], from_step = kDense ? 0 : walk.large[last],
                     to_step = kDense ? 1 : walk.small[last], axis_stride = kDense ? 1 : walk.axis_stride;
  const auto rows = static_cast<std::uint64_t>(walk.rows);
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::uint64_t>(static_cast<std::int64_t>(index[i * index_step]));
    if (row < rows) {
      to[i * to_step] = from[i * from_step + static_cast<std::int64_t>(row) * axis_stride];
    } else {
      to[i * to_step] = invalidValue<Value>(dtype);
      valid = false;
    }
  }
  return valid;
}

template <class Index, class Value>
bool gatherRuns(const ElementWalk& walk, DType dtype, const Index* index, const Value* from, Value* to,
                std::int64_t count) {
  const int last = walk.last();
  const std::size_t bytes = static_cast<std::size_t>(walk.run) * sizeof(Value);
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(index[i * walk.index[last]]);
    Value* const run = to + i * walk.small[last];
    if (row >= 0 && row < walk.rows) {
      std::memcpy(run, from + i * walk.large[last] + row * walk.axis_stride, bytes);
    } else {
      fillInvalid(dtype, run, static_cast<std::int64_t>(bytes));
      valid = false;
    }
  }
  return valid;
}

template <class Index, class Value>
bool scatterLine(const ElementWalk& walk, const Index* index, Value* to, const Value* from, std::int64_t count) {
  const int last = walk.last();
  const std::size_t bytes = static_cast<std::size_t>(walk.run) * sizeof(Value);
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(index[i * walk.index[last]]);
    if (row < 0 || row >= walk.rows) {
      valid = false;
      continue;
    }
    Value* const place = to + i * walk.large[last] + row * walk.axis_stride;
    if (walk.run == 1) {
      *place = from[i * walk.small[last]];
    } else {
      std::memcpy(place, from + i * walk.small[last], bytes);
    }
  }
  return valid;
}

class ElementsOp final : public PreparedOp {
 public:
  ElementWalk walk;
  bool scatters = false;
  WalkSplit split;  // of scattering
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    const bool narrow = src[1].dtype == DType::kS32;
    switch (elementBytes(src[0].dtype)) {
      case 1:
        return narrow ? run<std::int32_t, 1>(state, from, to) : run<std::int64_t, 1>(state, from, to);
      case 2:
        return narrow ? run<std::int32_t, 2>(state, from, to) : run<std::int64_t, 2>(state, from, to);
      case 4:
        return narrow ? run<std::int32_t, 4>(state, from, to) : run<std::int64_t, 4>(state, from, to);
      default:
        return narrow ? run<std::int32_t, 8>(state, from, to) : run<std::int64_t, 8>(state, from, to);
    }
  }

 private:
  template <class Index, std::size_t kBytes>
  void run(ExecState* state, const void* const* from, void* const* to) const {
    using Value = typename ValueOf<kBytes>::Type;
    const auto* const index = static_cast<const Index*>(from[1]);
    auto* const out = static_cast<Value*>(to[0]);
    if (scatters) {
      scatter(state, index, static_cast<const Value*>(from[0]), static_cast<const Value*>(from[2]), out);
    } else {
      gather(state, index, static_cast<const Value*>(from[0]), out);
    }
  }

  template <class Index, class Value>
  void gather(ExecState* state, const Index* index, const Value* table, Value* out) const {
    const int last = walk.last();
    const bool dense = walk.index[last] == 1 && walk.small[last] == 1 && walk.large[last] == 0 && walk.axis_stride == 1;
    const auto line = walk.run > 1 ? gatherRuns<Index, Value>
                      : dense      ? gatherLine<true, Index, Value>
                                   : gatherLine<false, Index, Value>;
    parallelFor(walk.dims.count(), grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      bool valid = true;
      forLines(walk, begin, end, [&](const WalkOffsets& at, std::int64_t count) {
        valid &= line(walk, src[0].dtype, index + at.index, table + at.large, out + at.small, count);
      });
      if (!valid) state->fail(kIndexOutOfRange);
    });
  }

  template <class Index, class Value>
  void scatter(ExecState* state, const Index* index, const Value* base, const Value* updates, Value* out) const {
    writeBase(src[0], base, out);
    // Each thread writes in order where it alone writes, as places may be equal.
    parallelFor(split.size, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      WalkOffsets start;
      const ElementWalk part = partOfWalk(walk, split, begin, end, &start);
      bool valid = true;
      forLines(part, 0, part.dims.count(), [&](const WalkOffsets& at, std::int64_t count) {
        valid &= scatterLine(part, index + start.index + at.index, out + start.large + at.large,
                             updates + start.small + at.small, count);
      });
      if (!valid) state->fail(kIndexOutOfRange);
    });
  }
};

class ElementsCopy final : public Kernel {
 public:
  explicit ElementsCopy(bool scatters) : scatters_(scatters) {}

  const char* name() const override { return scatters_ ? "scatter_elements_copy" : "gather_elements_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.dst[0].dtype != args.src[0].dtype) return Verdict::no("dtype");
    if (!args.spec.stringOr("reduction", "").empty()) return Verdict::no("reduction");
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
    const int axis = linesAlong(args.spec, args.src[0].dims).axis;
    const TensorDesc &large = scatters_ ? op->dst[0] : op->src[0], &small = scatters_ ? op->src[2] : op->dst[0];
    op->walk = elementWalk(large, op->src[1], small, axis);
    op->threads = args.target.threads;
    const std::int64_t each = 2 + op->walk.run / 8;
    op->grain = grainFor(each);
    if (!scatters_) return op;
    if (isOneValue(args.src[0])) {
      op->src[0] = args.src[0];
    } else if (args.src_dies[0]) {
      op->in_place_src = 0;
    }
    op->split = splitWalk(op->walk, args.target.threads);
    op->grain = grainFor(each * op->walk.dims.count() / std::max<std::int64_t>(1, op->split.size));
    return op;
  }

 private:
  bool scatters_;
};

}  // namespace

std::unique_ptr<Kernel> makeGatherElementsCopy() { return std::make_unique<ElementsCopy>(false); }
std::unique_ptr<Kernel> makeScatterElementsCopy() { return std::make_unique<ElementsCopy>(true); }

}  // namespace ipex_studio

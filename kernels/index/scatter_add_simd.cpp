// Sums at places that an index says (aten::scatter_add, aten::index_add), f32. An index that many neighbours share, as
// an expanded one is, adds them as rows of vectors. Threads share what does not lie along the axis, so that equal
// places are added to in order, whatever the number of threads. An index out of range fails the run and adds nothing.
//
// Declines: dtype, post-ops, reduction (other than sums).
#define HWY_TARGET_INCLUDE "kernels/index/scatter_add_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/index/element_walk.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

HWY_INLINE void addRow(float* to, const float* from, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (std::int64_t v = 0; v < 4; ++v) {
      float* const at = to + i + v * lanes;
      hn::StoreU(hn::Add(hn::LoadU(d, at), hn::LoadU(d, from + i + v * lanes)), d, at);
    }
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  for (; i < count; ++i) to[i] += from[i];
}

// Single elements; false if an index was out of range. kDense: index and updates lie side by side, and so do the places
// along the axis, all of one line.
template <bool kDense, class Index>
bool addElements(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  const int last = walk.last();
  const std::int64_t index_step = kDense ? 1 : walk.index[last], to_step = kDense ? 0 : walk.large[last],
                     from_step = kDense ? 1 : walk.small[last], axis_stride = kDense ? 1 : walk.axis_stride;
  const auto rows = static_cast<std::uint64_t>(walk.rows);
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::uint64_t>(static_cast<std::int64_t>(index[i * index_step]));
    if (row < rows) {
      to[i * to_step + static_cast<std::int64_t>(row) * axis_stride] += from[i * from_step];
    } else {
      valid = false;
    }
  }
  return valid;
}

template <class Index>
bool addRows(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  const int last = walk.last();
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(index[i * walk.index[last]]);
    if (row >= 0 && row < walk.rows) {
      addRow(to + i * walk.large[last] + row * walk.axis_stride, from + i * walk.small[last], walk.run);
    } else {
      valid = false;
    }
  }
  return valid;
}

template <class Index>
bool addLine(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  if (walk.run > 1) return addRows(walk, index, to, from, count);
  const int last = walk.last();
  const bool dense = walk.index[last] == 1 && walk.small[last] == 1 && walk.large[last] == 0 && walk.axis_stride == 1;
  return dense ? addElements<true>(walk, index, to, from, count) : addElements<false>(walk, index, to, from, count);
}

bool addLine32(const ElementWalk& walk, const void* index, std::int64_t at, float* to, const float* from,
               std::int64_t count) {
  return addLine(walk, static_cast<const std::int32_t*>(index) + at, to, from, count);
}

bool addLine64(const ElementWalk& walk, const void* index, std::int64_t at, float* to, const float* from,
               std::int64_t count) {
  return addLine(walk, static_cast<const std::int64_t*>(index) + at, to, from, count);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(addLine32);
HWY_EXPORT(addLine64);

using AddLine = bool (*)(const ElementWalk&, const void*, std::int64_t, float*, const float*, std::int64_t);

class ScatterAddOp final : public PreparedOp {
 public:
  ElementWalk walk;
  WalkSplit split;
  AddLine add_line = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    const auto* const updates = static_cast<const float*>(from[2]);
    auto* const out = static_cast<float*>(to[0]);
    writeBase(src[0], static_cast<const float*>(from[0]), out);
    parallelFor(split.size, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      WalkOffsets start;
      const ElementWalk part = partOfWalk(walk, split, begin, end, &start);
      bool valid = true;
      forLines(part, 0, part.dims.count(), [&](const WalkOffsets& at, std::int64_t count) {
        valid &= add_line(part, from[1], start.index + at.index, out + start.large + at.large,
                          updates + start.small + at.small, count);
      });
      if (!valid) state->fail(kIndexOutOfRange);
    });
  }
};

class ScatterAddSimd final : public Kernel {
 public:
  const char* name() const override { return "scatter_add_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.spec.stringOr("reduction", "") != "add") return Verdict::no("reduction");
    for (const TensorDesc& values : {args.src[0], args.src[2], args.dst[0]}) {
      if (values.dtype != DType::kF32) return Verdict::no("dtype");
    }
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ScatterAddOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
    // An expanded index is read in place.
    if (args.src[1].block == 0) op->src[1] = args.src[1];
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    if (isOneValue(args.src[0])) {
      op->src[0] = args.src[0];
    } else if (args.src_dies[0]) {
      op->in_place_src = 0;
    }
    op->walk = elementWalk(op->dst[0], op->src[1], op->src[2], linesAlong(args.spec, args.src[0].dims).axis);
    op->split = splitWalk(op->walk, args.target.threads);
    op->add_line = args.src[1].dtype == DType::kS32 ? IPEX_SELECT_TARGET(addLine32, args.target.isa)
                                                    : IPEX_SELECT_TARGET(addLine64, args.target.isa);
    op->threads = args.target.threads;
    const std::int64_t work = op->walk.dims.count() * (4 + op->walk.run / 8);
    op->grain = grainFor(work / std::max<std::int64_t>(1, op->split.size));
    op->flops = args.src[2].dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeScatterAddSimd() { return std::make_unique<ScatterAddSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

// Sums, products and extremes of what an index sends to the same place (aten::scatter_add, aten::scatter_reduce,
// aten::index_add), f32. An index that many neighbours share, as an expanded one is, combines them as rows of vectors.
// Threads share what does not lie along the axis: equal places are met in order, whatever the number of threads. With
// exclude_self places that an index names begin from nothing, others keep their value. Extremes hand on NaN, as
// PyTorch's do. An index out of range fails the run and writes nothing.
//
// Declines: dtype, post-ops, reduction (none).
#define HWY_TARGET_INCLUDE "kernels/index/scatter_reduce_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/index/element_walk.h"
#include "kernels/index/scatter_reduction.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct Sum {
  template <class V>
  static V of(V to, V from) {
    return hn::Add(to, from);
  }
  static float of(float to, float from) { return to + from; }
};

struct Product {
  template <class V>
  static V of(V to, V from) {
    return hn::Mul(to, from);
  }
  static float of(float to, float from) { return to * from; }
};

struct Greatest {
  template <class V>
  static V of(V to, V from) {
    return hn::IfThenElse(hn::Or(hn::Gt(to, from), hn::IsNaN(to)), to, from);
  }
  static float of(float to, float from) { return to > from || to != to ? to : from; }
};

struct Least {
  template <class V>
  static V of(V to, V from) {
    return hn::IfThenElse(hn::Or(hn::Lt(to, from), hn::IsNaN(to)), to, from);
  }
  static float of(float to, float from) { return to < from || to != to ? to : from; }
};

struct Update {
  template <class V>
  static V of(V, V from) {
    return from;
  }
};

struct Zero {
  template <class V>
  static V of(V, V) {
    return hn::Zero(hn::DFromV<V>());
  }
  static float of(float, float) { return 0; }
};

struct One {
  template <class V>
  static V of(V, V) {
    return hn::Set(hn::DFromV<V>(), 1.0F);
  }
  static float of(float, float) { return 1; }
};

template <class Combine>
HWY_INLINE void combineRow(float* to, const float* from, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (std::int64_t v = 0; v < 4; ++v) {
      float* const at = to + i + v * lanes;
      hn::StoreU(Combine::of(hn::LoadU(d, at), hn::LoadU(d, from + i + v * lanes)), d, at);
    }
  }
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(Combine::of(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  for (; i < count; ++i) to[i] = Combine::of(to[i], from[i]);
}

// Single elements; false if an index was out of range. kDense: index and updates lie side by side, and so do the places
// along the axis, all of one line.
template <class Combine, bool kDense, class Index>
bool combineElements(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  const int last = walk.last();
  const std::int64_t index_step = kDense ? 1 : walk.index[last], to_step = kDense ? 0 : walk.large[last],
                     from_step = kDense ? 1 : walk.small[last], axis_stride = kDense ? 1 : walk.axis_stride;
  const auto rows = static_cast<std::uint64_t>(walk.rows);
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::uint64_t>(static_cast<std::int64_t>(index[i * index_step]));
    if (row < rows) {
      float& place = to[i * to_step + static_cast<std::int64_t>(row) * axis_stride];
      place = Combine::of(place, from[i * from_step]);
    } else {
      valid = false;
    }
  }
  return valid;
}

template <class Combine, class Index>
bool combineRows(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  const int last = walk.last();
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(index[i * walk.index[last]]);
    if (row >= 0 && row < walk.rows) {
      combineRow<Combine>(to + i * walk.large[last] + row * walk.axis_stride, from + i * walk.small[last], walk.run);
    } else {
      valid = false;
    }
  }
  return valid;
}

template <class Combine, class Index>
bool combineLine(const ElementWalk& walk, const Index* index, float* to, const float* from, std::int64_t count) {
  if (walk.run > 1) return combineRows<Combine>(walk, index, to, from, count);
  const int last = walk.last();
  const bool dense = walk.index[last] == 1 && walk.small[last] == 1 && walk.large[last] == 0 && walk.axis_stride == 1;
  return dense ? combineElements<Combine, true>(walk, index, to, from, count)
               : combineElements<Combine, false>(walk, index, to, from, count);
}

template <class Index>
bool scatterLine(const ElementWalk& walk, ScatterReduction reduction, const Index* index, float* to, const float* from,
                 std::int64_t count) {
  switch (reduction) {
    case ScatterReduction::kSum:
      return combineLine<Sum>(walk, index, to, from, count);
    case ScatterReduction::kProduct:
      return combineLine<Product>(walk, index, to, from, count);
    case ScatterReduction::kGreatest:
      return combineLine<Greatest>(walk, index, to, from, count);
    case ScatterReduction::kLeast:
      return combineLine<Least>(walk, index, to, from, count);
    case ScatterReduction::kUpdate:
      return combineLine<Update>(walk, index, to, from, count);
    case ScatterReduction::kZero:
      return combineLine<Zero>(walk, index, to, from, count);
    case ScatterReduction::kOne:
      return combineLine<One>(walk, index, to, from, count);
  }
  return false;
}

bool scatterLine32(const ElementWalk& walk, ScatterReduction reduction, const void* index, std::int64_t at, float* to,
                   const float* from, std::int64_t count) {
  return scatterLine(walk, reduction, static_cast<const std::int32_t*>(index) + at, to, from, count);
}

bool scatterLine64(const ElementWalk& walk, ScatterReduction reduction, const void* index, std::int64_t at, float* to,
                   const float* from, std::int64_t count) {
  return scatterLine(walk, reduction, static_cast<const std::int64_t*>(index) + at, to, from, count);
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

HWY_EXPORT(scatterLine32);
HWY_EXPORT(scatterLine64);

using ScatterLine = bool (*)(const ElementWalk&, ScatterReduction, const void*, std::int64_t, float*, const float*,
                             std::int64_t);

struct NamedReduction {
  const char* name;  // of the operation's attribute
  ScatterReduction reduction, begin;
};
constexpr NamedReduction kReductions[] = {{"add", ScatterReduction::kSum, ScatterReduction::kZero},
                                          {"mul", ScatterReduction::kProduct, ScatterReduction::kOne},
                                          {"max", ScatterReduction::kGreatest, ScatterReduction::kUpdate},
                                          {"min", ScatterReduction::kLeast, ScatterReduction::kUpdate}};

const NamedReduction* reductionOf(const OpSpec& spec) {
  const std::string name = spec.stringOr("reduction", "");
  for (const NamedReduction& known : kReductions) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

class ScatterReduceOp final : public PreparedOp {
 public:
  ElementWalk walk;
  WalkSplit split;
  const NamedReduction* reduction = nullptr;
  bool excludes_self = false;
  ScatterLine scatter_line = nullptr;
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
      const auto walkBy = [&](ScatterReduction by) {
        forLines(part, 0, part.dims.count(), [&](const WalkOffsets& at, std::int64_t count) {
          valid &= scatter_line(part, by, from[1], start.index + at.index, out + start.large + at.large,
                                updates + start.small + at.small, count);
        });
      };
      if (excludes_self) walkBy(reduction->begin);
      walkBy(reduction->reduction);
      if (!valid) state->fail(kIndexOutOfRange);
    });
  }
};

class ScatterReduceSimd final : public Kernel {
 public:
  const char* name() const override { return "scatter_reduce_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (reductionOf(args.spec) == nullptr) return Verdict::no("reduction");
    for (const TensorDesc& values : {args.src[0], args.src[2], args.dst[0]}) {
      if (values.dtype != DType::kF32) return Verdict::no("dtype");
    }
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ScatterReduceOp>();
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
    op->reduction = reductionOf(args.spec);
    op->excludes_self = args.spec.intOr("exclude_self", 0) != 0;
    op->scatter_line = args.src[1].dtype == DType::kS32 ? IPEX_SELECT_TARGET(scatterLine32, args.target.isa)
                                                        : IPEX_SELECT_TARGET(scatterLine64, args.target.isa);
    op->threads = args.target.threads;
    const std::int64_t work = op->walk.dims.count() * (4 + op->walk.run / 8);
    op->grain = grainFor(work / std::max<std::int64_t>(1, op->split.size));
    op->flops = args.src[2].dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeScatterReduceSimd() { return std::make_unique<ScatterReduceSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

// Casts between any two dtypes in the layout of the source, as torch rounds: towards zero to integers, to nearest even
// to bf16 and f16, "not zero" to bool. From and to f16 by way of f32, which holds all its values.
//
// Declines: dtype, post-ops, layout (gaps).
#include <algorithm>
#include <cstring>

#include "core/op/kernel.h"
#include "core/op/low_precision_floats.h"
#include "kernels/common/bf16.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/value_conversion.h"

namespace ipex_studio {
namespace {

template <typename T>
struct Wide {
  using Value = T;
  static T read(T v) { return v; }
  static T write(T v) { return v; }
};
template <>
struct Wide<Bf16> {
  using Value = float;
  static float read(Bf16 v) { return bf16ToFloat(v.bits); }
  static Bf16 write(float v) { return Bf16{floatToBf16(v)}; }
};

template <typename From, typename To>
void castRange(const void* src, void* dst, std::int64_t begin, std::int64_t end) {
  const From* in = static_cast<const From*>(src);
  To* out = static_cast<To*>(dst);
  for (std::int64_t i = begin; i < end; ++i) {
    out[i] = Wide<To>::write(static_cast<typename Wide<To>::Value>(Wide<From>::read(in[i])));
  }
}

using Cast = void (*)(const void*, void*, std::int64_t, std::int64_t);

template <typename From>
Cast castTo(DType to) {
  switch (to) {
    case DType::kF32:
      return castRange<From, float>;
    case DType::kF64:
      return castRange<From, double>;
    case DType::kBf16:
      return castRange<From, Bf16>;
    case DType::kS8:
      return castRange<From, std::int8_t>;
    case DType::kU8:
      return castRange<From, std::uint8_t>;
    case DType::kS32:
      return castRange<From, std::int32_t>;
    case DType::kS64:
      return castRange<From, std::int64_t>;
    case DType::kBool:
      return castRange<From, bool>;
    default:
      return nullptr;
  }
}

Cast castOf(DType from, DType to) {
  switch (from) {
    case DType::kF32:
      return castTo<float>(to);
    case DType::kF64:
      return castTo<double>(to);
    case DType::kBf16:
      return castTo<Bf16>(to);
    case DType::kS8:
      return castTo<std::int8_t>(to);
    case DType::kU8:
      return castTo<std::uint8_t>(to);
    case DType::kS32:
      return castTo<std::int32_t>(to);
    case DType::kS64:
      return castTo<std::int64_t>(to);
    case DType::kBool:
      return castTo<bool>(to);
    default:
      return nullptr;
  }
}

// The type that casts from and to f16 go through.
DType castAs(DType dtype) { return dtype == DType::kF16 ? DType::kF32 : dtype; }

class CastOp final : public PreparedOp {
 public:
  Cast cast = nullptr;
  ValueConversion conversion;
  std::int64_t elements = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const DType read = src[0].dtype, written = dst[0].dtype;
    const bool by_floats = read == DType::kF16 || written == DType::kF16;
    parallelFor(elements, kParallelGrainOps, threads, [&](std::int64_t begin, std::int64_t end, int) {
      if (read == DType::kF32 && isLowPrecisionFloat(written)) {
        conversion.downconvert(written, static_cast<const float*>(from[0]), to[0], begin, end);
      } else if (isLowPrecisionFloat(read) && written == DType::kF32) {
        conversion.upconvert(read, from[0], static_cast<float*>(to[0]), begin, end);
      } else if (by_floats) {
        castByFloats(from[0], to[0], begin, end);
      } else {
        cast(from[0], to[0], begin, end);
      }
    });
  }

 private:
  void castByFloats(const void* from, void* to, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kPiece = 512;
    float floats[kPiece];
    const auto at = [](const TensorDesc& desc, std::int64_t i) {
      return i * static_cast<std::int64_t>(elementBytes(desc.dtype));
    };
    for (std::int64_t i = begin; i < end; i += kPiece) {
      const std::int64_t count = std::min(kPiece, end - i);
      const char* const in = static_cast<const char*>(from) + at(src[0], i);
      char* const out = static_cast<char*>(to) + at(dst[0], i);
      if (src[0].dtype == DType::kF16) {
        conversion.upconvert(DType::kF16, in, floats, 0, count);
      } else {
        cast(in, floats, 0, count);
      }
      if (dst[0].dtype != DType::kF16) {
        cast(floats, out, 0, count);
      } else {
        conversion.downconvert(DType::kF16, floats, out, 0, count);
      }
    }
  }
};

class CastCopy final : public Kernel {
 public:
  const char* name() const override { return "cast_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (castOf(castAs(args.src[0].dtype), castAs(args.dst[0].dtype)) == nullptr) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return layoutOf(args).absent() ? Verdict::no("layout") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc like = layoutOf(args);
    auto op = std::make_unique<CastOp>();
    op->src = {like};
    op->dst = {laidOutLike(like, args.dst[0].dtype, like.dims)};
    op->packed = {false};
    op->cast = castOf(castAs(args.src[0].dtype), castAs(args.dst[0].dtype));
    op->conversion = valueConversion(args.target.isa);
    op->elements = static_cast<std::int64_t>(like.bytes() / elementBytes(like.dtype));
    op->threads = args.target.threads;
    return op;
  }

 private:
  // The layout of the result: a planner's reorder asks for one exactly, a cast of the graph keeps the source's. Absent
  // if this kernel cannot write it.
  static TensorDesc layoutOf(const PrepareArgs& args) {
    const TensorDesc& x = args.src[0];
    if (args.spec.kind == OpKind::kReorder) {
      return x.sameLayout(args.dst[0]) && isDenseLayout(x) ? x : TensorDesc();
    }
    return isDenseLayout(x) ? x : contiguousDesc(x.dtype, x.dims);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeCastCopy() { return std::make_unique<CastCopy>(); }

}  // namespace ipex_studio

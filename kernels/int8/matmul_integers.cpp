// Matrix products of integers that the library does not take as they are, by its kernel on changed operands.
//
// matmul_onednn_flipped: a right operand of u8 becomes s8 by flipping the highest bit, and its zero point moves along.
// matmul_onednn_upconverted: both operands become FP32, less their zero points. For machines without VNNI; sums must
// fit the 24 bits of FP32, so that they are exact.
//
// Decline: device, dtype, post-ops, depth, and what the library's kernel declines.
#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_parts.h"
#include "kernels/common/parallel.h"
#include "kernels/common/requantization.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kA = 0, kB = 1;

std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Runs the inner operation on converted copies of some sources.
class ChangedMatmul : public PreparedOp {
 public:
  std::unique_ptr<PreparedOp> inner;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return inner->newState(); }

 protected:
  // Most sources: two operands and those of the longest chain.
  static constexpr std::size_t kMaxSources = 66;

  template <typename Fn>
  void overElements(const TensorDesc& desc, const Fn& fn) const {
    const auto count = static_cast<std::int64_t>(desc.bytes() / elementBytes(desc.dtype));
    parallelFor(count, kParallelGrainOps, threads, [&](std::int64_t begin, std::int64_t end, int) { fn(begin, end); });
  }
};

class FlippedOp final : public ChangedMatmul {
 public:
  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    const void* sources[kMaxSources];
    std::copy(from, from + src.size(), sources);
    auto* const flipped = static_cast<std::uint8_t*>(scratch);
    const auto* const given = static_cast<const std::uint8_t*>(from[kB]);
    overElements(src[kB], [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) flipped[i] = given[i] ^ 0x80u;
    });
    sources[kB] = flipped;
    inner->execute(state, sources, to, static_cast<char*>(scratch) + padded(src[kB].bytes()));
  }
};

class MatmulFlipped final : public Kernel {
 public:
  explicit MatmulFlipped(const Kernel* inner) : inner_(inner) {}

  const char* name() const override { return "matmul_onednn_flipped"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!isByte(args.src[kA].dtype) || args.src[kB].dtype != DType::kU8) return Verdict::no("dtype");
    return inner_->supports(changed(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<FlippedOp>();
    op->inner = inner_->prepare(changed(args), reason);
    if (!op->inner) return nullptr;
    op->src = op->inner->src;
    op->src[kB].dtype = DType::kU8;
    op->dst = op->inner->dst;
    op->packed.assign(args.src.size(), false);
    op->in_place_src = op->inner->in_place_src;
    op->implementation = op->inner->implementation;
    op->needs_finite = op->inner->needs_finite;
    op->flops = op->inner->flops;
    op->threads = args.target.threads;
    op->scratch_bytes = padded(op->src[kB].bytes()) + op->inner->scratch_bytes;
    return op;
  }

 private:
  static PrepareArgs changed(const PrepareArgs& args) {
    PrepareArgs changed = args;
    changed.src[kB].dtype = DType::kS8;
    changed.constant[kB] = nullptr;
    changed.spec.attributes["weight_zero"] = args.spec.intOr("weight_zero", 0) - 128;
    return changed;
  }

  const Kernel* inner_;
};

template <typename T>
void upconvertLess(const void* from, float zero, float* to, std::int64_t begin, std::int64_t end) {
  const auto* const bytes = static_cast<const T*>(from);
  for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(bytes[i]) - zero;
}

template <typename T>
void roundToBytes(const float* from, void* to, std::int64_t begin, std::int64_t end) {
  constexpr float kLow = T(-1) < T(0) ? -128.0f : 0.0f;
  auto* const bytes = static_cast<T*>(to);
  for (std::int64_t i = begin; i < end; ++i)
    bytes[i] = static_cast<T>(from[i] > kLow ? std::nearbyint(std::min(from[i], kLow + 255)) : kLow);
}

class UpconvertedMatmulOp final : public ChangedMatmul {
 public:
  float zeros[2] = {};

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    const void* sources[kMaxSources];
    std::copy(from, from + src.size(), sources);
    char* free = static_cast<char*>(scratch);
    for (const std::size_t s : {kA, kB}) {
      auto* const wide = reinterpret_cast<float*>(free);
      free += padded(inner->src[s].bytes());
      overElements(src[s], [&](std::int64_t begin, std::int64_t end) {
        (src[s].dtype == DType::kU8 ? upconvertLess<std::uint8_t> : upconvertLess<std::int8_t>)(from[s], zeros[s], wide,
                                                                                                begin, end);
      });
      sources[s] = wide;
    }
    void* result = to[0];
    const bool downconverts = isByte(dst[0].dtype);
    if (downconverts) {
      result = free;
      free += padded(inner->dst[0].bytes());
    }
    inner->execute(state, sources, &result, free);
    if (!downconverts) return;
    overElements(dst[0], [&](std::int64_t begin, std::int64_t end) {
      const auto* const floats = static_cast<const float*>(result);
      (dst[0].dtype == DType::kU8 ? roundToBytes<std::uint8_t> : roundToBytes<std::int8_t>)(floats, to[0], begin, end);
    });
  }
};

class MatmulUpconverted final : public Kernel {
 public:
  explicit MatmulUpconverted(const Kernel* inner) : inner_(inner) {}

  const char* name() const override { return "matmul_onednn_upconverted"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType result = args.dst[0].dtype;
    if (!isByte(args.src[kA].dtype) || !isByte(args.src[kB].dtype)) return Verdict::no("dtype");
    if (result != DType::kF32 && !isByte(result)) return Verdict::no("dtype");
    const Dims& a = args.src[kA].dims;
    const std::int64_t depth = a[a.rank - (args.spec.intOr("transpose_a", 0) != 0 ? 2 : 1)];
    constexpr double kExact = 1 << 24;
    if (furthest(args, kA) * furthest(args, kB) * static_cast<double>(depth) > kExact) return Verdict::no("depth");
    return inner_->supports(changed(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<UpconvertedMatmulOp>();
    op->inner = inner_->prepare(changed(args), reason);
    if (!op->inner) return nullptr;
    const PreparedOp& inner = *op->inner;
    op->src = inner.src;
    op->dst = inner.dst;
    op->src[kA].dtype = args.src[kA].dtype;
    op->src[kB].dtype = args.src[kB].dtype;
    op->dst[0].dtype = args.dst[0].dtype;
    op->packed.assign(args.src.size(), false);
    op->implementation = inner.implementation;
    op->needs_finite = inner.needs_finite;
    op->flops = inner.flops;
    op->threads = args.target.threads;
    op->zeros[kA] = static_cast<float>(args.spec.intOr("src_zero", 0));
    op->zeros[kB] = static_cast<float>(args.spec.intOr("weight_zero", 0));
    op->scratch_bytes = padded(inner.src[kA].bytes()) + padded(inner.src[kB].bytes()) + padded(inner.dst[0].bytes()) +
                        inner.scratch_bytes;
    return op;
  }

 private:
  // The largest |x - zero| that an operand may have.
  static double furthest(const PrepareArgs& args, std::size_t s) {
    const auto zero = static_cast<double>(args.spec.intOr(s == kA ? "src_zero" : "weight_zero", 0));
    const double low = args.src[s].dtype == DType::kU8 ? 0 : -128;
    return std::max(zero - low, low + 255 - zero);
  }

  static PrepareArgs changed(const PrepareArgs& args) {
    PrepareArgs changed = args;
    for (const char* name : {"src_zero", "weight_zero", "result"}) changed.spec.attributes.erase(name);
    changed.src[kA].dtype = changed.src[kB].dtype = changed.dst[0].dtype = DType::kF32;
    changed.constant[kA] = changed.constant[kB] = nullptr;
    changed.src_dies.assign(args.src.size(), false);
    // The library takes one linear operation, so the scales of both operands are joined in one.
    std::vector<PostOp>& chain = changed.spec.post_ops;
    if (!chain.empty() && chain[0].kind == PostOpKind::kLinear && chain[0].beta == 0) {
      changed.spec.attributes["scale"] = args.spec.floatOr("scale", 1) * chain[0].alpha;
      chain.erase(chain.begin());
    }
    return changed;
  }

  const Kernel* inner_;
};

}  // namespace

std::unique_ptr<Kernel> makeMatmulFlipped(const KernelParts& parts) {
  return std::make_unique<MatmulFlipped>(parts.first);
}
std::unique_ptr<Kernel> makeMatmulUpconverted(const KernelParts& parts) {
  return std::make_unique<MatmulUpconverted>(parts.first);
}

}  // namespace ipex_studio

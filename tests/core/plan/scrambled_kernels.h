// Reference kernels that ask for random layouts and in-place results, from a seed: whatever layouts kernels choose, and
// wherever a plan places results, the numbers must stay the same.
#pragma once

#include <memory>
#include <vector>

#include "core/op/kernel.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio::testing {

class ScrambledKernel final : public Kernel {
 public:
  ScrambledKernel(const Kernel* reference, std::shared_ptr<Random> random)
      : reference_(reference), random_(std::move(random)) {}

  const char* name() const override { return "scrambled"; }
  Verdict supports(const PrepareArgs& args) const override {
    // Post-ops are sometimes declined, so that they are split off.
    if (!args.spec.post_ops.empty() && args.spec.kind != OpKind::kPointwise && random_->chance(20))
      return Verdict::no("post-ops");
    return reference_->supports(args);
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    PrepareArgs wanted = args;
    const bool exact = args.spec.kind == OpKind::kReorder;
    if (!exact) {
      for (TensorDesc& src : wanted.src) src = layout(src, true);
      for (TensorDesc& dst : wanted.dst) dst = layout(dst, false);
      inPlace(wanted);
    }
    auto op = reference_->prepare(wanted, reason);
    if (!op || exact) return op;
    op->in_place_src = in_place_;
    op->may_alias = random_->chance(70);
    return op;
  }

 private:
  TensorDesc layout(const TensorDesc& desc, bool may_stay) const {
    if (desc.absent() || (may_stay && random_->chance(40))) return desc;
    if (desc.dims.rank >= 3 && random_->chance(60)) {
      return random_->chance(40) ? channelsLastDesc(desc.dtype, desc.dims)
                                 : blockedDesc(desc.dtype, desc.dims, random_->chance(50) ? 8 : 16);
    }
    return contiguousDesc(desc.dtype, desc.dims);
  }

  // Sometimes demands that the result lies in a dying source, which then has the result's layout.
  void inPlace(PrepareArgs& wanted) const {
    in_place_ = -1;
    for (std::size_t s = 0; s < wanted.src.size(); ++s) {
      const bool fits =
          wanted.src_dies[s] && wanted.src[s].dims == wanted.dst[0].dims && wanted.src[s].dtype == wanted.dst[0].dtype;
      if (!fits || !random_->chance(60)) continue;
      wanted.src[s] = wanted.dst[0];
      in_place_ = static_cast<std::int32_t>(s);
      return;
    }
  }

  const Kernel* reference_;
  std::shared_ptr<Random> random_;
  mutable std::int32_t in_place_ = -1;
};

class ScrambledKernels final : public KernelList {
 public:
  ScrambledKernels(const KernelList& kernels, std::uint64_t seed) {
    const auto random = std::make_shared<Random>(seed);
    for (int kind = 0; kind <= static_cast<int>(OpKind::kCast); ++kind) {
      const Kernel* reference = kernels.candidates(static_cast<OpKind>(kind), DeviceKind::kCpu).back();
      scrambled_.push_back(std::make_unique<ScrambledKernel>(reference, random));
      candidates_.push_back({scrambled_.back().get(), reference});
    }
  }
  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override {
    return candidates_[static_cast<std::size_t>(kind)];
  }

 private:
  std::vector<std::unique_ptr<ScrambledKernel>> scrambled_;
  std::vector<std::vector<const Kernel*>> candidates_;
};

}  // namespace ipex_studio::testing

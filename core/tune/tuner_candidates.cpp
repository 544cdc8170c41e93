// Prepares every kernel in every offered layout, with as many post-operations as it takes.
#include "core/tune/tuner_candidates.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/op/layout_text.h"
#include "core/op/low_precision_floats.h"
#include "core/op/prepare.h"
#include "core/op/shape_inference.h"
#include "core/op/shape_rules.h"
#include "core/plan/plan_split.h"

namespace ipex_studio {
namespace {

bool isActivation(const PrepareArgs& args, std::size_t s) {
  return !args.src[s].absent() && args.constant[s] == nullptr;
}

// The layouts of its sources that a step is offered: as they come, then all in one layout.
std::vector<std::vector<TensorDesc>> offers(const PrepareArgs& args, const std::vector<std::string>& layouts) {
  std::vector<std::vector<TensorDesc>> result{args.src};
  for (const std::string& layout : layouts) {
    std::vector<TensorDesc> src = args.src;
    for (std::size_t s = 0; s < src.size(); ++s) {
      if (!isActivation(args, s) || src[s].dims.rank < 3) continue;
      if (const auto dense = descInLayout(layout, src[s].dtype, src[s].dims)) src[s] = *dense;
    }
    if (std::find(result.begin(), result.end(), src) == result.end()) result.push_back(std::move(src));
  }
  return result;
}

class Enumerator {
 public:
  Enumerator(const PrepareArgs& args, const KernelList& kernels) : args_(args), kernels_(kernels) {
    splittable_ = args.spec.kind != OpKind::kPointwise && !args.spec.post_ops.empty() && args.dst.size() == 1;
    positions_.resize(args.src.size());
    std::iota(positions_.begin(), positions_.end(), 0);
  }

  // Prepares the kernel on these sources with as many post-operations as it takes.
  std::optional<Candidate> make(const Kernel& kernel, const std::vector<TensorDesc>& src, std::string* reason) {
    for (std::size_t kept = args_.spec.post_ops.size();; --kept) {
      auto candidate = makeKeeping(kernel, src, kept, reason);
      if (candidate || kept == 0 || !splittable_ || *reason != "post-ops") return candidate;
    }
  }

  // Prepares the kernel with exactly `kept` post-operations.
  std::optional<Candidate> makeKeeping(const Kernel& kernel, const std::vector<TensorDesc>& src, std::size_t kept,
                                       std::string* reason) {
    Candidate candidate;
    candidate.weights = std::make_shared<WeightCache>();
    candidate.src.assign(args_.src.size(), TensorDesc());
    const SplitOp split = splitOp(args_.spec, kept, positions_);
    const bool whole = kept == args_.spec.post_ops.size();
    PrepareArgs head =
        part(whole ? args_.spec : split.head, whole ? positions_ : split.head_src, src, candidate.weights.get());
    if (whole) {
      head.dst = args_.dst;
    } else if (!inferShapes(head.spec, head.src, &head.dst).ok) {
      *reason = "shape";
      return std::nullopt;
    }
    const std::shared_ptr<const PreparedOp> made = prepareBy(kernel, head, reason);
    if (!made) return std::nullopt;
    add(made, whole ? positions_ : split.head_src, head, &candidate);
    if (!whole && !addTail(split, src, &candidate)) {
      *reason = "post-ops";
      return std::nullopt;
    }
    candidate.dst = candidate.parts.back().op->dst[0];
    TuningCandidate& record = candidate.record;
    record.kernel = kernel.name();
    record.kept = static_cast<std::int32_t>(kept);
    for (const TensorDesc& read : candidate.src) record.src.push_back(layoutText(read));
    record.dst = layoutText(candidate.dst);
    record.implementation = made->implementation;
    return candidate;
  }

 private:
  PrepareArgs part(const OpSpec& op, const std::vector<std::int32_t>& sources, const std::vector<TensorDesc>& src,
                   WeightCache* weights) const {
    PrepareArgs args;
    args.spec = op;
    args.target = args_.target;
    args.weights = weights;
    for (std::int32_t s : sources) {
      args.src.push_back(src[static_cast<std::size_t>(s)]);
      args.constant.push_back(args_.constant[static_cast<std::size_t>(s)]);
      args.src_dies.push_back(args_.src_dies[static_cast<std::size_t>(s)]);
    }
    return args;
  }

  void add(std::shared_ptr<const PreparedOp> op, const std::vector<std::int32_t>& sources, const PrepareArgs& args,
           Candidate* candidate) const {
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (sources[s] < 0) continue;
      const auto source = static_cast<std::size_t>(sources[s]);
      if (isActivation(args_, source)) candidate->src[source] = op->src[s];
    }
    candidate->parts.push_back({std::move(op), sources, args.src_dies});
  }

  // Adds a step for the other post-operations, by the first kernel that takes them in the layout of the head's result;
  // false if none does.
  bool addTail(const SplitOp& split, std::vector<TensorDesc> src, Candidate* candidate) const {
    const TensorDesc middle = candidate->parts[0].op->dst[0];
    // Operands of the result's size are read in its layout.
    const std::string layout = layoutText(middle);
    for (std::int32_t s : split.tail_src) {
      TensorDesc& operand = src[static_cast<std::size_t>(s)];
      if (!isActivation(args_, static_cast<std::size_t>(s)) || operand.dims != middle.dims) continue;
      if (const auto dense = descInLayout(layout, operand.dtype, operand.dims)) operand = *dense;
    }
    PrepareArgs tail = part(split.tail, split.tail_src, src, candidate->weights.get());
    tail.src.insert(tail.src.begin(), middle);
    tail.constant.insert(tail.constant.begin(), nullptr);
    tail.src_dies.insert(tail.src_dies.begin(), true);
    if (!inferShapes(tail.spec, tail.src, &tail.dst).ok) return false;
    std::vector<std::int32_t> sources{-1};
    sources.insert(sources.end(), split.tail_src.begin(), split.tail_src.end());
    for (const Kernel* kernel : kernels_.candidates(OpKind::kPointwise, args_.target.device->id().kind)) {
      if (kernel->onlyWhenMeasured()) continue;
      std::string reason;
      const std::shared_ptr<const PreparedOp> made = prepareBy(*kernel, tail, &reason);
      if (!made || !made->src[0].sameLayout(middle)) continue;
      add(made, sources, tail, candidate);
      return true;
    }
    return false;
  }

  const PrepareArgs& args_;
  const KernelList& kernels_;
  bool splittable_ = false;
  std::vector<std::int32_t> positions_;
};

bool sameWay(const TuningCandidate& a, const TuningCandidate& b) {
  return a.kernel == b.kernel && a.kept == b.kept && a.src == b.src && a.dst == b.dst;
}

bool reads(const Candidate& a, const Candidate& b) { return a.src == b.src && a.dst == b.dst; }

}  // namespace

bool isWinograd(const TuningCandidate& candidate) {
  return candidate.kernel.find("winograd") != std::string::npos ||
         candidate.implementation.find("wino") != std::string::npos;
}

bool isMeasurable(DType dtype) { return isFloatDtype(dtype) || isInteger8(dtype); }

bool isMeasurable(const PrepareArgs& args) {
  if (!opKindRow(args.spec.kind).is_measured) return false;
  const auto compares = [](const TensorDesc& desc) {
    return desc.absent() || (isMeasurable(desc.dtype) && desc.dims.count() > 0);
  };
  return std::all_of(args.src.begin(), args.src.end(), compares) &&
         std::all_of(args.dst.begin(), args.dst.end(), compares);
}

PrepareArgs conversionArgs(const TensorDesc& from, const TensorDesc& to, const Target& target) {
  PrepareArgs args;
  args.spec.kind = OpKind::kReorder;
  args.src = {from};
  args.constant = {nullptr};
  args.src_dies = {false};
  args.dst = {to};
  args.target = target;
  return args;
}

std::optional<Candidate> prepareAgain(const PrepareArgs& args, const KernelList& kernels,
                                      const TuningCandidate& record) {
  if (record.src.size() != args.src.size() || record.kept < 0 ||
      static_cast<std::size_t>(record.kept) > args.spec.post_ops.size())
    return std::nullopt;
  std::vector<TensorDesc> src = args.src;
  for (std::size_t s = 0; s < src.size(); ++s) {
    if (!isActivation(args, s)) continue;
    if (const auto dense = descInLayout(record.src[s], src[s].dtype, src[s].dims)) src[s] = *dense;
  }
  for (const Kernel* kernel : kernels.candidates(args.spec.kind, args.target.device->id().kind)) {
    if (record.kernel != kernel->name()) continue;
    std::string reason;
    auto candidate =
        Enumerator(args, kernels).makeKeeping(*kernel, src, static_cast<std::size_t>(record.kept), &reason);
    if (candidate && sameWay(candidate->record, record)) return candidate;
  }
  return std::nullopt;
}

CandidateSet prepareCandidates(const PrepareArgs& args, const KernelList& kernels,
                               const std::vector<std::string>& layouts, bool allow_winograd) {
  CandidateSet set;
  Enumerator enumerator(args, kernels);
  const auto offered = offers(args, layouts);
  for (const Kernel* kernel : kernels.candidates(args.spec.kind, args.target.device->id().kind)) {
    TuningCandidate refused;
    refused.kernel = kernel->name();
    if (isReference(refused.kernel) || (!allow_winograd && isWinograd(refused))) continue;
    bool taken = false;
    for (const auto& src : offered) {
      auto candidate = enumerator.make(*kernel, src, &refused.reason);
      if (!candidate || (!allow_winograd && isWinograd(candidate->record))) continue;
      taken = true;
      const bool known = std::any_of(set.candidates.begin(), set.candidates.end(), [&](const Candidate& other) {
        return sameWay(other.record, candidate->record) && reads(other, *candidate);
      });
      if (!known) set.candidates.push_back(std::move(*candidate));
    }
    if (!taken) set.declined.push_back(refused);
  }
  // The plan itself takes the first kernel for as many post-operations as any keeps.
  std::int32_t most = -1;
  std::string first;
  const auto onlyMeasured = [&](const Candidate& c) {
    const auto& list = kernels.candidates(args.spec.kind, args.target.device->id().kind);
    return std::any_of(list.begin(), list.end(), [&](const Kernel* kernel) {
      return c.record.kernel == kernel->name() && kernel->onlyWhenMeasured();
    });
  };
  for (const Candidate& candidate : set.candidates) {
    if (onlyMeasured(candidate) || candidate.record.kept <= most) continue;
    most = candidate.record.kept;
    first = candidate.record.kernel;
  }
  const auto end = std::stable_partition(set.candidates.begin(), set.candidates.end(), [&](const Candidate& c) {
    return c.record.kernel == first && c.record.kept == most;
  });
  set.defaults = static_cast<std::size_t>(end - set.candidates.begin());
  return set;
}

}  // namespace ipex_studio

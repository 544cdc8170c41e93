// Finds the values that NaN may come from, and looks at them.
#include "core/plan/finite_checks.h"

#include <algorithm>

#include "core/op/device_copy.h"
#include "core/op/low_precision_floats.h"

namespace ipex_studio {
namespace {

// True if the step's own operations make NaN or infinities of numbers, or numbers of them.
bool changesFiniteness(const OpSpec& spec) {
  return std::any_of(spec.post_ops.begin(), spec.post_ops.end(), [](const PostOp& op) {
    switch (op.kind) {
      case PostOpKind::kExp:
      case PostOpKind::kLog:
      case PostOpKind::kSqrt:
      case PostOpKind::kRsqrt:
      case PostOpKind::kReciprocal:
      case PostOpKind::kPow:
      case PostOpKind::kDiv:
      case PostOpKind::kRdiv:
      case PostOpKind::kFill:
      case PostOpKind::kKeep:
      case PostOpKind::kEq:
      case PostOpKind::kNe:
      case PostOpKind::kLt:
      case PostOpKind::kLe:
      case PostOpKind::kGt:
      case PostOpKind::kGe:
        return true;
      default:
        return false;
    }
  });
}

// True if infinities of this source are usual and end in the step: masks of attention are added to scores that a
// softmax turns into weights.
bool takesInfinite(OpKind kind, std::size_t source) {
  return kind == OpKind::kSoftmax || (kind == OpKind::kAttention && source != 2);
}

class Search {
 public:
  Search(const std::vector<TensorDesc>& inputs, const PlanValues& values) : values_(values) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto value = static_cast<std::int32_t>(i);
      if (!isFloatDtype(inputs[i].dtype) || !inputs[i].device.isHost()) continue;
      origins_[values_.placeOf(value).buffer] = {{addCandidate(true, {value, 0, false, inputs[i]}), false}};
    }
  }

  void visit(std::int32_t index, const PlanSteps::Step& step) {
    Origins from;
    for (std::size_t s = 0; s < step.src.size(); ++s) {
      if (step.src[s] < 0 || values_[step.src[s]].isConstant()) continue;
      for (const auto& [candidate, allows_infinite] : origins_[values_.placeOf(step.src[s]).buffer])
        add(candidate, allows_infinite || takesInfinite(step.spec.kind, s), &from);
    }
    if (step.op->needs_finite) {
      for (const auto& [candidate, allows_infinite] : from) add(candidate, allows_infinite, &wanted_);
      from.clear();
    }
    for (std::size_t d = 0; d < step.dst.size(); ++d) {
      const TensorDesc& desc = step.op->dst[d];
      Origins made = from;
      if (!isFloatDtype(desc.dtype)) made.clear();
      const bool may_look = isFloatDtype(desc.dtype) && desc.device.isHost();
      if (may_look && (changesFiniteness(step.spec) || desc.bytes() < unwantedBytes(from)))
        made = {{addCandidate(false, {index, static_cast<std::int32_t>(d), false, desc}), false}};
      Origins& origins = origins_[values_.placeOf(step.dst[d]).buffer];
      if (values_.fillsItsBuffer(step.dst[d])) origins.clear();  // else other parts of the buffer keep theirs
      for (const auto& [candidate, allows_infinite] : made) add(candidate, allows_infinite, &origins);
    }
  }

  FiniteChecks take() {
    FiniteChecks checks;
    for (const auto& [candidate, allows_infinite] : wanted_) {
      auto& [is_input, check] = candidates_[candidate];
      check.allows_infinite = allows_infinite;
      (is_input ? checks.inputs : checks.results).push_back(check);
    }
    return checks;
  }

 private:
  // Candidates with whether infinities pass.
  using Origins = std::map<std::size_t, bool>;

  std::size_t addCandidate(bool is_input, const FiniteCheck& check) {
    candidates_.emplace_back(is_input, check);
    return candidates_.size() - 1;
  }

  // Bytes of the values that are not looked at so far.
  std::size_t unwantedBytes(const Origins& origins) const {
    std::size_t bytes = 0;
    for (const auto& [candidate, allows_infinite] : origins)
      bytes += wanted_.count(candidate) == 0 ? candidates_[candidate].second.desc.bytes() : 0;
    return bytes;
  }

  static void add(std::size_t candidate, bool allows_infinite, Origins* to) {
    const auto [at, is_new] = to->emplace(candidate, allows_infinite);
    if (!is_new) at->second = at->second && allows_infinite;
  }

  const PlanValues& values_;
  std::vector<std::pair<bool, FiniteCheck>> candidates_;
  std::map<std::int32_t, Origins> origins_;  // per outermost buffer
  Origins wanted_;
};

class Look {
 public:
  Look(const FiniteCheck& check, AnyAbove any_above, const void* data)
      : desc_(check.desc),
        any_above_(any_above),
        data_(static_cast<const char*>(data)),
        limit_(infinity(check.desc.dtype) - (check.allows_infinite ? 0 : 1)) {}

  bool passes() const {
    if (desc_.dims.count() == 0) return true;
    const std::size_t element = elementBytes(desc_.dtype);
    return fillsItsExtent(desc_) ? run(0, static_cast<std::int64_t>(desc_.bytes() / element)) : rows(0, 0);
  }

 private:
  static std::uint32_t infinity(DType dtype) {
    return dtype == DType::kF32 ? 0x7F800000u : dtype == DType::kBf16 ? 0x7F80u : 0x7C00u;
  }

  bool run(std::int64_t first, std::int64_t count) const {
    const std::size_t element = elementBytes(desc_.dtype);
    return !any_above_(data_ + first * static_cast<std::int64_t>(element), count, element, limit_);
  }

  // Rows along the innermost axis or block, for tensors with gaps between their elements.
  bool rows(int axis, std::int64_t offset) const {
    const bool is_last = axis + 1 == desc_.dims.rank && desc_.block == 0 && desc_.strides[axis] == 1;
    if (is_last) return run(offset, desc_.dims[axis]);
    if (axis == desc_.dims.rank) return run(offset, std::max(1, desc_.block));
    std::int64_t repeats = desc_.dims[axis];
    if (desc_.block > 0 && axis == 1) repeats = (repeats + desc_.block - 1) / desc_.block;
    if (desc_.strides[axis] == 0) repeats = 1;
    for (std::int64_t i = 0; i < repeats; ++i) {
      if (!rows(axis + 1, offset + i * desc_.strides[axis])) return false;
    }
    return true;
  }

  const TensorDesc& desc_;
  AnyAbove any_above_;
  const char* data_;
  std::uint32_t limit_;
};

}  // namespace

FiniteChecks findFiniteChecks(const std::vector<TensorDesc>& inputs, const PlanValues& values,
                              const std::vector<PlanSteps::Step>& steps) {
  const bool is_needed =
      std::any_of(steps.begin(), steps.end(), [](const PlanSteps::Step& step) { return step.op->needs_finite; });
  if (!is_needed) return {};
  Search search(inputs, values);
  for (std::size_t s = 0; s < steps.size(); ++s) search.visit(static_cast<std::int32_t>(s), steps[s]);
  return search.take();
}

bool passes(const FiniteCheck& check, AnyAbove any_above, const void* data) {
  return Look(check, any_above, data).passes();
}

}  // namespace ipex_studio

// Computes values that depend on constants only once, when the plan is made: masks, tables of positions and the like
// that a
// model builds from the sizes of its inputs. The results belong to the plan, not to the cache of packed weights: another
// signature has others.
#include <algorithm>

#include "core/op/prepare.h"
#include "core/plan/plan_compiler.h"

namespace ipex_studio {
namespace {

// More is computed again in every run: it would push the weights out of the caches, or a hostile plan asks for it.
constexpr std::size_t kMaxBytesEach = std::size_t{16} << 20, kMaxBytesPerPlan = std::size_t{64} << 20;

}  // namespace

bool PlanCompiler::mayKeep(std::size_t bytes) const {
  return bytes <= kMaxBytesEach && plan_->computed_bytes_ + bytes <= kMaxBytesPerPlan;
}

bool PlanCompiler::mayFold(const std::vector<std::int32_t>& src, const std::vector<TensorDesc>& dims) const {
  if (src.empty() || !folds_) return false;
  for (const std::int32_t index : src) {
    if (index >= 0 && !isConstant(values_[index])) return false;
  }
  const bool reads = std::any_of(src.begin(), src.end(), [](std::int32_t index) { return index >= 0; });
  std::size_t bytes = 0;
  for (const TensorDesc& desc : dims) bytes += desc.bytes();
  return reads && bytes > 0 && (traced_ != nullptr ? bytes <= kMaxBytesEach : mayKeep(bytes));
}

const void* PlanCompiler::keep(AlignedBuffer buffer) {
  plan_->computed_bytes_ += buffer.bytes();
  plan_->kept_.push_back(std::make_shared<const AlignedBuffer>(std::move(buffer)));
  return plan_->kept_.back()->data();
}

// False, and nothing changed: some source is no constant, the result is large, or the operation fails on this data, which
// is for the run to say.
bool PlanCompiler::foldConstants(const OpSpec& op, const std::vector<std::int32_t>& src,
                                 const std::vector<std::int32_t>& dst, const std::vector<TensorDesc>& dims,
                                 const Label& label) {
  if (!mayFold(src, dims)) return false;
  if (traced_ != nullptr) {
    for (std::size_t d = 0; d < dst.size(); ++d) {
      values_[dst[d]].desc = dims[d];
      values_[dst[d]].computed = true;
    }
    return true;
  }
  PrepareArgs args = prepareArgs(op, src, dims);
  args.constant.assign(src.size(), nullptr);  // nothing is packed for one execution
  const Choice choice = choose(args, true);
  declined_.clear();
  if (!choice.op || choice.op->in_place_src >= 0) return false;
  const PreparedOp& prepared = *choice.op;
  std::vector<const void*> from;
  for (std::size_t s = 0; s < src.size(); ++s) {
    const bool ready =
        src[s] < 0 || values_[src[s]].desc.sameLayout(prepared.src[s]) || isConvertedOnce(src[s], prepared.src[s]);
    if (!ready) return false;
  }
  for (std::size_t s = 0; s < src.size(); ++s) {
    from.push_back(src[s] < 0 ? nullptr : values_[inLayout(src[s], prepared.src[s], label)].constant);
  }
  std::vector<AlignedBuffer> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : prepared.dst) {
    results.emplace_back(desc.bytes());
    to.push_back(results.back().data());
  }
  if (!executeOnce(prepared, from.data(), to.data())) return false;
  for (std::size_t d = 0; d < dst.size(); ++d) {
    const void* constant = keep(std::move(results[d]));
    Value& value = values_[dst[d]];
    value.desc = prepared.dst[d];
    value.constant = constant;
    value.computed = true;
  }
  return true;
}

// `value` becomes another name for the memory of `with`.
void PlanCompiler::joinGroups(std::int32_t value, std::int32_t with) {
  const std::int32_t from = values_[value].group, to = values_[with].group;
  last_use_[to] = std::max(last_use_[to], last_use_[from]);
  for (Value& each : values_) {
    if (each.group == from) each.group = to;
  }
  const std::int32_t buffer = placeOf(values_[with]).buffer;
  if (buffer >= 0) buffers_[buffer].needed_until = std::max(buffers_[buffer].needed_until, last_use_[to]);
}

}  // namespace ipex_studio

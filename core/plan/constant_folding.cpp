// Runs an operation on constants once, on the host, and keeps its results with the plan.
#include "core/plan/constant_folding.h"

#include <algorithm>
#include <utility>

#include "core/op/prepare.h"

namespace ipex_studio {
namespace {

std::size_t bytesOf(const std::vector<TensorDesc>& descs) {
  std::size_t bytes = 0;
  for (const TensorDesc& desc : descs) bytes += desc.bytes();
  return bytes;
}

}  // namespace

bool dependsOnConstants(const PlanValues& values, const SizedOp& op) {
  bool reads = false;
  for (const std::int32_t index : op.src) {
    if (index >= 0 && !values[index].isConstant()) return false;
    reads = reads || index >= 0;
  }
  const std::size_t bytes = reads ? bytesOf(op.dims) : 0;
  return bytes > 0 && bytes <= kMaxComputedBytesEach;
}

bool ConstantFolding::fold(const SizedOp& op) {
  if (!dependsOnConstants(values_, op) || !kept_.mayKeep(bytesOf(op.dims))) return false;
  PrepareArgs args = values_.argsOf(op.op, op.src, op.dims);
  args.constant.assign(op.src.size(), nullptr);  // nothing is packed for one execution
  const KernelChoice choice = chooser_.choose(std::move(args), hostDevice(), true);
  if (!choice || choice.op->in_place_src >= 0) return false;
  const PreparedOp& prepared = *choice.op;
  for (std::size_t s = 0; s < op.src.size(); ++s) {
    const std::int32_t src = op.src[s];
    const bool ready =
        src < 0 || values_[src].desc.sameLayout(prepared.src[s]) || layouts_.isConvertedOnce(src, prepared.src[s]);
    if (!ready) return false;
  }
  std::vector<const void*> from;
  for (std::size_t s = 0; s < op.src.size(); ++s) {
    const std::int32_t src = op.src[s];
    from.push_back(src < 0 ? nullptr : values_[layouts_.inLayout(src, prepared.src[s], op.label)].constant);
  }
  std::vector<Buffer> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : prepared.dst) {
    results.emplace_back(desc.bytes());
    to.push_back(results.back().data());
  }
  if (!executeOnce(prepared, from.data(), to.data())) return false;
  for (std::size_t d = 0; d < op.dst.size(); ++d) {
    PlanValues::Value& value = values_[op.dst[d]];
    value.desc = prepared.dst[d];
    value.constant = kept_.keep(std::move(results[d]));
    value.computed = true;
  }
  return true;
}

}  // namespace ipex_studio

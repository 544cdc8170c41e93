#include "kernels/xpu/device_chain.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "kernels/common/loop_nest.h"

namespace ipex_studio {
namespace {

// The farthest that a number in a program goes, with room for the last 16 elements.
constexpr std::int64_t kFarthest = std::numeric_limits<std::int32_t>::max() - 64;

}  // namespace

std::int32_t ChainBuilder::walk(std::int32_t source, const TensorDesc& desc) {
  tensors_.push_back(desc);
  sources_.push_back(source);
  return static_cast<std::int32_t>(tensors_.size()) - 1;
}

void ChainBuilder::apply(const PostOp& op, std::int32_t tensor) {
  ops_.push_back(
      {static_cast<std::int32_t>(op.kind), tensor, static_cast<float>(op.alpha), static_cast<float>(op.beta)});
}

void ChainBuilder::applyPostOps(const PrepareArgs& args, std::int32_t first_operand) {
  const auto first_tensor = static_cast<std::int32_t>(tensors_.size());
  const auto operands = static_cast<std::int32_t>(args.src.size()) - first_operand;
  for (std::int32_t k = 0; k < operands; ++k)
    walk(first_operand + k, args.src[static_cast<std::size_t>(first_operand + k)]);
  for (const PostOp& op : args.spec.post_ops) apply(op, isBinary(op.kind) ? first_tensor + op.operand : 0);
}

bool ChainBuilder::finish(ChainJob* job, std::string* reason) const {
  LoopNest nest;
  *reason = "post-ops";
  if (tensors_.size() > DeviceChain::kMaxTensors || ops_.size() > DeviceChain::kMaxOps) return false;
  *reason = "dtype";
  if (!std::all_of(tensors_.begin(), tensors_.end(), [](const TensorDesc& each) { return isInChains(each.dtype); }))
    return false;
  *reason = "layout";
  if (!std::all_of(tensors_.begin(), tensors_.end(), fitsDevice) || !makeLoopNest(tensors_, &nest)) return false;
  if (nest.loops() > DeviceChain::kMaxLoops) return false;
  DeviceChain& chain = job->chain;
  chain.loops = nest.loops();
  chain.elements = static_cast<std::int32_t>(nest.count());
  chain.ops = static_cast<std::int32_t>(ops_.size());
  for (int loop = 0; loop < nest.loops(); ++loop) {
    const auto l = static_cast<std::size_t>(loop);
    chain.size[loop] = static_cast<std::int32_t>(nest.size[l]);
    for (std::size_t t = 0; t < tensors_.size(); ++t)
      chain.stride[t][loop] = static_cast<std::int32_t>(nest.stride[t][l]);
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) chain.type[t] = deviceType(tensors_[t].dtype);
  std::copy(ops_.begin(), ops_.end(), chain.op);
  job->sources = sources_;
  reason->clear();
  return true;
}

std::int32_t deviceType(DType dtype) {
  const auto* const found = std::find(std::begin(kDeviceTypes), std::end(kDeviceTypes), dtype);
  return found == std::end(kDeviceTypes) ? -1 : static_cast<std::int32_t>(found - kDeviceTypes);
}

bool isInChains(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16 || dtype == DType::kU8 ||
         dtype == DType::kS8;
}

bool allF32(const PrepareArgs& args) {
  const auto fits = [](const TensorDesc& desc) { return desc.absent() || desc.dtype == DType::kF32; };
  return std::all_of(args.src.begin(), args.src.end(), fits) && std::all_of(args.dst.begin(), args.dst.end(), fits);
}

bool allInChains(const PrepareArgs& args) {
  const auto fits = [](const TensorDesc& desc) { return desc.absent() || isInChains(desc.dtype); };
  return std::all_of(args.src.begin(), args.src.end(), fits) && std::all_of(args.dst.begin(), args.dst.end(), fits);
}

bool fitsDevice(const TensorDesc& desc) {
  return desc.block == 0 && static_cast<std::int64_t>(desc.bytes() / elementBytes(desc.dtype)) < kFarthest;
}

}  // namespace ipex_studio

// See loop_nest.h.
#include "kernels/common/loop_nest.h"

#include <algorithm>
#include <numeric>

namespace ipex_studio {
namespace {

using Ints = std::vector<std::int64_t>;

// Sets the strides of `tensor` (already of the leader's rank) over the leader's loops in logical order, block loop
// last; false if its block does not fit the leader's.
bool stridesAlong(const TensorDesc& leader, const TensorDesc& tensor, Ints* strides) {
  const std::int32_t block = leader.block;
  strides->clear();
  for (int axis = 0; axis < leader.dims.rank; ++axis) {
    const bool broadcast = tensor.dims[axis] == 1;
    const bool plain_channels = block > 0 && axis == 1 && tensor.block == 0;
    strides->push_back(broadcast ? 0 : tensor.strides[axis] * (plain_channels ? block : 1));
  }
  if (block == 0) return tensor.block == 0;
  const bool one_channel = tensor.dims[1] == 1;
  if (tensor.block == block) {
    strides->push_back(one_channel && leader.dims[1] != 1 ? 0 : 1);
    return true;
  }
  if (tensor.block != 0) return false;
  strides->push_back(one_channel ? 0 : tensor.strides[1]);
  return one_channel || leader.dims[1] % block == 0;
}

void dropUnitLoops(LoopNest* nest) {
  for (int loop = nest->loops() - 1; loop >= 0 && nest->loops() > 1; --loop) {
    if (nest->size[loop] != 1) continue;
    nest->size.erase(nest->size.begin() + loop);
    for (Ints& strides : nest->stride) strides.erase(strides.begin() + loop);
  }
}

void mergeLoops(LoopNest* nest) {
  for (int loop = nest->loops() - 2; loop >= 0; --loop) {
    const bool runs_on = std::all_of(nest->stride.begin(), nest->stride.end(),
                                     [&](const Ints& s) { return s[loop] == s[loop + 1] * nest->size[loop + 1]; });
    if (!runs_on) continue;
    nest->size[loop] *= nest->size[loop + 1];
    nest->size.erase(nest->size.begin() + loop + 1);
    for (Ints& strides : nest->stride) {
      strides[loop] = strides[loop + 1];
      strides.erase(strides.begin() + loop + 1);
    }
  }
}

void orderLoops(LoopNest* nest) {
  std::vector<int> order(nest->size.size());
  std::iota(order.begin(), order.end(), 0);
  const Ints& leader = nest->stride[0];
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return leader[a] > leader[b]; });
  const auto reorder = [&](const Ints& values) {
    Ints sorted;
    for (const int loop : order) sorted.push_back(values[loop]);
    return sorted;
  };
  const Ints size = reorder(nest->size);
  for (Ints& strides : nest->stride) strides = reorder(strides);
  nest->size = size;
}

}  // namespace

std::int64_t LoopNest::count() const {
  return std::accumulate(size.begin(), size.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
}

std::int64_t LoopNest::offset(int tensor, std::int64_t position, int upto) const {
  std::int64_t sum = 0;
  for (int loop = upto - 1; loop >= 0; --loop) {
    sum += position % size[loop] * stride[tensor][loop];
    position /= size[loop];
  }
  return sum;
}

bool makeLoopNest(const std::vector<TensorDesc>& tensors, LoopNest* nest) {
  const TensorDesc& leader = tensors[0];
  *nest = LoopNest();
  for (int axis = 0; axis < leader.dims.rank; ++axis) {
    const bool blocked = leader.block > 0 && axis == 1;
    nest->size.push_back(blocked ? (leader.dims[axis] + leader.block - 1) / leader.block : leader.dims[axis]);
  }
  if (leader.block > 0) nest->size.push_back(leader.block);
  if (nest->size.empty()) nest->size.push_back(1);
  for (const TensorDesc& tensor : tensors) {
    Ints strides;
    if (!stridesAlong(leader, alignRank(tensor, leader.dims.rank), &strides)) return false;
    strides.resize(nest->size.size(), 1);  // scalars
    nest->stride.push_back(strides);
  }
  // The leader's own axes of size 1 carry no stride to sort by; they go first.
  dropUnitLoops(nest);
  if (nest->size == Ints{1}) {
    for (Ints& strides : nest->stride) strides = {1};
  }
  orderLoops(nest);
  mergeLoops(nest);
  return true;
}

TensorDesc alignRank(const TensorDesc& desc, int rank) {
  const int shift = rank - desc.dims.rank;
  TensorDesc aligned = desc;
  aligned.dims.rank = aligned.strides.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    aligned.dims[axis] = axis < shift ? 1 : desc.dims[axis - shift];
    aligned.strides[axis] = axis < shift ? 0 : desc.strides[axis - shift];
  }
  return aligned;
}

bool isDenseLayout(const TensorDesc& desc) {
  if (desc.block > 0) return desc.sameLayout(blockedDesc(desc.dtype, desc.dims, desc.block));
  return desc.isContiguous() || desc.isChannelsLast();
}

TensorDesc laidOutLike(const TensorDesc& like, DType dtype, const Dims& dims) {
  if (like.block > 0) return blockedDesc(dtype, dims, like.block);
  return like.isContiguous() ? contiguousDesc(dtype, dims) : channelsLastDesc(dtype, dims);
}

}  // namespace ipex_studio

// Concatenation in place: a source that fills a buffer of its own in the layout of its slice makes that buffer a part
// of the result's, so that the step that computes the source writes it into its place. A run of sources that already
// lie side by side, as growing concatenations leave them, moves as one. Sources that cannot (inputs, constants, views,
// other layouts, the same value twice) are copied or reordered into their slices.
#include "core/plan/plan_concat.h"

#include <algorithm>

namespace ipex_studio {
namespace {

// True if a reorder from any layout can write this slice.
bool isWritable(const TensorDesc& slice) {
  return slice.block == 0 || slice.sameLayout(blockedDesc(slice.dtype, slice.dims, slice.block));
}

// The end of the run of sources from `first` on that fills a whole buffer in the order and distances of its slices;
// `first` if there is no such run.
std::size_t endOfRun(const PlanValues& values, const std::vector<std::int32_t>& ready,
                     const std::vector<ConcatSlice>& slices, std::size_t first) {
  if (ready[first] < 0 || values[ready[first]].constant != nullptr) return first;
  const std::int32_t buffer = values.placeOf(ready[first]).buffer;
  if (buffer < 0 || values.buffer(buffer).home != SlotHome::kArena) return first;
  std::size_t covered = 0;
  for (std::size_t s = first; s < ready.size() && ready[s] >= 0 && values[ready[s]].constant == nullptr; ++s) {
    const PlanValues::Place place = values.placeOf(ready[s]);
    const auto distance = static_cast<std::size_t>(slices[s].offset - slices[first].offset);
    if (place.buffer != buffer || place.offset != static_cast<std::int64_t>(covered) || distance != covered)
      return first;
    covered += values[ready[s]].desc.bytes();
    if (covered == values.buffer(buffer).bytes) return s + 1;
  }
  return first;
}

}  // namespace

std::vector<ConcatSlice> concatSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src) {
  const int axis = wrappedAxis(op.intOr("axis", 0), whole.dims.rank);
  const bool cuts_blocks = whole.block > 0 && axis == 1;
  std::vector<ConcatSlice> slices;
  std::int64_t begin = 0;
  for (const TensorDesc& x : src) {
    if (cuts_blocks && x.dims[1] % whole.block != 0) return {};
    ConcatSlice slice{whole, (cuts_blocks ? begin / whole.block : begin) * whole.strides[axis] *
                                 static_cast<std::int64_t>(elementBytes(whole.dtype))};
    slice.desc.dims = x.dims;
    slices.push_back(slice);
    begin += x.dims[axis];
  }
  return slices;
}

bool fillSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src) {
  const std::vector<ConcatSlice> slices = concatSlices(op, whole, src);
  bool fill = !slices.empty();
  for (std::size_t s = 0; s < slices.size(); ++s) fill = fill && slices[s].desc.sameLayout(src[s]);
  return fill;
}

bool placeInSlices(const PreparedOp& prepared, const SizedOp& concat, PlanValues& values, PlanLayouts& layouts) {
  const TensorDesc whole = prepared.dst[0];
  const std::vector<std::int32_t>& src = concat.src;
  const std::int32_t dst = concat.dst[0];
  const std::vector<ConcatSlice> slices = concatSlices(concat.op, whole, values.descsOf(src));
  if (whole.bytes() == 0 || slices.empty()) return false;
  std::vector<std::int32_t> ready;
  bool saves = false;
  for (std::size_t s = 0; s < src.size(); ++s) {
    ready.push_back(values.knownInLayout(src[s], slices[s].desc));
    const bool reordered = values.knownInLayout(src[s], prepared.src[s]) < 0;
    if (reordered && !isWritable(slices[s].desc)) return false;
    if (ready[s] < 0 && !layouts.canWrite(src[s], slices[s].desc)) return false;
    saves = saves || reordered;
  }
  for (std::size_t s = 0; s < src.size() && !saves; ++s) saves = endOfRun(values, ready, slices, s) > s;
  if (!saves) return false;

  const std::int32_t buffer = values.newBuffer(whole.bytes(), whole.device);
  std::int32_t needed_until = values.lastUse(dst);
  for (std::size_t s = 0; s < src.size();) {
    const std::size_t end = endOfRun(values, ready, slices, s);
    if (end > s) {
      values.makePart(values.placeOf(ready[s]).buffer, buffer, slices[s].offset);
      for (; s < end; ++s) needed_until = std::max(needed_until, values.lastUse(src[s]));
      continue;
    }
    const std::int32_t made = layouts.reorderStep(ready[s] >= 0 ? ready[s] : src[s], slices[s].desc, concat.label);
    values.makePart(values[made].buffer, buffer, slices[s++].offset);
  }
  values.buffer(buffer).needed_until = std::max(values.buffer(buffer).needed_until, needed_until);
  values[dst].desc = whole;
  values[dst].buffer = buffer;
  values[dst].offset = 0;
  return true;
}

}  // namespace ipex_studio

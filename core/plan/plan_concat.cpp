// Concatenation without copying: where a source fills a buffer of its own in the layout that its slice of the result
// has, that buffer becomes a part of the result's, so that whoever computes the source writes it into its place. Whole
// runs of sources that lie side by side already, as growing concatenations leave them, move as one. Sources that cannot
// (inputs, constants, views, other layouts, the same value twice) are copied or reordered into their slices.
#include "core/plan/plan_concat.h"

#include <algorithm>
#include <utility>

#include "core/plan/plan_compiler.h"

namespace ipex_studio {
namespace {

// True if a reorder from any layout can write this slice.
bool isWritable(const TensorDesc& slice) {
  return slice.block == 0 || slice.sameLayout(blockedDesc(slice.dtype, slice.dims, slice.block));
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

PlanCompiler::Place PlanCompiler::placeOf(const Value& value) const {
  Place place{value.buffer, value.offset};
  while (place.buffer >= 0 && buffers_[place.buffer].parent >= 0) {
    place.offset += buffers_[place.buffer].offset;
    place.buffer = buffers_[place.buffer].parent;
  }
  return place;
}

bool PlanCompiler::fillsItsBuffer(const Value& value) const {
  const Place place = placeOf(value);
  return value.constant == nullptr && place.buffer >= 0 && place.offset == 0 &&
         buffers_[place.buffer].home == Plan::Home::kArena && buffers_[place.buffer].bytes == value.desc.bytes();
}

// The value, or a copy of it that was made before, in this layout; -1: there is none.
std::int32_t PlanCompiler::knownInLayout(std::int32_t index, const TensorDesc& wanted) const {
  if (values_[index].desc.sameLayout(wanted)) return index;
  for (std::int32_t copy : values_[index].copies) {
    if (values_[copy].desc.sameLayout(wanted)) return copy;
  }
  return -1;
}

// Sources [first, end) fill a buffer together in the order and distances of their slices; end == first: they do not.
std::size_t PlanCompiler::endOfRun(const std::vector<std::int32_t>& ready, const std::vector<ConcatSlice>& slices,
                                   std::size_t first) const {
  if (ready[first] < 0 || values_[ready[first]].constant != nullptr) return first;
  const std::int32_t buffer = placeOf(values_[ready[first]]).buffer;
  if (buffer < 0 || buffers_[buffer].home != Plan::Home::kArena) return first;
  std::size_t covered = 0;
  for (std::size_t s = first; s < ready.size() && ready[s] >= 0 && values_[ready[s]].constant == nullptr; ++s) {
    const Place place = placeOf(values_[ready[s]]);
    const auto distance = static_cast<std::size_t>(slices[s].offset - slices[first].offset);
    if (place.buffer != buffer || place.offset != static_cast<std::int64_t>(covered) || distance != covered)
      return first;
    covered += values_[ready[s]].desc.bytes();
    if (covered == buffers_[buffer].bytes) return s + 1;
  }
  return first;
}

void PlanCompiler::makePart(std::int32_t part, std::int32_t whole, std::int64_t offset) {
  buffers_[part].parent = whole;
  buffers_[part].offset = offset;
  buffers_[whole].needed_until = std::max(buffers_[whole].needed_until, buffers_[part].needed_until);
}

bool PlanCompiler::placeInSlices(const PreparedOp& concat, const OpSpec& op, const std::vector<std::int32_t>& src,
                                 std::int32_t dst, const Label& label) {
  const TensorDesc whole = concat.dst[0];
  std::vector<TensorDesc> given;
  for (std::int32_t value : src) {
    given.push_back(values_[value].desc);
  }
  const std::vector<ConcatSlice> slices = concatSlices(op, whole, given);
  if (whole.bytes() == 0 || slices.empty()) return false;
  std::vector<std::int32_t> ready;
  bool saves = false;
  for (std::size_t s = 0; s < src.size(); ++s) {
    ready.push_back(knownInLayout(src[s], slices[s].desc));
    const bool reordered = knownInLayout(src[s], concat.src[s]) < 0;
    if (reordered && !isWritable(slices[s].desc)) return false;
    saves = saves || reordered;
  }
  for (std::size_t s = 0; s < src.size() && !saves; ++s) saves = endOfRun(ready, slices, s) > s;
  if (!saves) return false;

  const std::int32_t buffer = newBuffer(whole.bytes());
  std::int32_t needed_until = last_use_[values_[dst].group];
  for (std::size_t s = 0; s < src.size();) {
    const std::size_t end = endOfRun(ready, slices, s);
    if (end > s) {
      makePart(placeOf(values_[ready[s]]).buffer, buffer, slices[s].offset);
      for (; s < end; ++s) needed_until = std::max(needed_until, last_use_[values_[src[s]].group]);
      continue;
    }
    const std::int32_t made = reorderStep(ready[s] >= 0 ? ready[s] : src[s], slices[s].desc, label);
    makePart(values_[made].buffer, buffer, slices[s++].offset);
  }
  buffers_[buffer].needed_until = std::max(buffers_[buffer].needed_until, needed_until);
  values_[dst].desc = whole;
  values_[dst].buffer = buffer;
  values_[dst].offset = 0;
  return true;
}

}  // namespace ipex_studio

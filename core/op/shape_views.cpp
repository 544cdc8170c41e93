// The rules of views: destination sizes, and strides over the source's memory where a view exists.
#include "core/op/shape_views.h"

#include <algorithm>
#include <iterator>

namespace ipex_studio {
namespace {

using Ints = std::vector<std::int64_t>;

// Maps -rank <= axis < rank to 0 <= axis < rank; -1 if out of range.
int wrapAxis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return -1;
  return wrappedAxis(axis, rank);
}

Verdict flattenDims(const OpSpec& spec, const Dims& x, Dims* y) {
  const std::int64_t begin = spec.intOr("flatten_begin", 0);
  const std::int64_t end = spec.intOr("flatten_end", 0);
  if (begin < 0 || end < begin || end >= std::max(x.rank, 1)) return Verdict::no("the flattened dimensions are wrong");
  if (x.rank == 0) *y = Dims{1};
  for (int axis = 0; axis < x.rank; ++axis) {
    if (axis > begin && axis <= end) {
      (*y)[y->rank - 1] *= x[axis];
    } else {
      (*y)[y->rank++] = x[axis];
    }
  }
  return Verdict::yes();
}

Verdict reshapeDims(const OpSpec& spec, const Dims& x, Dims* y) {
  if (spec.has("flatten_begin")) return flattenDims(spec, x, y);
  if (spec.has("split_last")) {
    const std::int64_t parts = spec.intOr("split_last", 0);
    if (parts < 1 || x.rank < 1 || x.rank >= kMaxRank || x[x.rank - 1] % parts != 0)
      return Verdict::no("the last dimension cannot be split so");
    *y = x;
    (*y)[y->rank - 1] /= parts;
    (*y)[y->rank++] = parts;
    return Verdict::yes();
  }
  const Ints shape = spec.ints("shape");
  if (shape.size() > kMaxRank) return Verdict::no("the shape has too many dimensions");
  *y = Dims(shape);
  int open = -1;
  std::int64_t known = 1;
  const std::int64_t count = x.count();
  for (int axis = 0; axis < y->rank; ++axis) {
    const std::int64_t size = (*y)[axis];
    if (size == -1 && open < 0) {
      open = axis;
    } else if (size < 0 || (size > 0 && known > (std::int64_t{1} << 40) / size)) {
      return Verdict::no("the shape is wrong");
    } else {
      known *= size;
    }
  }
  if (open >= 0) {
    if (known == 0 || count % known != 0) return Verdict::no("the open size cannot be found");
    (*y)[open] = count / known;
    known *= (*y)[open];
  }
  return known == count ? Verdict::yes() : Verdict::no("the shape has another number of elements");
}

Verdict permuteDims(const OpSpec& spec, const Dims& x, Dims* y) {
  const Ints order = spec.ints("order");
  if (static_cast<int>(order.size()) != x.rank) return Verdict::no("the order has the wrong length");
  std::vector<bool> seen(kMaxRank, false);
  y->rank = x.rank;
  for (int axis = 0; axis < x.rank; ++axis) {
    const int from = wrapAxis(order[axis], x.rank);
    if (from < 0 || seen[from]) return Verdict::no("the order is no permutation");
    seen[from] = true;
    (*y)[axis] = x[from];
  }
  return Verdict::yes();
}

struct SliceRange {
  int axis;
  std::int64_t begin, end, step;
};

// Reads one of `parts` equal pieces of a dimension (aten::chunk), or one of the `parts` pieces of `part_size` that fill
// it (aten::split); the last may be smaller.
Verdict readPart(const OpSpec& spec, std::int64_t size, SliceRange* range) {
  const std::int64_t parts = spec.intOr("parts", 0);
  const std::int64_t part = spec.intOr("part", 0);
  if (parts < 1 || parts > (1 << 20) || part < 0 || part >= parts) return Verdict::no("the number of parts is wrong");
  const std::int64_t whole = std::max<std::int64_t>(size, 1);
  const std::int64_t given = spec.has("part_size") ? spec.intOr("part_size", 0) : (whole + parts - 1) / parts;
  const std::int64_t each = std::min(given, whole);
  if (each < 1 || (whole + each - 1) / each != parts)
    return Verdict::no("the dimension falls into another number of parts");
  range->begin = std::min(part * each, size);
  range->end = std::min(range->begin + each, size);
  return Verdict::yes();
}

// Reads begin, end and step, clamped as Python does.
Verdict readSlice(const OpSpec& spec, const Dims& x, SliceRange* range) {
  range->axis = wrapAxis(spec.intOr("axis", 0), x.rank);
  range->step = spec.intOr("step", 1);
  if (range->axis < 0 || range->step < 1) return Verdict::no("axis or step are wrong");
  const std::int64_t size = x[range->axis];
  if (spec.has("of") && spec.intOr("of", 0) != size) return Verdict::no("the dimension was split at another size");
  if (size < spec.intOr("least", 0)) return Verdict::no("the dimension is too small");
  if (spec.intOr("forward", 0) != 0 && spec.intOr("begin", 0) < 0) return Verdict::no("the slice begins before zero");
  if (spec.has("parts")) return readPart(spec, size, range);
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  range->begin = clamp(spec.intOr("begin", 0));
  range->end = std::max(clamp(spec.intOr("end", size)), range->begin);
  return Verdict::yes();
}

Verdict sliceDims(const OpSpec& spec, const Dims& x, Dims* y) {
  SliceRange range{};
  const Verdict read = readSlice(spec, x, &range);
  if (!read.ok) return read;
  *y = x;
  (*y)[range.axis] = range.end > range.begin ? (range.end - range.begin - 1) / range.step + 1 : 0;
  return Verdict::yes();
}

void dropAxis(Dims* dims, int axis) {
  for (int a = axis; a + 1 < dims->rank; ++a) (*dims)[a] = (*dims)[a + 1];
  --dims->rank;
}

void insertAxis(Dims* dims, int axis, std::int64_t value) {
  for (int a = dims->rank; a > axis; --a) (*dims)[a] = (*dims)[a - 1];
  (*dims)[axis] = value;
  ++dims->rank;
}

Verdict selectDims(const OpSpec& spec, const Dims& x, Dims* y) {
  const int axis = wrapAxis(spec.intOr("axis", 0), x.rank);
  if (axis < 0) return Verdict::no("axis is out of range");
  const std::int64_t index = spec.intOr("index", 0);
  if (index < -x[axis] || index >= x[axis]) return Verdict::no("index is out of range");
  if (spec.has("of") && spec.intOr("of", 0) != x[axis])
    return Verdict::no("the dimension was taken apart at another size");
  *y = x;
  dropAxis(y, axis);
  return Verdict::yes();
}

Verdict expandDims(const OpSpec& spec, const Dims& x, Dims* y) {
  const Ints shape = spec.ints("shape");
  if (shape.size() > kMaxRank || static_cast<int>(shape.size()) < x.rank)
    return Verdict::no("the shape is too short or too long");
  *y = Dims(shape);
  const int lead = y->rank - x.rank;
  for (int axis = 0; axis < y->rank; ++axis) {
    const std::int64_t have = axis < lead ? 1 : x[axis - lead];
    if ((*y)[axis] == -1 && axis >= lead) (*y)[axis] = have;
    if ((*y)[axis] < 0 || (have != 1 && (*y)[axis] != have))
      return Verdict::no("the source does not expand to the shape");
  }
  return Verdict::yes();
}

Verdict squeezeDims(const OpSpec& spec, const Dims& x, Dims* y) {
  std::vector<bool> drop(kMaxRank, false);
  if (!spec.has("axes")) {
    for (int axis = 0; axis < x.rank; ++axis) drop[axis] = x[axis] == 1;
  }
  for (std::int64_t given : spec.ints("axes")) {
    const int axis = wrapAxis(given, x.rank);
    if (axis < 0) return Verdict::no("axis is out of range");
    drop[axis] = x[axis] == 1;
  }
  y->rank = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (!drop[axis]) (*y)[y->rank++] = x[axis];
  }
  if (spec.has("rank") && spec.intOr("rank", 0) != y->rank) return Verdict::no("other dimensions have the size 1 now");
  return Verdict::yes();
}

Verdict unsqueezeDims(const OpSpec& spec, const Dims& x, Dims* y) {
  const int axis = wrapAxis(spec.intOr("axis", 0), x.rank + 1);
  if (axis < 0 || x.rank >= kMaxRank) return Verdict::no("axis is out of range");
  *y = x;
  insertAxis(y, axis, 1);
  return Verdict::yes();
}

// The step, at most the size of the dimension: a longer one is never taken, and its product with a stride might
// overflow.
std::int64_t stepWithin(const SliceRange& range, const Dims& x) {
  return std::min(range.step, std::max<std::int64_t>(x[range.axis], 1));
}

// Slices of a channel-blocked source stay views as long as they cut between blocks.
bool sliceBlocked(const SliceRange& range, const TensorDesc& src, TensorDesc* view, std::int64_t* offset_elements) {
  if (range.axis != 1) {
    *offset_elements = range.begin * src.strides[range.axis];
    view->strides[range.axis] *= stepWithin(range, src.dims);
    return true;
  }
  const bool whole_blocks =
      range.step == 1 && range.begin % src.block == 0 && (range.end % src.block == 0 || range.end == src.dims[1]);
  *offset_elements = range.begin / src.block * src.strides[1];
  return whole_blocks;
}

// Computes the strides under which `src` is seen with `dims`, by merging and splitting runs of dimensions that lie
// densely in each other. Returns false if a run would have to be copied.
bool reshapeStrides(const TensorDesc& src, const Dims& dims, Dims* strides) {
  strides->rank = dims.rank;
  if (src.dims.count() == 0) {
    *strides = contiguousDesc(src.dtype, dims).strides;
    return true;
  }
  int to = dims.rank - 1;
  for (int from = src.dims.rank - 1; from >= 0;) {
    // One run: source dims [begin, from] that form one dense block.
    std::int64_t run = src.dims[from];
    const std::int64_t unit = src.strides[from];
    int begin = from;
    while (begin > 0 && (src.dims[begin - 1] == 1 || run == 1 || src.strides[begin - 1] == run * unit)) {
      if (run == 1 && src.dims[begin - 1] != 1) break;
      run *= src.dims[--begin];
    }
    std::int64_t stride = unit;
    std::int64_t filled = 1;
    while (to >= 0 && (filled < run || dims[to] == 1)) {
      (*strides)[to] = stride;
      stride *= dims[to];
      filled *= dims[to--];
    }
    if (filled != run) return false;
    from = begin - 1;
  }
  while (to >= 0 && dims[to] == 1) (*strides)[to--] = 1;
  return to < 0;
}

// On entry `view` has the sizes of the result and the strides of the source. A rule returns false if a copy is needed.
bool reshapeView(const OpSpec&, const TensorDesc& src, TensorDesc* view, std::int64_t*) {
  return reshapeStrides(src, view->dims, &view->strides);
}

bool permuteView(const OpSpec& spec, const TensorDesc& src, TensorDesc* view, std::int64_t*) {
  const Ints order = spec.ints("order");
  const int rank = src.dims.rank;
  for (int axis = 0; axis < rank; ++axis) view->strides[axis] = src.strides[wrapAxis(order[axis], rank)];
  return true;
}

bool sliceView(const OpSpec& spec, const TensorDesc& src, TensorDesc* view, std::int64_t* offset_elements) {
  SliceRange range{};
  readSlice(spec, src.dims, &range);
  *offset_elements = range.begin * src.strides[range.axis];
  view->strides[range.axis] *= stepWithin(range, src.dims);
  return true;
}

bool selectView(const OpSpec& spec, const TensorDesc& src, TensorDesc* view, std::int64_t* offset_elements) {
  const int axis = wrapAxis(spec.intOr("axis", 0), src.dims.rank);
  const std::int64_t index = spec.intOr("index", 0);
  *offset_elements = (index < 0 ? index + src.dims[axis] : index) * src.strides[axis];
  dropAxis(&view->strides, axis);
  return true;
}

bool expandView(const OpSpec&, const TensorDesc& src, TensorDesc* view, std::int64_t*) {
  const int lead = view->dims.rank - src.dims.rank;
  view->strides.rank = view->dims.rank;
  for (int axis = 0; axis < view->dims.rank; ++axis) {
    const bool grown = axis < lead || src.dims[axis - lead] != view->dims[axis];
    view->strides[axis] = grown ? 0 : src.strides[axis - lead];
  }
  return true;
}

bool unsqueezeView(const OpSpec& spec, const TensorDesc& src, TensorDesc* view, std::int64_t*) {
  insertAxis(&view->strides, wrapAxis(spec.intOr("axis", 0), src.dims.rank + 1), 1);
  return true;
}

struct ViewRule {
  OpKind kind;
  Verdict (*dims)(const OpSpec& spec, const Dims& x, Dims* y);
  bool (*view)(const OpSpec& spec, const TensorDesc& src, TensorDesc* view, std::int64_t* offset_elements);
};
constexpr ViewRule kViewRules[] = {
    {OpKind::kReshape, reshapeDims, reshapeView}, {OpKind::kPermute, permuteDims, permuteView},
    {OpKind::kSlice, sliceDims, sliceView},       {OpKind::kSelect, selectDims, selectView},
    {OpKind::kExpand, expandDims, expandView},    {OpKind::kUnsqueeze, unsqueezeDims, unsqueezeView},
    {OpKind::kSqueeze, squeezeDims, reshapeView},
};

const ViewRule* viewRule(OpKind kind) {
  const auto found = std::find_if(std::begin(kViewRules), std::end(kViewRules),
                                  [kind](const ViewRule& rule) { return rule.kind == kind; });
  return found == std::end(kViewRules) ? nullptr : found;
}

}  // namespace

Verdict viewDims(const OpSpec& spec, const Dims& x, Dims* y) {
  *y = Dims();
  const ViewRule* rule = viewRule(spec.kind);
  return rule == nullptr ? Verdict::no("not a view") : rule->dims(spec, x, y);
}

bool viewOf(const OpSpec& spec, const TensorDesc& src, const TensorDesc& dst_dims, TensorDesc* view,
            std::int64_t* offset_elements) {
  *view = src;
  view->dims = dst_dims.dims;
  *offset_elements = 0;
  if (src.block != 0) {
    SliceRange range{};
    return spec.kind == OpKind::kSlice && readSlice(spec, src.dims, &range).ok &&
           sliceBlocked(range, src, view, offset_elements);
  }
  const ViewRule* rule = viewRule(spec.kind);
  return rule != nullptr && rule->view(spec, src, view, offset_elements);
}

}  // namespace ipex_studio

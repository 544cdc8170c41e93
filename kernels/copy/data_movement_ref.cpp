// Concatenation, look-ups and views as their definitions say. Indices out of range give NaN rather than foreign memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "core/op/woq_weights.h"
#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool inside(double index, std::int64_t size) { return index >= 0 && index < static_cast<double>(size); }

// Entry `e` of a table's row; scaled_rows=1: the bytes of scale and offset follow the row's integers.
double entryAt(const RefCall& call, const RefTensor& table, double index, std::int64_t e) {
  if (!inside(index, table.dims[0])) return kNan;
  const double* const row = table.data + static_cast<std::int64_t>(index) * table.dims[1];
  if (call.spec.intOr("scaled_rows", 0) == 0) return row[e];
  float parameters[2];
  std::uint8_t bytes[kRowParameterBytes];
  for (std::int64_t b = 0; b < kRowParameterBytes; ++b)
    bytes[b] = static_cast<std::uint8_t>(row[table.dims[1] - kRowParameterBytes + b]);
  std::memcpy(parameters, bytes, sizeof parameters);
  return static_cast<double>(parameters[0]) * row[e] + static_cast<double>(parameters[1]);
}

}  // namespace

void refConcat(const RefCall& call) {
  const RefTensor& y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), y.dims.rank);
  std::int64_t begin = 0;
  for (const RefTensor& x : call.src) {
    forEachIndex(x.dims, [&](const Dims& at) {
      Dims to = at;
      to[axis] += begin;
      y(to) = x(at);
    });
    begin += x.dims[axis];
  }
}

void refEmbedding(const RefCall& call) {
  const RefTensor &ids = call.src[0], &table = call.src[1], &y = call.dst[0];
  const std::int64_t width = y.dims[y.dims.rank - 1];
  for (std::int64_t i = 0; i < ids.dims.count(); ++i) {
    for (std::int64_t e = 0; e < width; ++e) y.data[i * width + e] = entryAt(call, table, ids.data[i], e);
  }
}

void refEmbeddingBag(const RefCall& call) {
  const RefTensor &ids = call.src[0], &offsets = call.src[1], &table = call.src[2], &y = call.dst[0];
  const std::int64_t width = y.dims[1], bags = y.dims[0], count = ids.dims.count();
  const bool mean = call.spec.stringOr("mode", "sum") == "mean";
  for (std::int64_t b = 0; b < bags; ++b) {
    const double first = offsets.data[b];
    const double last = b + 1 < offsets.dims[0] ? offsets.data[b + 1] : static_cast<double>(count);
    const auto begin = static_cast<std::int64_t>(std::clamp(first, 0.0, static_cast<double>(count)));
    const auto end =
        static_cast<std::int64_t>(std::clamp(last, static_cast<double>(begin), static_cast<double>(count)));
    for (std::int64_t e = 0; e < width; ++e) {
      double sum = 0;
      for (std::int64_t i = begin; i < end; ++i) sum += entryAt(call, table, ids.data[i], e);
      y.data[b * width + e] = mean && end > begin ? sum / static_cast<double>(end - begin) : sum;
    }
  }
}

void refGather(const RefCall& call) {
  const RefTensor &x = call.src[0], &index = call.src[1], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), x.dims.rank), picked = index.dims.rank;
  const bool wraps = call.spec.intOr("wrap", 0) != 0;
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from, which;
    from.rank = x.dims.rank;
    which.rank = picked;
    for (int a = 0; a < picked; ++a) which[a] = at[axis + a];
    for (int a = 0; a < x.dims.rank; ++a) from[a] = a < axis ? at[a] : at[std::max(0, a + picked - 1)];
    const double given = index(which), row = wraps && given < 0 ? given + static_cast<double>(x.dims[axis]) : given;
    from[axis] = static_cast<std::int64_t>(row);
    y(at) = inside(row, x.dims[axis]) ? x(from) : kNan;
  });
}

void refGatherElements(const RefCall& call) {
  const RefTensor &x = call.src[0], &index = call.src[1], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), x.dims.rank);
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from = at;
    from[axis] = static_cast<std::int64_t>(index(at));
    y(at) = inside(index(at), x.dims[axis]) ? x(from) : kNan;
  });
}

void refCopy(const RefCall& call) {
  std::copy(call.src[0].data, call.src[0].data + call.src[0].dims.count(), call.dst[0].data);
}

void refScatterElements(const RefCall& call) {
  const RefTensor &x = call.src[0], &index = call.src[1], &updates = call.src[2], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), x.dims.rank);
  const bool slices = index.dims.rank != x.dims.rank;
  const std::string reduction = call.spec.stringOr("reduction", "");
  refCopy(call);
  std::set<const double*> begun;  // places whose own value does not count any more
  forEachIndex(updates.dims, [&](const Dims& at) {
    const double place = slices ? index(Dims{at[axis]}) : index(at);
    Dims to = at;
    to[axis] = static_cast<std::int64_t>(place);
    if (!inside(place, x.dims[axis])) return;
    const double update = updates(at);
    double& now = y(to);
    const bool first = call.spec.intOr("exclude_self", 0) != 0 && begun.insert(&now).second;
    if (reduction.empty() || first) {
      now = update;
    } else if (reduction == "add") {
      now += update;
    } else if (reduction == "mul") {
      now *= update;
    } else if (!std::isnan(now)) {
      now = std::isnan(update) ? update : reduction == "max" ? std::max(now, update) : std::min(now, update);
    }
  });
}

void refPad(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const std::vector<std::int64_t> begin = call.spec.ints("begin");
  const std::string mode = call.spec.stringOr("mode", "constant");
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from = at;
    bool outside = false;
    for (int axis = 0; axis < at.rank; ++axis) {
      const std::int64_t size = x.dims[axis];
      std::int64_t i = at[axis] - begin[axis];
      outside = outside || i < 0 || i >= size;
      if (mode == "reflect") i = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
      from[axis] = std::clamp<std::int64_t>(i, 0, size - 1);
    }
    y(at) = outside && mode == "constant" ? call.spec.floatOr("value", 0) : x(from);
  });
}

void refPermute(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const std::vector<std::int64_t> order = call.spec.ints("order");
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from = at;
    for (int axis = 0; axis < at.rank; ++axis) from[wrappedAxis(order[axis], at.rank)] = at[axis];
    y(at) = x(from);
  });
}

void refSlice(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), x.dims.rank);
  const std::int64_t given = call.spec.intOr("begin", 0), size = x.dims[axis];
  const std::int64_t begin = std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from = at;
    from[axis] = begin + at[axis] * call.spec.intOr("step", 1);
    y(at) = x(from);
  });
}

void refSelect(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), x.dims.rank);
  const std::int64_t index = wrappedAxis(call.spec.intOr("index", 0), static_cast<int>(x.dims[axis]));
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from;
    from.rank = x.dims.rank;
    for (int a = 0; a < from.rank; ++a) from[a] = a < axis ? at[a] : a == axis ? index : at[a - 1];
    y(at) = x(from);
  });
}

}  // namespace ipex_studio

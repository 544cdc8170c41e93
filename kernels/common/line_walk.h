// The lines of a dense row-major tensor along one axis.
#pragma once

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

struct LineWalk {
  int axis = 0;
  std::int64_t size = 0;   // values of a line
  std::int64_t inner = 1;  // lines side by side, and the distance of a line's values
  std::int64_t lines = 0;  // number of all lines

  // Offset of line `line` in a tensor whose lines have `length` values.
  std::int64_t begin(std::int64_t line, std::int64_t length) const {
    return line / inner * length * inner + line % inner;
  }
};

inline LineWalk linesAlong(const OpSpec& spec, const Dims& x) {
  LineWalk walk;
  walk.axis = wrappedAxis(spec.intOr("axis", 0), x.rank);
  walk.size = x[walk.axis];
  walk.lines = 1;
  for (int a = 0; a < x.rank; ++a) {
    if (a > walk.axis) walk.inner *= x[a];
    if (a != walk.axis) walk.lines *= x[a];
  }
  return walk;
}

}  // namespace ipex_studio

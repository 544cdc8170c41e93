// The two halves of an operation whose post-operations one kernel does not take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/op/op_spec.h"

namespace ipex_studio {

struct SplitOp {
  OpSpec head, tail;  // the tail is a pointwise chain
  std::vector<std::int32_t> head_src,
      tail_src;  // of the given sources; the tail's first operand, the head's result, is left out
};

// The first `kept` post-operations stay with `op`, the others become a pointwise chain. Every operand that the
// post-operations name must be in `src`.
SplitOp splitOp(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src);

}  // namespace ipex_studio

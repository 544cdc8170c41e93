// Copies a tensor to another place and other strides, element size 1 to 8: runs by memcpy, the rest element by element.
#pragma once

#include "kernels/common/loop_nest.h"

namespace ipex_studio {

struct StridedCopy {
  LoopNest nest;               // tensor 0 is the destination, 1 the source
  std::size_t element = 4;     // bytes
  std::int64_t run = 1;        // elements that lie side by side on both sides; 1: none
  std::int64_t positions = 0;  // runs in all
  std::int64_t grain = 1;

  // Copies runs [begin, end).
  void copy(const char* src, char* dst, std::int64_t begin, std::int64_t end) const;

 private:
  void copySpread(const char* in, std::int64_t from, char* out, std::int64_t to, std::int64_t count) const;
};

// Makes the walk of a copy, tensor 0 the destination; false if the layouts cannot be walked together: they have
// different blocks, or one has blocks that the channels do not fill. The dims must be equal.
bool makeCopyNest(const TensorDesc& src, const TensorDesc& dst, LoopNest* nest);

// False where makeCopyNest() is.
bool makeStridedCopy(const TensorDesc& src, const TensorDesc& dst, StridedCopy* copy);

}  // namespace ipex_studio

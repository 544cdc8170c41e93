// IDX files, the format of MNIST and Fashion-MNIST (Y. LeCun, "The MNIST database"): a magic number that names the
// element type and the number of dimensions, big-endian sizes, then the elements. Plain or compressed by gzip.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Reads the whole file as a contiguous uint8 tensor of the sizes it names, at most four dimensions and 4 GB. Throws
// Error(kUsage) if the file is missing, is no IDX file, holds other elements than bytes, or is cut short. Thread-safe.
at::Tensor readIdx(const std::string& path);

// True if the file, or the data that gzip unpacks from it, begins as IDX files of bytes do. Does not throw.
// Thread-safe.
bool isIdxFile(const std::string& path);

}  // namespace ipex_studio

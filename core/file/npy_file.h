// Arrays as numpy saves them: `.npy` (format versions 1 to 3) and the members of `.npz`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file/zip_reader.h"

namespace ipex_studio {

struct NpyArray {
  std::string dtype;  // as --input names types: "float32", "int64", "uint8", "bool" …
  std::vector<std::int64_t> dims;
  bool fortran_order = false;  // the first dimension lies densest in `data`
  std::string data;            // little-endian elements, nothing else
};

// Parses one array. `where` begins every complaint: "'x.npy'". Throws Error(kUsage) with one sentence on anything but
// an array of little-endian f2 f4 f8 i1 i2 i4 i8 u1 b1 that fills the bytes exactly. Allocates no more than the bytes
// it is given.
NpyArray parseNpy(std::string_view bytes, const std::string& where);

// Reads the arrays of an archive in its order, named as numpy names them ("arr_0", or by keyword). Throws Error.
std::vector<std::pair<std::string, NpyArray>> readNpz(const ZipReader& zip, const std::string& path);

}  // namespace ipex_studio

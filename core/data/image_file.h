// Reads JPEG and PNG files as tensors. Files are hostile until decoded: sizes, passes and memory are bounded, and a
// damaged file is an error, never a partly grey picture.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Reads an image as uint8 (C, H, W), C 1 for grey and 3 for colour; transparency is laid on black, 16 bits become 8.
// The first bytes tell the format. At most 16,384 pixels per side and 64 million in all. Throws Error(kUsage) with one
// sentence. Thread-safe.
at::Tensor readImage(const std::string& path);

// True if the name ends in .jpg, .jpeg or .png, in any case.
bool isImageName(const std::string& path);

}  // namespace ipex_studio

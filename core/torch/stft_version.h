// Beside torch_compat.h: the form of aten::stft that this libtorch has.
#pragma once

#include <torch/version.h>

// True if aten::stft lacks align_to_window, so that we register the form that has it.
#define IPEX_NEEDS_STFT_SHIM (TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 7))

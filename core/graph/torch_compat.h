// The only place that knows which libtorch this is (1.13 … 2.8).
#pragma once

#include <torch/script.h>
#include <torch/version.h>

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>

namespace ipex_studio {

// True when this libtorch lacks an operator that PyTorch 2.x exports use, so that we register a shim for it.
#if TORCH_VERSION_MAJOR < 2
#define IPEX_NEEDS_SDPA_SHIM 1
#else
#define IPEX_NEEDS_SDPA_SHIM 0
#endif

}  // namespace ipex_studio

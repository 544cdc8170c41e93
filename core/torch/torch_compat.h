// Differences between libtorch versions (1.13 … 2.8), all in one place.
#pragma once

#include <torch/script.h>
#include <torch/version.h>

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <memory>

namespace ipex_studio {

// True if this libtorch lacks an operator that PyTorch 2.x exports use, so that we register a shim for it.
#define IPEX_NEEDS_SDPA_SHIM (TORCH_VERSION_MAJOR < 2)
#define IPEX_NEEDS_RMS_NORM_SHIM (TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 4))

// Wraps a graph for libtorch's analyses and passes, which want a shared_ptr. Valid as long as the graph is; no
// ownership.
inline std::shared_ptr<torch::jit::Graph> sharedView(torch::jit::Graph& graph) {
  return std::shared_ptr<torch::jit::Graph>(std::shared_ptr<void>(), &graph);
}

}  // namespace ipex_studio

// The graphs of a module.
#pragma once

#include <functional>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Calls `visit` for the graph of every method, also of classes that are no modules, and free function, once each, and
// for graphs inside of them (forks).
void forEachGraph(const torch::jit::Module& module, const std::function<void(torch::jit::Graph&)>& visit);

}  // namespace ipex_studio

// Operators of torchvision that ipex-studio computes itself, for processes in which torchvision is not loaded.
//
// Graphs hold ours under our name, ipex_studio::nms. torchvision's names are declared only while a file is read or
// written, so that torchvision may be loaded later: two libraries cannot define one name.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Declares, for as long as it lives, those names that the process lacks. Several may live at the same time, in several
// threads. Modules that were loaded meanwhile must have gone through takeOwnOperators() before its end.
class TorchvisionNames {
 public:
  TorchvisionNames();
  ~TorchvisionNames();
  TorchvisionNames(const TorchvisionNames&) = delete;
  TorchvisionNames& operator=(const TorchvisionNames&) = delete;
};

// Puts ours in the place of declared ones in all methods; returns the names of those, each once.
std::vector<std::string> takeOwnOperators(const torch::jit::Module& module);

// Gives torchvision's names back to ours in a graph that is written to a file; returns them, each once.
// TorchvisionNames must live until the file is written.
std::vector<std::string> nameTorchvision(torch::jit::Graph& graph);

}  // namespace ipex_studio

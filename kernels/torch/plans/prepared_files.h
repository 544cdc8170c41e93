// Files of prepared weights (core/plan/prepared_weights.h) beside the exports that this process loads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/prepared_weights.h"

namespace ipex_studio {

// Everything that packed weights depend on besides their source: instruction sets and versions of libraries.
std::string preparedMachine();

// Those beside the archives that this process has open right now: while torch::jit::load reads a file, that is one of
// them, and libtorch tells objects nothing else about where they come from. Which of them belongs to a region its id
// says. One file is mapped once, however many regions and threads ask. What is wrong with a file is warned of once.
// Thread-safe.
std::vector<std::shared_ptr<const PreparedWeights>> preparedBesideOpenFiles();

// Through libtorch's warnings, each text once.
void warnOnce(const std::string& sentence);

}  // namespace ipex_studio

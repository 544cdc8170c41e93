// The empty cache that a language model begins with, found by running it node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

// Places tensors of no elements into the `caches` among the arguments of forward and sees what `aten::cat` joins them
// with: that has a cache's sizes but for the axis joined along. Lists get as many elements as the model asks for.
// `inputs`: all arguments, of which those are replaced. Returns caches without tokens, one value per argument of
// `caches`; nullopt if the model joins its caches otherwise.
std::optional<Inputs> guessEmptyCache(const torch::jit::Module& module, const Inputs& inputs,
                                      const std::vector<std::size_t>& caches);

}  // namespace ipex_studio

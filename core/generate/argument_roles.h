// The role of each argument of a language model's forward, by its name and type.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

enum class ArgumentRole {
  kIds,             // token ids [texts, tokens]
  kCache,           // what earlier tokens left, which forward returns behind the logits
  kMask,            // ones [texts, tokens so far]
  kPositions,       // places of the ids in their text, [texts, tokens], or the first of them as an int
  kCachePositions,  // places of the ids in the cache, [tokens], or the first of them as an int
  kOther,
};

// One role per argument, without self. `given`: "ARGUMENT=ROLE" with ids, cache, mask, positions, cache-positions or
// other. Throws Error(kUsage) for texts that name no argument or role, Error(kUnsupported) if no argument can be ids.
std::vector<ArgumentRole> argumentRoles(const c10::FunctionSchema& schema, const std::vector<std::string>& given);

}  // namespace ipex_studio

// Precisions that a machine computes without emulation, as reported by the program that runs there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/record/options.h"

namespace ipex_studio {

struct PrecisionAbility {
  Precision precision = Precision::kFp32;
  std::string lacks;  // "CPU has no FP16 instructions and would emulate them"; empty: it computes natively
};

// Abilities for all precisions, from this CPU and the oneDNN that the engine beside this program was built for.
std::vector<PrecisionAbility> ownAbilities();

// Writes [{"precision": "fp16", "lacks": "…"}, …].
nlohmann::json abilitiesToJson(const std::vector<PrecisionAbility>& abilities);
// Reads what abilitiesToJson() writes, without precisions unknown to this version. Throws Error(kFailure) if
// malformed.
std::vector<PrecisionAbility> abilitiesFromJson(const nlohmann::json& json);

}  // namespace ipex_studio

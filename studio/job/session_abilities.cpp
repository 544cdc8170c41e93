// See session_abilities.h.
#include "studio/job/session_abilities.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/runtime/machine_facts.h"
#include "studio/protocol/protocol.h"

// Major version of oneDNN in the engine that is built beside this program. Without an engine nothing runs here, and
// the value is of no use.
#ifndef IPEX_STUDIO_ONEDNN_MAJOR
#define IPEX_STUDIO_ONEDNN_MAJOR 3
#endif

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxAbilities = 64;
constexpr std::size_t kLongestReason = 400;

std::string lackOf(Precision precision, const std::string& isa) {
  if (precision != Precision::kBf16 && precision != Precision::kFp16) return "";
  const bool fp16 = precision == Precision::kFp16;
  if (!(fp16 ? hasFp16(isa) : hasBf16(isa)))
    return fmt::format("CPU has no {} instructions and would emulate them", fp16 ? "FP16" : "BF16");
  if (fp16 && IPEX_STUDIO_ONEDNN_MAJOR < 3) {
    return fmt::format("oneDNN {} has no code for FP16 (3 has), which would be emulated", IPEX_STUDIO_ONEDNN_MAJOR);
  }
  return "";
}

}  // namespace

std::vector<PrecisionAbility> ownAbilities() {
  const std::string isa = machineFacts().isa;
  std::vector<PrecisionAbility> abilities;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
    abilities.push_back({precision, lackOf(precision, isa)});
  }
  return abilities;
}

nlohmann::json abilitiesToJson(const std::vector<PrecisionAbility>& abilities) {
  nlohmann::json json = nlohmann::json::array();
  for (const PrecisionAbility& ability : abilities) {
    json.push_back({{"precision", precisionName(ability.precision)}, {"lacks", ability.lacks}});
  }
  return json;
}

std::vector<PrecisionAbility> abilitiesFromJson(const nlohmann::json& json) {
  if (!json.is_array() || json.size() > kMaxAbilities)
    throw Error(ExitCode::kFailure, "The worker sent a malformed message: its precisions are no list.");
  std::vector<PrecisionAbility> abilities;
  for (const nlohmann::json& each : json) {
    const auto precision = precisionFromName(messageText(each, "precision", kLongestReason));
    const std::string lacks = messageText(each, "lacks", kLongestReason);
    if (precision) abilities.push_back({*precision, lacks});
  }
  return abilities;
}

}  // namespace ipex_studio

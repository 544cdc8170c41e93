// Writes and reads the state of a search as JSON.
#include "studio/engine/search_state.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "studio/engine/precision_costs.h"

namespace ipex_studio {

using nlohmann::json;

constexpr const char kFormat[] = "ipex-studio-precision-search";

std::string SearchState::text() const {
  json kept_trials = json::object();
  for (const auto& [key, record] : trials) kept_trials[key] = toJson(record);
  return dumpJson({{"format", kFormat},
                   {"data", data},
                   {"calibration", calibration},
                   {"recipe", recipe},
                   {"sensitivity_db", sensitivity_db},
                   {"trials", std::move(kept_trials)}});
}

SearchState SearchState::read(const std::string& text, const std::string& data) {
  SearchState state;
  state.data = data;
  if (text.empty()) return state;
  const Error damaged(ExitCode::kUsage, "The interrupted search is damaged; remove its file, or add --restart.");
  try {
    const json source = parseRecordText(text);
    if (source.at("format") != kFormat) throw damaged;
    if (source.at("data").get<std::string>() != data) {
      throw Error(ExitCode::kUsage,
                  "The interrupted search used other data; give the same --data, --samples, --batch and --seed, or add "
                  "--restart.");
    }
    state.calibration = source.at("calibration").get<std::string>();
    state.recipe = source.at("recipe").get<std::string>();
    state.sensitivity_db = source.at("sensitivity_db").get<std::map<std::string, double>>();
    for (const auto& [key, record] : source.at("trials").items())
      state.trials[key] = recordFromJson<TradeoffRecord>(record);
  } catch (const json::exception&) {
    throw damaged;
  }
  return state;
}

std::string SearchState::assignmentKey(const std::string& assignment) {
  return assignment.find_first_not_of(kInBf16) == std::string::npos ? "bf16" : assignment;
}

}  // namespace ipex_studio

// "What to do next" for the terminal and for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/record/pass_gain_record.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

// The first lines of it under a heading; empty if there is nothing to say.
std::string adviceText(const std::vector<Advice>& advice);
// All of it: [{"text","offer","gain_ms","origins"}]; offer and gain are null where there are none.
nlohmann::json adviceJson(const std::vector<Advice>& advice);
// What passes gain: [{"pass","gain_ms","gain_ci95":[lo,hi]}].
nlohmann::json passGainsJson(const std::vector<PassGain>& gains);

}  // namespace ipex_studio

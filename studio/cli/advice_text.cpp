// See advice_text.h.
#include "studio/cli/advice_text.h"

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr std::size_t kPrintedAdvice = 3;
constexpr std::size_t kMaxAdviceBytes = 400;

}  // namespace

std::string adviceText(const std::vector<Advice>& advice) {
  std::string text;
  for (std::size_t a = 0; a < std::min(advice.size(), kPrintedAdvice); ++a)
    text += "  " + displayText(advice[a].text, kMaxAdviceBytes) + "\n";
  return text.empty() ? text : "\nwhat to do next\n" + text;
}

nlohmann::json adviceJson(const std::vector<Advice>& advice) {
  nlohmann::json all = nlohmann::json::array();
  for (const Advice& each : advice) {
    all.push_back({{"text", each.text},
                   {"offer", each.offer.empty() ? nlohmann::json() : nlohmann::json(each.offer)},
                   {"gain_ms", each.gain_ns > 0 ? nlohmann::json(each.gain_ns / 1e6) : nlohmann::json()},
                   {"origins", each.origins}});
  }
  return all;
}

nlohmann::json passGainsJson(const std::vector<PassGain>& gains) {
  nlohmann::json all = nlohmann::json::array();
  for (const PassGain& gain : gains) {
    all.push_back(
        {{"pass", gain.pass}, {"gain_ms", gain.gain_ns / 1e6}, {"gain_ci95", {gain.low_ns / 1e6, gain.high_ns / 1e6}}});
  }
  return all;
}

}  // namespace ipex_studio

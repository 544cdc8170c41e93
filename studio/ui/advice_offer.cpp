// See advice_offer.h.
#include "studio/ui/advice_offer.h"

namespace ipex_studio {

std::string whyNotOffer(const Advice& advice, const StudioSnapshot& snapshot) {
  if (advice.offer.empty()) return "";
  return advice.try_it.empty() ? whyNotStart(snapshot) : whyNotDecide(snapshot);
}

void takeOffer(const Advice& advice, const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  if (advice.threads > 0) return commands.post(OptimizeCommand{snapshot.choices.precision, advice.threads, {}});
  if (advice.try_it.empty()) return selection.request(advice.action);
  commands.post(OverrideCommand{snapshot.overrides.now.adding(advice.try_it), true});
  selection.front_panel = "precision";
}

void showAdvised(const Advice& advice, Selection& selection) {
  if (!advice.origins.empty()) selection.select(advice.origins, true);
  if (!advice.tab.empty()) selection.front_panel = advice.tab;
}

}  // namespace ipex_studio

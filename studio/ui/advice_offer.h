// What the links of an advice do, for all panels that show one.
#pragma once

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"

namespace ipex_studio {

// Why what the advice offers cannot be done now, as a sentence; empty if it can, and where it offers nothing.
std::string whyNotOffer(const Advice& advice, const StudioSnapshot& snapshot);
// Does it: starts its action, or measures its decisions.
void takeOffer(const Advice& advice, const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
// Shows what the advice is about.
void showAdvised(const Advice& advice, Selection& selection);

}  // namespace ipex_studio

// What the links of an advice do, for all panels that show one.
#pragma once

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"

namespace ipex_studio {

// True if what the advice offers can be done now.
bool offerIsPossible(const Advice& advice, const StudioSnapshot& snapshot);
// Does it: starts its action, or measures its decisions.
void takeOffer(const Advice& advice, const StudioSnapshot& snapshot, Selection& selection, Commands& commands);
// Shows what the advice is about.
void showAdvised(const Advice& advice, Selection& selection);

}  // namespace ipex_studio

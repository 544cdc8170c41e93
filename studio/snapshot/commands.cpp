// See commands.h.
#include "studio/snapshot/commands.h"

#include <utility>

namespace ipex_studio {

void Commands::post(Command command) { queue_.push_back(std::move(command)); }

std::vector<Command> Commands::take() { return std::exchange(queue_, {}); }

}  // namespace ipex_studio

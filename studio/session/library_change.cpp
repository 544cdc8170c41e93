// See library_change.h.
#include "studio/session/library_change.h"

#include <fmt/format.h>

#include "profiler/text.h"

namespace ipex_studio {

std::string changeLibrary(const LibraryCommand& command, Database& database) {
  const std::string what = command.item.job > 0 ? fmt::format("Job {}", command.item.job) : "The model";
  switch (command.action) {
    case LibraryCommand::Action::kName:
      database.setName(command.item, command.name);
      return command.name.empty() ? what + " has no name any more."
                                  : fmt::format("{} is called {} now.", what, printable(command.name));
    case LibraryCommand::Action::kPin:
      database.setPinned(command.item, true);
      return what + " is pinned: it stays at the top, and pruning leaves it.";
    case LibraryCommand::Action::kUnpin:
      database.setPinned(command.item, false);
      return what + " is not pinned any more.";
    case LibraryCommand::Action::kForget: {
      const std::int64_t jobs = database.forget(command.item);
      return command.item.job > 0 ? what + " is forgotten."
                                  : fmt::format("{} and its {} job{} are forgotten.", what, jobs, jobs == 1 ? "" : "s");
    }
  }
  return "";
}

}  // namespace ipex_studio

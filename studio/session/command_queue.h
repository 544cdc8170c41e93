// Commands that wait for a session, and the request to end the one that runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "studio/job/process.h"
#include "studio/snapshot/commands.h"

namespace ipex_studio {

// Any thread posts, one working thread takes. Every function locks for as long as it looks at the queue alone.
class CommandQueue {
 public:
  // From any thread:

  // Puts a command at the end. One that makes the running command pointless asks it to end; CancelCommand asks only
  // that and is not queued.
  void post(Command command);
  // True if no command waits or runs.
  bool idle();
  // Asks the running command to end; next() returns no other.
  void stop();

  // From the working thread:

  // Waits for a command, which runs until done(); nullopt after stop().
  std::optional<Command> next();
  void done();

  // The request to the running command, for whatever waits for an engine.
  const Cancellation& cancellation() const { return cancellation_; }

 private:
  Cancellation cancellation_;  // itself safe from any thread
  std::mutex mutex_;           // guards the members below
  std::condition_variable posted_;
  std::deque<Command> commands_;
  bool stopping_ = false;
  bool working_ = false;
};

}  // namespace ipex_studio

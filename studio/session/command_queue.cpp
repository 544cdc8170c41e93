// See command_queue.h.
#include "studio/session/command_queue.h"

#include <utility>
#include <variant>

namespace ipex_studio {
namespace {

// True if a new command makes the running one pointless; other commands wait.
struct ReplacesJob {
  bool operator()(const OpenCommand&) const { return true; }
  bool operator()(const OpenSampleCommand&) const { return true; }
  bool operator()(const OptimizeCommand&) const { return true; }
  bool operator()(const FlagsCommand&) const { return true; }
  bool operator()(const TuneCommand&) const { return true; }
  bool operator()(const CurvesCommand&) const { return true; }
  bool operator()(const OverrideCommand& command) const { return command.measure; }
  bool operator()(const CancelCommand&) const { return false; }
  bool operator()(const ExportCommand&) const { return false; }
  bool operator()(const SaveTableCommand&) const { return false; }
  bool operator()(const ShowJobCommand&) const { return false; }
  bool operator()(const CompareCommand&) const { return false; }
  bool operator()(const StepOverridesCommand&) const { return false; }
  bool operator()(const TrustCommand&) const { return false; }
  bool operator()(const ReportCommand&) const { return false; }
  bool operator()(const DropFlagCommand&) const { return false; }
  bool operator()(const FirstWrongNodeCommand&) const { return false; }
  bool operator()(const PassGainsCommand&) const { return false; }
  bool operator()(const ValuesCommand&) const { return false; }
  bool operator()(const OpenFolderCommand&) const { return false; }
  bool operator()(const MeasureAtOnceCommand&) const { return false; }
  bool operator()(const LibraryCommand&) const { return false; }
  bool operator()(const UsePointCommand&) const { return false; }
};

}  // namespace

void CommandQueue::post(Command command) {
  const std::lock_guard lock(mutex_);
  if (std::holds_alternative<CancelCommand>(command)) {
    if (working_) cancellation_.request();
    return;
  }
  if (working_ && std::visit(ReplacesJob(), command)) cancellation_.request();
  commands_.push_back(std::move(command));
  posted_.notify_all();
}

bool CommandQueue::idle() {
  const std::lock_guard lock(mutex_);
  return !working_ && commands_.empty();
}

void CommandQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancellation_.request();
  posted_.notify_all();
}

std::optional<Command> CommandQueue::next() {
  std::unique_lock lock(mutex_);
  posted_.wait(lock, [this] { return stopping_ || !commands_.empty(); });
  if (stopping_) return std::nullopt;
  Command command = std::move(commands_.front());
  commands_.pop_front();
  cancellation_.clear();
  working_ = true;
  return command;
}

void CommandQueue::done() {
  const std::lock_guard lock(mutex_);
  working_ = false;
}

}  // namespace ipex_studio

// Made-up but realistic jobs for tests and pictures: ResNet-50 through all passes with times and remarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/record/curves_record.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio::testing {

struct SyntheticOptions {
  bool passes = true;  // false: only the frozen graph
  bool runs = true;    // false: nothing measured
};

// Makes the same job each time.
std::shared_ptr<const JobRecord> resnetJob(const SyntheticOptions& options = {});

// A source with one line for each node, and Python that calls all of them; kinds and paths go into it as they are.
std::shared_ptr<const SourceRecord> sourceOf(const JobRecord& job);

// A made-up value of the last node, named after the model.
std::shared_ptr<const ValueRecord> valueOf(const JobRecord& job);

// Made-up curves over two cores and four batch sizes, in FP32 and BF16.
std::shared_ptr<const CurvesRecord> madeUpCurves();

// Status kDone with chips, log and threads as a session sets them.
SnapshotParts donePartsOf(const JobRecord& job);
SnapshotPtr resnetSnapshot();

// A graph of `nodes` nodes: a chain with some skips.
std::shared_ptr<const JobRecord> chainJob(std::int32_t nodes);

// A job with strings in every field that break careless programs.
std::shared_ptr<const JobRecord> hostileJob();

// A source that shows one snapshot and remembers commands.
class FixedSource : public SnapshotSource {
 public:
  explicit FixedSource(SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {}
  SnapshotPtr latest() override { return snapshot_; }
  void setWakeup(std::function<void()> wake) override { wake_ = std::move(wake); }
  void post(Command command) override { posted.push_back(std::move(command)); }

  // Wakes the window as a session with news does; callable from any thread while a window is open.
  void wake() {
    if (wake_) wake_();
  }

  std::vector<Command> posted;

 private:
  SnapshotPtr snapshot_;
  std::function<void()> wake_;
};

}  // namespace ipex_studio::testing

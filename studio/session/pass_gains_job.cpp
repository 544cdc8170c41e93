// See pass_gains_job.h.
#include "studio/session/pass_gains_job.h"

#include <fmt/format.h>

#include <algorithm>

namespace ipex_studio {
namespace {

// Events of a job whose record is not shown: the window keeps the model as it is.
class UnshownEvents : public JobEvents {
 public:
  UnshownEvents(Reporter& reporter, std::string stage, double begin, double share)
      : reporter_(reporter), stage_(std::move(stage)), begin_(begin), share_(share) {}
  void onProgress(const std::string&, double fraction, double) override {
    reporter_.onProgress(stage_, begin_ + share_ * fraction, -1);
  }
  void onTimed(bool timed) override { reporter_.onTimed(timed); }
  bool disturbed(double begin_ns, double end_ns) override { return reporter_.disturbed(begin_ns, end_ns); }

 private:
  Reporter& reporter_;
  std::string stage_;
  double begin_, share_;
};

}  // namespace

void PassGainsJob::add(const PassGain& gain) {
  auto& all = gains_.gains;
  const auto same = std::find_if(all.begin(), all.end(), [&](const PassGain& g) { return g.pass == gain.pass; });
  if (same != all.end()) *same = gain;
  if (same == all.end()) all.push_back(gain);
}

void PassGainsJob::measure(const std::vector<std::string>& passes, std::int64_t recorded_as) {
  if (!model_.loaded() || !runner_.hasJob() || runner_.job()->job().runs.empty())
    throw Error(ExitCode::kUsage, "Optimize the model first; what a pass gains is measured against that.");
  const std::int64_t job = runner_.job()->job().started_unix_ns;
  if (gains_.of_job != job) gains_ = {job, {}};
  reporter_.setState(JobState::kWorking, "");
  JobDatabase database(model_.databasePath());
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, passes.size()));
  for (std::size_t p = 0; p < passes.size(); ++p) {
    UnshownEvents events(reporter_, "without " + passes[p], share * static_cast<double>(p), share);
    if (const auto gain = runner_.gainOf(passes[p], events)) {
      add(*gain);
      if (recorded_as > 0) database.recordPassGains(recorded_as, {*gain});
    }
    reporter_.publishStatus();
  }
  runner_.prepareTry(database);
  reporter_.setState(JobState::kDone, fmt::format("What {} pass{} gain{} was measured by leaving {} out.",
                                                  passes.size(), passes.size() == 1 ? "" : "es",
                                                  passes.size() == 1 ? "s" : "", passes.size() == 1 ? "it" : "each"));
}

}  // namespace ipex_studio

// Bisection over rewrites and planned operations.
#include "passes/fault_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "core/lower/region_object.h"
#include "core/model/measure.h"
#include "core/model/model_memory.h"
#include "core/record/shared_origins.h"
#include "passes/compare_rewritten.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

// Keeps what the passes said of rewrites, in their order.
class AppliedRemarks : public Observer {
 public:
  void onRemark(const Remark& remark) override {
    if (remark.kind == RemarkKind::kApplied && remark.pass != kLowerToPlanName) remarks.push_back(remark);
  }

  std::vector<Remark> remarks;
};

// The smallest number in (right, wrong] that is wrong; `right` is right, `wrong` wrong.
std::int64_t firstWrong(std::int64_t right, std::int64_t wrong, const std::function<bool(std::int64_t)>& is_right) {
  while (wrong - right > 1) {
    const std::int64_t middle = right + (wrong - right) / 2;
    (is_right(middle) ? right : wrong) = middle;
  }
  return wrong;
}

class Search {
 public:
  Search(const WrongModel& wrong, const std::function<void(int)>& report, const std::vector<OriginId>& suspects)
      : wrong_(wrong),
        report_(report),
        suspects_(suspects),
        reference_(referenceResults(wrong.original, wrong.steps, wrong.reset_method)) {}

  std::optional<Fault> run() {
    OptimizeOptions interpreted = wrong_.options;
    interpreted.plan_regions = false;
    const Tried whole = attempt(wrong_.options);
    if (whole.right) return std::nullopt;  // it does not come again
    const Tried without_plans = attempt(interpreted);
    const bool in_plans = without_plans.right || (whole.ran && !without_plans.ran);
    std::optional<Fault> fault = in_plans ? plannedOperation(whole) : rewrite(interpreted, without_plans);
    if (!fault) fault = rewrite(wrong_.options, whole);
    return fault;
  }

 private:
  struct Tried {
    bool right = false, ran = false;
    RewriteCount rewrites;
    std::vector<Remark> remarks;                    // of the rewrites
    std::vector<std::vector<OriginId>> operations;  // of nodes after all passes
  };

  Tried attempt(OptimizeOptions options, const std::function<void(OptimizedModel&)>& look = {}) {
    if (report_) report_(++tries_);
    options.dump_directory.clear();
    AppliedRemarks applied;
    OptimizedModel optimized = wrong_.make(options, applied);
    Tried tried{false, false, optimized.rewrites, std::move(applied.remarks), optimized.rewritten_origins};
    tried.operations.insert(tried.operations.end(), optimized.inner_origins.begin(), optimized.inner_origins.end());
    const AccuracyRecord results =
        verifyWorst(reference_, optimized.module, wrong_.steps, wrong_.reset_method, wrong_.rule);
    tried.right = results.pass;
    tried.ran = !results.reference.empty();
    if (look) look(optimized);
    releaseMethods(optimized.module);
    releaseMethods(optimized.rewritten);
    return tried;
  }

  bool rightWithout(const std::string& left_out) {
    OptimizeOptions options = wrong_.options;
    options.disabled_passes.push_back(left_out);
    return attempt(options).right;
  }

  // Results with all rewrites of these options are wrong.
  std::optional<Fault> rewrite(OptimizeOptions options, const Tried& whole) {
    const auto isRight = [&](std::int64_t limit) {
      options.rewrite_limit = limit;
      return attempt(options).right;
    };
    const std::int64_t rewrites = whole.rewrites.rewrites;
    if (rewrites == 0) return std::nullopt;
    std::int64_t first = firstSuspect(whole, isRight);
    if (first < 0 && !isRight(0)) return std::nullopt;
    if (first < 0) first = firstWrong(0, rewrites, isRight);
    std::string values;
    options.rewrite_limit = first;
    const Tried wrong = attempt(options, [&](OptimizedModel& optimized) { values = nodeDifference(optimized); });
    const Remark last = wrong.remarks.empty() ? Remark() : wrong.remarks.back();
    for (const std::string& left_out : {wrong.rewrites.last, passOfRewrite(wrong.rewrites.last)}) {
      if (left_out.empty() || !rightWithout(left_out)) continue;
      return Fault{left_out, fmt::format("rewrite {} of {} ({}: {}){}", first, rewrites, last.pass, last.text, values)};
    }
    return std::nullopt;
  }

  // The number of the rewrite that makes results wrong, if it is one of those that touched a suspect; else -1.
  std::int64_t firstSuspect(const Tried& whole, const std::function<bool(std::int64_t)>& is_right) const {
    if (static_cast<std::int64_t>(whole.remarks.size()) != whole.rewrites.rewrites) return -1;
    std::vector<std::int64_t> suspects{0};
    for (std::size_t r = 0; r < whole.remarks.size(); ++r) {
      if (shareOrigin(whole.remarks[r].origins, suspects_)) suspects.push_back(static_cast<std::int64_t>(r) + 1);
    }
    if (suspects.size() == 1) return -1;
    const std::int64_t place = firstWrong(0, static_cast<std::int64_t>(suspects.size()) - 1, [&](std::int64_t p) {
      return is_right(suspects[static_cast<std::size_t>(p)]);
    });
    const std::int64_t first = suspects[static_cast<std::size_t>(place)];
    return is_right(first - 1) ? first : -1;
  }

  // "; the first wrong node is layer1.conv (aten::conv2d) with 0.53 instead of 0.12 at [0, 3]"
  std::string nodeDifference(const OptimizedModel& optimized) const {
    if (wrong_.steps.size() != 1) return "";
    try {
      const FrozenOriginal frozen(wrong_.original, wrong_.options.preserved_methods);
      const auto first = firstWrongRewritten(frozen, optimized, wrong_.steps.front(), wrong_.rule, true);
      if (!first.wrong || first.wrong->place.empty()) return "";
      return fmt::format("; the first wrong node is {} with {:.6g} instead of {:.6g} at {}", first.wrong->name,
                         first.wrong->value, first.wrong->expected, first.wrong->place);
    } catch (const std::exception&) {
      return "";  // a graph that cannot be run node by node
    }
  }

  std::optional<Fault> plannedOperation(const Tried& whole) {
    std::vector<std::string> names;
    for (const std::vector<OriginId>& ids : whole.operations) {
      const std::string name = rewriteName(kLowerToPlanName, ids);
      if (!ids.empty() && ids == suspects_ && rightWithout(name)) return Fault{name, kernelOf(name)};
      if (!ids.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    const auto withPlanned = [&](std::int64_t count) {
      OptimizeOptions options = wrong_.options;
      options.disabled_passes.insert(options.disabled_passes.end(), names.begin() + count, names.end());
      return attempt(options).right;
    };
    if (names.empty() || !withPlanned(0)) return std::nullopt;
    const auto count = static_cast<std::int64_t>(names.size());
    const std::int64_t first = firstWrong(0, count, withPlanned);
    const std::string& name = names[static_cast<std::size_t>(first - 1)];
    if (!rightWithout(name)) return std::nullopt;
    return Fault{name, kernelOf(name)};
  }

  // "kernel linear_simd of layer1.fc (linear)".
  std::string kernelOf(const std::string& name) {
    std::string text;
    attempt(wrong_.options, [&](OptimizedModel& optimized) {
      RunRecord run;
      profileSteps(optimized.module, wrong_.steps.front(), 1, optimized.origins, run);
      for (const StepRecord& step : run.steps) {
        if (rewriteName(kLowerToPlanName, step.origins) == name)
          text = fmt::format("kernel {} of {} ({})", step.kernel, step.name, step.kind);
      }
    });
    return text.empty() ? fmt::format("the planned operation {}", name) : text;
  }

  const WrongModel& wrong_;
  const std::function<void(int)>& report_;
  const std::vector<OriginId>& suspects_;
  ReferenceResults reference_;
  int tries_ = 0;
};

}  // namespace

std::optional<Fault> findFault(const WrongModel& wrong, const std::function<void(int)>& tried,
                               const std::vector<OriginId>& suspects) {
  return Search(wrong, tried, suspects).run();
}

}  // namespace ipex_studio

// Node by node first, then what touched the node.
#include "passes/bisect.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/model_memory.h"
#include "core/record/option_names.h"
#include "passes/compare_rewritten.h"

namespace ipex_studio {
namespace {

class Bisection {
 public:
  Bisection(const WrongModel& model, const std::function<void(const std::string&)>& progress)
      : model_(model),
        progress_(progress),
        frozen_(model.original, model.options.preserved_methods),
        reference_(referenceResults(model.original, model.steps, model.reset_method)) {}

  BisectRecord run() {
    say("optimize");
    Observer silent;
    OptimizedModel optimized = model_.make(model_.options, silent);
    record_.results = judge(optimized.module);
    const AccuracyRecord rewritten = judge(optimized.rewritten);
    record_.nodes = static_cast<std::int64_t>(optimized.rewritten_origins.size());
    say("compare nodes");
    // Integers of a lower precision go through some operators in plans alone: without them the graph fails.
    const bool plans_alone = !record_.results.reference.empty() && !rewritten.pass && rewritten.reference.empty();
    compareNodes(optimized, !rewritten.pass && !plans_alone);
    if (!record_.results.pass && (rewritten.pass || plans_alone)) comparePlans(optimized);
    releaseMethods(optimized.module);
    releaseMethods(optimized.rewritten);
    if (!record_.results.pass) blame();
    return std::move(record_);
  }

 private:
  void say(const std::string& what) const {
    if (progress_) progress_(what);
  }

  AccuracyRecord judge(torch::jit::Module& module) const {
    return verifyWorst(reference_, module, model_.steps, model_.reset_method, model_.rule);
  }

  void compareNodes(const OptimizedModel& optimized, bool results_are_wrong) {
    FirstWrongNode first =
        firstWrongRewritten(frozen_, optimized, model_.steps.front(), model_.rule, results_are_wrong);
    record_.compared = first.compared;
    if (!results_are_wrong || !first.wrong) return;
    record_.wrong = {std::move(*first.wrong)};
    record_.feeds = std::move(first.feeds);
    record_.alone = first.alone;
  }

  void comparePlans(const OptimizedModel& optimized) {
    for (const double share : {1e-4, 1e-5}) {
      auto found = firstWrongPlanned(frozen_, optimized.module, model_.steps.front(), {model_.rule, share});
      if (!found) continue;
      record_.wrong = {std::move(found->difference)};
      record_.feeds = std::move(found->feeds);
      seen_in_plan_ = true;
      return;
    }
  }

  void blame() {
    const std::vector<OriginId> suspects = record_.wrong.empty() ? std::vector<OriginId>() : record_.wrong[0].origins;
    if (!isRightWithoutKernel() && blamePrecision()) return;
    const auto fault = findFault(
        model_, [this](int tries) { say(fmt::format("search what is to blame (try {})", tries)); }, suspects);
    if (!fault) return;
    record_.blame = fault->leave_out;
    record_.cause = passOfRewrite(fault->leave_out) == kLowerToPlanName ? "kernel" : "rewrite";
    record_.why = fault->text;
    record_.confirmed = true;
    nameOperation(fault->leave_out);
  }

  // True if leaving the wrong operation of a plan to the interpreter, which rounds to the same precision, helps: then
  // it is the kernel and not the precision.
  bool isRightWithoutKernel() const {
    if (!seen_in_plan_ || model_.options.precision == Precision::kFp32) return false;
    OptimizeOptions options = model_.options;
    options.disabled_passes.push_back(rewriteName(kLowerToPlanName, record_.wrong[0].origins));
    return isRight(options);
  }

  // True if the model is right in FP32. Then the operation that goes wrong is tried in FP32 alone.
  bool blamePrecision() {
    if (model_.options.precision == Precision::kFp32) return false;
    OptimizeOptions options = model_.options;
    options.precision_overrides.push_back("*=fp32");
    if (!isRight(options)) return false;
    record_.cause = "precision";
    record_.blame = "*=fp32";
    record_.why = "results are right with all operations in FP32";
    record_.confirmed = true;
    for (const std::string& decision : decisionsFor()) {
      options.precision_overrides = model_.options.precision_overrides;
      options.precision_overrides.push_back(decision);
      if (!isRight(options)) continue;
      record_.blame = decision;
      record_.why = fmt::format("{} loses too much there", precisionName(model_.options.precision));
      return true;
    }
    return true;
  }

  // Keeping in FP32 one of the operations behind the wrong node, as OptimizeOptions::precision_overrides says it.
  std::vector<std::string> decisionsFor() const {
    std::vector<std::string> decisions;
    if (record_.wrong.empty()) return decisions;
    for (const OriginId id : record_.wrong[0].origins) {
      const Origin& origin = frozen_.table.origins().at(static_cast<std::size_t>(id));
      decisions.push_back(fmt::format("{}:{}#{}=fp32", origin.module_path, origin.kind, origin.ordinal));
    }
    return decisions;
  }

  bool isRight(const OptimizeOptions& options) const {
    Observer silent;
    OptimizedModel optimized = model_.make(options, silent);
    const bool right = judge(optimized.module).pass;
    releaseMethods(optimized.module);
    releaseMethods(optimized.rewritten);
    return right;
  }

  // Names the node of what is to blame ("lower-to-plan#12+13" is of node 13) where its value cannot be compared itself:
  // a part of what was one node has no counterpart. What was seen behind it stays.
  void nameOperation(const std::string& blame) {
    const std::size_t ids = blame.find_last_of("#+");
    if (ids == std::string::npos) return;
    const auto id = static_cast<OriginId>(std::stol(blame.substr(ids + 1)));
    if (id < 0 || static_cast<std::size_t>(id) >= frozen_.table.origins().size()) return;
    const bool seen = !record_.wrong.empty();
    if (seen && record_.cause != "kernel") return;
    if (seen && std::count(record_.wrong[0].origins.begin(), record_.wrong[0].origins.end(), id) != 0) return;
    const Origin& origin = frozen_.table.origins()[static_cast<std::size_t>(id)];
    ValueDifference wrong;
    if (seen) wrong = record_.wrong[0];
    if (!seen) wrong.accuracy = record_.results;
    wrong.other = fmt::format("its own value cannot be compared; seen in {}", seen ? wrong.name : "the results");
    wrong.name = nodeName(origin);
    wrong.source = origin.source;
    wrong.origins = {id};
    record_.wrong = {std::move(wrong)};
  }

  const WrongModel& model_;
  const std::function<void(const std::string&)>& progress_;
  FrozenOriginal frozen_;
  ReferenceResults reference_;
  BisectRecord record_;
  bool seen_in_plan_ = false;  // the wrong node, as an operation of a region
};

}  // namespace

BisectRecord bisectOptimized(const WrongModel& model, const std::function<void(const std::string&)>& progress) {
  return Bisection(model, progress).run();
}

}  // namespace ipex_studio

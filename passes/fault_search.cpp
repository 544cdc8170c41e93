// Bisection over rewrites and planned operations.
#include "passes/fault_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "core/base/error.h"
#include "core/lower/region_object.h"
#include "core/model/measure.h"
#include "core/model/model_memory.h"
#include "core/model/node_runner.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

// Keeps what the passes said last.
class LastRemark : public Observer {
 public:
  void onRemark(const Remark& remark) override {
    if (remark.kind == RemarkKind::kApplied) last = remark;
  }

  Remark last;
};

// The smallest number in (right, wrong] that is wrong; `right` is right, `wrong` wrong.
std::int64_t firstWrong(std::int64_t right, std::int64_t wrong, const std::function<bool(std::int64_t)>& is_right) {
  while (wrong - right > 1) {
    const std::int64_t middle = right + (wrong - right) / 2;
    (is_right(middle) ? right : wrong) = middle;
  }
  return wrong;
}

// "0.53 instead of 0.12 at [0, 3]": where the two differ most; empty if they cannot be compared.
std::string largestDifference(const at::Tensor& actual, const at::Tensor& expected) {
  if (!actual.sizes().equals(expected.sizes()))
    return fmt::format("sizes [{}] instead of [{}]", fmt::join(actual.sizes(), ", "),
                       fmt::join(expected.sizes(), ", "));
  if (expected.numel() == 0) return "";
  const at::Tensor a = actual.to(at::kDouble).reshape({-1}), b = expected.to(at::kDouble).reshape({-1});
  const at::Tensor distance = (a - b).abs().nan_to_num(INFINITY);
  const auto at = distance.argmax().item<std::int64_t>();
  if (distance[at].item<double>() == 0) return "";
  std::vector<std::int64_t> place;
  std::int64_t rest = at;
  for (std::int64_t axis = expected.dim() - 1; axis >= 0; --axis) {
    place.insert(place.begin(), rest % expected.size(axis));
    rest /= expected.size(axis);
  }
  return fmt::format("{:.6g} instead of {:.6g} at [{}]", a[at].item<double>(), b[at].item<double>(),
                     fmt::join(place, ", "));
}

class Search {
 public:
  Search(const WrongModel& wrong, const std::function<void(int)>& report)
      : wrong_(wrong), report_(report), reference_(referenceResults(wrong.original, wrong.steps, wrong.reset_method)) {}

  std::optional<Fault> run() {
    OptimizeOptions interpreted = wrong_.options;
    interpreted.plan_regions = false;
    const Tried whole = attempt(wrong_.options);
    if (whole.right) return std::nullopt;  // it does not come again
    const Tried without_plans = attempt(interpreted);
    std::optional<Fault> fault =
        without_plans.right ? plannedOperation(whole) : rewrite(interpreted, without_plans.rewrites.rewrites);
    if (!fault) fault = rewrite(wrong_.options, whole.rewrites.rewrites);
    return fault;
  }

 private:
  struct Tried {
    bool right = false;
    RewriteCount rewrites;
    Remark last;                                    // of the last rewrite
    std::vector<std::vector<OriginId>> operations;  // of nodes after all passes
  };

  Tried attempt(OptimizeOptions options, const std::function<void(OptimizedModel&)>& look = {}) {
    if (report_) report_(++tries_);
    options.dump_directory.clear();
    LastRemark remarks;
    OptimizedModel optimized = wrong_.make(options, remarks);
    Tried tried{false, optimized.rewrites, remarks.last, optimized.rewritten_origins};
    try {
      const auto records = verifyModule(reference_, optimized.module, wrong_.steps, wrong_.reset_method, wrong_.rule);
      tried.right = records.front().pass;
    } catch (const Error&) {
      // A model that fails is wrong.
    }
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

  // Results with all `rewrites` of these options are wrong.
  std::optional<Fault> rewrite(OptimizeOptions options, std::int64_t rewrites) {
    const auto withLimit = [&](std::int64_t limit) {
      options.rewrite_limit = limit;
      return attempt(options);
    };
    if (rewrites == 0 || !withLimit(0).right) return std::nullopt;
    const std::int64_t first = firstWrong(0, rewrites, [&](std::int64_t n) { return withLimit(n).right; });
    std::string values;
    options.rewrite_limit = first;
    const Tried wrong = attempt(options, [&](OptimizedModel& optimized) { values = nodeDifference(optimized); });
    for (const std::string& left_out : {wrong.rewrites.last, passOfRewrite(wrong.rewrites.last)}) {
      if (left_out.empty() || !rightWithout(left_out)) continue;
      return Fault{left_out, fmt::format("rewrite {} of {} ({}: {}){}", first, rewrites, wrong.last.pass,
                                         wrong.last.text, values)};
    }
    return std::nullopt;
  }

  // The first node in the order of the model that comes from a node of the original and gives something else.
  std::string nodeDifference(OptimizedModel& optimized) const {
    if (wrong_.steps.size() != 1) return "";
    try {
      Module frozen = freezeForPasses(wrong_.original, wrong_.options.preserved_methods);
      auto graph = frozen.get_method("forward").graph();
      OriginTable table;
      table.assign(*graph);
      std::unordered_map<OriginId, at::Tensor> expected;
      run(frozen, [&](torch::jit::Node* node, const torch::jit::IValue& value) {
        const auto ids = table.of(node);
        if (ids.size() == 1) expected[ids[0]] = value.toTensor().clone();
      });
      std::unordered_map<const torch::jit::Node*, OriginId> last;  // the node of the original whose value it has
      std::size_t index = 0;
      for (torch::jit::Node* node : optimized.rewritten.get_method("forward").graph()->nodes()) {
        if (node->kind() == c10::prim::Constant) continue;
        const auto& ids = optimized.rewritten_origins.at(index++);
        if (!ids.empty()) last[node] = ids.back();
      }
      std::string text;
      run(optimized.rewritten, [&](torch::jit::Node* node, const torch::jit::IValue& value) {
        const auto id = last.find(node);
        const auto was = id == last.end() ? expected.end() : expected.find(id->second);
        if (!text.empty() || was == expected.end()) return;
        const at::Tensor tensor = value.toTensor();
        const bool same_sizes = tensor.sizes().equals(was->second.sizes());
        if (same_sizes && at::allclose(tensor.to(at::kDouble), was->second.to(at::kDouble), 1e-3, 1e-5, true)) return;
        const std::string difference = largestDifference(tensor, was->second);
        if (difference.empty()) return;
        const Origin& origin = optimized.origins.at(static_cast<std::size_t>(id->second));
        text = fmt::format("; the first wrong node is {}{}{} with {}", origin.module_path,
                           origin.module_path.empty() ? "" : " ", origin.kind, difference);
      });
      return text;
    } catch (const std::exception&) {
      return "";  // a graph that cannot be run node by node
    }
  }

  // Calls `take` with each top-level node that gives one tensor, and the tensor.
  void run(Module& module, const std::function<void(torch::jit::Node*, const torch::jit::IValue&)>& take) const {
    const torch::NoGradGuard no_grad;
    Module copy = module.deepcopy();
    std::vector<torch::jit::IValue> inputs{copy._ivalue()};
    for (const torch::jit::IValue& input : wrong_.steps.front()) inputs.push_back(copyValue(input));
    auto graph = module.get_method("forward").graph();
    NodeRunner* running = nullptr;
    NodeRunner runner(*graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t) {
      if (node->owningBlock() != graph->block() || node->outputs().size() != 1) return;
      const torch::jit::IValue& value = running->valueOf(node->output());
      if (value.isTensor() && value.toTensor().defined()) take(node, value);
    });
    running = &runner;
    runner.run(std::move(inputs));
  }

  std::optional<Fault> plannedOperation(const Tried& whole) {
    std::vector<std::string> names;
    for (const std::vector<OriginId>& ids : whole.operations) {
      const std::string name = rewriteName(kLowerToPlanName, ids);
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
  ReferenceResults reference_;
  int tries_ = 0;
};

}  // namespace

std::optional<Fault> findFault(const WrongModel& wrong, const std::function<void(int)>& tried) {
  return Search(wrong, tried).run();
}

}  // namespace ipex_studio

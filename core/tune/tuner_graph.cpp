// Writes the choice over a whole plan as a graph of costs, and solves that (pbqp.h).
#include "core/tune/tuner_graph.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/pbqp.h"
#include "core/op/shape_inference.h"

namespace ipex_studio {
namespace {

// Cost of taking one of two joined steps without the other, which computes nothing.
constexpr double kHalfJoined_ns = 1e15;

class ChoiceGraph {
 public:
  ChoiceGraph(const PlanSpec& spec, const PlanRequest& request, const std::vector<TracedStep>& steps,
              const std::vector<std::vector<StepAlternative>>& alternatives, const ConversionCost& conversion)
      : spec_(spec),
        spec_values_(spec.valueCount()),
        request_(request),
        steps_(steps),
        alternatives_(alternatives),
        conversion_(conversion) {
    maker_.assign(static_cast<std::size_t>(spec_values_), {-1, 0});
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (std::size_t d = 0; d < steps[s].dst.size(); ++d) {
        // Steps of a node that is computed as several also write values that the spec does not know.
        if (steps[s].dst[d] < spec_values_) maker_[steps[s].dst[d]] = {static_cast<int>(s), d};
      }
    }
  }

  ChosenSteps solve() {
    for (const auto& own : alternatives_) {
      std::vector<double> costs;
      for (const StepAlternative& alternative : own) costs.push_back(alternative.cost_ns);
      costs_.push_back(std::move(costs));
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (alternatives_[s].empty()) continue;
      for (std::size_t operand = 0; operand < steps_[s].src.size(); ++operand) connect(s, operand);
    }
    for (std::int32_t output : spec_.outputs) fixOutput(output);
    return run();
  }

 private:
  struct Maker {
    int step;
    std::size_t dst;
  };
  // How a value comes about: the step that makes it, and the views in between, first to last.
  struct Path {
    std::int32_t value;
    Maker maker;
    std::vector<const TracedStep*> views;
  };
  struct Joint {
    int a, b;
    std::vector<double> costs;
  };

  Path pathTo(std::int32_t value) const {
    Path path{value, {-1, 0}, {}};
    while (path.value < spec_values_) {
      path.maker = maker_[static_cast<std::size_t>(path.value)];
      if (path.maker.step < 0 || !isView(steps_[path.maker.step].op.kind)) break;
      const TracedStep& view = steps_[path.maker.step];
      path.views.push_back(&view);
      path.value = view.src[0];
    }
    std::reverse(path.views.begin(), path.views.end());
    return path;
  }

  // The description that the last view shows if the first one views `desc`; adds to `cost` the copies that the views
  // need.
  TensorDesc through(const Path& path, TensorDesc desc, double* cost) const {
    for (const TracedStep* view : path.views) {
      TensorDesc seen;
      std::int64_t offset = 0;
      if (!viewOf(view->op, desc, view->args.dst[0], &seen, &offset)) {
        const TensorDesc plain = contiguousDesc(desc.dtype, desc.dims);
        *cost += conversion_(desc, plain);
        IPEX_CHECK(viewOf(view->op, plain, view->args.dst[0], &seen, &offset),
                   "a dense row-major tensor can always be viewed");
      }
      desc = seen;
    }
    return desc;
  }

  TensorDesc written(const Maker& maker, std::size_t alternative) const {
    const TensorDesc& plain = steps_[maker.step].args.dst[maker.dst];
    return maker.dst == 0 ? alternatives_[maker.step][alternative].dst : plain;
  }

  double betweenCost(const Path& path, const TensorDesc& from, const TensorDesc& to) const {
    double cost = 0;
    const TensorDesc seen = through(path, from, &cost);
    return cost + conversion_(seen, to);
  }

  void connect(std::size_t s, std::size_t operand) {
    const TracedStep& step = steps_[s];
    if (step.src[operand] < 0 || step.args.constant[operand] != nullptr) return;
    const Path path = pathTo(step.src[operand]);
    const auto& own = alternatives_[s];
    if (path.maker.step < 0) {
      const auto inputs = static_cast<std::int32_t>(spec_.inputs.size());
      if (path.value >= inputs) return;  // a constant seen through a view
      const TensorDesc given = request_.tensor_inputs[static_cast<std::size_t>(path.value)];
      for (std::size_t i = 0; i < own.size(); ++i) costs_[s][i] += betweenCost(path, given, own[i].src[operand]);
      return;
    }
    if (alternatives_[path.maker.step].empty()) return;
    Joint joint{path.maker.step, static_cast<int>(s), {}};
    for (std::size_t i = 0; i < alternatives_[path.maker.step].size(); ++i) {
      const bool with_reader = alternatives_[path.maker.step][i].joined == Joined::kWithReader;
      for (const StepAlternative& reader : own) {
        const bool with_source = reader.joined == Joined::kWithSource;
        const double between = with_reader != with_source ? kHalfJoined_ns
                               : with_reader              ? 0
                                             : betweenCost(path, written(path.maker, i), reader.src[operand]);
        joint.costs.push_back(between);
      }
    }
    joints_.push_back(std::move(joint));
  }

  void fixOutput(std::int32_t value) {
    const Path path = pathTo(value);
    if (path.maker.step < 0 || alternatives_[path.maker.step].empty()) return;
    for (std::size_t i = 0; i < costs_[path.maker.step].size(); ++i) {
      double cost = 0;
      const TensorDesc seen = through(path, written(path.maker, i), &cost);
      costs_[path.maker.step][i] += cost + conversion_(seen, contiguousDesc(seen.dtype, seen.dims));
    }
  }

  ChosenSteps run() const {
    Pbqp problem;
    std::vector<int> number(steps_.size(), -1);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (!costs_[s].empty()) number[s] = problem.addNode(costs_[s]);
    }
    for (const Joint& joint : joints_) problem.addEdge(number[joint.a], number[joint.b], joint.costs);
    const Pbqp::Solution solution = problem.solve();
    ChosenSteps chosen{std::vector<std::int32_t>(steps_.size(), -1), solution.cost};
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (number[s] >= 0) chosen.alternative[s] = solution.choice[static_cast<std::size_t>(number[s])];
    }
    return chosen;
  }

  const PlanSpec& spec_;
  const std::int32_t spec_values_;
  const PlanRequest& request_;
  const std::vector<TracedStep>& steps_;
  const std::vector<std::vector<StepAlternative>>& alternatives_;
  const ConversionCost& conversion_;
  std::vector<Maker> maker_;                // per value of the spec
  std::vector<std::vector<double>> costs_;  // per step
  std::vector<Joint> joints_;
};

}  // namespace

ChosenSteps chooseSteps(const PlanSpec& spec, const PlanRequest& request, const std::vector<TracedStep>& steps,
                        const std::vector<std::vector<StepAlternative>>& alternatives,
                        const ConversionCost& conversion) {
  return ChoiceGraph(spec, request, steps, alternatives, conversion).solve();
}

}  // namespace ipex_studio

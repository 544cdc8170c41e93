// Turns of a region and of its code in the interpreter.
#include "core/model/region_trial.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/lower/region_object.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;

// A loss counts from here on; less is within what timing on a busy machine can tell.
constexpr double kClearLoss = 1.03;
// A win that needs no further turns.
constexpr double kClearWin = 0.9;
// What is so slow that there is no time for more turns is known to lose if all of a few say so beyond doubt.
constexpr double kHeavyLoss = 1.5;
constexpr std::size_t kFewTurns = 3, kMinTurns = 5, kMaxTurns = 41;

PairedTimes summary(std::vector<std::int64_t> first, std::vector<std::int64_t> second) {
  std::vector<double> ratios;
  for (std::size_t t = 0; t < first.size(); ++t) {
    ratios.push_back(static_cast<double>(first[t]) / static_cast<double>(std::max<std::int64_t>(1, second[t])));
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  // The interval of a median by order statistics, as ratios of turns need not follow any distribution.
  const auto count = static_cast<double>(ratios.size());
  const auto outside = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));
  return {first[first.size() / 2], second[second.size() / 2], ratios[ratios.size() / 2], ratios[outside],
          ratios[ratios.size() - 1 - outside]};
}

// A graph with the nodes that call a region as they stand in a model; takes the region, the tensors and the integers.
std::shared_ptr<Graph> callGraph(std::size_t tensors, std::size_t ints, std::size_t outputs) {
  auto graph = std::make_shared<Graph>();
  torch::jit::Value* region = graph->addInput()->setType(regionType());
  const auto inputs = [&](std::size_t count, const c10::TypePtr& type) {
    std::vector<torch::jit::Value*> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(graph->addInput()->setType(type));
    return values;
  };
  const std::vector<torch::jit::Value*> tensor_values = inputs(tensors, c10::TensorType::get()),
                                        int_values = inputs(ints, c10::IntType::get());
  torch::jit::Value* tensor_list =
      graph->insertNode(graph->createList(c10::TensorType::get(), tensor_values))->output();
  torch::jit::Value* int_list = graph->insertNode(graph->createList(c10::IntType::get(), int_values))->output();
  torch::jit::Node* call = graph->insertNode(
      graph->create(c10::Symbol::fromQualString("ipex_studio::region"), {region, tensor_list, int_list}, 1));
  call->output()->setType(c10::ListType::ofTensors());
  torch::jit::Node* unpack = graph->insertNode(graph->create(c10::prim::ListUnpack, {call->output()}, outputs));
  for (torch::jit::Value* output : unpack->outputs()) {
    output->setType(c10::TensorType::get());
    graph->registerOutput(output);
  }
  return graph;
}

std::function<void()> runner(const std::shared_ptr<Graph>& graph, std::vector<IValue> arguments) {
  return [code = torch::jit::Code(graph, "region"), arguments = std::move(arguments)] {
    torch::jit::Stack stack = arguments;
    torch::jit::InterpreterState(code).run(stack);
  };
}

}  // namespace

bool PairedTimes::firstLoses() const { return ratio >= kClearLoss && low > 1; }

std::optional<PairedTimes> timePair(const std::function<void()>& first, const std::function<void()>& second,
                                    const TrialLimits& limits) {
  const std::int64_t begin = limits.clock_ns();
  const auto timed = [&](const std::function<void()>& run) {
    const std::int64_t from = limits.clock_ns();
    run();
    return limits.clock_ns() - from;
  };
  const auto spent = [&] { return limits.clock_ns() - begin; };
  // The other one is taken for as slow; its first run, which also makes what it needs, tells.
  // A disturbance may hit one run, but hardly two.
  const auto costs_too_much = [&](std::int64_t run_ns) {
    return static_cast<std::int64_t>(kFewTurns) * run_ns > limits.budget_ns;
  };
  std::int64_t once = timed(first);
  if (costs_too_much(once) && once < limits.budget_ns) once = std::min(once, timed(first));
  if (costs_too_much(once)) return std::nullopt;
  second();
  std::vector<std::int64_t> first_ns, second_ns;
  for (std::size_t turn = 0; turn < kMaxTurns; ++turn) {
    const std::int64_t turn_ns = turn == 0 ? once : first_ns.back() + second_ns.back();
    if (spent() + turn_ns > limits.budget_ns) break;
    if (turn % 2 == 0) first_ns.push_back(timed(first));
    second_ns.push_back(timed(second));
    if (turn % 2 == 1) first_ns.push_back(timed(first));
    if (turn + 1 >= kFewTurns && turn < kMinTurns && summary(first_ns, second_ns).high < kClearWin) break;
  }
  if (first_ns.size() < kFewTurns) return std::nullopt;
  const PairedTimes times = summary(first_ns, second_ns);
  const bool decided = first_ns.size() >= kMinTurns || times.high < kClearWin || times.low > kHeavyLoss;
  return decided ? std::optional(times) : std::nullopt;
}

std::optional<PairedTimes> timeRegion(const IValue& region, const std::shared_ptr<Graph>& code,
                                      const std::vector<IValue>& tensors, const std::vector<IValue>& ints,
                                      const TrialLimits& limits) {
  std::vector<IValue> arguments = tensors;
  arguments.insert(arguments.end(), ints.begin(), ints.end());
  std::vector<IValue> with_region{region};
  with_region.insert(with_region.end(), arguments.begin(), arguments.end());
  try {
    return timePair(runner(callGraph(tensors.size(), ints.size(), code->outputs().size()), std::move(with_region)),
                    runner(code, std::move(arguments)), limits);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;  // the model itself will say what is wrong, if anything is
  }
}

}  // namespace ipex_studio

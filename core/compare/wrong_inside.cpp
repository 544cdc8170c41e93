// See wrong_inside.h: the original's values are kept in part, and the other graph's are compared as they come.
#include "core/compare/wrong_inside.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/quantization/quantized_value.h"
#include "core/torch/random_numbers.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kKeptElements = 1000;
constexpr std::size_t kKeptValues = 16000;
constexpr std::array<double, 3> kNarrowing = {1e-4, 2e-5, 4e-6};

// True for tensors whose elements can be looked at one by one.
bool isPlain(const IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  const at::Tensor& tensor = value.toTensor();
  return !tensor.is_nested() && !tensor.is_quantized() && tensor.layout() == at::kStrided;
}

// Elements that lie evenly, all of them in a small tensor.
at::Tensor samplesOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().contiguous().flatten();
  if (flat.numel() <= kKeptElements) return flat.clone();
  const at::Tensor places =
      at::linspace(0, static_cast<double>(flat.numel() - 1), kKeptElements, at::kDouble).to(at::kLong);
  return flat.index_select(0, places);
}

// The tensor of a value, of integers of a lower precision the numbers that they stand for; nullopt: nothing to compare.
std::optional<at::Tensor> tensorOf(const Value* value, const IValue& now, bool floats) {
  if (!isPlain(now)) return std::nullopt;
  const at::Tensor& tensor = now.toTensor();
  if (!floats || at::isFloatingType(tensor.scalar_type())) return tensor;
  if (tensor.scalar_type() != at::kByte && tensor.scalar_type() != at::kChar) return std::nullopt;
  return realValue(const_cast<Value*>(value), tensor);  // NOLINT: the graph stays as it is
}

struct KeptValue {
  std::vector<std::int64_t> sizes;
  at::Tensor samples;
};

class InsideSearch {
 public:
  InsideSearch(const Lockstep& graphs, const std::vector<ValuePair>& pairs) : graphs_(graphs), pairs_(pairs) {
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      kept_[pairs[p].original];
      by_other_[pairs[p].other] = p;
    }
  }

  std::optional<WrongInside> find() {
    watchValues(graphs_.original(), graphs_.inputs(),
                [this](const Value* value, const IValue& now) { keep(value, now); });
    countOther();
    std::unordered_map<const Value*, std::int64_t> runs;
    watchOther([&](std::size_t p, const IValue& now) { compare(p, runs[pairs_[p].original]++, now); });
    for (auto& wrong : wrong_) {
      if (wrong) return describe(std::move(*wrong));
    }
    return std::nullopt;
  }

 private:
  void keep(const Value* value, const IValue& now) {
    const auto found = kept_.find(value);
    if (found == kept_.end()) return;
    KeptValue kept;
    if (isPlain(now) && ++values_ <= kKeptValues) kept = {now.toTensor().sizes().vec(), samplesOf(now.toTensor())};
    found->second.push_back(std::move(kept));
  }

  // A graph that fails has given values before.
  void watchOther(const std::function<void(std::size_t pair, const IValue& now)>& watch) const {
    try {
      watchValues(graphs_.other(), graphs_.inputs(), [&](const Value* value, const IValue& now) {
        const auto found = by_other_.find(value);
        if (found != by_other_.end()) watch(found->second, now);
      });
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
    }
  }

  void countOther() {
    watchOther([this](std::size_t p, const IValue&) { ++others_[pairs_[p].original]; });
  }

  // Nodes that stand for one node of the original in each of its runs; 0: they cannot be told apart.
  std::int64_t nodesPerRun(const Value* original) const {
    const auto all = static_cast<std::int64_t>(kept_.at(original).size());
    const auto found = others_.find(original);
    return all == 0 || found == others_.end() || found->second % all != 0 ? 0 : found->second / all;
  }

  void compare(std::size_t p, std::int64_t run, const IValue& now) {
    const std::int64_t nodes = nodesPerRun(pairs_[p].original);
    if (nodes == 0 || run % nodes != nodes - 1) return;
    run /= nodes;
    const KeptValue& kept = kept_.at(pairs_[p].original)[static_cast<std::size_t>(run)];
    if (!kept.samples.defined()) return;
    const bool floats = at::isFloatingType(kept.samples.scalar_type());
    const auto tensor = tensorOf(pairs_[p].other, now, floats);
    if (!tensor || tensor->sizes() != at::IntArrayRef(kept.sizes) ||
        tensor->is_complex() != kept.samples.is_complex() || at::isFloatingType(tensor->scalar_type()) != floats)
      return;
    for (std::size_t s = 0; s < kNarrowing.size(); ++s) {
      if (wrong_[s]) continue;
      ValueTolerance tolerance = graphs_.tolerance();
      tolerance.share = std::min(tolerance.share, kNarrowing[s]);
      if (differenceOf(samplesOf(*tensor), kept.samples, tolerance).accuracy.pass) continue;
      wrong_[s] = WrongInside{pairs_[p], {}, run, s == 0, {}};
    }
  }

  WrongInside describe(WrongInside wrong) const {
    const auto right = originalValueAt(graphs_, wrong.pair.original, wrong.run);
    const std::int64_t nodes = nodesPerRun(wrong.pair.original), wanted = (wrong.run + 1) * nodes - 1;
    std::int64_t run = 0;
    watchOther([&](std::size_t p, const IValue& now) {
      if (pairs_[p].original != wrong.pair.original || run++ != wanted) return;
      const bool floats = right->isTensor() && at::isFloatingType(right->toTensor().scalar_type());
      if (const auto tensor = tensorOf(pairs_[p].other, now, floats))
        wrong.difference = differenceOf(*tensor, *right, graphs_.tolerance());
    });
    wrong.difference.accuracy.pass = false;
    for (const Value* input : wrong.pair.other->node()->inputs()) {
      const auto found = by_other_.find(input);
      if (found != by_other_.end()) wrong.reads.push_back(pairs_[found->second]);
    }
    return wrong;
  }

  const Lockstep& graphs_;
  const std::vector<ValuePair>& pairs_;
  std::unordered_map<const Value*, std::vector<KeptValue>> kept_;  // by value of the original
  std::unordered_map<const Value*, std::int64_t> others_;          // how often values stood for it
  std::unordered_map<const Value*, std::size_t> by_other_;
  std::array<std::optional<WrongInside>, kNarrowing.size()> wrong_;
  std::size_t values_ = 0;
};

}  // namespace

void watchValues(const Module& module, const Inputs& inputs, const ValueWatch& watch) {
  const RunMode mode(module);
  SeededGenerator generator;
  generator.seed(1);
  const Module copy = copyModule(module);
  NodeRunner* running = nullptr;
  NodeRunner runner(*module.get_method("forward").graph(), [&](Node* node, std::int64_t, std::int64_t) {
    for (const Value* output : node->outputs()) watch(output, running->valueOf(output));
  });
  running = &runner;
  runner.run(copiedArguments(module, copy, inputs));
}

std::optional<IValue> originalValueAt(const Lockstep& graphs, const Value* value, std::int64_t run) {
  std::optional<IValue> found;
  std::int64_t runs = 0;
  watchValues(graphs.original(), graphs.inputs(), [&](const Value* computed, const IValue& now) {
    if (computed == value && (run < 0 || runs++ == run)) found = copyValue(now);
  });
  return found;
}

std::optional<WrongInside> firstWrongInside(const Lockstep& graphs, const std::vector<ValuePair>& pairs) {
  if (pairs.empty()) return std::nullopt;
  return InsideSearch(graphs, pairs).find();
}

}  // namespace ipex_studio

// Pairs by what values hold.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/compare/graph_values.h"
#include "core/compare/node_pairs.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/torch/random_numbers.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kSamples = 64;

// Some elements of a value in row-major order, and its greatest one.
struct ValuePrint {
  Value* value = nullptr;
  std::vector<std::int64_t> sizes;
  std::vector<double> samples;
  double greatest = 0;
};

std::optional<ValuePrint> printOf(Value* value, const IValue& now) {
  if (!now.isTensor() || !now.toTensor().defined()) return std::nullopt;
  const at::Tensor& tensor = now.toTensor();
  if (!at::isFloatingType(tensor.scalar_type()) || tensor.numel() < 2) return std::nullopt;
  ValuePrint print;
  print.value = value;
  print.sizes = tensor.sizes().vec();
  const std::int64_t count = std::min(kSamples, tensor.numel());
  const at::Tensor places = at::linspace(0, static_cast<double>(tensor.numel() - 1), count, at::kDouble).to(at::kLong);
  const at::Tensor samples = tensor.detach().contiguous().flatten().index_select(0, places).to(at::kDouble);
  for (std::int64_t s = 0; s < count; ++s) print.samples.push_back(samples[s].item<double>());
  print.greatest = tensor.detach().abs().max().item<double>();
  return print;
}

std::vector<ValuePrint> printsOf(const Module& module, const Inputs& inputs) {
  const RunMode mode(module);
  SeededGenerator generator;
  generator.seed(1);
  const Module copy = copyModule(module);
  Graph& graph = *module.get_method("forward").graph();
  std::vector<ValuePrint> prints;
  NodeRunner runner(graph);
  runner.begin(copiedArguments(module, copy, inputs));
  try {
    while (Node* node = runner.step()) {
      for (Value* output : node->outputs()) {
        if (auto print = printOf(output, runner.valueOf(output))) prints.push_back(std::move(*print));
      }
    }
  } catch (const std::exception&) {
    // Values that were computed before count.
  }
  return prints;
}

bool alike(const ValuePrint& a, const ValuePrint& b, double share) {
  if (a.sizes != b.sizes) return false;
  const double bound = share * std::max(a.greatest, b.greatest);
  for (std::size_t s = 0; s < a.samples.size(); ++s) {
    if (!(std::abs(a.samples[s] - b.samples[s]) <= bound) && !(a.samples[s] == b.samples[s])) return false;
  }
  return true;
}

// The values that a node reads through nodes that give no tensors.
void tensorsRead(const Node* node, std::vector<const Value*>* read, int depth = 0) {
  for (const Value* input : node->inputs()) {
    if (!isComputed(input)) continue;
    const bool tensor = input->type()->isSubtypeOf(*c10::TensorType::get());
    if (tensor || depth > 20) {
      read->push_back(input);
    } else {
      tensorsRead(input->node(), read, depth + 1);
    }
  }
}

// Values without a counterpart whose operands all have one.
std::vector<const ValuePrint*> firstWithout(const std::vector<ValuePrint>& prints,
                                            const std::unordered_set<const Value*>& known) {
  std::vector<const ValuePrint*> first;
  for (const ValuePrint& print : prints) {
    if (known.count(print.value) != 0) continue;
    std::vector<const Value*> read;
    tensorsRead(print.value->node(), &read);
    if (std::all_of(read.begin(), read.end(), [&](const Value* value) { return known.count(value) != 0; }))
      first.push_back(&print);
  }
  return first;
}

}  // namespace

void addPairsByValue(const Lockstep& graphs, std::vector<ValuePair>* pairs) {
  const double share = graphs.tolerance().rule.precision == Precision::kFp32 ? graphs.tolerance().share : 0.05;
  const std::vector<ValuePrint> originals = printsOf(graphs.original(), graphs.inputs());
  const std::vector<ValuePrint> others = printsOf(graphs.other(), graphs.inputs());
  std::unordered_set<const Value*> known_original, known_other;
  for (const ValuePair& pair : *pairs) {
    known_original.insert(pair.original);
    known_other.insert(pair.other);
  }
  std::multimap<std::vector<std::int64_t>, const ValuePrint*> by_sizes;
  for (const ValuePrint& print : originals) by_sizes.emplace(print.sizes, &print);
  for (const ValuePrint& print : others) {
    if (known_other.count(print.value) != 0) continue;
    const auto [begin, end] = by_sizes.equal_range(print.sizes);
    for (auto it = begin; it != end; ++it) {
      if (!alike(*it->second, print, share)) continue;
      pairs->push_back({it->second->value, print.value, {}});
      known_original.insert(it->second->value);
      known_other.insert(print.value);
      break;
    }
  }
  auto left = firstWithout(originals, known_original), right = firstWithout(others, known_other);
  for (const ValuePrint* print : right) {
    const auto fits = std::find_if(left.begin(), left.end(), [&](const auto* p) { return p->sizes == print->sizes; });
    if (fits == left.end()) continue;
    pairs->push_back({(*fits)->value, print->value, {}});
    left.erase(fits);
  }
}

}  // namespace ipex_studio

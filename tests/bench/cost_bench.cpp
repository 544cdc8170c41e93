// Measures the cost per node of passes, region finding and planning as graphs grow: prints ns per node, sizes side by
// side, and the growth from the smallest to the largest. Two things are timed apart: libtorch's own lint, alias
// analysis, printing and parsing, and its time to make and destroy as many nodes as our passes did, which is a part of
// theirs. Code that touches nodes waits for memory once they no longer fit the caches; a bare walk along them gives a
// lower bound. Of small graphs as many are measured as have the nodes of the largest, so every cell is the shortest of
// a few means over equally many nodes; the shortest time of a single small graph would be that of a rare quiet moment.
// One concept in spite of its length: the graphs, the timed steps and the table of one program.
//
//   cost_bench [sizes…]      default 1000 10000 50000
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/passes/common_subexpression_elimination.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "core/base/error.h"
#include "core/graph/graph_heap.h"
#include "core/graph/strides.h"
#include "core/graph/value_uses.h"
#include "core/lower/region_levels.h"
#include "core/lower/region_spec.h"
#include "core/lower/regions.h"
#include "core/pipeline/pipeline.h"
#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "passes/pipeline.h"

namespace ipex_studio {
namespace {

constexpr int kRounds = 5;
constexpr char kMakeAndDestroy[] = "libtorch: to make and destroy our nodes";
constexpr char kOurPasses[] = "all our passes";

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

// CPU time of this thread in ns, which excludes other work on the machine.
std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}

// Makes graphs of each kind in any size. Their first input is the module, as regions want it.
class Maker {
 public:
  Maker() : graph_(std::make_shared<Graph>()) {
    graph_->addInput("self")->setType(c10::AnyType::get());
    x_ = graph_->addInput("x")->setType(type({1, 4, 2, 2}));
    one_ = graph_->insertConstant(1);
    zeros_ = graph_->insertConstant(IValue(std::vector<std::int64_t>{0, 0}));
    ones_ = graph_->insertConstant(IValue(std::vector<std::int64_t>{1, 1}));
    weight_ = graph_->insertConstant(at::full({4, 4, 1, 1}, 0.25f));
    scale_ = graph_->insertConstant(at::full({4}, 0.5f));
    half_ = graph_->insertConstant(0.5);
    zero_ = graph_->insertConstant(0);
    no_ = graph_->insertConstant(false);
  }

  // A chain of patterns that the passes look for: convolution, batch norm, activation, residual sum, scale, no-ops.
  std::shared_ptr<Graph> chain(int nodes) {
    Value* x = x_;
    Value* before = x_;
    for (int n = 0; n < nodes; ++n) {
      switch (n % 10) {
        case 0:
          x = convolution(before = x);
          break;
        case 1:
          x = batchNorm(x);
          break;
        case 2:
          x = op("aten::relu", {x});
          break;
        case 3:
          x = convolution(x);
          break;
        case 4:
          x = op("aten::add", {x, before, one_});
          break;
        case 5:
          x = op("aten::sigmoid", {x});
          break;
        case 6:
          x = op("aten::mul", {x, half_});
          break;
        case 7:
          x = op("aten::tanh", {x});
          break;
        case 8:
          x = op("aten::contiguous", {x, zero_});
          break;
        default:
          x = op("aten::dropout", {x, half_, no_});
          break;
      }
    }
    graph_->registerOutput(x);
    return graph_;
  }

  // One value read by all nodes, whose results are concatenated in hundreds.
  std::shared_ptr<Graph> fanOut(int nodes) {
    Value* x = convolution(x_);
    std::vector<Value*> parts, sums;
    for (int n = 0; n < nodes; ++n) {
      parts.push_back(op("aten::mul", {x, graph_->insertConstant(0.001 * n + 0.5)}));
      if (parts.size() == 100 || n + 1 == nodes) {
        sums.push_back(concat(parts));
        parts.clear();
      }
    }
    graph_->registerOutput(concat(sums));
    return graph_;
  }

  // All nodes side by side into one concatenation.
  std::shared_ptr<Graph> wideConcat(int nodes) {
    std::vector<Value*> parts;
    for (int n = 0; n < nodes; ++n) parts.push_back(op("aten::mul", {x_, graph_->insertConstant(0.001 * n + 0.5)}));
    graph_->registerOutput(concat(parts));
    return graph_;
  }

  // Branches of four nodes side by side.
  std::shared_ptr<Graph> branches(int nodes) {
    std::vector<Value*> parts;
    for (int n = 0; n < nodes; n += 4)
      parts.push_back(op("aten::mul", {op("aten::sigmoid", {op("aten::relu", {convolution(x_)})}), half_}));
    graph_->registerOutput(concat(parts));
    return graph_;
  }

  // Branches of control flow nested fifty deep, again and again.
  std::shared_ptr<Graph> nested(int nodes) {
    constexpr int kDepth = 50;
    constexpr int kNodesPerLevel = 5;
    Value* taken = graph_->addInput("taken")->setType(c10::BoolType::get());
    Value* x = x_;
    for (int n = 0; n < nodes; n += kDepth * kNodesPerLevel) x = choice(taken, x, kDepth);
    graph_->registerOutput(op("aten::relu", {x}));
    return graph_;
  }

 private:
  static c10::TypePtr type(std::vector<std::int64_t> sizes) {
    return c10::TensorType::createContiguous(at::kFloat, at::kCPU, sizes);
  }
  std::vector<std::int64_t> sizesOf(const Value* value) const {
    return *value->type()->expect<c10::TensorType>()->sizes().concrete_sizes();
  }

  Value* op(const char* kind, std::vector<Value*> inputs) {
    Node* node = graph_->insertNode(graph_->create(c10::Symbol::fromQualString(kind), inputs));
    node->output()->setType(type(sizesOf(inputs[0])));
    return node->output();
  }
  Value* convolution(Value* x) {
    Value* none = graph_->insertConstant(IValue());
    return op("aten::conv2d", {x, weight_, none, ones_, zeros_, ones_, one_});
  }
  Value* batchNorm(Value* x) {
    return op("aten::batch_norm",
              {x, scale_, scale_, scale_, scale_, no_, graph_->insertConstant(0.1), graph_->insertConstant(1e-5), no_});
  }
  Value* concat(const std::vector<Value*>& parts) {
    Value* list = graph_->insertNode(graph_->createList(c10::TensorType::get(), parts))->output();
    Node* node = graph_->insertNode(graph_->create(c10::Symbol::fromQualString("aten::cat"), {list, one_}));
    std::vector<std::int64_t> sizes = sizesOf(parts[0]);
    sizes[1] = 0;
    for (const Value* part : parts) sizes[1] += sizesOf(part)[1];
    node->output()->setType(type(sizes));
    return node->output();
  }

  // One branch computes and chooses again, `depth` times; the other does little.
  Value* choice(Value* taken, Value* x, int depth) {
    Node* node = graph_->insertNode(graph_->create(c10::prim::If, {taken}));
    node->output()->setType(type(sizesOf(x)));
    torch::jit::Block* deep = node->addBlock();
    torch::jit::Block* flat = node->addBlock();
    {
      torch::jit::WithInsertPoint inside(deep);
      Value* y = op("aten::relu", {convolution(x)});
      deep->registerOutput(op("aten::sigmoid", {depth == 1 ? y : choice(taken, y, depth - 1)}));
    }
    torch::jit::WithInsertPoint inside(flat);
    flat->registerOutput(op("aten::tanh", {x}));
    return node->output();
  }

  std::shared_ptr<Graph> graph_;
  Value *x_, *one_, *zeros_, *ones_, *weight_, *scale_, *half_, *zero_, *no_;
};

// Times of all rows in ns, in order of their first appearance; each cell is the shortest of the rounds.
class Table {
 public:
  explicit Table(int nodes_per_round) : nodes_per_round_(nodes_per_round) {}

  // Number of graphs of this size that a round measures.
  int graphs(int size) const { return std::max(1, nodes_per_round_ / size); }

  void add(const std::string& row, int size, double ns) {
    const auto at = std::find(rows_.begin(), rows_.end(), row);
    if (at == rows_.end()) rows_.push_back(row);
    round_[{row, size}] += ns;
  }

  void endRound() {
    for (const auto& [place, ns] : round_) {
      const auto known = cells_[place.first].emplace(place.second, ns).first;
      known->second = std::min(known->second, ns);
    }
    round_.clear();
  }

  void print(const std::string& title, const std::vector<int>& sizes) const {
    fmt::print("\n{} (ns per node)\n{:40}", title, "");
    for (const int size : sizes) fmt::print("{:>12}", size);
    fmt::print("{:>10}\n", "growth");
    for (const std::string& row : rows_) {
      fmt::print("{:40}", row);
      const auto& cells = cells_.at(row);
      const auto perNode = [&](int size) {
        return cells.count(size) == 0 ? 0.0 : cells.at(size) / size / graphs(size);
      };
      for (const int size : sizes) fmt::print("{:>12.0f}", perNode(size));
      fmt::print("{:>10.2f}\n", perNode(sizes.front()) > 0 ? perNode(sizes.back()) / perNode(sizes.front()) : 0);
    }
  }

  // Adds a row with the time of one row that is not in another.
  void addDifference(const std::string& row, const std::string& whole, const std::string& part) {
    rows_.push_back(row);
    for (const auto& [size, ns] : cells_.at(whole)) cells_[row][size] = ns - cells_.at(part).at(size);
  }

 private:
  int nodes_per_round_;
  std::vector<std::string> rows_;
  std::map<std::pair<std::string, int>, double> round_;
  std::map<std::string, std::map<int, double>> cells_;
};

void timed(Table& table, const std::string& row, int size, const std::function<void()>& body) {
  const std::int64_t begin = now();
  body();
  table.add(row, size, static_cast<double>(now() - begin));
}

// Times the bare walk from one node to the next.
void bareWalk(Table& table, int size, Graph& graph) {
  std::size_t operands = 0;
  timed(table, "to walk along the nodes once", size, [&] {
    for (const Node* node : graph.nodes()) operands += node->inputs().size();
  });
  IPEX_CHECK(operands > 0, "graphs have operands");
}

void libtorchAlone(Table& table, int size, bool has_blocks, Graph& graph) {
  // Quadratic in the number of blocks.
  if (!has_blocks) timed(table, "libtorch: lint", size, [&] { graph.lint(); });
  timed(table, "libtorch: alias analysis", size, [&] { torch::jit::AliasDb aliases(sharedView(graph)); });
  std::string text;
  timed(table, "libtorch: print", size, [&] { text = graph.toString(false); });
  const std::shared_ptr<Graph> copy = graph.copy();
  timed(table, "libtorch: common subexpressions", size, [&] { torch::jit::EliminateCommonSubexpression(copy); });
  timed(table, "libtorch: dead code", size, [&] { torch::jit::EliminateDeadCode(copy); });
}

// Number of values that a graph ever had, and that it has now.
struct ValueCounts {
  std::size_t ever = 0, now = 0;
};

ValueCounts countValues(Graph& graph) {
  ValueCounts counts;
  for (const Node* node : allNodes(graph, true)) {
    for (const Value* output : node->outputs()) {
      counts.ever = std::max(counts.ever, output->unique() + 1);
      ++counts.now;
    }
  }
  return counts;
}

// Times libtorch alone: makes `made` nodes with their values one by one along a graph of this size, and destroys
// `destroyed`, each new one taking the place of another.
void makeAndDestroy(Table& table, int size, const Graph& graph, std::size_t made, std::size_t destroyed) {
  const std::shared_ptr<Graph> copy = const_cast<Graph&>(graph).copy();
  ValueUses uses;
  timed(table, kMakeAndDestroy, size, [&] {
    for (std::size_t pairs = 0; pairs < std::min(made, destroyed);) {
      for (Node* node : allNodes(*copy, true)) {
        if (pairs == std::min(made, destroyed)) break;
        const bool plain = node->outputs().size() == 1 && node->output()->uses().size() <= 32;
        if (!plain) continue;
        Node* again = copy->create(node->kind(), node->inputs(), 1);
        again->copyAttributes(*node);
        again->insertBefore(node);
        again->copyMetadata(node);
        again->output()->setType(node->output()->type());
        node->output()->replaceAllUsesWith(again->output());
        uses.destroy(node);
        ++pairs;
      }
    }
  });
  while (!copy->outputs().empty()) copy->eraseOutput(copy->outputs().size() - 1);
  std::vector<Node*> last_first;
  for (Node* node : allNodes(*copy, true)) last_first.push_back(node);
  std::reverse(last_first.begin(), last_first.end());
  timed(table, kMakeAndDestroy, size, [&] {
    std::size_t left = destroyed - std::min(made, destroyed);
    for (Node* node : last_first) {
      if (left == 0) break;
      if (node->hasUses() || node->outputs().size() != 1) continue;
      uses.destroy(node);
      --left;
    }
  });
}

void planAlone(Table& table, int size, Graph& graph, const OriginTable& origins) {
  NodeEffects effects;
  NodeSet strided;
  timed(table, "libtorch: alias analysis before regions", size, [&] { effects = effectsOf(graph); });
  timed(table, "ours: strides that are read", size, [&] { strided = nodesWithShownStrides(graph); });
  std::unique_ptr<RegionLevels> levels;
  timed(table, "ours: levels and lowering", size,
        [&] { levels = std::make_unique<RegionLevels>(*graph.block(), effects, strided, nullptr, 1); });
  std::vector<const PlacedNode*> nodes;
  for (const PlacedNode& placed : levels->nodes()) {
    if (placed.lowered) nodes.push_back(&placed);
  }
  RegionSpec spec;
  timed(table, "ours: region's spec", size, [&] { spec = makeRegionSpec(nodes, {graph.outputs()[0]}, origins); });
  std::string text;
  timed(table, "ours: spec to text", size, [&] { text = planSpecToText(spec.plan); });
  timed(table, "ours: spec from text", size, [&] { spec.plan = planSpecFromText(text); });
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  PlanRequest request;
  request.tensor_inputs = {contiguousDesc(DType::kF32, Dims{1, 4, 2, 2})};
  request.int_inputs = {0};
  for (const at::Tensor& constant : spec.constants) request.constants.push_back(constant.data_ptr());
  WeightCache weights;
  std::unique_ptr<Plan> plan;
  timed(table, "ours: plan (+ preparing kernels)", size,
        [&] { plan = Plan::compile(spec.plan, request, *kernels, weights); });
  std::unique_ptr<Plan::Instance> instance;
  timed(table, "ours: instance", size, [&] { instance = std::make_unique<Plan::Instance>(*plan); });
}

void measure(Table& table, int size, bool one_plan, const std::function<std::shared_ptr<Graph>(Maker&)>& make) {
  std::optional<GraphHeap> heap(std::in_place);
  Maker maker;
  std::shared_ptr<Graph> graph = make(maker);
  bareWalk(table, size, *graph);
  libtorchAlone(table, size, !one_plan, *graph);
  OriginTable origins;
  timed(table, "ours: origins", size, [&] { origins.assign(*graph); });
  // The steps of the pipeline, one after the other.
  const OptimizeOptions options;
  const std::shared_ptr<Graph> before = graph->copy();
  std::size_t made = 0, destroyed = 0;
  Rewriter rewriter(*graph, origins, -1);
  GraphIndex graph_index(*graph);
  for (const Pass* pass : defaultPasses()) {
    rewriter.beginPass();
    const ConstantAttributes attributes;
    PassContext context(*graph, rewriter, options, graph_index, attributes);
    bool changed = false;
    const ValueCounts values = countValues(*graph);
    const std::int64_t begin = now();
    changed = concerns(*pass, graph_index) && pass->run(*graph, context);
    const auto elapsed = static_cast<double>(now() - begin);
    table.add(std::string("pass ") + pass->name, size, elapsed);
    const std::string name = pass->name;
    const bool stock = name == "eliminate-common-subexpressions" || name == "eliminate-dead-code";
    table.add(stock ? "libtorch's passes" : kOurPasses, size, elapsed);
    if (changed && !stock) {
      const ValueCounts after = countValues(*graph);
      made += after.ever - values.ever;
      destroyed += values.now + after.ever - values.ever - after.now;
    }
    if (!changed) continue;
    timed(table, "ours: hash and graph_index after passes", size, [&] { graph_index = GraphIndex(*graph); });
    timed(table, "ours: snapshots (+ libtorch's print)", size, [&] { makeSnapshot(*graph, origins, 1, pass->name); });
  }
  makeAndDestroy(table, size, *before, made, destroyed);
  heap.reset();  // plans lie elsewhere
  if (one_plan) planAlone(table, size, *graph, origins);
  heap.emplace();
  timed(table, "ours: regions, all of it (+ aliases)", size, [&] { buildRegions(*graph, origins); });
}

}  // namespace
}  // namespace ipex_studio

int main(int argc, char** argv) {
  using namespace ipex_studio;
  std::vector<int> sizes;
  for (int a = 1; a < argc; ++a) sizes.push_back(std::atoi(argv[a]));
  if (sizes.empty()) sizes = {1000, 10000, 50000};
  {
    Table warm(64);  // registries, kernels, first touches
    measure(warm, 64, true, [](Maker& maker) { return maker.chain(64); });
  }
  const auto run = [&](const char* title, bool one_plan,
                       const std::function<std::shared_ptr<Graph>(Maker&, int)>& make) {
    Table table(*std::max_element(sizes.begin(), sizes.end()));
    for (int round = 0; round < kRounds; ++round) {
      for (const int size : sizes) {
        for (int graph = 0; graph < table.graphs(size); ++graph)
          measure(table, size, one_plan, [&](Maker& maker) { return make(maker, size); });
      }
      table.endRound();
    }
    table.addDifference("all our passes without libtorch's work", kOurPasses, kMakeAndDestroy);
    table.print(title, sizes);
    std::fflush(stdout);
  };
  run("chain", true, [](Maker& maker, int size) { return maker.chain(size); });
  run("one value read by all nodes", true, [](Maker& maker, int size) { return maker.fanOut(size); });
  run("one concatenation of all nodes", true, [](Maker& maker, int size) { return maker.wideConcat(size); });
  run("branches side by side", true, [](Maker& maker, int size) { return maker.branches(size); });
  run("nested control flow", false, [](Maker& maker, int size) { return maker.nested(size); });
  return 0;
}

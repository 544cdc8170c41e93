// Gives nodes back to the interpreter where the region that was made of them loses against it.
//   before  %r = GetAttr[name="region_0"](%self)   %t = region(%r, [%x, %i], [])   %y = ListUnpack(%t)
//   after   %y = gather(%x, 1, %i, %sparse)
// A plan wins by what it fuses and keeps in its memory. A region of a few nodes may have nothing of both; then it loses
// to operators that are as fast as its kernels, since a call of a region costs a little more than one of an operator.
// Declines: none; a region stays unless it is measured to lose (slower-than-interpreter).
// Numerics: as the interpreter computes the same nodes.
#include <fmt/format.h>
#include <torch/csrc/jit/passes/shape_analysis.h>

#include <algorithm>
#include <new>
#include <optional>
#include <sstream>

#include "core/base/clock.h"
#include "core/graph/graph_index.h"
#include "core/graph/pass.h"
#include "core/graph/reasons.h"
#include "core/lower/region_object.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/region_trial.h"
#include "core/pipeline/pipeline.h"
#include "passes/optimize.h"
#include "passes/pipeline.h"
#include "passes/slow_regions.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// Time for all trials of a model: a share of what tuning took, and what small models need.
constexpr std::int64_t kTuningShare = 25, kMinBudget_ns = 40'000'000;
// A region of larger weights spends its time on products, which the interpreter computes by the same kernels.
constexpr std::size_t kMaxPackedBytes = std::size_t{16} << 20;
constexpr const char kRegionPrefix[] = "region_";

std::string regionName(std::size_t region) { return kRegionPrefix + std::to_string(region); }

// The nodes that call one region.
struct RegionCall {
  Node *get = nullptr, *call = nullptr, *unpack = nullptr;
};

// In order of the regions' numbers.
std::vector<RegionCall> regionCalls(Graph& graph, std::size_t regions) {
  static const auto kRegion = c10::Symbol::fromQualString("ipex_studio::region");
  std::vector<RegionCall> calls(regions);
  for (Node* node : allNodes(graph)) {
    if (node->kind() != kRegion) continue;
    Node* get = node->input(0)->node();
    const std::size_t number = std::stoul(get->s(c10::attr::name).substr(sizeof(kRegionPrefix) - 1));
    calls.at(number) = {get, node, node->output()->uses().at(0).user};
  }
  return calls;
}

// True if a run says something to the user, or writes to an object that is no module.
bool actsOutside(Graph& graph) {
  static const c10::Symbol kWarn = c10::Symbol::fromQualString("aten::warn");
  for (const Node* node : allNodes(graph)) {
    if (node->kind() == c10::prim::Print || node->kind() == kWarn) return true;
    if (node->kind() == c10::prim::SetAttr && !node->input(0)->type()->is_module()) return true;
  }
  return false;
}

// What fused operators of the code would pack for the interpreter, and keep.
std::size_t packedBytes(Graph& code) {
  std::size_t bytes = 0;
  for (const Node* node : code.nodes()) {
    if (std::string(node->kind().ns().toUnqualString()) != "ipex_studio") continue;
    for (const Value* input : node->inputs()) {
      const auto value = torch::jit::toIValue(input);
      if (value && value->isTensor() && value->toTensor().defined()) bytes += value->toTensor().nbytes();
    }
  }
  return bytes;
}

// What the times of a model's regions depend on of its inputs.
void describe(const IValue& value, std::ostream& out) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined()) out << tensor.scalar_type() << tensor.sizes() << tensor.strides();
  } else if (value.isTensorList() || value.isList()) {
    for (const IValue& element : value.toListRef()) describe(element, out << ',');
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) describe(element, out << ';');
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) describe(entry.value(), out << ':');
  } else if (value.isInt() || value.isBool() || value.isDouble()) {
    out << value;
  } else {
    out << value.tagKind();
  }
}

// Decides about each region of a model.
class RegionJudge {
 public:
  RegionJudge(OptimizedModel& model, const Inputs& example, const RegionTimer& timer)
      : model_(model),
        timer_(timer),
        graph_(*model.module.get_method("forward").graph()),
        example_(example),
        calls_(regionCalls(graph_, model.regions->code.size())),
        regions_(calls_.size()) {}

  void judge() {
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      Judged& own = regions_[region];
      const std::shared_ptr<Graph>& code = model_.regions->code[region].graph;
      if (!code || calls_[region].call == nullptr) continue;
      own.name = nameOf(*code);
      own.verdict = knownVerdict(model_.tuning, own.name);
      own.open = !own.verdict && packedBytes(*code) <= kMaxPackedBytes;
    }
    if (anyOpen() && !actsOutside(graph_)) tryRegions();
  }

  const std::vector<RegionCall>& calls() const { return calls_; }
  // Set for a region that is known to lose.
  const RegionVerdict* lossOf(std::size_t region) const {
    const auto& verdict = regions_[region].verdict;
    return verdict && verdict->given_up ? &*verdict : nullptr;
  }

 private:
  struct Judged {
    std::string name;
    std::optional<RegionVerdict> verdict;
    bool open = false;  // to be tried
  };
  struct Finished {};  // ends a run of which the rest is not needed

  bool anyOpen() const {
    return std::any_of(regions_.begin(), regions_.end(), [](const Judged& judged) { return judged.open; });
  }

  std::string nameOf(const Graph& code) const {
    std::ostringstream text;
    for (const IValue& input : example_) describe(input, text << ' ');
    text << '\n' << code.toString(false);
    return text.str();
  }

  // Runs the model node by node; each region is tried on what it has just been given.
  void tryRegions() {
    NodeRunner runner(graph_, [&](const Node* node, std::int64_t, std::int64_t) {
      for (std::size_t region = 0; region < calls_.size(); ++region) {
        if (calls_[region].call != node || !regions_[region].open) continue;
        regions_[region].open = false;
        tryRegion(region, runner_);
        if (!anyOpen() || left() <= 0) throw Finished();
      }
    });
    runner_ = &runner;
    const torch::NoGradGuard no_grad;
    const ModuleState state(model_.module);
    try {
      // Copies, since the model may write to its inputs.
      runner.run(copiedArguments(model_.module, model_.module, example_));
    } catch (const Finished&) {
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
      // A node cannot run on its own, and the regions behind it stay; or the model fails, as its first run will say.
    }
    runner_ = nullptr;
    state.restore();
  }

  void tryRegion(std::size_t region, const NodeRunner* runner) {
    const Node* call = calls_[region].call;
    const std::int64_t begin = nowNs();
    const auto times = timer_(runner->valueOf(call->input(0)), model_.regions->code[region].graph,
                              runner->valueOf(call->input(1)).toListRef().vec(),
                              runner->valueOf(call->input(2)).toListRef().vec(), {left()});
    spent_ns_ += nowNs() - begin;
    if (!times) return;
    regions_[region].verdict = RegionVerdict{times->firstLoses(), times->first_ns, times->second_ns};
    rememberVerdict(model_.tuning, regions_[region].name, *regions_[region].verdict);
  }

  std::int64_t left() const {
    return std::max(kMinBudget_ns, tuningProgress(model_.tuning).spent_ns / kTuningShare) - spent_ns_;
  }

  OptimizedModel& model_;
  const RegionTimer& timer_;
  Graph& graph_;
  const Inputs& example_;
  std::vector<RegionCall> calls_;
  std::vector<Judged> regions_;
  const NodeRunner* runner_ = nullptr;  // while the model runs
  std::int64_t spent_ns_ = 0;
};

// Puts the code of a region in the place of its call.
void giveBack(Graph& graph, const RegionCall& region, const RegionCode& code, OriginTable& origins) {
  const auto inputs = [&](std::size_t list) { return region.call->input(list)->node()->inputs(); };
  std::vector<Value*> values = inputs(1).vec();
  values.insert(values.end(), inputs(2).begin(), inputs(2).end());
  const torch::jit::WithInsertPoint point(region.call);
  std::unordered_map<Value*, Value*> copies;
  const std::vector<Value*> results = torch::jit::insertGraph(graph, *code.graph, values, copies);
  std::size_t place = 0;
  for (const Node* node : code.graph->nodes()) {
    for (const Value* output : node->outputs()) origins.set(copies.at(const_cast<Value*>(output)), code.origins[place]);
    ++place;
  }
  for (std::size_t o = 0; o < results.size(); ++o) region.unpack->output(o)->replaceAllUsesWith(results[o]);
  Node* const lists[] = {region.call->input(1)->node(), region.call->input(2)->node()};
  for (Node* dead : {region.unpack, region.call, lists[0], lists[1], region.get}) {
    if (!dead->hasUses()) dead->destroy();  // a constant list may be that of other regions, too
  }
}

// Numbers the regions that are left without gaps, in the graph and on the module.
void renumber(torch::jit::Module& module, const std::vector<RegionCall>& calls, const std::vector<char>& kept) {
  std::vector<IValue> objects;
  for (std::size_t region = 0; region < calls.size(); ++region) {
    const std::string name = regionName(region);
    if (kept[region] != 0) {
      calls[region].get->s_(c10::attr::name, regionName(objects.size()));
      objects.push_back(module.attr(name));
    }
    module._ivalue()->unsafeRemoveAttr(name);
    module.type()->unsafeRemoveAttribute(name);
  }
  for (std::size_t region = 0; region < objects.size(); ++region)
    module.register_attribute(regionName(region), objects[region].type(), objects[region]);
}

void restoreTypes(Graph& graph, const ValueTypes& types) {
  for (const Node* node : allNodes(graph)) {
    for (const Value* output : node->outputs()) {
      const auto known = types.find(output->unique());
      if (known != types.end()) const_cast<Value*>(output)->setType(known->second);
    }
  }
}

std::string milliseconds(std::int64_t ns) { return fmt::format("{:.3g} ms", static_cast<double>(ns) * 1e-6); }

}  // namespace

ValueTypes typesOf(Graph& graph) {
  ValueTypes types;
  for (const Node* node : allNodes(graph)) {
    for (const Value* output : node->outputs()) types.emplace(output->unique(), output->type());
  }
  return types;
}

void eliminateSlowRegions(OptimizedModel& model, const Inputs& example, const OptimizeOptions& options,
                          Observer& observer) {
  eliminateSlowRegions(model, example, options, observer, timeRegion);
}

void eliminateSlowRegions(OptimizedModel& model, const Inputs& example, const OptimizeOptions& options,
                          Observer& observer, const RegionTimer& timer) {
  const std::shared_ptr<RegionHistory> history = model.regions;
  if (!history || model.tuning.isNone()) return;
  PassRecord record;
  record.index = static_cast<std::int32_t>(defaultPasses().size()) + 2;
  record.name = kEliminateSlowRegionName;
  record.summary = kEliminateSlowRegionSummary;
  Graph& graph = *model.module.get_method("forward").graph();
  record.hash_before = record.hash_after = graphHash(graph);
  const std::int64_t begin = nowNs();
  RegionJudge judge(model, example, timer);
  judge.judge();
  std::vector<char> kept(history->code.size(), 1);
  int inside = 0;
  for (std::size_t region = 0; region < kept.size(); ++region) {
    const RegionCode& code = history->code[region];
    const RegionVerdict* loss = judge.lossOf(region);
    if (loss == nullptr) {
      inside += code.nodes;
      continue;
    }
    kept[region] = 0;
    const std::vector<OriginId> ids = history->origins.of(judge.calls()[region].call);
    observer.onRemark({record.name, RemarkKind::kApplied, reasons::kApplied,
                       fmt::format("The interpreter runs the {} nodes of region {}.", code.nodes, region), ids});
    observer.onRemark({record.name, RemarkKind::kMissed, reasons::kSlowerThanInterpreter,
                       fmt::format("A plan of {} nodes takes {} and the interpreter {}, so it runs them.", code.nodes,
                                   milliseconds(loss->region_ns), milliseconds(loss->interpreter_ns)),
                       ids});
    giveBack(graph, judge.calls()[region], code, history->origins);
    ++record.rewrites;
  }
  if (record.rewrites > 0) {
    renumber(model.module, judge.calls(), kept);
    if (options.verify_passes) graph.lint();
    restoreTypes(graph, history->types);
    record.changed = true;
    record.missed = record.rewrites;
    record.hash_after = graphHash(graph);
    record.snapshot =
        std::make_shared<const GraphSnapshot>(makeSnapshot(graph, history->origins, record.index, record.name));
    torch::jit::EraseShapeInformation(model.module.get_method("forward").graph());
    model.coverage.nodes = history->nodes_total == 0 ? 0 : static_cast<double>(inside) / history->nodes_total;
  }
  record.nodes_after = countNodes(graph);
  record.elapsed_ns = nowNs() - begin;
  model.regions.reset();
  observer.onPass(record);
}

}  // namespace ipex_studio

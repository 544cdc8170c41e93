// The frozen graph beside the inside of regions: a binary search over the operations of a plan, then a walk back to the
// first that reads nothing wrong.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/compare/node_pairs.h"
#include "core/compare/wrong_inside.h"
#include "core/lower/region_object.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/op/op_kinds.h"
#include "core/op/plan_spec.h"
#include "passes/compare_rewritten.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

constexpr char kRegionCall[] = "ipex_studio::region";

// A region of a module, as its saved state has it.
struct SavedRegion {
  Node* call = nullptr;
  Node* unpack = nullptr;  // of its results
  PlanSpec plan;
  std::vector<at::Tensor> constants;
};

std::optional<SavedRegion> readRegion(const Module& module, Node* call) {
  const Node* get = call->input(0)->node();
  if (get->kind() != c10::prim::GetAttr || call->output()->uses().size() != 1) return std::nullopt;
  SavedRegion region;
  region.call = call;
  region.unpack = call->output()->uses()[0].user;
  if (region.unpack->kind() != c10::prim::ListUnpack) return std::nullopt;
  const IValue state = callRegion(module.attr(get->s(c10::attr::name)), "__getstate__");
  const auto& parts = state.toTupleRef().elements();
  region.plan = planSpecFromText(parts.at(0).toStringRef());
  region.constants = parts.at(1).toTensorVector();
  return region;
}

std::vector<SavedRegion> regionsOf(const Module& module) {
  std::vector<SavedRegion> regions;
  for (Node* node : allNodes(*module.get_method("forward").graph())) {
    if (std::string(node->kind().toQualString()) != kRegionCall) continue;
    if (auto region = readRegion(module, node)) regions.push_back(std::move(*region));
  }
  return regions;
}

// The values of nodes of the original that give one that is read.
std::unordered_map<OriginId, Value*> singleValues(const FrozenOriginal& original) {
  std::unordered_map<OriginId, Value*> values;
  for (Node* node : allNodes(original.graph())) {
    if (node->outputs().empty()) continue;
    std::size_t read = 0;
    for (std::size_t o = 1; o < node->outputs().size(); ++o) read += node->output(o)->uses().size();
    const auto ids = original.table.of(node->output(0));
    if (!ids.empty() && read == 0) values[ids.back()] = node->output(0);
  }
  return values;
}

// The operation of a plan that gives a value; null for inputs, constants and integers.
const PlanNode* producerOf(const PlanSpec& plan, std::int32_t value) {
  for (const PlanNode& node : plan.nodes) {
    if (std::find(node.dst.begin(), node.dst.end(), value) != node.dst.end()) return node.is_int ? nullptr : &node;
  }
  return nullptr;
}

// The inside of one region on one set of inputs.
class RegionInside {
 public:
  // `run`: the nodes of the original ran so often before; negative: the last time counts.
  RegionInside(const FrozenOriginal& original, const Lockstep& graphs, const SavedRegion& region,
               std::vector<IValue> operands, std::int64_t run)
      : original_(original),
        graphs_(graphs),
        region_(region),
        operands_(std::move(operands)),
        run_(run),
        nodes_(singleValues(original)) {
    // Of several operations with one origin the last gives its value.
    std::unordered_map<OriginId, std::size_t> last;
    for (std::size_t n = 0; n < region.plan.nodes.size(); ++n) {
      const PlanNode& node = region.plan.nodes[n];
      if (!node.is_int && node.dst.size() == 1 && !node.origins.empty()) last[node.origins.back()] = n;
    }
    for (const auto& [id, n] : last) {
      if (nodes_.count(id) != 0) comparable_.push_back(n);
    }
    std::sort(comparable_.begin(), comparable_.end());
  }

  // `output`: a result of the plan that is wrong.
  std::optional<WrongOperation> find(std::int32_t output) {
    const std::vector<std::size_t> before = behind(output);
    if (before.empty() || isRight(before.back())) return std::nullopt;
    std::size_t right = 0, wrong = before.size() - 1;  // before[wrong] is wrong
    while (right < wrong) {
      const std::size_t middle = right + (wrong - right) / 2;
      if (isRight(before[middle])) {
        right = middle + 1;
      } else {
        wrong = middle;
      }
    }
    const std::size_t found = walkBack(before[wrong]);
    return describe(graphs_.tolerance().rule.precision == Precision::kFp32 ? found : leastRightAlone(before, found));
  }

 private:
  // Comparable operations that a value depends on, in the order of the plan.
  std::vector<std::size_t> behind(std::int32_t output) const {
    std::unordered_set<std::int32_t> needed{output};
    std::vector<std::size_t> found;
    for (std::size_t n = region_.plan.nodes.size(); n-- > 0;) {
      const PlanNode& node = region_.plan.nodes[n];
      if (std::none_of(node.dst.begin(), node.dst.end(), [&](std::int32_t v) { return needed.count(v) != 0; }))
        continue;
      needed.insert(node.src.begin(), node.src.end());
      if (std::binary_search(comparable_.begin(), comparable_.end(), n)) found.push_back(n);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  // The operations that `n` reads; those that cannot be compared are looked through.
  std::vector<std::size_t> readBy(std::size_t n) const {
    std::vector<std::size_t> read;
    std::vector<std::int32_t> open = region_.plan.nodes[n].src;
    std::unordered_set<std::int32_t> met;
    while (!open.empty()) {
      const std::int32_t value = open.back();
      open.pop_back();
      const PlanNode* producer = value < 0 ? nullptr : producerOf(region_.plan, value);
      if (producer == nullptr || !met.insert(value).second) continue;
      const auto place = static_cast<std::size_t>(producer - region_.plan.nodes.data());
      if (std::binary_search(comparable_.begin(), comparable_.end(), place)) {
        read.push_back(place);
      } else {
        open.insert(open.end(), producer->src.begin(), producer->src.end());
      }
    }
    std::sort(read.begin(), read.end());
    return read;
  }

  std::size_t walkBack(std::size_t n) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t read : readBy(n)) {
        if (isRight(read)) continue;
        n = read;
        moved = true;
        break;
      }
    }
    return n;
  }

  bool isRight(std::size_t n) { return difference(n).accuracy.pass; }

  // Returns the operation up to `wrong` that is farthest from the original's on what it reads itself; the nearest are
  // tried first. Below FP32 every operation adds an error, and one of scale does not turn the direction by which values
  // are judged.
  std::size_t leastRightAlone(const std::vector<std::size_t>& before, std::size_t wrong) {
    constexpr int kMaxTries = 48;  // each a run of the original and one of the plan for every operand
    if (valueOf(wrong)->node()->owningBlock() != original_.graph().block()) return wrong;
    std::size_t worst = wrong;
    double least = sqnrAlone(wrong).value_or(kSqnrOfEqual);
    int tries = 0;
    for (std::size_t b = before.size(); b-- > 0 && tries < kMaxTries;) {
      if (before[b] >= wrong) continue;
      const auto sqnr = sqnrAlone(before[b]);
      ++tries;
      if (!sqnr || *sqnr >= least) continue;
      worst = before[b];
      least = *sqnr;
    }
    return worst;
  }

  // SQNR in dB of an operation's value where the original reads what the plan reads; nullopt: not comparable.
  std::optional<double> sqnrAlone(std::size_t n) {
    std::unordered_map<const Value*, at::Tensor> given;
    for (const std::size_t read : readBy(n)) {
      if (const auto value = realProbe(read)) given[valueOf(read)] = *value;
    }
    const auto actual = realProbe(n);
    const IValue expected = graphs_.originalValue(valueOf(n), given);
    if (!actual || !comparable(*actual, expected)) return std::nullopt;
    return differenceOf(*actual, expected, graphs_.tolerance()).accuracy.sqnr_db;
  }

  const Value* valueOf(std::size_t n) const { return nodes_.at(region_.plan.nodes[n].origins.back()); }

  // The value of an operation, as floats where integers stand for such.
  std::optional<at::Tensor> realProbe(std::size_t n) const {
    const PlanNode& node = region_.plan.nodes[n];
    const auto value = probe(node.dst[0]);
    return value ? std::optional(realNumbers(node, *value)) : std::nullopt;
  }

  // A value of another form tells nothing.
  static bool comparable(const at::Tensor& actual, const IValue& expected) {
    return expected.isTensor() && expected.toTensor().defined() && expected.toTensor().sizes().equals(actual.sizes()) &&
           at::isFloatingType(actual.scalar_type()) == at::isFloatingType(expected.toTensor().scalar_type());
  }

  const ValueDifference& difference(std::size_t n) {
    const auto known = known_.find(n);
    if (known != known_.end()) return known->second;
    const PlanNode& node = region_.plan.nodes[n];
    const Value* value = valueOf(n);
    const IValue expected = rightValue(value);
    ValueDifference found = namesOf(original_.table, original_.table).original(value);
    ValueDifference compared;
    auto actual = probe(node.dst[0]);
    const bool floats =
        expected.isTensor() && expected.toTensor().defined() && at::isFloatingType(expected.toTensor().scalar_type());
    if (actual && floats) actual = realNumbers(node, *actual);
    if (actual && comparable(*actual, expected)) compared = differenceOf(*actual, expected, graphs_.tolerance());
    compared.name = found.name;
    compared.source = found.source;
    compared.origins = node.origins;
    compared.other = node.name;
    return known_[n] = std::move(compared);
  }

  // How integers stand for floats: (integer - zero) / steps.
  struct Affine {
    double steps = 1, zero = 0;  // integers for 1; the integer that stands for 0
  };

  // The end of the operation that made a value says it, behind operations that only move or choose integers. A sum with
  // integers leaves their zero in its result, which the offset behind it takes away again; nullopt: not known.
  std::optional<Affine> affineOf(const PlanNode& node) const {
    for (const PlanNode* maker = &node; maker != nullptr && maker->op.stringOr("result", "") != "f32";) {
      const std::vector<PostOp>& tail = maker->op.post_ops;
      if (tail.empty() && !maker->src.empty()) {
        maker = producerOf(region_.plan, maker->src[0]);
        continue;
      }
      if (tail.empty() || tail.back().kind != PostOpKind::kLinear || tail.back().alpha == 0 || !maker->op.has("result"))
        return std::nullopt;
      const double zero = tail.back().beta + tail.back().alpha * zeroInSum(*maker);
      return Affine{tail.back().alpha, zero};
    }
    return std::nullopt;
  }

  // The part that zeros of integers have in a sum that the last post-operation scales.
  double zeroInSum(const PlanNode& node) const {
    const std::vector<PostOp>& tail = node.op.post_ops;
    if (tail.size() < 2) return 0;
    const PostOp& sum = tail[tail.size() - 2];
    if (sum.kind != PostOpKind::kAdd && sum.kind != PostOpKind::kSub) return 0;
    const auto place = static_cast<std::size_t>(baseSourceCount(node.op.kind)) + static_cast<std::size_t>(sum.operand);
    const PlanNode* producer = place < node.src.size() ? producerOf(region_.plan, node.src[place]) : nullptr;
    const auto operand = producer == nullptr ? std::nullopt : affineOf(*producer);
    if (!operand) return 0;
    return (sum.kind == PostOpKind::kSub ? -sum.alpha : sum.alpha) * operand->zero;
  }

  // The floats that integers of a lower precision stand for.
  at::Tensor realNumbers(const PlanNode& node, const at::Tensor& tensor) const {
    if (tensor.scalar_type() != at::kByte && tensor.scalar_type() != at::kChar) return tensor;
    const auto affine = affineOf(node);
    return affine ? (tensor.to(at::kFloat) - affine->zero) / affine->steps : tensor;
  }

  IValue rightValue(const Value* value) const {
    if (value->node()->owningBlock() == original_.graph().block()) return graphs_.originalValue(value);
    auto found = originalValueAt(graphs_, value, run_);
    if (!found) found = originalValueAt(graphs_, value, -1);
    return found.value_or(IValue());
  }

  // A value inside of the plan, as the result of a plan that ends there.
  std::optional<at::Tensor> probe(std::int32_t value) const {
    PlanSpec plan = region_.plan;
    plan.outputs = {value};
    torch::jit::Stack stack{makeRegionObject(planSpecToText(plan), region_.constants)};
    for (const IValue& operand : operands_) stack.push_back(copyValue(operand));
    try {
      const torch::NoGradGuard no_grad;
      region_.call->getOperation()(stack);
    } catch (const std::exception&) {
      return std::nullopt;
    }
    return stack.at(0).toTensorVector().at(0);
  }

  WrongOperation describe(std::size_t n) {
    const PlanNode& node = region_.plan.nodes[n];
    WrongOperation wrong{difference(n), {}, node.origins, node.name, opKindName(node.op.kind)};
    for (const std::size_t read : readBy(n)) wrong.feeds.push_back(difference(read));
    return wrong;
  }

  const FrozenOriginal& original_;
  const Lockstep& graphs_;
  const SavedRegion& region_;
  const std::vector<IValue> operands_;  // tensors and integers of the call
  const std::int64_t run_;
  const std::unordered_map<OriginId, Value*> nodes_;
  std::vector<std::size_t> comparable_;  // places in the plan
  std::map<std::size_t, ValueDifference> known_;
};

// The operands of a region's call that ran `run` times before.
std::vector<IValue> operandsOf(const Module& module, const Inputs& inputs, const Node* call, std::int64_t run) {
  const torch::NoGradGuard no_grad;
  const Module copy = copyModule(module);
  std::vector<IValue> operands;
  std::int64_t runs = 0;
  NodeRunner* running = nullptr;
  NodeRunner runner(*module.get_method("forward").graph(), [&](const Node* node, std::int64_t, std::int64_t) {
    if (node == call && runs++ == run)
      operands = {copyValue(running->valueOf(call->input(1))), copyValue(running->valueOf(call->input(2)))};
  });
  running = &runner;
  try {
    runner.run(copiedArguments(module, copy, inputs));
  } catch (const std::exception&) {
    // A node behind the call may fail.
  }
  return operands;
}

}  // namespace

std::optional<WrongOperation> firstWrongPlanned(const FrozenOriginal& original, const Module& planned,
                                                const Inputs& inputs, const ValueTolerance& tolerance) {
  const Lockstep graphs(original.module, planned, inputs, tolerance);
  const std::vector<SavedRegion> regions = regionsOf(planned);
  const std::unordered_map<OriginId, Value*> values = singleValues(original);
  std::vector<ValuePair> pairs, inside;
  std::unordered_map<const Value*, std::pair<std::size_t, std::int32_t>> results;  // region, value of its plan
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const PlanSpec& plan = regions[r].plan;
    for (std::size_t o = 0; o < plan.outputs.size() && o < regions[r].unpack->outputs().size(); ++o) {
      const PlanNode* producer = producerOf(plan, plan.outputs[o]);
      if (producer == nullptr || producer->origins.empty() || producer->dst.size() != 1) continue;
      const auto value = values.find(producer->origins.back());
      if (value == values.end()) continue;
      const bool top = value->second->node()->owningBlock() == original.graph().block() &&
                       regions[r].call->owningBlock() == graphs.otherGraph().block();
      (top ? pairs : inside).push_back({value->second, regions[r].unpack->output(o), {}});
      results[regions[r].unpack->output(o)] = {r, plan.outputs[o]};
    }
  }
  const auto inRegion = [&](const ValuePair& pair, std::int64_t call_run,
                            std::int64_t run) -> std::optional<WrongOperation> {
    const auto [r, output] = results.at(pair.other);
    std::vector<IValue> operands = operandsOf(planned, inputs, regions[r].call, call_run);
    if (operands.empty()) return std::nullopt;
    return RegionInside(original, graphs, regions[r], std::move(operands), run).find(output);
  };
  const LockstepResult found = graphs.run(pairs);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (found.differences[p] && !found.differences[p]->accuracy.pass) return inRegion(pairs[p], 0, -1);
  }
  const auto wrong = firstWrongInside(graphs, inside);
  if (!wrong) return std::nullopt;
  const bool top = wrong->pair.other->node()->owningBlock() == graphs.otherGraph().block();
  return inRegion(wrong->pair, top ? 0 : wrong->run, wrong->run);
}

}  // namespace ipex_studio

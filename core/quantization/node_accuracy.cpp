// Runs the FP32 and the rewritten graph node by node and compares their values.
#include "core/quantization/node_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/origins.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/quantization/quantized_value.h"
#include "core/torch/interpreted_node.h"
#include "core/torch/random_numbers.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

bool isLow(at::ScalarType type) { return type == at::kByte || type == at::kChar || isLowPrecisionFloat(type); }

// True for nodes that only change a value's form and compute nothing.
bool converts(Node* node) {
  if (node->kind() == c10::Symbol::fromQualString("aten::to") ||
      node->kind() == c10::Symbol::fromQualString("aten::type_as"))
    return true;
  const auto op = readFusedOp(node);
  if (!op || op->spec.kind != OpKind::kPointwise) return false;
  const bool scales = std::all_of(op->post_args.begin(), op->post_args.end(),
                                  [](const Value* operand) { return constantTensor(operand).has_value(); });
  const auto linear = [](const PostOp& post_op) {
    return post_op.kind == PostOpKind::kLinear || post_op.kind == PostOpKind::kMul;
  };
  return scales && std::all_of(op->spec.post_ops.begin(), op->spec.post_ops.end(), linear);
}

// Makes pools and resizes of libtorch, which know no integers, work on the floats that hold them.
void runOnFloats(torch::jit::Graph& graph) {
  static const std::unordered_set<std::string> kMoves = {"aten::max_pool1d",         "aten::max_pool2d",
                                                         "aten::max_pool3d",         "aten::upsample_nearest1d",
                                                         "aten::upsample_nearest2d", "aten::upsample_nearest3d"};
  static const std::unordered_set<std::string> kAverages = {"aten::mean",
                                                            "aten::avg_pool1d",
                                                            "aten::avg_pool2d",
                                                            "aten::avg_pool3d",
                                                            "aten::adaptive_avg_pool1d",
                                                            "aten::adaptive_avg_pool2d",
                                                            "aten::adaptive_avg_pool3d"};
  const std::vector<Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (Node* node : nodes) {
    const bool moves = kMoves.count(node->kind().toQualString()) != 0;
    if (!moves && kAverages.count(node->kind().toQualString()) == 0) continue;
    Value* source = node->input(0);
    torch::jit::WithInsertPoint before(node);
    Value* no = graph.insertConstant(false);
    Value* real =
        graph.insert(c10::Symbol::fromQualString("aten::to"), {source, static_cast<std::int64_t>(at::kFloat), no, no});
    node->replaceInput(0, real);
    if (!moves) continue;
    torch::jit::WithInsertPoint behind(node->next());
    Value* same = graph.insert(c10::Symbol::fromQualString("aten::type_as"), {node->output(), source});
    node->output()->replaceAllUsesAfterNodeWith(same->node(), same);
  }
}

AccuracyRecord compare(const at::Tensor& actual, const at::Tensor& reference) {
  AccuracyRecord record;
  const at::Tensor a = actual.to(at::kDouble), r = reference.to(at::kDouble), delta = a - r;
  const double signal = r.square().sum().item<double>(), noise = delta.square().sum().item<double>();
  const double norms = std::sqrt(signal) * std::sqrt(a.square().sum().item<double>());
  const double greatest = r.abs().max().item<double>();
  record.max_abs = delta.abs().max().item<double>();
  record.max_rel = greatest > 0 ? record.max_abs / greatest : record.max_abs;
  record.sqnr_db = noise > 0 ? 10 * std::log10(std::max(signal, 1e-300) / noise) : kSqnrOfEqual;
  record.cosine = norms > 0 ? (a * r).sum().item<double>() / norms : 1;
  return record;
}

class Comparison {
 public:
  Comparison(const torch::jit::Module& rewritten, const std::vector<std::vector<OriginId>>& origins,
             std::map<OriginId, at::Tensor> expected, ComparedNodes compared)
      : rewritten_(copyModule(rewritten.clone(/*inplace=*/true))),
        graph_(*rewritten_.get_method("forward").graph()),
        expected_(std::move(expected)),
        all_(compared == ComparedNodes::kAll) {
    std::size_t place = 0;
    for (Node* node : graph_.nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      if (place < origins.size()) origins_[node] = origins[place];
      ++place;
    }
    // Of several computing nodes with one origin, the last one gives its value.
    for (Node* node : graph_.nodes()) {
      const auto found = origins_.find(node);
      if (found == origins_.end() || found->second.empty() || node->outputs().size() != 1 || converts(node)) continue;
      giver_[found->second.back()] = node;
    }
    runOnFloats(graph_);
  }

  std::vector<AccuracyRecord> run(const Inputs& inputs) {
    NodeRunner runner(graph_, [this](Node* node, std::int64_t, std::int64_t) { look(node); });
    runner_ = &runner;
    runner.run(copiedArguments(rewritten_, rewritten_, inputs));
    return std::move(records_);
  }

 private:
  void look(Node* node) {
    const auto found = origins_.find(node);
    if (found == origins_.end() || found->second.empty() || giver_.count(found->second.back()) == 0 ||
        giver_[found->second.back()] != node)
      return;
    const at::Tensor* expected = expectedOf(node->output());
    if (expected == nullptr || (!all_ && !lowers(node))) return;
    const auto real = realOf(node->output(), runner_->valueOf(node->output()));
    if (!real || !real->sizes().equals(expected->sizes())) return;
    const auto alone = computeAlone(node);
    if (alone && alone->sizes().equals(expected->sizes()))
      add(found->second, "fp32, alone", compare(*alone, *expected));
    add(found->second, "fp32", compare(*real, *expected));
  }

  void add(const std::vector<OriginId>& origins, const char* reference, AccuracyRecord record) {
    record.origins = origins;
    record.reference = reference;
    if (!std::isfinite(record.sqnr_db) || !std::isfinite(record.cosine) || !std::isfinite(record.max_abs)) return;
    records_.push_back(std::move(record));
  }

  bool lowers(const Node* node) const {
    const auto low = [this](const Value* value) {
      const IValue now = constantTensor(value) ? IValue(*constantTensor(value)) : runner_->valueOf(value);
      return now.isTensor() && now.toTensor().defined() && isLow(now.toTensor().scalar_type());
    };
    return std::any_of(node->inputs().begin(), node->inputs().end(), low) || low(node->output());
  }

  const at::Tensor* expectedOf(const Value* value) const {
    const auto ids = origins_.find(value->node());
    if (ids == origins_.end() || ids->second.empty() || value->node()->outputs().size() != 1) return nullptr;
    const auto giver = giver_.find(ids->second.back());
    const auto expected = expected_.find(ids->second.back());
    return giver == giver_.end() || giver->second != value->node() || expected == expected_.end() ? nullptr
                                                                                                  : &expected->second;
  }

  static std::optional<at::Tensor> realOf(Value* value, const IValue& now) {
    return now.isTensor() && now.toTensor().defined() ? realValue(value, now.toTensor()) : std::nullopt;
  }

  // Converts `real` to the form that the value has in the lower precision.
  static std::optional<IValue> formOf(Value* value, const at::Tensor& real, const IValue& now) {
    if (!now.isTensor() || !now.toTensor().sizes().equals(real.sizes())) return std::nullopt;
    const at::ScalarType type = now.toTensor().scalar_type();
    if (at::isFloatingType(type)) return IValue(real.to(type));
    const auto affine = affineOf(value);
    if (!affine || type != at::kByte) return std::nullopt;
    return IValue((real / affine->scale + static_cast<double>(affine->zero_point)).round().clamp(0, 255).to(at::kByte));
  }

  // Returns an operand as FP32 has it, through conversions and lists; nullopt if it is not known.
  std::optional<IValue> operand(Value* value, const IValue* now) {
    Node* node = value->node();
    if (node->kind() == c10::prim::Constant) return torch::jit::toIValue(value);
    if (node->kind() == c10::prim::ListConstruct && value->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
      c10::List<at::Tensor> list;
      for (Value* element : node->inputs()) {
        const auto known = operand(element, nullptr);
        if (!known || !known->isTensor()) return std::nullopt;
        list.push_back(known->toTensor());
      }
      return IValue(std::move(list));
    }
    if (converts(node)) return execute(node);
    const at::Tensor* expected = expectedOf(value);
    if (expected == nullptr) return std::nullopt;
    if (now != nullptr) return formOf(value, *expected, *now);
    const auto affine = affineOf(value);
    const IValue like = affine ? IValue(at::empty(expected->sizes(), at::kByte)) : IValue(*expected);
    return formOf(value, *expected, like);
  }

  std::optional<IValue> execute(Node* node) {
    if (isInterpreterInstruction(node->kind())) return std::nullopt;
    torch::jit::Stack stack;
    for (Value* input : node->inputs()) {
      auto known = operand(input, nullptr);
      if (!known) return std::nullopt;
      stack.push_back(std::move(*known));
    }
    node->getOperation()(stack);
    return stack.size() == 1 ? std::optional<IValue>(stack[0]) : std::nullopt;
  }

  std::optional<at::Tensor> computeAlone(Node* node) {
    if (isInterpreterInstruction(node->kind())) return std::nullopt;
    torch::jit::Stack stack;
    for (Value* input : node->inputs()) {
      const IValue& now = runner_->valueOf(input);
      auto known = operand(input, now.isTensor() ? &now : nullptr);
      stack.push_back(known ? std::move(*known) : now);
    }
    node->getOperation()(stack);
    return stack.size() == 1 ? realOf(node->output(), stack[0]) : std::nullopt;
  }

  torch::jit::Module rewritten_;
  torch::jit::Graph& graph_;
  std::map<OriginId, at::Tensor> expected_;
  bool all_;
  std::unordered_map<const Node*, std::vector<OriginId>> origins_;
  std::map<OriginId, const Node*> giver_;
  NodeRunner* runner_ = nullptr;
  std::vector<AccuracyRecord> records_;
};

}  // namespace

std::vector<AccuracyRecord> nodeAccuracy(const torch::jit::Module& frozen, const torch::jit::Module& rewritten,
                                         const std::vector<std::vector<OriginId>>& origins, const Inputs& inputs,
                                         const std::unordered_map<OriginId, at::Tensor>& divisors,
                                         ComparedNodes compared, std::int64_t most_bytes) {
  const RunMode mode(frozen);
  torch::jit::Module reference = frozen;
  torch::jit::Graph& graph = *reference.get_method("forward").graph();
  OriginTable table;
  table.assign(graph);
  std::map<OriginId, at::Tensor> expected;
  std::int64_t bytes = 0;
  NodeRunner* running = nullptr;
  NodeRunner runner(graph, [&](Node* node, std::int64_t, std::int64_t) {
    if (node->owningBlock() != graph.block() || node->outputs().size() != 1) return;
    const auto& ids = table.of(node->output());
    const IValue& value = running->valueOf(node->output());
    if (ids.empty() || !value.isTensor() || !value.toTensor().defined() || value.toTensor().scalar_type() != at::kFloat)
      return;
    const at::Tensor tensor = value.toTensor();
    if (tensor.numel() == 0 || bytes + 4 * tensor.numel() > most_bytes) return;
    bytes += 4 * tensor.numel();
    const auto divisor = divisors.find(ids.back());
    const bool divided = divisor != divisors.end() && tensor.dim() >= divisor->second.dim() &&
                         tensor.size(-divisor->second.dim()) == divisor->second.size(0);
    expected[ids.back()] = divided ? tensor / divisor->second : tensor.clone();  // a later node may write into it
  });
  running = &runner;
  SeededGenerator generator;
  generator.seed(1);
  runner.run(copiedArguments(reference, reference, inputs));
  generator.seed(1);
  return Comparison(rewritten, origins, std::move(expected), compared).run(inputs);
}

}  // namespace ipex_studio

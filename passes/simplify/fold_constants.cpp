// Computes now what depends on constants only, and takes the branch a constant decides.
//   before  %n = mul(2, 3)   %w' = t(%w)   %y = matmul(%x, %w')   with a constant %w
//   after   %y = matmul(%x, %w'')
// Bounded, unlike libtorch's own pass: a result may be as large as the constants it came from or 1 MiB, which is found
// out on meta tensors before anything is allocated; zeros(100000, 100000) stays as it is. Quantized weights of products
// become real ones whatever their size.
// Declines: not-profitable (too large), value-may-be-aliased-or-written, value-is-graph-output (the caller owns results
// and may write to them; a constant must not be handed out).
// Runs after canonicalize-inplace and before whatever asks for constants. Numerics: the same operators, run once.
#include <torch/csrc/jit/passes/constant_propagation.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/graph/fused_op.h"
#include "core/graph/random_nodes.h"
#include "core/graph/rewrite_matches.h"
#include "core/torch/interpreted_node.h"
#include "core/torch/silent_writes.h"
#include "core/torch/tensor_types.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

using Misses = std::vector<std::pair<const Node*, Decline>>;

constexpr double kSmallBytes = 1 << 20;
// Largest result, in bytes, that an operator may make if it cannot run on meta tensors first.
constexpr double kTrialBytes = 16 << 20;

// True if nodes of this kind may be folded; operands are checked elsewhere.
bool mayFold(c10::Symbol kind) {
  static const std::unordered_set<std::string> never = {
      "aten::empty",        "aten::empty_like",     "aten::empty_strided",
      "aten::new_empty",    "prim::Constant",       "prim::Guard",
      "prim::profile",      "prim::profile_ivalue", "prim::unchecked_unwrap_optional",
      "prim::Uninitialized"};
  return (kind.is_aten() || kind.is_prim()) && never.count(kind.toQualString()) == 0;
}

bool isDequantize(const Node* node) { return node->kind() == torch::jit::aten::dequantize; }

// True for quantized weights that products alone read: fusions take constant weights, and fuse-dequantize finds the
// integers again. Others stay as small as they are.
bool isWeightOfProducts(const Node* node) {
  static const std::unordered_set<std::string> products = {"aten::conv1d",       "aten::conv2d",      "aten::conv3d",
                                                           "aten::_convolution", "aten::convolution", "aten::linear"};
  if (node->inputs().size() != 1 || node->input()->node()->kind() != prim::Constant) return false;
  const auto& uses = node->output()->uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
    return use.offset == 1 && products.count(use.user->kind().toQualString()) != 0;
  });
}

bool mayRun(const Node* node) {
  const auto kind = node->kind();
  if (!node->blocks().empty() || node->outputs().empty()) return false;
  const bool builds = kind == prim::ListConstruct || kind == prim::TupleConstruct || kind == prim::ListUnpack;
  if (!builds && (isInterpreterInstruction(kind) || node->maybeSchema() == nullptr)) return false;
  return !drawsRandomNumbers(node) && !node->hasSideEffects() && silentlyWritten(node).empty();
}

bool holdsTensors(const Value* value) { return ipex_studio::holdsTensors(*value->type()); }

// True if the value could be written to; numbers, strings and None cannot.
bool isMutable(const Value* value) {
  static const std::vector<c10::TypeKind> fixed = {
      c10::TypeKind::IntType,    c10::TypeKind::FloatType, c10::TypeKind::BoolType,     c10::TypeKind::NumberType,
      c10::TypeKind::StringType, c10::TypeKind::NoneType,  c10::TypeKind::DeviceObjType};
  return std::find(fixed.begin(), fixed.end(), value->type()->kind()) == fixed.end();
}

double bytesOf(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size()) : 0;
  }
  double bytes = 0;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) bytes += bytesOf(tensor);
  }
  return bytes;
}

at::Tensor onMeta(const at::Tensor& tensor) {
  return tensor.defined() ? at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta))
                          : tensor;
}

// Product of all whole numbers among the arguments: no factory makes more elements than that.
double largestCount(const std::vector<IValue>& arguments) {
  double count = 1;
  for (const IValue& argument : arguments) {
    if (argument.isInt()) count *= std::max(1.0, std::abs(static_cast<double>(argument.toInt())));
    if (argument.isDouble()) count *= std::max(1.0, std::abs(argument.toDouble()));
    if (!argument.isIntList()) continue;
    for (const auto number : argument.toIntVector()) count *= std::max(1.0, std::abs(static_cast<double>(number)));
  }
  return count;
}

// Bytes of the results without computing them; negative: the operator does not run on meta tensors.
double metaBytes(const Node* node, const std::vector<IValue>& arguments) {
  torch::jit::Stack stack;
  for (const IValue& argument : arguments) {
    if (argument.isTensor()) {
      if (argument.toTensor().layout() != at::kStrided) return -1;
      stack.emplace_back(onMeta(argument.toTensor()));
    } else if (argument.isTensorList()) {
      std::vector<at::Tensor> list;
      for (const at::Tensor& tensor : argument.toTensorVector()) list.push_back(onMeta(tensor));
      stack.emplace_back(list);
    } else {
      stack.push_back(argument);
    }
  }
  try {
    node->getOperation()(stack);
  } catch (const std::exception&) {
    return -1;
  }
  double bytes = 0;
  for (const IValue& result : stack) bytes += bytesOf(result);
  return bytes;
}

bool fits(const Node* node, double* bytes) {
  if (isDequantize(node)) return true;
  std::vector<IValue> arguments;
  double from = 0;
  for (const Value* input : node->inputs()) {
    arguments.push_back(*torch::jit::toIValue(input));
    from += bytesOf(arguments.back());
  }
  const bool makes_tensors = std::any_of(node->outputs().begin(), node->outputs().end(), holdsTensors);
  const auto kind = node->kind();
  if (!makes_tensors || kind == prim::ListConstruct || kind == prim::TupleConstruct || kind == prim::ListUnpack)
    return true;
  *bytes = from > 0 ? metaBytes(node, arguments) : -1;
  if (*bytes >= 0) return *bytes <= std::max(kSmallBytes, from);
  *bytes = largestCount(arguments) * std::max(from, 8.0);
  return *bytes <= kTrialBytes;
}

// Nodes that depend on constants only, and whose results are neither written to nor returned. Decided before anything
// changes, on one alias analysis.
std::vector<Node*> candidates(Graph& graph, PassContext& context, Misses& misses) {
  std::unordered_set<const Node*> constant;
  std::vector<Node*> found;
  for (Node* node : context.nodesOfConstants(&mayFold)) {
    const auto inputs = node->inputs();
    const bool fixed = std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
      return input->node()->kind() == prim::Constant || constant.count(input->node()) != 0;
    });
    if (!fixed || !mayRun(node) || (isDequantize(node) && !isWeightOfProducts(node))) continue;
    const bool mutable_result = std::any_of(node->outputs().begin(), node->outputs().end(), isMutable);
    const auto written = [&](const Value* output) { return context.isEverWritten(output); };
    if (mutable_result &&
        (context.aliases().hasWriters(node) || std::any_of(node->outputs().begin(), node->outputs().end(), written))) {
      misses.emplace_back(node, Decline{reasons::kAliased, "The result may be written to."});
      continue;
    }
    const bool escapes =
        mutable_result && std::any_of(node->outputs().begin(), node->outputs().end(), [&](Value* output) {
          return context.aliases().mayContainAlias(output, graph.outputs());
        });
    if (escapes) {
      misses.emplace_back(node, Decline{reasons::kGraphOutput,
                                        "A result of the model must not be a constant that the caller may write to."});
      continue;
    }
    constant.insert(node);
    found.push_back(node);
  }
  // A list of tensors is folded only on the way to its users, where every one of them is folded too.
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const Node* node) {
                               if (node->kind() != prim::ListConstruct && node->kind() != prim::TupleConstruct)
                                 return false;
                               if (!holdsTensors(node->output())) return false;
                               const auto& uses = node->output()->uses();
                               return !std::all_of(uses.begin(), uses.end(),
                                                   [&](const auto& use) { return constant.count(use.user) != 0; });
                             }),
              found.end());
  return found;
}

// Empty: it does not run. libtorch leaves operators of any number of operands alone, aten::format for one.
torch::jit::Stack resultsOf(Node* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || !schema->is_vararg()) {
    auto results = torch::jit::runNodeIfInputsAreConstant(node);
    return results ? *std::move(results) : torch::jit::Stack();
  }
  torch::jit::Stack stack;
  for (const Value* input : node->inputs()) stack.push_back(*torch::jit::toIValue(input));
  stack.emplace_back(static_cast<std::int64_t>(node->inputs().size()));
  try {
    node->getOperation()(stack);
  } catch (const std::exception&) {
    return {};
  }
  return stack;
}

// False for lists of objects (weights of quantized recurrent layers) and the like.
bool mayBeConstant(const IValue& value) {
  Graph scratch;
  return torch::jit::tryInsertConstant(scratch, value).has_value();
}

bool foldNode(Node* node, PassContext& context, Misses& misses) {
  const bool ready = std::all_of(node->inputs().begin(), node->inputs().end(),
                                 [](const Value* input) { return torch::jit::toIValue(input).has_value(); });
  if (!ready) return false;
  double bytes = 0;
  if (!fits(node, &bytes)) {
    misses.emplace_back(
        node, Decline{reasons::kNotProfitable, "The constant would be much larger than what it is made from."});
    return false;
  }
  at::NoGradGuard no_gradients;
  const torch::jit::Stack results = resultsOf(node);
  if (results.empty() || !std::all_of(results.begin(), results.end(), mayBeConstant)) return false;
  if (!context.rewriter.permit(node)) return false;
  std::vector<Value*> from;
  std::vector<Value*> to;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const IValue& result = results[i];
    if (bytes > kSmallBytes && bytesOf(result) > std::max(kSmallBytes, bytes)) return false;
    Value* constant = context.rewriter.constant(result.isTensor() ? IValue(result.toTensor().detach()) : result, node);
    from.push_back(node->output(i));
    to.push_back(constant);
  }
  context.rewriter.replaceAll({node}, from, to, std::string("computed ") + node->kind().toUnqualString());
  return true;
}

std::optional<bool> matchBranch(PassContext&, const Node* node, Decline*) { return constantBool(node->input(0)); }

void rewriteBranch(Rewriter& rewriter, Node* node, bool condition) {
  rewriter.inlineBlock(node, node->blocks()[condition ? 0 : 1], "took the only possible branch");
}

bool foldOnce(Graph& graph, PassContext& context, Misses& misses, bool* took_branch) {
  bool changed = false;
  for (Node* node : candidates(graph, context, misses)) {
    if (context.rewriter.alive(node)) changed |= foldNode(node, context, misses);
  }
  *took_branch = rewriteMatches(context, context.nodes({"prim::If"}), matchBranch, rewriteBranch);
  if (!isDisabled(context.options, kEliminateLoop.name)) *took_branch |= kEliminateLoop.run(graph, context);
  return changed || *took_branch;
}

// Runs earlier passes again: they answer questions that were open before a branch was taken, and their answers decide
// further branches.
void answerAgain(Graph& graph, PassContext& context) {
  for (const Pass* pass : {&kCanonicalizeLists, &kEliminateDict, &kEliminateTuple, &kEliminateList,
                           &kEliminateBranchResult, &kPropagateChecks, &kPropagateConditions, &kCanonicalizeSizes,
                           &kFoldSize, &kFoldTensorFacts, &kFoldAttribute}) {
    if (!isDisabled(context.options, pass->name)) pass->run(graph, context);
  }
}

// A weight that a branch returned seems to be a result until memory is analysed anew, which is done once, behind all
// branches, and only where attributes are left.
bool readAttributesAgain(Graph& graph, PassContext& context) {
  const NodeWalk attributes = context.nodes(kFoldAttribute.needs);
  const bool none = !(attributes.begin() != attributes.end());
  if (none || isDisabled(context.options, kFoldAttribute.name)) return false;
  context.aliases();
  return kFoldAttribute.run(graph, context);
}

bool foldConstants(Graph& graph, PassContext& context) {
  bool changed = false;
  Misses misses;
  // A branch that is taken brings new constants within reach, and values made of those decide further branches.
  bool took_before = false, took_any = false;
  for (bool again = true; again;) {
    for (bool took_branch = false; foldOnce(graph, context, misses, &took_branch); took_branch = false) {
      if (took_branch || took_before) answerAgain(graph, context);
      took_before = took_branch;
      took_any |= took_branch;
      changed = true;
      misses.clear();
    }
    again = std::exchange(took_any, false) && readAttributesAgain(graph, context);
    // Bounds of lists, and lists that are joined, are constant now.
    if (changed && !isDisabled(context.options, kEliminateList.name)) again |= kEliminateList.run(graph, context);
  }
  for (const auto& [node, why] : misses) context.missed(node, why);
  return changed;
}

}  // namespace

const Pass kFoldConstants = {"fold-constants", "Computes now what depends on constants only.", &foldConstants};

}  // namespace ipex_studio

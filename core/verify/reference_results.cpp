// Runs of the original: as it is, in FP64, with other random numbers, and with weights rounded otherwise.
#include "core/verify/reference_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/model/copy_value.h"
#include "core/model/module_state.h"
#include "core/model/run_mode.h"
#include "core/torch/random_numbers.h"
#include "core/torch/torch_error.h"
#include "core/verify/discrete_results.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;

constexpr std::uint64_t kSeed = 1, kOtherSeed = 1'000'000;
constexpr double kErrorOfFp32 = 1e-5;  // of the largest value; a model that is further off computes in less

bool isLowFloat(std::int64_t type) {
  return type == static_cast<std::int64_t>(at::kHalf) || type == static_cast<std::int64_t>(at::kBFloat16);
}

bool isDtypeArgument(const c10::Argument& argument) {
  return argument.name() == "dtype" || argument.name() == "cpu_dtype";
}

// Calls `visit` with every node of every method of every submodule.
template <class Visit>
void visitNodes(const Module& module, const Visit& visit) {
  for (const Module& part : module.modules()) {
    for (const auto& method : part.get_methods()) {
      for (Node* node : allNodes(*method.graph(), true)) visit(node);
    }
  }
}

// Calls `visit` with each constant type that a node converts to, and the place of that argument.
template <class Visit>
void visitDtypes(Node* node, const Visit& visit) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return;
  for (std::size_t a = 0; a < schema->arguments().size() && a < node->inputs().size(); ++a) {
    if (!isDtypeArgument(schema->arguments()[a])) continue;
    if (const auto value = constantInt(node->input(a))) visit(a, *value);
  }
}

// The lowest precision of the values that a model holds or makes, by its code and weights: INT8 if it rounds to
// integers.
Precision lowestPrecision(const Module& module) {
  bool integers = false, half = false, bfloat = false;
  const auto note = [&](std::int64_t type) {
    half = half || type == static_cast<std::int64_t>(at::kHalf);
    bfloat = bfloat || type == static_cast<std::int64_t>(at::kBFloat16);
  };
  const auto noteTensor = [&](const at::Tensor& tensor) {
    if (tensor.defined()) note(static_cast<std::int64_t>(tensor.scalar_type()));
  };
  for (const at::Tensor& tensor : module.parameters()) noteTensor(tensor);
  for (const at::Tensor& tensor : module.buffers()) noteTensor(tensor);
  visitNodes(module, [&](Node* node) {
    const std::string kind = node->kind().toQualString();
    integers = integers || kind.compare(0, 11, "quantized::") == 0 || kind.find("quantize_per_") != std::string::npos;
    if (node->kind() == c10::prim::Constant) {
      if (const auto tensor = constantTensor(node->output())) noteTensor(*tensor);
    }
    visitDtypes(node, [&](std::size_t, std::int64_t type) { note(type); });
  });
  return integers ? Precision::kInt8 : bfloat ? Precision::kBf16 : half ? Precision::kFp16 : Precision::kFp32;
}

// Makes a node compute in FP64 that asks for another type, or is a constant of one.
void widen(Node* node) {
  if (node->kind() == c10::prim::Constant) {
    const auto tensor = constantTensor(node->output());
    if (!tensor || !at::isFloatingType(tensor->scalar_type()) || !node->hasAttribute(c10::attr::value)) return;
    node->t_(c10::attr::value, tensor->to(at::kDouble));
    node->output()->setType(c10::TensorType::get());
    return;
  }
  visitDtypes(node, [&](std::size_t argument, std::int64_t type) {
    if (type != static_cast<std::int64_t>(at::kFloat) && !isLowFloat(type)) return;
    torch::jit::WithInsertPoint point(node);
    node->replaceInput(argument, node->owningGraph()->insertConstant(static_cast<std::int64_t>(at::kDouble)));
  });
}

}  // namespace

std::optional<Module> doubleCopy(const Module& original) {
  try {
    // The clone has graphs of its own. Module::to() would turn indices into floats, too.
    Module cloned = copyModule(original.clone(/*inplace=*/true), at::kDouble);
    cloned.eval();
    visitNodes(cloned, widen);
    return cloned;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

IValue toDouble(const IValue& value) {
  return mapTensors(value, [](const at::Tensor& tensor) {
    return at::isFloatingType(tensor.scalar_type()) ? copyWithStrides(tensor, at::kDouble) : tensor;
  });
}

namespace {

std::optional<std::vector<IValue>> runDouble(const Module& original, const std::vector<Inputs>& steps,
                                             const std::string& reset) {
  std::optional<Module> module = doubleCopy(original);
  if (!module) return std::nullopt;
  std::vector<Inputs> doubles;
  for (const Inputs& inputs : steps) {
    Inputs wide;
    for (const IValue& input : inputs) wide.push_back(toDouble(input));
    doubles.push_back(std::move(wide));
  }
  try {
    auto results = runSequence(*module, doubles, reset, kSeed).results;
    for (const IValue& result : results) {
      for (const at::Tensor& tensor : tensorsOf(result)) {
        // A result that fell back to FP32 somewhere would be no reference.
        const bool real = at::isFloatingType(tensor.scalar_type());
        if (real && tensor.scalar_type() != at::kDouble) return std::nullopt;
        if (tensor.is_complex() && tensor.scalar_type() != at::kComplexDouble) return std::nullopt;
      }
    }
    return results;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

double largestFinite(const at::Tensor& values) {
  if (values.numel() == 0) return 0;
  return at::where(values.isfinite(), values.abs(), at::zeros_like(values)).max().item<double>();
}

double largest(const std::vector<IValue>& results) {
  double value = 0;
  for (const IValue& result : results) {
    for (const at::Tensor& tensor : tensorsOf(result)) value = std::max(value, largestFinite(tensor.to(at::kDouble)));
  }
  return value;
}

// The largest difference between the tensors of two results; infinity if their sizes differ, 0 if they are equal.
double spreadOf(const IValue& one, const IValue& other) {
  const std::vector<at::Tensor> left = tensorsOf(one), right = tensorsOf(other);
  if (left.size() != right.size()) return std::numeric_limits<double>::infinity();
  double spread = 0;
  for (std::size_t t = 0; t < left.size(); ++t) {
    if (!left[t].sizes().equals(right[t].sizes())) return std::numeric_limits<double>::infinity();
    spread = std::max(spread, largestFinite(left[t].to(at::kDouble) - right[t].to(at::kDouble)));
  }
  return spread;
}

double spreadOf(const std::vector<IValue>& one, const std::vector<IValue>& other) {
  double spread = 0;
  for (std::size_t s = 0; s < one.size(); ++s) spread = std::max(spread, spreadOf(one[s], other[s]));
  return spread;
}

// True if the results are further from FP64 than FP32 gets. A model may hold BF16 or FP16 and yet compute in FP32.
bool computesBelowFp32(const ReferenceResults& reference) {
  if (!reference.fp64) return true;
  for (std::size_t s = 0; s < reference.own.size(); ++s) {
    const std::vector<at::Tensor> own = tensorsOf(reference.own[s]), exact = tensorsOf((*reference.fp64)[s]);
    for (std::size_t t = 0; t < std::min(own.size(), exact.size()); ++t) {
      if (!at::isFloatingType(own[t].scalar_type()) || !own[t].sizes().equals(exact[t].sizes())) continue;
      const at::Tensor error = own[t].to(at::kDouble) - exact[t].to(at::kDouble);
      if (largestFinite(error) > kErrorOfFp32 * largestFinite(exact[t].to(at::kDouble))) return true;
    }
  }
  return false;
}

// Runs a model that draws twice more: with other numbers, and with the same again.
RandomDraws drawsOf(const Module& original, const std::vector<Inputs>& steps, const std::string& reset,
                    const SequenceRun& own) {
  const auto runAgain = [&](std::uint64_t seed) {
    Module copy = copyModule(original);
    copy.eval();
    return runSequence(copy, steps, reset, seed).results;
  };
  RandomDraws draws;
  draws.generator = own.generator;
  draws.spread = spreadOf(own.results, runAgain(kOtherSeed));
  draws.matter = draws.spread > 0;
  if (draws.matter) {
    // Sums of several threads may come in another order.
    draws.repeatable = spreadOf(own.results, runAgain(kSeed)) <= kErrorOfFp32 * largest(own.results);
  }
  return draws;
}

// True if a result is of integers or booleans, or the code rounds, so that results may jump.
bool mayJump(const Module& module, const std::vector<IValue>& results) {
  for (const IValue& result : results) {
    for (const at::Tensor& tensor : tensorsOf(result)) {
      if (c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) return true;
    }
  }
  static const std::unordered_set<c10::Symbol> kinds = {c10::aten::round,  c10::aten::round_, c10::aten::floor,
                                                        c10::aten::floor_, c10::aten::ceil,   c10::aten::ceil_,
                                                        c10::aten::trunc,  c10::aten::trunc_};
  bool rounds = false;
  visitNodes(module, [&](const Node* node) { rounds = rounds || kinds.count(node->kind()) != 0; });
  return rounds;
}

// Adds the values before the jumps of results. What cannot be looked into is compared as it is.
void addJumps(const Module& original, const std::vector<Inputs>& steps, const std::string& reset,
              ReferenceResults* reference) {
  if (!mayJump(original, reference->own)) return;
  try {
    const auto discrete = std::make_shared<DiscreteResults>(original);
    if (discrete->empty()) return;
    Module eager = copyModule(discrete->module());
    std::vector<IValue> values = runSequence(eager, steps, reset, kSeed).results;
    for (const IValue& returned : values) discrete->check(returned);
    if (discrete->empty()) return;
    reference->values = std::move(values);
    if (reference->fp64) reference->exact_values = runDouble(discrete->module(), steps, reset);
    reference->discrete = discrete;
  } catch (const std::exception&) {
    reference->discrete = nullptr;
  }
}

constexpr int kRoundedRuns = 8;
constexpr double kRoundingChange = 0x1p-23;  // a unit in the last place: weights come rounded to half of one

// The values, each changed by up to kRoundingChange of itself.
at::Tensor roundOtherwise(const at::Tensor& values) {
  if (values.layout() != at::kStrided || !at::isFloatingType(values.scalar_type())) return values;
  const at::Tensor change = (at::rand(values.sizes(), at::kDouble) * 2 - 1) * kRoundingChange;
  return copyWithStrides(values, values.scalar_type()).mul_((1 + change).to(values.scalar_type()));
}

Module roundOtherwise(const Module& original) {
  // The clone has graphs of its own.
  Module copy = copyModule(original.clone(/*inplace=*/true));
  copy.eval();
  const auto change = [](at::Tensor tensor) {
    if (tensor.defined()) tensor.set_data(roundOtherwise(tensor));
  };
  for (const at::Tensor& tensor : copy.parameters()) change(tensor);
  for (const at::Tensor& tensor : copy.buffers()) change(tensor);
  visitNodes(copy, [](Node* node) {
    if (node->kind() != c10::prim::Constant || !node->hasAttribute(c10::attr::value)) return;
    if (const auto tensor = constantTensor(node->output())) node->t_(c10::attr::value, roundOtherwise(*tensor));
  });
  return copy;
}

}  // namespace

const std::vector<std::vector<IValue>>& RoundedOtherwise::runs() {
  std::call_once(computed_, [this] {
    const torch::NoGradGuard no_grad;
    SeededGenerator generator;
    try {
      for (int run = 0; run < kRoundedRuns; ++run) {
        generator.seed(kSeed + static_cast<std::uint64_t>(run));
        Module module = roundOtherwise(original_);
        std::vector<Inputs> steps;
        for (const Inputs& inputs : steps_) {
          steps.emplace_back();
          for (const IValue& input : inputs)
            steps.back().push_back(mapTensors(input, [](const at::Tensor& tensor) { return roundOtherwise(tensor); }));
        }
        runs_.push_back(runSequence(module, steps, reset_, kSeed).results);
      }
    } catch (const std::exception&) {
      runs_.clear();
    }
  });
  return runs_;
}

// Iterative, since results may be nested.
std::vector<at::Tensor> tensorsOf(const IValue& result) {
  std::vector<at::Tensor> tensors;
  std::vector<IValue> open{result};
  while (!open.empty()) {
    const IValue value = open.back();
    open.pop_back();
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isInt() || value.isDouble() || value.isBool()) {
      tensors.push_back(at::scalar_tensor(value.toScalar(), value.isDouble() ? at::kDouble
                                                            : value.isBool() ? at::kBool
                                                                             : at::kLong));
    } else if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      for (std::size_t e = elements.size(); e > 0; --e) open.push_back(elements[e - 1]);
    } else if (value.isList()) {
      const auto list = value.toListRef();
      open.insert(open.end(), list.rbegin(), list.rend());
    } else if (value.isGenericDict()) {
      std::vector<IValue> values;
      for (const auto& entry : value.toGenericDict()) values.push_back(entry.value());
      open.insert(open.end(), values.rbegin(), values.rend());
    }
  }
  return tensors;
}

SequenceRun runSequence(Module& module, const std::vector<Inputs>& steps, const std::string& reset,
                        std::uint64_t seed) {
  const RunMode mode(module);
  SeededGenerator generator;
  if (!reset.empty() && module.find_method(reset)) module.get_method(reset)({});
  SequenceRun run;
  for (const Inputs& inputs : steps) {
    Inputs own;  // a model may write into its inputs
    for (const IValue& input : inputs) own.push_back(copyValue(input));
    generator.seed(seed + run.results.size());
    const at::Tensor before = generator.state();
    run.results.push_back(copyValue(module.forward(std::move(own))));
    run.generator.push_back(generator.state());
    run.draws = run.draws || !at::equal(before, run.generator.back());
  }
  return run;
}

ReferenceResults referenceResults(const Module& original, const std::vector<Inputs>& steps, const std::string& reset) {
  const torch::NoGradGuard no_grad;
  try {
    Module eager = copyModule(original);
    eager.eval();
    SequenceRun run = runSequence(eager, steps, reset, kSeed);
    ReferenceResults reference;
    reference.precision = lowestPrecision(original);
    if (run.draws) reference.random = drawsOf(original, steps, reset, run);
    reference.own = std::move(run.results);
    // Where a model rounds values to integers neither FP64 nor bounds on FP32's error can judge it: if two sums fall on
    // different sides of a step, everything after them differs by steps.
    const bool judgeable = reference.precision != Precision::kInt8 && !reference.random.matter;
    if (judgeable) reference.fp64 = runDouble(original, steps, reset);
    const bool may_be_low = reference.precision == Precision::kBf16 || reference.precision == Precision::kFp16;
    if (may_be_low && !computesBelowFp32(reference)) reference.precision = Precision::kFp32;
    addJumps(original, steps, reset, &reference);
    if (reference.precision == Precision::kFp32 && !reference.random.matter)
      reference.rounded = std::make_shared<RoundedOtherwise>(original, steps, reset);
    return reference;
  } catch (const c10::Error& problem) {
    throw runError(problem);
  } catch (const std::runtime_error& problem) {
    throw runError(problem);
  }
}

}  // namespace ipex_studio

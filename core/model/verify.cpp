// Distances between results, the FP64 reference, and the verdict.
#include "core/model/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/model/copy_value.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;

// All tensors and numbers of a result, in order; iterative, since results may be nested.
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

double maxAbs(const at::Tensor& tensor) { return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>(); }

void fillDistances(const at::Tensor& actual, const at::Tensor& reference, AccuracyRecord& record) {
  const at::Tensor delta = actual - reference;
  record.max_abs = maxAbs(delta);
  const double scale = maxAbs(reference);
  record.max_rel = scale > 0 ? record.max_abs / scale : record.max_abs;
  const double signal = reference.square().sum().item<double>();
  const double noise = delta.square().sum().item<double>();
  record.sqnr_db = noise > 0 ? 10 * std::log10(std::max(signal, 1e-300) / noise) : kSqnrOfEqual;
  const double norms = std::sqrt(signal) * std::sqrt(actual.square().sum().item<double>());
  record.cosine = norms > 0 ? (actual * reference).sum().item<double>() / norms : 1;
}

AccuracyRecord refuse(AccuracyRecord record, std::string why) {
  record.pass = false;
  record.text = std::move(why);
  return record;
}

AccuracyRecord compareOne(const at::Tensor& actual, const at::Tensor& eager, const at::Tensor* fp64,
                          const AccuracyRule& rule) {
  AccuracyRecord record;
  record.reference = fp64 != nullptr ? "fp64" : "eager";
  if (!actual.sizes().equals(eager.sizes()) || actual.scalar_type() != eager.scalar_type()) {
    return refuse(record,
                  fmt::format("The result is {} {} where the model gives {} {}.", c10::toString(actual.scalar_type()),
                              c10::str(actual.sizes()), c10::toString(eager.scalar_type()), c10::str(eager.sizes())));
  }
  if (!at::isFloatingType(eager.scalar_type())) {
    const bool equal = at::equal(actual, eager);
    return equal ? record : refuse(record, "An integer result differs from the model's.");
  }
  const at::Tensor reference = (fp64 != nullptr ? *fp64 : eager).to(at::kDouble);
  at::Tensor result = actual.to(at::kDouble);
  at::Tensor own = eager.to(at::kDouble);
  // Non-finite values of the reference must be equal in the result; all others are compared.
  const at::Tensor finite = reference.isfinite();
  const bool same_specials =
      at::logical_or(finite, at::logical_or(result == own, at::logical_and(result.isnan(), own.isnan())))
          .all()
          .item<bool>();
  const at::Tensor zero = at::zeros_like(reference);
  result = at::where(finite, result, zero);
  own = at::where(finite, own, zero);
  const at::Tensor clean = at::where(finite, reference, zero);
  if (!same_specials || !result.isfinite().all().item<bool>()) {
    return refuse(record, "The result has NaN or infinity where the model's result is finite, or the other way round.");
  }
  fillDistances(result, clean, record);
  if (rule.precision != Precision::kFp32) {
    record.pass = record.cosine >= rule.leastCosine();
    const char* const why = rule.min_cosine > 0 ? "was asked for (--min-cosine)" : "is needed in this precision";
    record.text = fmt::format("cosine {:.6f}, SQNR {:.1f} dB against {}; a cosine of {} {}", record.cosine,
                              record.sqnr_db, fp64 != nullptr ? "FP64" : "the model itself", rule.leastCosine(), why);
    return record;
  }
  const double scale = maxAbs(clean);
  const double bound = fp64 != nullptr ? 2 * maxAbs(own - clean) + 1e-5 * scale : 1e-4 * scale;
  record.pass = record.max_abs <= bound;
  record.text =
      fp64 != nullptr
          ? fmt::format("max|Δ| {:.2e} against FP64; allowed {:.2e} = 2 × the model's own FP32 error + 1e-5 · max|ref|",
                        record.max_abs, bound)
          : fmt::format(
                "max|Δ| {:.2e} against the model in FP32 (FP64 is impossible here); allowed {:.2e} = 1e-4 · max|ref|",
                record.max_abs, bound);
  return record;
}

// True if the model itself rounds values to integers. Then neither FP64 nor bounds on FP32's error can judge it: if two
// sums fall on different sides of a step, everything after them differs by steps.
bool roundsToIntegers(const torch::jit::Block* block) {
  for (const torch::jit::Node* node : block->nodes()) {
    const std::string kind = node->kind().toQualString();
    if (kind.compare(0, 11, "quantized::") == 0 || kind.find("quantize_per_") != std::string::npos) return true;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (roundsToIntegers(inner)) return true;
    }
  }
  return false;
}

bool roundsToIntegers(const Module& module) {
  for (const Module& part : module.modules()) {
    for (const auto& method : part.get_methods()) {
      if (roundsToIntegers(method.graph()->block())) return true;
    }
  }
  return false;
}

// Replaces hard-coded float32 in dtype arguments by float64, in every method of every submodule.
void rewriteDtypes(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) rewriteDtypes(inner);
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    for (std::size_t a = 0; a < schema->arguments().size() && a < node->inputs().size(); ++a) {
      if (schema->arguments()[a].name() != "dtype") continue;
      const auto value = constantInt(node->input(a));
      if (!value || *value != static_cast<std::int64_t>(at::kFloat)) continue;
      torch::jit::WithInsertPoint point(node);
      node->replaceInput(a, node->owningGraph()->insertConstant(static_cast<std::int64_t>(at::kDouble)));
    }
  }
}

std::optional<Module> doubleCopy(const Module& original) {
  try {
    Module copy = original.deepcopy();
    Module cloned = copy.clone();
    cloned.eval();
    for (const Module& part : cloned.modules()) {
      for (const auto& method : part.get_methods()) rewriteDtypes(method.graph()->block());
    }
    // Module::to() would turn indices into floats, too.
    const auto widen = [](at::Tensor tensor) {
      if (at::isFloatingType(tensor.scalar_type())) tensor.set_data(tensor.to(at::kDouble));
    };
    for (const at::Tensor& parameter : cloned.parameters()) widen(parameter);
    for (const at::Tensor& buffer : cloned.buffers()) widen(buffer);
    return cloned;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

IValue toDouble(const IValue& value) {
  if (!value.isTensor() || !at::isFloatingType(value.toTensor().scalar_type())) return value;
  return copyWithStrides(value.toTensor(), at::kDouble);
}

Inputs toDouble(const Inputs& inputs) {
  Inputs doubles;
  for (const IValue& input : inputs) doubles.push_back(toDouble(input));
  return doubles;
}

void resetState(Module& module, const std::string& method) {
  if (!method.empty() && module.find_method(method)) module.get_method(method)({});
}

std::vector<IValue> runAll(Module& module, const std::vector<Inputs>& steps, const std::string& reset) {
  resetState(module, reset);
  std::vector<IValue> results;
  for (const Inputs& inputs : steps) {
    Inputs own;  // a model may write into its inputs
    for (const IValue& input : inputs) own.push_back(copyValue(input));
    results.push_back(copyValue(module.forward(std::move(own))));
  }
  return results;
}

std::optional<std::vector<IValue>> runDouble(const Module& original, const std::vector<Inputs>& steps,
                                             const std::string& reset) {
  std::optional<Module> module = doubleCopy(original);
  if (!module) return std::nullopt;
  std::vector<Inputs> doubles;
  for (const Inputs& inputs : steps) doubles.push_back(toDouble(inputs));
  try {
    auto results = runAll(*module, doubles, reset);
    for (const IValue& result : results) {
      for (const at::Tensor& tensor : tensorsOf(result)) {
        // A result that fell back to FP32 somewhere would be no reference.
        if (at::isFloatingType(tensor.scalar_type()) && tensor.scalar_type() != at::kDouble) return std::nullopt;
      }
    }
    return results;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

double AccuracyRule::leastCosine() const {
  if (min_cosine > 0) return min_cosine;
  switch (precision) {
    case Precision::kInt8:
      return 0.99;
    case Precision::kFp16:
      return 0.9999;  // FP16 has three bits of mantissa more than BF16
    default:
      return 0.999;
  }
}

std::vector<AccuracyRecord> compareOutputs(const IValue& actual, const IValue& eager, const IValue* fp64,
                                           const AccuracyRule& rule) {
  const std::vector<at::Tensor> results = tensorsOf(actual);
  const std::vector<at::Tensor> own = tensorsOf(eager);
  std::vector<at::Tensor> references = fp64 != nullptr ? tensorsOf(*fp64) : std::vector<at::Tensor>{};
  std::vector<AccuracyRecord> records;
  AccuracyRecord worst;
  worst.sqnr_db = kSqnrOfEqual;
  if (results.size() != own.size()) {
    worst =
        refuse(worst, fmt::format("The optimized model gives {} tensors, the model {}.", results.size(), own.size()));
  } else {
    for (std::size_t o = 0; o < results.size(); ++o) {
      const bool has_reference = o < references.size() && references[o].sizes().equals(own[o].sizes());
      AccuracyRecord record = compareOne(results[o], own[o], has_reference ? &references[o] : nullptr, rule);
      record.output = static_cast<std::int32_t>(o);
      const bool worse = records.empty() || (worst.pass && !record.pass) ||
                         (worst.pass == record.pass && record.sqnr_db < worst.sqnr_db);
      if (worse) worst = record;
      records.push_back(std::move(record));
    }
  }
  worst.output = -1;
  records.insert(records.begin(), worst);
  return records;
}

ReferenceResults referenceResults(const Module& original, const std::vector<Inputs>& steps, const std::string& reset) {
  const torch::NoGradGuard no_grad;
  try {
    Module eager = original.deepcopy();
    eager.eval();
    ReferenceResults reference;
    reference.own = runAll(eager, steps, reset);
    reference.of_integers = roundsToIntegers(original);
    if (!reference.of_integers) reference.fp64 = runDouble(original, steps, reset);
    return reference;
  } catch (const c10::Error& problem) {
    throw runError(problem);
  } catch (const std::runtime_error& problem) {
    throw runError(problem);
  }
}

std::vector<AccuracyRecord> verifyModule(const Module& original, Module& candidate, const std::vector<Inputs>& steps,
                                         const std::string& reset, const AccuracyRule& rule) {
  return verifyModule(referenceResults(original, steps, reset), candidate, steps, reset, rule);
}

std::vector<AccuracyRecord> verifyModule(const ReferenceResults& reference, Module& candidate,
                                         const std::vector<Inputs>& steps, const std::string& reset,
                                         const AccuracyRule& given) {
  IPEX_CHECK(reference.own.size() == steps.size(), "the reference is of these steps");
  const torch::NoGradGuard no_grad;
  AccuracyRule rule = given;
  if (reference.of_integers) rule.precision = Precision::kInt8;
  try {
    const std::vector<IValue> results = runAll(candidate, steps, reset);
    std::vector<AccuracyRecord> worst_step;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      auto records =
          compareOutputs(results[s], reference.own[s], reference.fp64 ? &(*reference.fp64)[s] : nullptr, rule);
      const bool worse = worst_step.empty() || (worst_step[0].pass && !records[0].pass) ||
                         (worst_step[0].pass == records[0].pass && records[0].sqnr_db < worst_step[0].sqnr_db);
      if (worse) worst_step = std::move(records);
    }
    return worst_step;
  } catch (const c10::Error& problem) {
    throw runError(problem);
  } catch (const std::runtime_error& problem) {
    throw runError(problem);
  }
}

}  // namespace ipex_studio

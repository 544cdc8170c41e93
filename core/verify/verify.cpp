// Distances between results, and the verdict.
#include "core/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/model/module_state.h"
#include "core/torch/torch_error.h"
#include "core/verify/discrete_results.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;

constexpr char kDifferNearJumps[] = " differ, each";  // in the text of records that pass in spite of that

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

// Integers, booleans and quantized values must be equal.
AccuracyRecord compareExactly(const at::Tensor& actual, const at::Tensor& eager, AccuracyRecord record) {
  record.reference = "eager";
  record.sqnr_db = kSqnrOfEqual;
  record.text = "equal";
  if (at::equal(actual, eager)) return record;
  const auto values = [](const at::Tensor& tensor) {
    return (tensor.is_quantized() ? tensor.dequantize() : tensor).to(at::kDouble);
  };
  fillDistances(values(actual), values(eager), record);
  const char* const what = eager.scalar_type() == at::kBool ? "booleans" : "integers";
  return refuse(record, fmt::format("{} of {} {} differ from the model's, by up to {:g}",
                                    values(actual).ne(values(eager)).sum().item<std::int64_t>(), eager.numel(), what,
                                    record.max_abs));
}

// Below FP32 no bound on single elements is meaningful. A model that computes there itself and misses the cosine needs
// a result that is not further than twice as far from FP64 as its own.
AccuracyRecord judgeDirection(const at::Tensor& own, const at::Tensor& reference, const AccuracyRule& rule,
                              AccuracyRecord record) {
  AccuracyRecord of_own;
  fillDistances(own, reference, of_own);
  const double twice = 1 - 2 * (1 - of_own.cosine);
  const bool excused = rule.min_cosine == 0 && twice < rule.leastCosine();
  const double least = excused ? twice : rule.leastCosine();
  const char* const why = rule.min_cosine > 0 ? "was asked for (--min-cosine)"
                          : excused           ? "is needed, as the model's own results are half as far off"
                                              : "is needed in this precision";
  record.pass = record.cosine >= least;
  record.text = fmt::format("cosine {:.6f}, SQNR {:.1f} dB against {}; a cosine of {:.6g} {}", record.cosine,
                            record.sqnr_db, record.reference == "fp64" ? "FP64" : "the model itself", least, why);
  return record;
}

AccuracyRecord judgeElements(const at::Tensor& own, const at::Tensor& reference, AccuracyRecord record) {
  const bool exact = record.reference == "fp64";
  const double scale = maxAbs(reference);
  const double bound = exact ? 2 * maxAbs(own - reference) + 1e-5 * scale : 1e-4 * scale;
  record.pass = record.max_abs <= bound;
  record.text =
      exact
          ? fmt::format("max|Δ| {:.2e} against FP64; allowed {:.2e} = 2 × the model's own FP32 error + 1e-5 · max|ref|",
                        record.max_abs, bound)
          : fmt::format(
                "max|Δ| {:.2e} against the model in FP32 (it has no FP64 reference); allowed {:.2e} = 1e-4 · "
                "max|ref|",
                record.max_abs, bound);
  return record;
}

// Complex values are pairs of numbers.
at::Tensor asNumbers(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor).to(at::kDouble);
}

AccuracyRecord compareValues(const at::Tensor& actual, const at::Tensor& eager, const at::Tensor* fp64,
                             const AccuracyRule& rule) {
  AccuracyRecord record;
  if (!actual.sizes().equals(eager.sizes()) || actual.scalar_type() != eager.scalar_type()) {
    record.reference = "eager";
    return refuse(record,
                  fmt::format("The result is {} {} where the model gives {} {}.", c10::toString(actual.scalar_type()),
                              c10::str(actual.sizes()), c10::toString(eager.scalar_type()), c10::str(eager.sizes())));
  }
  if (!at::isFloatingType(eager.scalar_type()) && !eager.is_complex()) return compareExactly(actual, eager, record);
  record.reference = fp64 != nullptr ? "fp64" : "eager";
  const at::Tensor reference = asNumbers(fp64 != nullptr ? *fp64 : eager);
  at::Tensor result = asNumbers(actual);
  at::Tensor own = asNumbers(eager);
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
  return rule.precision == Precision::kFp32 ? judgeElements(own, clean, record)
                                            : judgeDirection(own, clean, rule, record);
}

// The values before the jumps in the results of a call.
struct CallJumps {
  const DiscreteResults* model = nullptr;  // null: none is known
  const IValue* returned = nullptr;
  const IValue* exact = nullptr;  // may be null
};

// Judges a result that is not right by its elements once more: near a jump either side is right.
AccuracyRecord judgeJumps(std::size_t output, const at::Tensor& actual, const at::Tensor& own, const CallJumps& jumps,
                          const AccuracyRule& rule, AccuracyRecord record) {
  const bool low = rule.precision != Precision::kFp32;
  if (low && jumps.model->rounds(output)) {
    record.reference = "eager";
    return judgeDirection(own.to(at::kDouble), own.to(at::kDouble), rule, record);
  }
  const auto verdict =
      jumps.model->judge(output, actual, own, *jumps.returned, jumps.exact, low ? rule.leastCosine() : 0);
  if (!verdict) return record;
  const auto wrong = actual.numel() - verdict->right.sum().item<std::int64_t>();
  const auto differing = actual.ne(own).sum().item<std::int64_t>();
  if (wrong > 0) {
    record.text += fmt::format("; {} of them do not lie within {:.2g} of a jump", wrong, verdict->tolerance);
    return record;
  }
  const at::Tensor finite = verdict->own.isfinite();
  const at::Tensor zero = at::zeros_like(verdict->own);
  fillDistances(at::where(finite, verdict->actual, zero), at::where(finite, verdict->own, zero), record);
  record.pass = true;
  record.reference = jumps.exact != nullptr ? "fp64" : "eager";
  const std::string counts =
      fmt::format("{} of {} {}{}", differing, actual.numel(), verdict->places ? "places" : "values", kDifferNearJumps);
  record.text = verdict->places
                    ? fmt::format("{} between values no further than {:.2g} apart, which is a tie in this precision",
                                  counts, verdict->tolerance)
                    : fmt::format("{} where the model rounds or compares a value within {:.2g} of a jump", counts,
                                  verdict->tolerance);
  return record;
}

AccuracyRecord compareOne(std::size_t output, const at::Tensor& actual, const at::Tensor& eager, const at::Tensor* fp64,
                          const AccuracyRule& rule, const CallJumps& jumps) {
  AccuracyRecord record = compareValues(actual, eager, fp64, rule);
  const bool alike = actual.sizes().equals(eager.sizes()) && actual.scalar_type() == eager.scalar_type();
  if (!record.pass && alike && jumps.model != nullptr)
    record = judgeJumps(output, actual, eager, jumps, rule, std::move(record));
  record.output = static_cast<std::int32_t>(output);
  return record;
}

AccuracyRecord worstOf(const std::vector<AccuracyRecord>& records) {
  AccuracyRecord worst =
      *std::min_element(records.begin(), records.end(), [](const AccuracyRecord& one, const AccuracyRecord& other) {
        return one.pass != other.pass ? !one.pass : one.sqnr_db < other.sqnr_db;
      });
  worst.output = -1;
  return worst;
}

std::vector<AccuracyRecord> compareCall(const IValue& actual, const IValue& eager, const IValue* fp64,
                                        const AccuracyRule& rule, const CallJumps& jumps) {
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
      records.push_back(compareOne(o, results[o], own[o], has_reference ? &references[o] : nullptr, rule, jumps));
    }
    if (!records.empty()) worst = worstOf(records);
  }
  worst.output = -1;
  records.insert(records.begin(), worst);
  return records;
}

// How far a tensor of a result moves when the model's weights change in their last bits.
struct ResultSpread {
  double distance = 0;  // of elements, where sizes stay
  bool sizes_change = false;
  std::vector<std::int64_t> least, most;  // sizes seen
  double lowest = 0, highest = 0;         // values seen
};

at::Tensor finiteNumbers(const at::Tensor& tensor) {
  const at::Tensor numbers = asNumbers(tensor);
  return numbers.masked_select(numbers.isfinite());
}

void widen(const at::Tensor& seen, ResultSpread* spread) {
  for (std::size_t d = 0; d < spread->least.size(); ++d) {
    spread->least[d] = std::min(spread->least[d], seen.size(static_cast<std::int64_t>(d)));
    spread->most[d] = std::max(spread->most[d], seen.size(static_cast<std::int64_t>(d)));
  }
  const at::Tensor values = finiteNumbers(seen);
  if (values.numel() == 0) return;
  spread->lowest = std::min(spread->lowest, values.min().item<double>());
  spread->highest = std::max(spread->highest, values.max().item<double>());
}

ResultSpread spreadOf(const at::Tensor& own, const std::vector<at::Tensor>& others) {
  ResultSpread spread;
  spread.least = spread.most = own.sizes().vec();
  widen(own, &spread);
  for (const at::Tensor& other : others) {
    if (other.dim() != own.dim()) continue;
    widen(other, &spread);
    if (!other.sizes().equals(own.sizes())) {
      spread.sizes_change = true;
    } else {
      spread.distance = std::max(spread.distance, maxAbs(finiteNumbers(asNumbers(other) - asNumbers(own))));
    }
  }
  return spread;
}

// A part of the largest value that is far over what rounding alone moves.
constexpr double kJump = 1e-3;

// True if rounding alone does not explain the spread: the model selects between values that are equal in FP32.
bool jumps(const ResultSpread& spread, const at::Tensor& own) {
  return spread.sizes_change || spread.distance > kJump * maxAbs(finiteNumbers(own));
}

// True if the tensor is no further from the model's own than the model itself moves. Where sizes change, elements of
// one selection have no counterpart in the other, so their range counts.
bool liesWithin(const ResultSpread& spread, const at::Tensor& actual, const at::Tensor& own) {
  if (actual.scalar_type() != own.scalar_type() || actual.dim() != own.dim()) return false;
  for (std::int64_t d = 0; d < actual.dim(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (actual.size(d) < spread.least[at] || actual.size(d) > spread.most[at]) return false;
  }
  if (actual.numel() == 0) return true;
  const at::Tensor values = asNumbers(actual);
  const double slack = kJump * std::max(-spread.lowest, spread.highest);
  const bool in_range = values.min().item<double>() >= spread.lowest - slack &&
                        values.max().item<double>() <= spread.highest + slack;  // NaN is in none
  if (!in_range || spread.sizes_change) return in_range;
  const double delta = maxAbs(values - asNumbers(own));
  if (!at::isFloatingType(own.scalar_type())) return spread.distance > 0 || delta == 0;
  return delta <= 2 * spread.distance + 1e-5 * maxAbs(asNumbers(own));
}

// The spreads of the tensors of a result; empty if the model's results have other numbers of tensors.
std::vector<ResultSpread> spreadsOf(const std::vector<at::Tensor>& own, const std::vector<IValue>& others) {
  std::vector<std::vector<at::Tensor>> moved(own.size());
  for (const IValue& other : others) {
    const std::vector<at::Tensor> tensors = tensorsOf(other);
    if (tensors.size() != own.size()) return {};
    for (std::size_t o = 0; o < own.size(); ++o) moved[o].push_back(tensors[o]);
  }
  std::vector<ResultSpread> spreads;
  for (std::size_t o = 0; o < own.size(); ++o) spreads.push_back(spreadOf(own[o], moved[o]));
  return spreads;
}

// Judges a call once more whose results are not right. The distance of one FP32 run from FP64 may be small by chance,
// so twice what the last bits of the weights move counts, too; where they make results jump, sizes and integers may be
// any of those seen. Results behind `known` jumps have a closer judge.
void judgeByRounding(const IValue& actual, const IValue& eager, const std::vector<IValue>& others,
                     const DiscreteResults* known, std::vector<AccuracyRecord>& records) {
  const std::vector<at::Tensor> results = tensorsOf(actual), own = tensorsOf(eager);
  const std::vector<ResultSpread> spreads = spreadsOf(own, others);
  if (results.size() != own.size() || spreads.empty()) return;
  const auto isKnown = [&](std::size_t o) { return known != nullptr && known->leadsTo(o); };
  bool selects = false;
  for (std::size_t o = 0; o < own.size(); ++o)
    selects = selects || (at::isFloatingType(own[o].scalar_type()) && !isKnown(o) && jumps(spreads[o], own[o]));
  for (std::size_t o = 0; o < own.size(); ++o) {
    AccuracyRecord& record = records[o + 1];
    const bool elements = at::isFloatingType(own[o].scalar_type()) && results[o].sizes().equals(own[o].sizes());
    if (record.pass || isKnown(o) || !(selects || elements) || !liesWithin(spreads[o], results[o], own[o])) continue;
    record.pass = true;
    record.text += spreads[o].sizes_change
                       ? "; the model's own result has other sizes when its weights change in the last bits"
                       : fmt::format(
                             "; the model's own result moves by up to {:.2g} when its weights change in the "
                             "last bits",
                             spreads[o].distance);
  }
  records[0] = worstOf({records.begin() + 1, records.end()});
}

// The rule for a model that computes in `own` itself: the more tolerant of the two.
AccuracyRule ruleFor(const AccuracyRule& given, Precision own) {
  const AccuracyRule of_own{own, given.min_cosine};
  if (own == Precision::kFp32) return given;
  const bool tolerant = given.precision != Precision::kFp32 && given.leastCosine() < of_own.leastCosine();
  return tolerant ? given : of_own;
}

// What the result of a step depends on besides its inputs. `same`: both drew the same numbers.
void noteDraws(const RandomDraws& draws, bool same, AccuracyRecord* record) {
  if (!draws.repeatable) {
    *record = refuse(*record, fmt::format("The model's results differ by up to {:.2g} between two runs of itself with "
                                          "equal random numbers, so nothing can be compared with them.",
                                          draws.spread));
    return;
  }
  record->text += fmt::format(
      "; random numbers are equal on both sides (with others the model differs from itself by "
      "up to {:.2g})",
      draws.spread);
  if (!record->pass && !same) record->text += "; the optimized model draws others than the model does";
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

AccuracyRule AccuracyRule::withAllowance(double factor) const {
  if (precision == Precision::kFp32) return *this;
  // Above 0, which would stand for the precision's own rule.
  return {precision, std::max(1 - factor * (1 - leastCosine()), std::numeric_limits<double>::min())};
}

bool differsNearJumps(const AccuracyRecord& record) {
  return record.pass && record.text.find(kDifferNearJumps) != std::string::npos;
}

std::vector<AccuracyRecord> compareOutputs(const IValue& actual, const IValue& eager, const IValue* fp64,
                                           const AccuracyRule& rule) {
  return compareCall(actual, eager, fp64, rule, {});
}

std::vector<AccuracyRecord> verifyModule(const Module& original, Module& candidate, const std::vector<Inputs>& steps,
                                         const std::string& reset, const AccuracyRule& rule) {
  return verifyModule(referenceResults(original, steps, reset), candidate, steps, reset, rule);
}

AccuracyRecord verifyWorst(const ReferenceResults& reference, Module& candidate, const std::vector<Inputs>& steps,
                           const std::string& reset, const AccuracyRule& rule) {
  try {
    return verifyModule(reference, candidate, steps, reset, rule).front();
  } catch (const Error& problem) {
    AccuracyRecord failed;
    failed.pass = false;
    failed.text = problem.what();
    return failed;
  }
}

std::vector<AccuracyRecord> verifyModule(const ReferenceResults& reference, Module& candidate,
                                         const std::vector<Inputs>& steps, const std::string& reset,
                                         const AccuracyRule& given) {
  IPEX_CHECK(reference.own.size() == steps.size(), "the reference is of these steps");
  const torch::NoGradGuard no_grad;
  const AccuracyRule rule = ruleFor(given, reference.precision);
  try {
    const ModuleState state(candidate);
    const SequenceRun run = runSequence(candidate, steps, reset);
    state.restore();
    std::vector<AccuracyRecord> worst_step;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      CallJumps jumps;
      if (reference.discrete != nullptr) {
        jumps = {reference.discrete.get(), &reference.values[s],
                 reference.exact_values ? &(*reference.exact_values)[s] : nullptr};
      }
      auto records =
          compareCall(run.results[s], reference.own[s], reference.fp64 ? &(*reference.fp64)[s] : nullptr, rule, jumps);
      if (!records[0].pass && rule.precision == Precision::kFp32 && reference.rounded != nullptr) {
        std::vector<IValue> others;
        for (const std::vector<IValue>& moved : reference.rounded->runs()) others.push_back(moved[s]);
        judgeByRounding(run.results[s], reference.own[s], others, reference.discrete.get(), records);
      }
      if (reference.random.matter) {
        const bool same = at::equal(run.generator[s], reference.random.generator[s]);
        for (AccuracyRecord& record : records) noteDraws(reference.random, same, &record);
      }
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

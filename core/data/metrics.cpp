// Accuracies, distances and user-defined metrics, summed up batch by batch.
#include "core/data/metrics.h"

#include <fmt/format.h>
#include <torch/jit.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

constexpr std::pair<MetricKind, const char*> kNames[] = {{MetricKind::kTop1, "top-1"}, {MetricKind::kTop5, "top-5"},
                                                         {MetricKind::kMse, "mse"},    {MetricKind::kCosine, "cosine"},
                                                         {MetricKind::kSqnr, "sqnr"},  {MetricKind::kUser, "metric"}};

std::string firstBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(2, '\0');
  file.read(bytes.data(), 2);
  return file ? bytes : "";
}

std::string wholeText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reshapes to one row per sample; all other dimensions are joined to one.
at::Tensor rows(const at::Tensor& tensor, std::int64_t samples) {
  if (tensor.dim() == 0) return tensor.reshape({1, 1}).to(at::kDouble);
  return tensor.narrow(0, 0, std::min(samples, tensor.size(0)))
      .reshape({std::min(samples, tensor.size(0)), -1})
      .to(at::kDouble);
}

double labelHits(const at::Tensor& outputs, const at::Tensor& targets, std::int64_t samples, std::int64_t top) {
  if (!targets.defined() || targets.dim() != 1 || outputs.dim() != 2 || outputs.size(0) < samples ||
      targets.size(0) < samples) {
    throw Error(ExitCode::kUsage,
                fmt::format("An accuracy takes results of N x classes and N labels; this model gives {}.",
                            c10::str(outputs.sizes())));
  }
  const at::Tensor labels = targets.narrow(0, 0, samples).to(at::kLong).unsqueeze(1);
  const std::int64_t classes = outputs.size(1), greatest = labels.max().item<std::int64_t>();
  if (greatest >= classes || labels.min().item<std::int64_t>() < 0) {
    throw Error(ExitCode::kUsage,
                fmt::format("A label of the data is {}, but the model knows {} classes.", greatest, classes));
  }
  const at::Tensor scores = outputs.narrow(0, 0, samples).to(at::kFloat);
  // The rank of the label: the number of classes that score more, or as much and come before it. A NaN at the label is
  // no hit.
  const at::Tensor own = scores.gather(1, labels);
  const at::Tensor before = scores.eq(own).logical_and(at::arange(classes).unsqueeze(0).lt(labels));
  const at::Tensor hit = scores.gt(own).logical_or(before).sum(1, true).lt(top).logical_and(own.isnan().logical_not());
  return hit.sum().item<double>();
}

}  // namespace

struct Metric::User {
  std::shared_ptr<torch::jit::CompilationUnit> unit;  // compiled from source text
  torch::jit::Module module;                          // loaded from a file

  torch::jit::IValue operator()(const torch::jit::IValue& outputs, const at::Tensor& targets) {
    torch::jit::Stack stack{outputs, targets.defined() ? torch::jit::IValue(targets) : torch::jit::IValue()};
    return unit ? unit->get_function("metric")(stack) : module.get_method("metric")(stack);
  }
};

Metric::Metric(MetricKind kind) : kind_(kind) {}

Metric Metric::fromName(const std::string& name) {
  for (const auto& [kind, known] : kNames) {
    if (kind != MetricKind::kUser && name == known) return Metric(kind);
  }
  const std::string begin = firstBytes(name);
  if (begin.empty()) {
    throw Error(ExitCode::kUsage, fmt::format("--metric {}: there is no such file; use top-1, top-5, mse, cosine, "
                                              "sqnr, or a TorchScript file with a function "
                                              "metric(outputs, targets).",
                                              name));
  }
  Metric metric(MetricKind::kUser);
  metric.user_ = std::make_shared<User>();
  try {
    if (begin == "PK") {
      metric.user_->module = torch::jit::load(name);
      metric.user_->module.get_method("metric");
    } else {
      metric.user_->unit = torch::jit::compile(wholeText(name));
      metric.user_->unit->get_function("metric");
    }
  } catch (const std::exception& problem) {
    throw Error(ExitCode::kUsage,
                fmt::format("--metric {}: no function metric(outputs, targets) can be made of it: {}.", name,
                            shortMessage(problem)));
  }
  return metric;
}

const char* Metric::name() const {
  for (const auto& [kind, known] : kNames) {
    if (kind == kind_) return known;
  }
  return "";
}

void Metric::add(const torch::jit::IValue& outputs, const at::Tensor& targets, std::int64_t samples) {
  samples_ += samples;
  if (kind_ == MetricKind::kUser) {
    try {
      const torch::jit::IValue value = (*user_)(outputs, targets);
      const double number = value.isTensor() ? value.toTensor().item<double>()
                            : value.isInt()  ? static_cast<double>(value.toInt())
                                             : value.toDouble();
      sum_ += number * static_cast<double>(samples);
    } catch (const std::exception& problem) {
      throw Error(ExitCode::kUsage, fmt::format("The function metric failed: {}.", shortMessage(problem)));
    }
    return;
  }
  const at::Tensor result = firstTensor(outputs);
  if (needsLabels()) {
    sum_ += labelHits(result, targets, samples, kind_ == MetricKind::kTop1 ? 1 : 5);
    return;
  }
  if (!targets.defined() || !targets.sizes().equals(result.sizes())) {
    throw Error(ExitCode::kUsage, fmt::format("Results of {} cannot be compared with {}.", c10::str(result.sizes()),
                                              targets.defined() ? c10::str(targets.sizes()) : std::string("nothing")));
  }
  const at::Tensor x = rows(result, samples), reference = rows(targets, samples);
  if (kind_ == MetricKind::kCosine) {
    const at::Tensor norms = x.square().sum(1).sqrt() * reference.square().sum(1).sqrt();
    const at::Tensor cosine =
        at::where(norms > 0, (x * reference).sum(1) / norms, x.eq(reference).all(1).to(at::kDouble));
    sum_ += cosine.mean().item<double>() * static_cast<double>(samples);
    return;
  }
  sum_ += (x - reference).square().sum().item<double>();
  signal_ += reference.square().sum().item<double>();
  elements_ += x.numel();
}

MetricRecord Metric::record() const {
  MetricRecord record;
  record.name = name();
  record.higher_is_better = higherIsBetter();
  record.samples = samples_;
  const double count = static_cast<double>(std::max<std::int64_t>(1, kind_ == MetricKind::kMse ? elements_ : samples_));
  record.value = kind_ != MetricKind::kSqnr ? sum_ / count
                 : sum_ > 0                 ? 10 * std::log10(std::max(signal_, 1e-300) / sum_)
                 : sum_ == 0                ? kSqnrOfEqual
                                            : sum_;
  return record;
}

void Metric::clear() {
  sum_ = signal_ = 0;
  samples_ = elements_ = 0;
}

at::Tensor firstTensor(const torch::jit::IValue& result) {
  if (result.isTensor()) return result.toTensor();
  if (result.isTuple()) {
    for (const torch::jit::IValue& element : result.toTupleRef().elements()) {
      if (element.isTensor() || element.isTuple() || element.isList()) return firstTensor(element);
    }
  } else if (result.isList()) {
    const auto list = result.toListRef();
    if (!list.empty()) return firstTensor(list.front());
  } else if (result.isGenericDict()) {
    for (const auto& entry : result.toGenericDict()) return firstTensor(entry.value());
  }
  throw Error(ExitCode::kUsage, "The model's result holds no tensor that could be judged.");
}

}  // namespace ipex_studio

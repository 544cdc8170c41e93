#include "studio/engine/job_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/plan/error.h"

namespace ipex_studio {
namespace {

// Calls in a row that a model with state is verified over.
constexpr int kSequenceSteps = 4;

std::vector<InputSpec> parseAll(const std::vector<std::string>& texts) {
  std::vector<InputSpec> specs;
  for (const std::string& text : texts) specs.push_back(parseInputSpec(text));
  return specs;
}

std::vector<InputSpec> chooseSpecs(Model& model, const EngineJob& job) {
  if (job.inputs.empty() && !job.guessed.empty()) {
    try {
      return model.completeInputs(parseAll(job.guessed));
    } catch (const Error&) {
      // What was remembered no longer fits; guess anew.
    }
  }
  return model.completeInputs(parseAll(job.inputs));
}

InputRecord describeSpec(const InputSpec& spec) {
  InputRecord record;
  record.name = spec.name;
  record.guessed = spec.guessed;
  const std::string text = spec.str();
  record.description = text.substr(std::min(text.size(), spec.name.size() + 1));
  // A dtype always follows a tensor's sizes, so that a scalar can be told from a vector.
  if (spec.value.empty() && record.description.find(':') == std::string::npos) record.description += ":" + spec.dtype;
  return record;
}

std::string describeValue(const torch::jit::IValue& value) {
  if (!value.isTensor()) return value.tagKind();
  const at::Tensor tensor = value.toTensor();
  std::string dtype = c10::toString(tensor.scalar_type());
  std::transform(dtype.begin(), dtype.end(), dtype.begin(), [](unsigned char c) { return std::tolower(c); });
  if (dtype == "float" || dtype == "double") dtype = dtype == "float" ? "float32" : "float64";
  if (dtype == "long" || dtype == "int") dtype = dtype == "long" ? "int64" : "int32";
  return fmt::format("{}:{}", fmt::join(tensor.sizes().vec(), "x"), dtype);
}

}  // namespace

JobInputs::JobInputs(Model& model, const EngineJob& job) : seed_(job.measure.seed) {
  if (job.inputs_path.empty()) {
    specs_ = chooseSpecs(model, job);
    example_ = makeInputs(specs_, seed_);
    for (const InputSpec& spec : specs_) records_.push_back(describeSpec(spec));
    return;
  }
  example_ = readInputs(job.inputs_path);
  const auto& arguments = model.module().get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 0; i < example_.size(); ++i) {
    InputRecord record;
    record.name = i + 1 < arguments.size() ? arguments[i + 1].name() : fmt::format("input{}", i);
    record.description = describeValue(example_[i]);
    records_.push_back(std::move(record));
  }
}

std::vector<std::vector<Inputs>> JobInputs::verificationSequences(bool sequence) const {
  std::vector<std::vector<Inputs>> sequences;
  const auto addSequence = [&](double at) {
    std::vector<Inputs> steps;
    for (int step = 0; step < (sequence ? kSequenceSteps : 1); ++step) {
      steps.push_back(specs_.empty() ? example_ : makeInputs(specs_, seed_ + static_cast<std::uint64_t>(step), at));
    }
    sequences.push_back(std::move(steps));
  };
  addSequence(0);
  const bool ranges = std::any_of(specs_.begin(), specs_.end(), [](const InputSpec& spec) {
    return std::any_of(spec.sizes.begin(), spec.sizes.end(), [](const auto& size) { return size.first != size.second; });
  });
  if (ranges) {
    addSequence(0.5);
    addSequence(1);
  }
  return sequences;
}

}  // namespace ipex_studio

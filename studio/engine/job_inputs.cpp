// Puts the arguments of forward together from files, flags, data and guesses.
#include "studio/engine/job_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/model/input_values.h"
#include "core/model/read_inputs.h"

namespace ipex_studio {
namespace {

// Number of successive calls that a model with state is verified over when no sequence was recorded.
constexpr int kSequenceSteps = 4;
constexpr std::size_t kMaxCases = 4;
constexpr std::size_t kMaxSteps = 32;

// Longest description of a value from a file.
constexpr std::size_t kMaxDescription = 400;

// Describes a value that comes from a file.
InputSpec specOf(const std::string& name, const torch::jit::IValue& value) {
  InputSpec spec;
  spec.name = name;
  spec.fixed = value;
  if (value.isTensor()) {
    spec.dtype = dtypeText(value.toTensor().scalar_type());
    for (const std::int64_t size : value.toTensor().sizes()) spec.sizes.emplace_back(size, size);
    return spec;
  }
  spec.value = inputValueText(value);
  if (spec.value.size() > kMaxDescription) spec.value = spec.value.substr(0, kMaxDescription) + "…";
  return spec;
}

std::vector<std::string> argumentNames(Model& model) {
  std::vector<std::string> names;
  const auto& arguments = model.module().get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
  return names;
}

// True for each argument that one of the specs names.
std::vector<bool> takenBy(const std::vector<InputSpec>& specs, const std::vector<std::string>& arguments) {
  std::vector<bool> taken;
  for (const std::string& argument : arguments) {
    taken.push_back(
        std::any_of(specs.begin(), specs.end(), [&](const InputSpec& spec) { return spec.name == argument; }));
  }
  return taken;
}

}  // namespace

Model loadModel(const EngineJob& job) {
  Model model = Model::load(kEngineModelPath, job.method);
  if (job.evaluation) model.evaluate();
  return model;
}

std::vector<InputSpec> parseInputSpecs(const std::vector<std::string>& texts) {
  std::vector<InputSpec> specs;
  for (const std::string& text : texts) specs.push_back(parseInputSpec(text));
  return specs;
}

InputRecord describeSpec(const InputSpec& spec) {
  InputRecord record;
  record.name = spec.name;
  record.guessed = spec.guessed;
  const std::string text = spec.str();
  record.description = text.substr(std::min(text.size(), spec.name.size() + 1));
  // A dtype always follows a tensor's sizes, so that describesTensor() can tell it from a number.
  if (spec.value.empty() && record.description.find(':') == std::string::npos) record.description += ":" + spec.dtype;
  return record;
}

JobInputs::JobInputs(Model& model, const EngineJob& job)
    : seed_(job.measure.seed), reads_fp16_as_fp32_(model.readsFp16AsFp32()) {
  if (!job.inputs_path.empty()) {
    const NamedInputs file = readNamedInputs(job.inputs_path);
    const std::vector<std::string> arguments = argumentNames(model);
    std::vector<InputSpec> given = parseInputSpecs(job.inputs);
    file_slots_ = place(arguments, file, "--inputs " + job.inputs_path, takenBy(given, arguments), &given);
    specs_ = model.completeInputs(given);
    readRecorded(job, file);
  } else if (job.inputs.empty() && !job.guessed.empty()) {
    try {
      specs_ = model.completeInputs(parseInputSpecs(job.guessed));
      makeExample();
      return;
    } catch (const Error&) {
      // Remembered inputs that no longer fit are guessed anew.
      specs_ = model.guessInputs();
    }
  } else {
    specs_ = model.completeInputs(parseInputSpecs(job.inputs));
  }
  makeExample();
}

JobInputs::JobInputs(Model& model, const EngineJob& job, const NamedInputs& sample)
    : seed_(job.measure.seed), reads_fp16_as_fp32_(model.readsFp16AsFp32()) {
  // Values of the data without names are the first arguments; the data overrides --input and --inputs for the same
  // arguments.
  const std::vector<std::string> arguments = argumentNames(model);
  std::vector<InputSpec> given;
  file_slots_ = place(arguments, sample, "--data " + job.data.path, std::vector<bool>(arguments.size()), &given);
  const std::vector<bool> of_data = takenBy(given, arguments);
  std::vector<InputSpec> others = parseInputSpecs(job.inputs);
  if (!job.inputs_path.empty()) {
    const NamedInputs file = readNamedInputs(job.inputs_path);
    // A file of fewer values than there are arguments without a flag is meant for those that the data leaves open.
    std::vector<bool> taken = takenBy(others, arguments);
    if (static_cast<std::size_t>(std::count(taken.begin(), taken.end(), false)) > file.values.size()) {
      for (std::size_t a = 0; a < taken.size(); ++a) taken[a] = taken[a] || of_data[a];
    }
    place(arguments, file, "--inputs " + job.inputs_path, taken, &others);
  }
  for (InputSpec& spec : others) {
    const auto argument = std::find(arguments.begin(), arguments.end(), spec.name);
    if (argument != arguments.end() && of_data[static_cast<std::size_t>(argument - arguments.begin())]) continue;
    given.push_back(std::move(spec));
  }
  specs_ = model.completeInputs(given);
  recorded_.push_back({sample.values});
  makeExample();
}

Inputs JobInputs::made(std::uint64_t seed, double at) const { return fitting(makeInputs(specs_, seed, at)); }

Inputs JobInputs::fitting(Inputs values) const {
  if (!reads_fp16_as_fp32_) return values;
  for (torch::jit::IValue& value : values) {
    value = mapTensors(value, [](const at::Tensor& tensor) {
      return tensor.scalar_type() == at::kHalf ? tensor.to(at::kFloat) : tensor;
    });
  }
  return values;
}

void JobInputs::makeExample() {
  example_ = made(seed_, 0);
  if (!recorded_.empty()) example_ = merged(std::move(example_), recorded_.front().front());
  for (const InputSpec& spec : specs_) records_.push_back(describeSpec(spec));
}

std::vector<std::size_t> JobInputs::place(const std::vector<std::string>& arguments, const NamedInputs& values,
                                          const std::string& origin, std::vector<bool> taken,
                                          std::vector<InputSpec>* given) {
  std::vector<std::size_t> slots;
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    const std::string& name = values.names[i];
    const std::size_t slot = static_cast<std::size_t>(
        name.empty() ? std::find(taken.begin(), taken.end(), false) - taken.begin()
                     : std::find(arguments.begin(), arguments.end(), name) - arguments.begin());
    if (slot >= arguments.size()) {
      throw Error(ExitCode::kUsage,
                  name.empty()
                      ? fmt::format("{} holds {} values, but forward has only {} arguments left for them.", origin,
                                    values.values.size(), i)
                      : fmt::format("{} names \"{}\", which is no argument of forward.", origin, name.substr(0, 100)));
    }
    taken[slot] = true;
    slots.push_back(slot);
    given->push_back(specOf(arguments[slot], values.values[i]));
  }
  return slots;
}

void JobInputs::readRecorded(const EngineJob& job, const NamedInputs& file) {
  const std::vector<RecordedCase> cases = readRecordedCases(job.inputs_path);
  for (const RecordedCase& recorded : cases) {
    if (recorded.inputs.size() != file_slots_.size()) continue;
    if (recorded.step && !recorded_.empty()) {
      if (recorded_.front().size() < kMaxSteps) recorded_.front().push_back(recorded.inputs);
    } else if (recorded_.size() < kMaxCases) {
      recorded_.push_back({recorded.inputs});
    }
  }
  if (recorded_.empty()) recorded_.push_back({file.values});
}

Inputs JobInputs::merged(Inputs values, const Inputs& file_values) const {
  for (std::size_t i = 0; i < file_slots_.size(); ++i) {
    const InputSpec& spec = specs_[file_slots_[i]];
    values[file_slots_[i]] = asType(file_values[i], spec.type, spec.name);
  }
  return fitting(std::move(values));
}

std::vector<std::vector<Inputs>> JobInputs::verificationSequences(bool stateful) const {
  std::vector<std::vector<Inputs>> sequences;
  for (const std::vector<Inputs>& recorded : recorded_) {
    std::vector<Inputs> steps;
    for (const Inputs& file_values : recorded) steps.push_back(merged(example_, file_values));
    // What a call leaves behind shows in the next ones.
    if (stateful && steps.size() == 1) steps.resize(kSequenceSteps, steps.front());
    sequences.push_back(std::move(steps));
  }
  if (!sequences.empty()) return sequences;
  const auto addSequence = [&](double at) {
    std::vector<Inputs> steps;
    for (int step = 0; step < (stateful ? kSequenceSteps : 1); ++step) {
      steps.push_back(made(seed_ + static_cast<std::uint64_t>(step), at));
    }
    sequences.push_back(std::move(steps));
  };
  addSequence(0);
  const bool ranges = std::any_of(specs_.begin(), specs_.end(), [](const InputSpec& spec) { return spec.ranged(); });
  if (ranges) {
    addSequence(0.5);
    addSequence(1);
  }
  return sequences;
}

}  // namespace ipex_studio

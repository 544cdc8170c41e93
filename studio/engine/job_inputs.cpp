// Puts the arguments of forward together from files, flags, data and guesses.
#include "studio/engine/job_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/model/read_inputs.h"

namespace ipex_studio {
namespace {

// Number of successive calls that a model with state is verified over when no sequence was recorded.
constexpr int kSequenceSteps = 4;
constexpr std::size_t kMaxCases = 4;
constexpr std::size_t kMaxSteps = 32;

std::vector<InputSpec> parseAll(const std::vector<std::string>& texts) {
  std::vector<InputSpec> specs;
  for (const std::string& text : texts) specs.push_back(parseInputSpec(text));
  return specs;
}

std::string tensorDtype(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kShort:
      return "int16";
    case at::kChar:
      return "int8";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(tensor.scalar_type());
  }
}

// Describes a value that comes from a file.
InputSpec specOf(const std::string& name, const torch::jit::IValue& value) {
  InputSpec spec;
  spec.name = name;
  if (value.isTensor()) {
    spec.dtype = tensorDtype(value.toTensor());
    for (const std::int64_t size : value.toTensor().sizes()) spec.sizes.emplace_back(size, size);
  } else if (value.isInt() || value.isDouble() || value.isBool()) {
    spec.value = value.isInt()    ? fmt::format("{}", value.toInt())
                 : value.isBool() ? (value.toBool() ? "true" : "false")
                                  : fmt::format("{:.17g}", value.toDouble());
  } else {
    spec.value = "None";
  }
  return spec;
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

}  // namespace

JobInputs::JobInputs(Model& model, const EngineJob& job) : seed_(job.measure.seed) {
  if (!job.inputs_path.empty()) {
    const NamedInputs file = readNamedInputs(job.inputs_path);
    placeFileValues(model, job, file, fmt::format("--inputs {}", job.inputs_path));
    readRecorded(job, file);
  } else if (job.inputs.empty() && !job.guessed.empty()) {
    try {
      specs_ = model.completeInputs(parseAll(job.guessed));
    } catch (const Error&) {
      // Remembered inputs that no longer fit are guessed anew.
      specs_ = model.guessInputs();
    }
  } else {
    specs_ = model.completeInputs(parseAll(job.inputs));
  }
  makeExample();
}

JobInputs::JobInputs(Model& model, const EngineJob& job, const NamedInputs& sample) : seed_(job.measure.seed) {
  if (!job.inputs_path.empty()) {
    throw Error(ExitCode::kUsage, "--inputs and --data both say what the model is run on; give one of them.");
  }
  // Values without names are the first arguments; the data overrides --input for the same arguments.
  NamedInputs named = sample;
  EngineJob rest = job;
  const auto& arguments = model.module().get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 0; i < named.names.size() && i + 1 < arguments.size(); ++i) {
    if (named.names[i].empty()) named.names[i] = arguments[i + 1].name();
  }
  rest.inputs.erase(std::remove_if(rest.inputs.begin(), rest.inputs.end(),
                                   [&](const std::string& text) {
                                     return std::find(named.names.begin(), named.names.end(),
                                                      parseInputSpec(text).name) != named.names.end();
                                   }),
                    rest.inputs.end());
  placeFileValues(model, rest, named, fmt::format("--data {}", job.data.path));
  recorded_.push_back({sample.values});
  makeExample();
}

void JobInputs::makeExample() {
  example_ = makeInputs(specs_, seed_);
  if (!recorded_.empty()) example_ = merged(std::move(example_), recorded_.front().front());
  for (const InputSpec& spec : specs_) records_.push_back(describeSpec(spec));
}

void JobInputs::placeFileValues(Model& model, const EngineJob& job, const NamedInputs& file,
                                const std::string& origin) {
  std::vector<InputSpec> given = parseAll(job.inputs);
  std::vector<std::string> names;
  const auto& arguments = model.module().get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
  std::vector<bool> taken(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    taken[i] = std::any_of(given.begin(), given.end(), [&](const InputSpec& spec) { return spec.name == names[i]; });
  }
  for (std::size_t i = 0; i < file.values.size(); ++i) {
    std::size_t slot = 0;
    if (file.names[i].empty()) {
      slot = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    } else {
      slot = static_cast<std::size_t>(std::find(names.begin(), names.end(), file.names[i]) - names.begin());
    }
    if (slot >= names.size()) {
      throw Error(
          ExitCode::kUsage,
          file.names[i].empty()
              ? fmt::format("{} holds {} values, but forward has only {} arguments left for them.", origin,
                            file.values.size(), i)
              : fmt::format("{} names \"{}\", which is no argument of forward.", origin, file.names[i].substr(0, 100)));
    }
    taken[slot] = true;
    file_slots_.push_back(slot);
    given.push_back(specOf(names[slot], file.values[i]));
  }
  specs_ = model.completeInputs(given);
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
  for (std::size_t i = 0; i < file_slots_.size(); ++i) values[file_slots_[i]] = file_values[i];
  return values;
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
      steps.push_back(makeInputs(specs_, seed_ + static_cast<std::uint64_t>(step), at));
    }
    sequences.push_back(std::move(steps));
  };
  addSequence(0);
  const bool ranges = std::any_of(specs_.begin(), specs_.end(), [](const InputSpec& spec) {
    return std::any_of(spec.sizes.begin(), spec.sizes.end(),
                       [](const auto& size) { return size.first != size.second; });
  });
  if (ranges) {
    addSequence(0.5);
    addSequence(1);
  }
  return sequences;
}

}  // namespace ipex_studio

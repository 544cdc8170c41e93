// The model of a job, and arguments of its forward: read from a file, given, remembered, or guessed.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/model/read_inputs.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Reads texts of --input. Throws Error(kUsage).
std::vector<InputSpec> parseInputSpecs(const std::vector<std::string>& texts);
InputRecord describeSpec(const InputSpec& spec);

// The model that the job is about, with the method and in the mode that it asks for. Throws what Model::load() throws.
Model loadModel(const EngineJob& job);

class JobInputs {
 public:
  // Values of --inputs fill the arguments they name, or in order those that no --input names; --input fills the rest by
  // name or in order; what is left is guessed. Throws Error(kUsage).
  JobInputs(Model& model, const EngineJob& job);
  // The arguments with the values of `sample`, a batch of the job's data: those it names, or the first ones. Values of
  // --inputs and --input are for the others. Throws Error(kUsage).
  JobInputs(Model& model, const EngineJob& job, const NamedInputs& sample);

  // The inputs to time: the low end of all ranges, the first case of a recording.
  const Inputs& example() const { return example_; }
  const std::vector<InputRecord>& records() const { return records_; }
  const std::vector<InputSpec>& specs() const { return specs_; }  // one per argument
  // The inputs to compare results on: every recorded case, or a recorded sequence; for ranges their ends and middle;
  // several calls in sequence if `stateful`.
  std::vector<std::vector<Inputs>> verificationSequences(bool stateful) const;
  // Arguments of forward with values of the data in their places.
  Inputs withData(const Inputs& values) const { return merged(example_, values); }

 private:
  // The specs that the values fill, in slots that `given` leaves open; `taken`: arguments that values without names
  // skip. Returns the argument of each value.
  static std::vector<std::size_t> place(const std::vector<std::string>& arguments, const NamedInputs& values,
                                        const std::string& origin, std::vector<bool> taken,
                                        std::vector<InputSpec>* given);
  void makeExample();
  Inputs made(std::uint64_t seed, double at) const;
  Inputs fitting(Inputs values) const;  // FP16 as FP32 where the model's is
  void readRecorded(const EngineJob& job, const NamedInputs& file);
  Inputs merged(Inputs values, const Inputs& file_values) const;

  std::vector<InputSpec> specs_;  // one per argument
  std::uint64_t seed_;
  bool reads_fp16_as_fp32_;  // see Model::readsFp16AsFp32()
  Inputs example_;
  std::vector<InputRecord> records_;
  std::vector<std::size_t> file_slots_;        // argument of each value of the file
  std::vector<std::vector<Inputs>> recorded_;  // sequences of file values
};

}  // namespace ipex_studio

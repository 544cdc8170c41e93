// See job_signature.h.
#include "studio/engine/job_signature.h"

#include "core/base/error.h"
#include "core/model/input_signature.h"
#include "core/model/weight_work.h"
#include "core/record/records_json.h"
#include "core/record/slow_reasons.h"
#include "passes/unrun_graph.h"
#include "studio/engine/debug_info.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

// The inputs that the job gives or that were given before, or none of them where their texts are wrong, and guesses for
// the others.
InputChoices choicesOf(Model& model, const EngineJob& job) {
  try {
    return chooseInputs(model.module(), parseInputSpecs(job.inputs.empty() ? job.guessed : job.inputs));
  } catch (const Error&) {
    return chooseInputs(model.module(), {});
  }
}

std::vector<InputRecord> inputsOf(Model& model, const EngineJob& job) {
  try {
    if (!job.inputs_path.empty()) return JobInputs(model, job).records();
  } catch (const std::exception&) {
    // The run that reads the file says what is wrong with it.
  }
  const std::vector<ArgumentRecord> arguments = inputSignature(model.module());
  const InputChoices choices = choicesOf(model, job);
  std::vector<InputRecord> inputs;
  for (std::size_t a = 0; a < choices.size(); ++a)
    inputs.push_back(choices[a] ? describeSpec(*choices[a]) : InputRecord{arguments[a].name, "", false});
  return inputs;
}

void sendGraph(Model& model, const EngineJob& job, Channel& channel) {
  UnrunGraph graph = unrunGraph(model.module(), job.optimize.preserved_methods, debugInfoIsSound(kEngineModelFd));
  ModelRecord record;
  record.nodes = graph.nodes;
  record.origins = std::move(graph.origins);
  record.inputs = inputsOf(model, job);
  channel.record("model", record);
  channel.record("source", graph.source);
  channel.record("frozen", graph.frozen);
}

}  // namespace

void sendSignature(Model& model, Channel& channel) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const ArgumentRecord& argument : inputSignature(model.module())) arguments.push_back(toJson(argument));
  channel.send({{"type", "signature"}, {"arguments", arguments}});
}

void sendNotes(Model& model, Channel& channel) {
  for (const std::string& note : model.notes()) {
    channel.log(note);
    channel.record("remark", Remark{kLoadedModel, RemarkKind::kApplied, kLoadedFormReason, note, {}});
  }
  const std::string work = weightWorkSentence(model.module());
  if (!work.empty()) channel.record("remark", Remark{kLoadedModel, RemarkKind::kApplied, kWeightWorkReason, work, {}});
}

void sendUnrun(Model& model, const EngineJob& job, bool refused, Channel& channel) {
  try {
    sendGraph(model, job, channel);
    if (refused) channel.send({{"type", "refused"}});
  } catch (const std::exception&) {
    // The job itself reports why the model cannot be frozen.
  }
}

void runGraphJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model model = Model::load(kEngineModelPath, job.method);
  sendNotes(model, channel);
  sendSignature(model, channel);
  channel.progress("read the graph", 0.5);
  sendGraph(model, job, channel);
  channel.send({{"type", "result"}});
}

}  // namespace ipex_studio

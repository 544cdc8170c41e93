// See job_signature.h.
#include "studio/engine/job_signature.h"

#include "core/base/error.h"
#include "core/model/input_signature.h"
#include "core/record/records_json.h"
#include "passes/unrun_graph.h"
#include "studio/engine/debug_info.h"
#include "studio/engine/job_inputs.h"

namespace ipex_studio {
namespace {

// The inputs that the job gives, or none of them where their texts are wrong, and guesses for the others.
InputChoices choicesOf(Model& model, const EngineJob& job) {
  try {
    return chooseInputs(model.module(), parseInputSpecs(job.inputs));
  } catch (const Error&) {
    return chooseInputs(model.module(), {});
  }
}

}  // namespace

void sendSignature(Model& model, Channel& channel) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const ArgumentRecord& argument : inputSignature(model.module())) arguments.push_back(toJson(argument));
  channel.send({{"type", "signature"}, {"arguments", arguments}});
}

void sendUnrun(Model& model, const EngineJob& job, bool refused, Channel& channel) {
  try {
    UnrunGraph graph = unrunGraph(model.module(), job.optimize.preserved_methods, debugInfoIsSound(kEngineModelFd));
    ModelRecord record;
    record.nodes = graph.nodes;
    record.origins = std::move(graph.origins);
    const std::vector<ArgumentRecord> arguments = inputSignature(model.module());
    const InputChoices choices = choicesOf(model, job);
    for (std::size_t a = 0; a < choices.size(); ++a)
      record.inputs.push_back(choices[a] ? describeSpec(*choices[a]) : InputRecord{arguments[a].name, "", false});
    channel.record("model", record);
    channel.record("source", graph.source);
    channel.record("frozen", graph.frozen);
    if (refused) channel.send({{"type", "refused"}});
  } catch (const std::exception&) {
    // The job itself reports why the model cannot be frozen.
  }
}

}  // namespace ipex_studio

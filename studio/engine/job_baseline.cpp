// The baseline: what an engineer would get today from torch::jit::freeze, on the same threads and inputs.
#include "core/base/clock.h"
#include "core/model/denormals.h"
#include "core/model/measure.h"
#include "core/model/module_state.h"
#include "core/record/records_json.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_rounds.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
void runBaselineJob(const EngineJob& job, Channel& channel) {
  channel.progress("load baseline", 0);
  const std::int64_t load_begin = nowNs();
  std::optional<Model> model = loadModel(job);
  const std::int64_t load_ns = nowNs() - load_begin;
  const std::unique_ptr<DataSet> data = openJobData(*model, job);
  const JobInputs inputs = data ? JobInputs(*model, job, namedInputs(*data, data->batch(0))) : JobInputs(*model, job);
  channel.progress("freeze baseline", 0.4);
  const std::int64_t freeze_begin = nowNs();
  torch::jit::Module module = freezeBaseline(model->module(), job.optimize.preserved_methods);
  const std::int64_t compile_ns = nowNs() - freeze_begin;
  const ModuleState state(module);
  model.reset();
  channel.progress("first run of the baseline", 0.6);
  const std::int64_t first_run_ns = firstRun(module, inputs.example());
  ModelRecord record;
  record.inputs = inputs.records();
  channel.record("model", record);
  channel.send({{"type", "ready"},
                {"load_ns", load_ns},
                {"compile_ns", compile_ns},
                {"first_run_ns", first_run_ns},
                {"tune_ns", 0},
                {"threads", job.measure.threads},
                {"instances", job.measure.instances},
                {"coverage_nodes", 0.0}});
  const FinishRequest request = Rounds(module, state, inputs.example(), job.measure, channel).takeAll();
  const std::int64_t peak_rss_bytes = peakRssBytes();
  RunRecord run;
  if (request.evaluate && data) {
    const Metric metric = jobMetric(job.data, *data);
    // A metric that needs results compares with the baseline where the data holds none, so the baseline is judged only
    // if it does.
    if (!metric.needsResults() || data->hasResults())
      run.metrics = evaluate(module, nullptr, *data, inputs, metric, 0, "evaluate the baseline", channel);
    state.restore();
  }
  if (request.profile_iterations > 0) {
    channel.progress("time the baseline's operators", 0, true);
    const auto origins = frozenOrigins(loadModel(job).module(), job.optimize.preserved_methods);
    profileSteps(module, inputs.example(), request.profile_iterations, origins, run);
    if (const auto remark = denormalsRemark(module, inputs.example(), origins)) channel.record("remark", *remark);
  }
  channel.send({{"type", "result"}, {"peak_rss_bytes", peak_rss_bytes}, {"record", toJson(run)}});
}

}  // namespace ipex_studio

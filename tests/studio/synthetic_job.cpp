// Jobs, snapshots and hostile strings made up for tests.
#include "tests/studio/synthetic_job.h"

#include <cmath>

#include "core/record/value_record.h"

namespace ipex_studio::testing {

std::shared_ptr<const SourceRecord> sourceOf(const JobRecord& job) {
  auto source = std::make_shared<SourceRecord>();
  source->files = {{"code/__torch__.py", false, 1, "def forward(self, x):\n", false},
                   {"net.py", true, 7, "def forward(self, x):\n    return self.layers(x)\n", false}};
  std::int32_t line = 1;
  for (const Origin& origin : job.model.origins) {
    source->files[0].text += "  y = " + origin.kind + "(" + origin.module_path + ")\n";
    source->places.push_back({origin.id, 0, ++line, false});
    source->places.push_back({origin.id, 1, 8, true});
  }
  return source;
}

std::shared_ptr<const ValueRecord> valueOf(const JobRecord& job) {
  auto record = std::make_shared<ValueRecord>();
  if (!job.model.origins.empty()) record->origins = {job.model.origins.back().id};
  record->name = job.model.path + " (aten::relu)";
  record->low = -1;
  record->high = 3;
  for (const char* name : {"original", "optimized", "fp64"}) {
    ValueForm form{name, record->name, "1x3x8x8:float32", 192, 1, 0, 96, -1, 3, 0.5, 0.25, {}, 8, 8, 3, {}};
    for (std::int64_t bin = 0; bin < 64; ++bin) form.histogram.push_back(bin % 9);
    for (std::int32_t byte = 0; byte < 192; ++byte) form.picture.push_back(byte);
    record->forms.push_back(std::move(form));
  }
  record->differences.resize(1);
  return record;
}

std::shared_ptr<const CurvesRecord> madeUpCurves() {
  auto curves = std::make_shared<CurvesRecord>();
  for (const char* precision : {"fp32", "bf16"}) {
    for (const std::int64_t batch : {1, 2, 4, 8}) {
      for (const auto& [instances, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}}) {
        const double speed = (*precision == 'b' ? 1.6 : 1) * (threads == 2 ? 1.55 : 1),
                     size = static_cast<double>(batch);
        CurvePoint point;
        point.precision = precision;
        point.batch = batch;
        point.threads = threads;
        point.instances = instances;
        point.inputs = {"x:" + std::to_string(batch) + "x3x224x224:float32"};
        point.requests = 200;
        point.p50_ns = 2.4e7 * (0.25 + 0.75 * size) / speed * (instances == 2 ? 1.08 : 1);
        point.p99_ns = point.p50_ns * 1.12;
        point.rate_per_s = {instances * 1e9 / point.p50_ns, instances * 1.01e9 / point.p50_ns,
                            instances * 0.99e9 / point.p50_ns};
        point.memory_bytes = 210'000'000 + batch * instances * 14'000'000;
        point.sqnr_db = *precision == 'b' ? 41.5 : 118;
        point.noise = "quiet";
        curves->points.push_back(std::move(point));
      }
    }
  }
  curves->notes = {"Batch 16 is left out: the model does not take it."};
  curves->noise = "quiet";
  return curves;
}

SnapshotParts donePartsOf(const JobRecord& job) {
  SnapshotParts parts;
  parts.work.values = valueOf(job);
  parts.work.curves = madeUpCurves();
  parts.source = sourceOf(job);
  parts.status.state = job.runs.empty() ? JobState::kReady : JobState::kDone;
  parts.choices.precisions = {{Precision::kFp32, true, ""},
                              {Precision::kBf16, false, "This CPU has no BF16 instructions."},
                              {Precision::kInt8, false, "Quantization is not in this version."}};
  parts.choices.threads = 2;
  parts.choices.max_threads = 2;
  parts.log = {{0.02, LogLevel::kInfo, "engine started"},
               {0.71, LogLevel::kInfo, "loaded and froze resnet50.pt: 175 nodes"},
               {0.72, LogLevel::kWarning, "inputs not given; guessed x 1x3x224x224 from the first convolution"},
               {1.38, LogLevel::kInfo, "10 passes, 58 steps in 1 region"},
               {9.85, LogLevel::kInfo, "measured baseline and optimized in 8 turns"}};
  return parts;
}

SnapshotPtr resnetSnapshot() {
  auto job = resnetJob();
  return makeSnapshot(job, donePartsOf(*job), nullptr);
}

std::shared_ptr<const JobRecord> chainJob(std::int32_t nodes) {
  auto job = std::make_shared<JobRecord>();
  job->model.path = "chain.pt";
  auto graph = std::make_shared<GraphSnapshot>();
  graph->values.push_back({0, "x", "Float(1, 8)", -1, ""});
  graph->inputs = {0};
  for (std::int32_t n = 0; n < nodes; ++n) {
    GraphNode node;
    node.id = n;
    node.kind = n % 3 == 0 ? "aten::linear" : "aten::relu";
    node.name = "node" + std::to_string(n);
    node.origins = {n};
    node.inputs = {n};
    if (n % 7 == 6) node.inputs.push_back(n - 5);
    node.outputs = {n + 1};
    graph->values.push_back({n + 1, std::to_string(n), "Float(1, 8)", n, ""});
    graph->nodes.push_back(std::move(node));
  }
  graph->outputs = {nodes};
  job->frozen = std::move(graph);
  return job;
}

std::shared_ptr<const JobRecord> hostileJob() {
  auto job = std::make_shared<JobRecord>(*resnetJob());
  const std::string formats = "%s%n%d{}{0:x}%%";
  const std::string controls = "a\x01\x02\tb\nc\x7f\x1b[31m" + std::string(1, '\0') + "z";
  const std::string invalid = "\xff\xfe\xc3(\xe2\x82";
  const std::string huge(1 << 20, 'W');
  job->model.path = "/tmp/" + formats + controls;
  job->model.inputs = {{formats, huge, true}, {controls, invalid, false}, {huge, formats, true}};
  job->machine.cpu = huge;
  job->machine.libtorch = formats;
  auto graph = std::make_shared<GraphSnapshot>(*job->frozen);
  const std::string* const strings[] = {&formats, &controls, &invalid, &huge};
  for (std::size_t n = 0; n < graph->nodes.size(); ++n) {
    if (n < 24) {
      graph->nodes[n].name = *strings[n % 4];
      graph->nodes[n].kind = *strings[(n + 1) % 4];
      graph->nodes[n].scope = *strings[(n + 2) % 4];
      graph->nodes[n].attributes = {{*strings[n % 4], *strings[(n + 3) % 4]}};
    }
    if (n % 5 == 0) graph->nodes[n].inputs.push_back(1 << 30);
    if (n % 7 == 0) graph->nodes[n].outputs.push_back(-5);
    if (n % 11 == 0) graph->nodes[n].parent = 1 << 20;
  }
  for (std::size_t v = 0; v < graph->values.size() && v < 24; ++v) graph->values[v].type = *strings[v % 4];
  graph->text = formats + "\n" + huge + "\n" + controls + "\n" + invalid;
  graph->outputs.push_back(99999999);
  job->frozen = graph;
  for (std::size_t p = 0; p < job->passes.size(); ++p) {
    job->passes[p].name = *strings[p % 4];
    job->passes[p].summary = *strings[(p + 1) % 4];
  }
  for (std::size_t r = 0; r < job->remarks.size() && r < 40; ++r) {
    job->remarks[r].text = *strings[r % 4];
    job->remarks[r].reason = *strings[(r + 1) % 4];
    job->remarks[r].kind = RemarkKind::kMissed;
  }
  for (std::size_t t = 0; t < 8; ++t) {
    SensitivityRecord sensitivity;
    sensitivity.key = *strings[t % 4];
    sensitivity.name = *strings[(t + 1) % 4];
    sensitivity.origins = {static_cast<OriginId>(t), 1 << 30};
    sensitivity.reason = *strings[(t + 2) % 4];
    job->sensitivities.push_back(sensitivity);
    TradeoffRecord tried;
    tried.name = *strings[t % 4];
    tried.elapsed_ns = t == 5 ? 0 : 1 << (t * 3);
    tried.sqnr_db = t == 6 ? std::nan("") : 30;
    tried.assignment = t == 7 ? std::string(8, '1') : *strings[t % 4];
    job->tradeoffs.push_back(tried);
    job->decisions.push_back({*strings[t % 4], *strings[(t + 1) % 4], *strings[(t + 2) % 4], huge, formats, controls});
  }
  auto training = std::make_shared<TrainingRecord>();
  training->loss = huge;
  training->optimizer = formats;
  training->schedule = controls;
  training->metric = invalid;
  training->epochs = 1;
  const double values[] = {1, std::nan(""), 1e300, -1e300, HUGE_VAL, 0};
  for (std::int64_t s = 0; s < 40; ++s) {
    const double value = values[s % 6];
    training->steps.push_back({s * s, s % 3, value, value, value, value, s, s << 40, 0, 0});
    training->layers.push_back({s, *strings[s % 4], s << 40, 0, s, s, value, -s});
    training->memory.push_back({s, s << 40, *strings[s % 4], *strings[(s + 1) % 4], -s, s << 50, s});
    training->ends.push_back({s, s * s, value, values[(s + 1) % 6], 0});
  }
  job->training = training;
  for (RunRecord& run : job->runs) {
    for (std::size_t s = 0; s < run.steps.size() && s < 12; ++s) {
      run.steps[s].name = *strings[s % 4];
      run.steps[s].implementation = *strings[(s + 1) % 4];
      run.steps[s].dst_shape = *strings[(s + 2) % 4];
    }
    for (std::size_t t = 0; t < run.step_times.size() && t < 12; ++t) run.step_times[t].name = *strings[t % 4];
  }
  return job;
}

}  // namespace ipex_studio::testing

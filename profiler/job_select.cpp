// Reads rows back as a JobRecord.
#include "profiler/job_rows.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "profiler/precision_rows.h"
#include "profiler/row_lists.h"
#include "profiler/sqlite.h"
#include "profiler/training_rows.h"

namespace ipex_studio {
namespace {

// Versions of the schema from which on plan_step has the column slices, and its later name micro_batches.
constexpr std::int64_t kSlicesSchemaVersion = 5;
constexpr std::int64_t kMicroBatchesSchemaVersion = 6;
// The version from which on it has the column runs.
constexpr std::int64_t kStepRunsSchemaVersion = 12;
// The version from which on it has the column device.
constexpr std::int64_t kStepDeviceSchemaVersion = 15;

ModelRecord selectModel(Connection& connection, std::int64_t model_id, std::int64_t job_id) {
  ModelRecord model;
  Statement row(connection, "SELECT path, sha256, file_bytes, nodes FROM model WHERE id = ?1");
  if (!row.bind(model_id).next()) malformed(connection, "a job has no model");
  model.path = row.text(0);
  model.sha256 = row.text(1);
  model.file_bytes = row.integer(2);
  model.nodes = row.integer32(3);
  Statement origin(connection,
                   "SELECT id, module_path, kind, ordinal, source FROM origin WHERE model_id = ?1 ORDER BY position");
  for (origin.bind(model_id); origin.next();) {
    model.origins.push_back({origin.integer32(0), origin.text(1), origin.text(2), origin.integer32(3), origin.text(4)});
  }
  Statement input(connection, "SELECT name, description, guessed FROM job_input WHERE job_id = ?1 ORDER BY position");
  for (input.bind(job_id); input.next();) {
    model.inputs.push_back({input.text(0), input.text(1), input.integer(2) != 0});
  }
  return model;
}

MachineFacts selectMachine(Connection& connection, std::int64_t id) {
  Statement row(
      connection,
      "SELECT cpu, isa, features, cores, libtorch, onednn, os, governor, memory_bytes FROM machine WHERE id = ?1");
  if (!row.bind(id).next()) malformed(connection, "a job has no machine");
  nlohmann::json features = nlohmann::json::object();
  features["features"] = parseRecordText(row.view(2));
  auto machine = recordFromJson<MachineFacts>(features);
  machine.cpu = row.text(0);
  machine.isa = row.text(1);
  machine.cores = row.integer32(3);
  machine.libtorch = row.text(4);
  machine.onednn = row.text(5);
  machine.os = row.text(6);
  machine.governor = row.text(7);
  machine.memory_bytes = row.integer(8);
  return machine;
}

std::shared_ptr<const GraphSnapshot> selectSnapshot(Connection& connection, std::int64_t id) {
  Statement row(connection, "SELECT graph FROM snapshot WHERE id = ?1");
  if (!row.bind(id).next()) malformed(connection, "a graph is missing");
  return std::make_shared<const GraphSnapshot>(recordFromJson<GraphSnapshot>(parseRecordText(row.view(0))));
}

void selectPasses(Connection& connection, std::int64_t job_id, JobParts parts, JobRecord& job) {
  Statement row(connection,
                "SELECT position, name, summary, changed, rewrites, missed, elapsed_ns, hash_before, hash_after, "
                "nodes_after, snapshot_id FROM pass_run WHERE job_id = ?1 ORDER BY position");
  for (row.bind(job_id); row.next();) {
    PassRecord pass;
    pass.index = row.integer32(0);
    pass.name = row.text(1);
    pass.summary = row.text(2);
    pass.changed = row.integer(3) != 0;
    pass.rewrites = row.integer32(4);
    pass.missed = row.integer32(5);
    pass.elapsed_ns = row.integer(6);
    pass.hash_before = static_cast<std::uint64_t>(row.integer(7));
    pass.hash_after = static_cast<std::uint64_t>(row.integer(8));
    pass.nodes_after = row.integer32(9);
    if (parts == JobParts::kAll && !row.isNull(10)) pass.snapshot = selectSnapshot(connection, row.integer(10));
    job.passes.push_back(std::move(pass));
  }
  Statement remark(connection,
                   "SELECT pass, kind, reason, text, origins FROM remark WHERE job_id = ?1 ORDER BY position");
  for (remark.bind(job_id); remark.next();) {
    job.remarks.push_back({remark.text(0), remark.view(1) == "applied" ? RemarkKind::kApplied : RemarkKind::kMissed,
                           remark.text(2), remark.text(3), parseArray<OriginId>(connection, remark.view(4))});
  }
}

void selectSteps(Connection& connection, std::int64_t run_id, RunRecord& run) {
  // A read-only database was not migrated.
  const std::int64_t version = connection.integer("PRAGMA user_version");
  const char* const micro_batches = version >= kMicroBatchesSchemaVersion ? "micro_batches"
                                    : version >= kSlicesSchemaVersion     ? "slices"
                                                                          : "1";
  const char* const runs = version >= kStepRunsSchemaVersion ? "runs" : "1.0";
  // Names told before: those of kernels and of copies (migrations/version_15.sql).
  const char* const device =
      version >= kStepDeviceSchemaVersion
          ? "device"
          : "CASE WHEN kernel = 'device_copy' OR kernel LIKE '%\\_xpu' ESCAPE '\\' THEN "
            "(SELECT run.device || CASE WHEN instr(run.device, ':') > 0 THEN '' ELSE ':0' END FROM run "
            "WHERE run.id = plan_step.run_id) ELSE 'cpu' END";
  Statement row(
      connection,
      fmt::format("SELECT step, region, name, kind, spec, kernel, implementation, src_layout, dst_layout, dst_shape, "
                  "precision, origins, flops, bytes, arena_begin, arena_size, last_use, {}, {}, {} FROM plan_step "
                  "WHERE run_id = ?1 ORDER BY position",
                  micro_batches, runs, device)
          .c_str());
  for (row.bind(run_id); row.next();) {
    StepRecord s;
    s.index = row.integer32(0);
    s.region = row.integer32(1);
    std::string* const texts[] = {&s.name,       &s.kind,       &s.spec,      &s.kernel,   &s.implementation,
                                  &s.src_layout, &s.dst_layout, &s.dst_shape, &s.precision};
    int column = 2;
    for (std::string* text : texts) *text = row.text(column++);
    s.origins = parseArray<OriginId>(connection, row.view(11));
    s.flops = row.integer(12);
    s.bytes = row.integer(13);
    s.arena_begin = row.integer(14);
    s.arena_size = row.integer(15);
    s.last_use = row.integer32(16);
    s.micro_batches = row.integer32(17);
    s.runs = row.real(18);
    s.device = row.text(19);
    run.steps.push_back(std::move(s));
  }
  Statement dispatch(
      connection,
      "SELECT step, kernel, layout, chosen, reason, elapsed_ns, max_error FROM dispatch WHERE run_id = ?1 "
      "ORDER BY position");
  for (dispatch.bind(run_id); dispatch.next();) {
    run.dispatches.push_back({dispatch.integer32(0), dispatch.text(1), dispatch.text(2), dispatch.integer(3) != 0,
                              dispatch.text(4), dispatch.integer(5), dispatch.real(6)});
  }
}

void selectTimesAndAccuracy(Connection& connection, std::int64_t run_id, RunRecord& run) {
  const bool noise = connection.integer("PRAGMA user_version") >= kNoiseSchemaVersion;
  Statement time(connection, fmt::format("SELECT step, name, kind, origins, thread, begin_ns, elapsed_ns, {} "
                                         "FROM step_time WHERE run_id = ?1 ORDER BY position",
                                         noise ? "whole_ns" : "'[]'")
                                 .c_str());
  for (time.bind(run_id); time.next();) {
    run.step_times.push_back(
        {time.integer32(0), time.text(1), time.text(2), parseArray<OriginId>(connection, time.view(3)),
         time.integer32(4), parseArray<std::int64_t>(connection, time.view(5)),
         parseArray<std::int64_t>(connection, time.view(6)), parseArray<std::int64_t>(connection, time.view(7))});
  }
  Statement accuracy(connection,
                     "SELECT position, origins, output, reference, max_abs, max_rel, sqnr_db, cosine, pass, text "
                     "FROM accuracy WHERE run_id = ?1 ORDER BY position");
  for (accuracy.bind(run_id); accuracy.next();) {
    AccuracyRecord record = {parseArray<OriginId>(connection, accuracy.view(1)),
                             accuracy.integer32(2),
                             accuracy.text(3),
                             accuracy.real(4),
                             accuracy.real(5),
                             accuracy.real(6),
                             accuracy.real(7),
                             accuracy.integer(8) != 0,
                             accuracy.text(9)};
    if (accuracy.integer(0) == 0) {
      run.accuracy = std::move(record);
    } else {
      run.node_accuracy.push_back(std::move(record));
    }
  }
}

void selectRuns(Connection& connection, std::int64_t job_id, std::int64_t only_run, JobRecord& job) {
  const bool noise = connection.integer("PRAGMA user_version") >= kNoiseSchemaVersion;
  Statement row(
      connection,
      fmt::format(
          "SELECT id, variant, device, precision, threads, instances, warmup_iterations, latency_ns, turn, load_ns, "
          "compile_ns, tune_ns, first_run_ns, peak_rss_bytes, cpu_per_wall, coverage_nodes, coverage_time, {} "
          "FROM run WHERE job_id = ?1 ORDER BY position",
          noise ? "noise_wall_ns, cpus, others, stolen, preempted_per_s, throttled, fastest_chain_ns, slowest_chain_ns"
                : "0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0")
          .c_str());
  for (row.bind(job_id); row.next();) {
    RunRecord run;
    run.variant = row.text(1);
    run.device = row.text(2);
    run.precision = row.text(3);
    run.threads = row.integer32(4);
    run.instances = row.integer32(5);
    run.warmup_iterations = row.integer32(6);
    run.latency_ns = parseArray<std::int64_t>(connection, row.view(7));
    run.turn = parseArray<std::int32_t>(connection, row.view(8));
    run.load_ns = row.integer(9);
    run.compile_ns = row.integer(10);
    run.tune_ns = row.integer(11);
    run.first_run_ns = row.integer(12);
    run.peak_rss_bytes = row.integer(13);
    run.cpu_per_wall = row.real(14);
    run.coverage = {row.real(15), row.real(16)};
    run.noise = {row.integer(17), row.integer32(18), row.real(19),    row.real(20),
                 row.real(21),    row.real(22),      row.integer(23), row.integer(24)};
    if (only_run == 0 || row.integer(0) == only_run) {
      selectSteps(connection, row.integer(0), run);
      selectTimesAndAccuracy(connection, row.integer(0), run);
    }
    selectMetrics(connection, row.integer(0), run);
    job.runs.push_back(std::move(run));
  }
}

}  // namespace

JobRecord selectJob(Connection& connection, std::int64_t id, JobParts parts, std::int64_t only_run) {
  Statement row(connection,
                "SELECT model_id, machine_id, command, options, started_unix_ns, frozen_id FROM job WHERE id = ?1");
  if (!row.bind(id).next()) {
    throw Error(ExitCode::kDatabase, fmt::format("The profile database {} has no job {}.", connection.path(), id));
  }
  try {
    JobRecord job;
    job.model = selectModel(connection, row.integer(0), id);
    job.machine = selectMachine(connection, row.integer(1));
    job.command = row.text(2);
    job.options = row.text(3);
    job.started_unix_ns = row.integer(4);
    if (parts == JobParts::kAll && !row.isNull(5)) job.frozen = selectSnapshot(connection, row.integer(5));
    selectPasses(connection, id, parts, job);
    selectRuns(connection, id, only_run, job);
    selectSearch(connection, id, job);
    selectDecisions(connection, id, job);
    job.training = selectTraining(connection, id);
    checkRecord(job);
    return job;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDatabase) throw;
    malformed(connection, error.what());
  }
}

}  // namespace ipex_studio

// Writes a JobRecord as rows.
#include "core/record/noise.h"
#include "profiler/job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/fnv.h"
#include "core/record/records_json.h"
#include "profiler/precision_rows.h"
#include "profiler/sqlite.h"
#include "profiler/statistics.h"
#include "profiler/training_rows.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxStepSamples = 60'000;  // about 1 MB
constexpr std::size_t kMaxLatencies = 100'000;

// ---- JSON arrays of numbers, written by hand, because a run has a hundred thousand of them.

template <class Integer>
std::string jsonArray(const std::vector<Integer>& numbers, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  const std::size_t count = std::min(numbers.size(), most);
  std::string text = "[";
  text.reserve(2 + count * 9);
  char digits[24];
  for (std::size_t i = 0; i < count; ++i) {
    const Integer number = numbers[i * numbers.size() / count];  // evenly thinned when there are too many
    if (i > 0) text += ',';
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  text += ']';
  return text;
}

std::int64_t digest(std::string_view text) {
  std::uint64_t hash = kFnvBasis;
  for (const char c : text) hash = fnvWith(hash, static_cast<unsigned char>(c));
  return static_cast<std::int64_t>(hash);
}

// ---- Rows that jobs share.

std::int64_t modelRow(Connection& connection, const ModelRecord& model) {
  std::string origins;
  for (const Origin& o : model.origins) {
    origins += fmt::format("{}\t{}\t{}\t{}\t{}\n", o.id, o.module_path, o.kind, o.ordinal, o.source);
  }
  const std::int64_t key = digest(origins);
  Statement find(
      connection,
      "SELECT id FROM model WHERE sha256 = ?1 AND path = ?2 AND file_bytes = ?3 AND nodes = ?4 AND digest = ?5");
  if (find.bind(model.sha256, model.path, model.file_bytes, model.nodes, key).next()) return find.integer(0);

  Statement insert(connection,
                   "INSERT INTO model (sha256, path, file_bytes, nodes, digest) VALUES (?1, ?2, ?3, ?4, ?5)");
  insert.bind(model.sha256, model.path, model.file_bytes, model.nodes, key).run();
  const std::int64_t id = connection.lastId();
  Statement add(connection, "INSERT INTO origin VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  std::int64_t position = 0;
  for (const Origin& o : model.origins) {
    add.bind(id, o.id, position++, o.module_path, o.kind, o.ordinal, o.source).run();
  }
  return id;
}

std::int64_t machineRow(Connection& connection, const MachineFacts& machine) {
  const std::string features = dumpJson(nlohmann::json(machine.features));
  Statement find(
      connection,
      "SELECT id FROM machine WHERE cpu = ?1 AND isa = ?2 AND features = ?3 AND cores = ?4 AND libtorch = ?5 AND "
      "onednn = ?6 AND os = ?7 AND governor = ?8 AND memory_bytes = ?9");
  find.bind(machine.cpu, machine.isa, features, machine.cores, machine.libtorch, machine.onednn, machine.os,
            machine.governor, machine.memory_bytes);
  if (find.next()) return find.integer(0);
  Statement insert(connection, "INSERT INTO machine VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  insert
      .bind(machine.cpu, machine.isa, features, machine.cores, machine.libtorch, machine.onednn, machine.os,
            machine.governor, machine.memory_bytes)
      .run();
  return connection.lastId();
}

std::int64_t snapshotRow(Connection& connection, const GraphSnapshot& snapshot) {
  const std::string graph = dumpJson(toJson(snapshot));
  const std::int64_t key = digest(graph);
  Statement find(connection, "SELECT id FROM snapshot WHERE digest = ?1 AND graph = ?2");
  if (find.bind(key, graph).next()) return find.integer(0);
  Statement insert(connection, "INSERT INTO snapshot (digest, graph) VALUES (?1, ?2)");
  insert.bind(key, graph).run();
  return connection.lastId();
}

// ---- Rows of one job.

void insertPasses(Connection& connection, std::int64_t job_id, const JobRecord& job) {
  Statement insert(connection, "INSERT INTO pass_run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
  for (const PassRecord& p : job.passes) {
    const auto before = static_cast<std::int64_t>(p.hash_before);
    const auto after = static_cast<std::int64_t>(p.hash_after);
    if (p.snapshot) {
      insert
          .bind(job_id, p.index, p.name, p.summary, p.changed, p.rewrites, p.missed, p.elapsed_ns, before, after,
                p.nodes_after, snapshotRow(connection, *p.snapshot))
          .run();
    } else {
      insert
          .bind(job_id, p.index, p.name, p.summary, p.changed, p.rewrites, p.missed, p.elapsed_ns, before, after,
                p.nodes_after, nullptr)
          .run();
    }
  }
  Statement remark(connection, "INSERT INTO remark VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  std::int64_t position = 0;
  for (const Remark& r : job.remarks) {
    const std::string origins = jsonArray(r.origins);
    remark
        .bind(job_id, position++, r.pass, r.kind == RemarkKind::kApplied ? "applied" : "missed", r.reason, r.text,
              origins)
        .run();
  }
}

void insertAccuracy(Connection& connection, std::int64_t run_id, const RunRecord& run) {
  Statement insert(connection, "INSERT INTO accuracy VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  std::int64_t position = 0;
  const auto add = [&](const AccuracyRecord& a) {
    const std::string origins = jsonArray(a.origins);
    insert
        .bind(run_id, position++, origins, a.output, a.reference, a.max_abs, a.max_rel, a.sqnr_db, a.cosine, a.pass,
              a.text)
        .run();
  };
  add(run.accuracy);
  for (const AccuracyRecord& accuracy : run.node_accuracy) add(accuracy);
}

void insertSteps(Connection& connection, std::int64_t run_id, const RunRecord& run) {
  Statement step(
      connection,
      "INSERT INTO plan_step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
      "?18, ?19, ?20, ?21, ?22)");
  std::int64_t position = 0;
  for (const StepRecord& s : run.steps) {
    const std::string origins = jsonArray(s.origins);
    step.bind(run_id, s.index, position++, s.region, s.name, s.kind, s.spec, s.kernel, s.implementation, s.src_layout,
              s.dst_layout, s.dst_shape, s.precision, origins, s.flops, s.bytes, s.arena_begin, s.arena_size,
              s.last_use, s.micro_batches, s.runs, s.device)
        .run();
  }
  Statement dispatch(connection, "INSERT INTO dispatch VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  position = 0;
  for (const DispatchRecord& d : run.dispatches) {
    dispatch.bind(run_id, position++, d.step, d.kernel, d.layout, d.chosen, d.reason, d.elapsed_ns, d.max_error).run();
  }
}

void insertStepTimes(Connection& connection, std::int64_t run_id, const RunRecord& run) {
  std::size_t total = 0;
  for (const StepTime& time : run.step_times) total += time.elapsed_ns.size();
  const std::size_t most =
      total <= kMaxStepSamples ? kMaxStepSamples : std::max<std::size_t>(16, kMaxStepSamples / run.step_times.size());
  Statement insert(connection, "INSERT INTO step_time VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
  std::int64_t position = 0;
  for (const StepTime& t : run.step_times) {
    const std::string origins = jsonArray(t.origins);
    const std::string begin = jsonArray(t.begin_ns, most);
    const std::string elapsed = jsonArray(t.elapsed_ns, most);
    const std::string whole = jsonArray(t.whole_ns, most);
    insert.bind(run_id, position++, t.step, t.name, t.kind, origins, t.thread, begin, elapsed, whole).run();
  }
}

void insertRun(Connection& connection, std::int64_t job_id, std::int64_t position, const RunRecord& run) {
  const std::string latency = jsonArray(run.latency_ns, kMaxLatencies);
  const std::string turn = jsonArray(run.turn, kMaxLatencies);
  Statement insert(
      connection,
      "INSERT INTO run VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
      "?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)");
  const NoiseRecord& n = run.noise;
  insert
      .bind(job_id, position, run.variant, run.device, run.precision, run.threads, run.instances, run.warmup_iterations,
            static_cast<std::int64_t>(run.latency_ns.size()), median(run.latency_ns), latency, turn, run.load_ns,
            run.compile_ns, run.tune_ns, run.first_run_ns, run.peak_rss_bytes, run.cpu_per_wall, run.coverage.nodes,
            run.coverage.time, run.export_bytes, n.wall_ns, n.cpus, n.others, n.stolen, n.preempted_per_s, n.throttled,
            n.fastest_chain_ns, n.slowest_chain_ns, std::string(noiseName(judgeNoise(run).level)))
      .run();
  const std::int64_t run_id = connection.lastId();
  insertSteps(connection, run_id, run);
  insertStepTimes(connection, run_id, run);
  insertAccuracy(connection, run_id, run);
  insertMetrics(connection, run_id, run);
}

}  // namespace

std::int64_t insertJob(Connection& connection, const JobRecord& job) {
  const std::int64_t model_id = modelRow(connection, job.model);
  const std::int64_t machine_id = machineRow(connection, job.machine);
  Statement insert(connection, "INSERT INTO job VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)");
  if (job.frozen) {
    insert
        .bind(model_id, machine_id, job.command, job.options, job.started_unix_ns, snapshotRow(connection, *job.frozen))
        .run();
  } else {
    insert.bind(model_id, machine_id, job.command, job.options, job.started_unix_ns, nullptr).run();
  }
  const std::int64_t job_id = connection.lastId();
  Statement input(connection, "INSERT INTO job_input VALUES (?1, ?2, ?3, ?4, ?5)");
  std::int64_t position = 0;
  for (const InputRecord& i : job.model.inputs) input.bind(job_id, position++, i.name, i.description, i.guessed).run();
  insertPasses(connection, job_id, job);
  position = 0;
  for (const RunRecord& run : job.runs) insertRun(connection, job_id, position++, run);
  insertSearch(connection, job_id, job);
  insertDecisions(connection, job_id, job);
  insertTraining(connection, job_id, job);
  return job_id;
}

}  // namespace ipex_studio

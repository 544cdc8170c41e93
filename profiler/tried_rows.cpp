// Earlier trials on a model: searches over precisions, what-ifs, passes left out, and curves.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "profiler/database.h"
#include "profiler/job_rows.h"
#include "profiler/precision_rows.h"
#include "profiler/row_lists.h"
#include "profiler/sqlite.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxWhatIfs = 50;

// Selects jobs on a model that ran under comparable conditions, newest first; `?1` to `?5` are the conditions.
std::string jobsThat(const char* condition) {
  return "SELECT job.id, command, options, started_unix_ns FROM job JOIN model ON model.id = model_id JOIN machine ON "
         "machine.id = machine_id "
         "WHERE sha256 = ?1 AND cpu = ?2 AND isa = ?3 AND EXISTS (SELECT 1 FROM run WHERE run.job_id = job.id AND "
         "variant = 'optimized' "
         "AND threads = ?4 AND instances = ?5) AND " +
         std::string(condition) + " ORDER BY started_unix_ns DESC, job.id DESC LIMIT ?6";
}

// Latencies and the verdict of a job's runs, without steps.
std::vector<RunRecord> outlinesOfRuns(Connection& connection, std::int64_t job_id) {
  Statement row(connection,
                "SELECT id, variant, precision, threads, instances, latency_ns, turn FROM run WHERE job_id = ?1 ORDER "
                "BY position");
  Statement accuracy(connection, "SELECT sqnr_db, pass, text FROM accuracy WHERE run_id = ?1 AND position = 0");
  std::vector<RunRecord> runs;
  for (row.bind(job_id); row.next();) {
    RunRecord run;
    run.variant = row.text(1);
    run.precision = row.text(2);
    run.threads = row.integer32(3);
    run.instances = row.integer32(4);
    run.latency_ns = parseArray<std::int64_t>(connection, row.view(5));
    run.turn = parseArray<std::int32_t>(connection, row.view(6));
    if (accuracy.bind(row.integer(0)).next()) {
      run.accuracy.sqnr_db = accuracy.real(0);
      run.accuracy.pass = accuracy.integer(1) != 0;
      run.accuracy.text = accuracy.text(2);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string textList(const std::vector<std::string>& texts) { return dumpJson(nlohmann::json(texts)); }

std::vector<std::string> parseTexts(const Connection& connection, std::string_view text) {
  constexpr std::size_t kMaxListBytes = 1 << 20;
  std::vector<std::string> texts;
  const nlohmann::json list = parseRecordText(text, kMaxListBytes);
  for (const nlohmann::json& element : list) {
    if (!element.is_string()) malformed(connection, "a list of texts was expected");
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

// Reads a point and checks it, as the file may come from anywhere.
CurvePoint readPoint(const Connection& connection, const Statement& row) {
  CurvePoint point;
  point.precision = row.text(0);
  point.batch = row.integer(1);
  point.threads = row.integer32(2);
  point.instances = row.integer32(3);
  point.inputs = parseTexts(connection, row.view(4));
  point.requests = row.integer(5);
  point.p50_ns = row.real(6);
  point.p99_ns = row.real(7);
  point.rate_per_s = parseArray<double>(connection, row.view(8));
  point.memory_bytes = row.integer(9);
  point.sqnr_db = row.real(10);
  point.accurate = row.integer(11) != 0;
  point.noise = row.text(12);
  const bool timed = point.p50_ns > 0 && point.p99_ns >= point.p50_ns && !point.rate_per_s.empty();
  if (point.batch < 1 || point.threads < 1 || point.instances < 1 || (point.measured() && !timed))
    malformed(connection, "a point of its curves is out of range");
  return point;
}

}  // namespace

TriedBefore Database::tried(const std::string& sha256, const MachineFacts& machine, std::int32_t threads,
                            std::int32_t instances) const {
  TriedBefore before;
  Connection& connection = *connection_;
  const std::int64_t version = connection.integer("PRAGMA user_version");
  try {
    JobRecord search;
    if (version >= kPrecisionSchemaVersion) {
      Statement row(connection, jobsThat("EXISTS (SELECT 1 FROM tradeoff WHERE tradeoff.job_id = job.id)").c_str());
      if (row.bind(sha256, machine.cpu, machine.isa, threads, instances, std::int64_t{1}).next()) {
        selectSearch(connection, row.integer(0), search);
        before.options = row.text(2);
        before.started_unix_ns = row.integer(3);
      }
    }
    before.sensitivities = std::move(search.sensitivities);
    before.tradeoffs = std::move(search.tradeoffs);
    if (version < kDecisionSchemaVersion) return before;
    Statement row(
        connection,
        jobsThat("command = 'what-if' AND EXISTS (SELECT 1 FROM decision WHERE decision.job_id = job.id)").c_str());
    for (row.bind(sha256, machine.cpu, machine.isa, threads, instances, kMaxWhatIfs); row.next();) {
      JobRecord job;
      job.command = row.text(1);
      job.started_unix_ns = row.integer(3);
      job.runs = outlinesOfRuns(connection, row.integer(0));
      selectDecisions(connection, row.integer(0), job);
      checkRecord(job);
      // Another program's what-if has another form.
      if (job.runs.size() != 2 || job.runs[0].latency_ns.empty() || job.runs[1].latency_ns.empty()) continue;
      before.what_ifs.push_back(std::move(job));
    }
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDatabase) throw;
    malformed(connection, error.what());
  }
  std::reverse(before.what_ifs.begin(), before.what_ifs.end());
  return before;
}

void Database::recordPassGains(std::int64_t job, const std::vector<PassGain>& gains) {
  Connection& connection = writable();
  Transaction transaction(connection);
  Statement row(connection, "INSERT OR REPLACE INTO pass_gain VALUES (?1, ?2, ?3, ?4, ?5)");
  for (const PassGain& gain : gains) row.bind(job, gain.pass, gain.gain_ns, gain.low_ns, gain.high_ns).run();
  transaction.commit();
}

std::vector<PassGain> Database::passGains(std::int64_t job) const {
  if (connection_->integer("PRAGMA user_version") < kPassGainSchemaVersion) return {};
  std::vector<PassGain> gains;
  Statement row(*connection_, "SELECT pass, gain_ns, low_ns, high_ns FROM pass_gain WHERE job_id = ?1 ORDER BY pass");
  for (row.bind(job); row.next();) gains.push_back({row.text(0), row.real(1), row.real(2), row.real(3)});
  return gains;
}

void Database::recordCurves(std::int64_t job, const CurvesRecord& curves) {
  Connection& connection = writable();
  Transaction transaction(connection);
  const std::string notes = textList(curves.notes);
  Statement(connection, "INSERT OR REPLACE INTO curves VALUES (?1, ?2, ?3, ?4)")
      .bind(job, curves.noise, notes, curves.complete)
      .run();
  Statement(connection, "DELETE FROM curve_point WHERE job_id = ?1").bind(job).run();
  Statement row(connection,
                "INSERT INTO curve_point VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)");
  std::int64_t position = 0;
  for (const CurvePoint& p : curves.points) {
    const std::string inputs = textList(p.inputs), rates = fmt::format("[{}]", fmt::join(p.rate_per_s, ","));
    row.bind(job, position++, p.precision, p.batch, p.threads, p.instances, inputs, p.requests, p.p50_ns, p.p99_ns,
             rates, p.memory_bytes, p.sqnr_db, p.accurate, p.noise)
        .run();
  }
  transaction.commit();
}

CurvesRecord Database::curves(std::int64_t job) const {
  CurvesRecord curves;
  if (connection_->integer("PRAGMA user_version") < kCurvesSchemaVersion) return curves;
  Statement head(
      *connection_,
      "SELECT started_unix_ns, noise, notes, complete FROM curves JOIN job ON job.id = job_id WHERE job_id = "
      "?1");
  if (!head.bind(job).next()) return curves;
  curves.started_unix_ns = head.integer(0);
  curves.noise = head.text(1);
  curves.notes = parseTexts(*connection_, head.view(2));
  curves.complete = head.integer(3) != 0;
  Statement row(*connection_,
                "SELECT precision, batch, threads, instances, inputs, requests, p50_ns, p99_ns, rate_per_s, "
                "memory_bytes, sqnr_db, accurate, noise FROM curve_point WHERE job_id = ?1 ORDER BY position");
  for (row.bind(job); row.next();) curves.points.push_back(readPoint(*connection_, row));
  return curves;
}

CurvesRecord Database::newestCurves(const std::string& sha256, const std::string& cpu) const {
  if (connection_->integer("PRAGMA user_version") < kCurvesSchemaVersion) return {};
  Statement row(*connection_,
                "SELECT job.id FROM job JOIN model ON model.id = model_id JOIN machine ON machine.id = machine_id JOIN "
                "curves ON curves.job_id = job.id WHERE sha256 = ?1 AND cpu = ?2 ORDER BY started_unix_ns DESC, "
                "job.id DESC LIMIT 1");
  return row.bind(sha256, cpu).next() ? curves(row.integer(0)) : CurvesRecord();
}

}  // namespace ipex_studio

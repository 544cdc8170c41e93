// Insertion and selection of metrics, searches and decisions.
#include "profiler/precision_rows.h"

#include <nlohmann/json.hpp>

#include "core/record/records_json.h"
#include "profiler/row_lists.h"

namespace ipex_studio {
namespace {

bool hasTables(Connection& connection) { return connection.integer("PRAGMA user_version") >= kPrecisionSchemaVersion; }
bool hasDecisions(Connection& connection) {
  return connection.integer("PRAGMA user_version") >= kDecisionSchemaVersion;
}

}  // namespace

void insertMetrics(Connection& connection, std::int64_t run_id, const RunRecord& run) {
  Statement insert(connection, "INSERT INTO run_metric VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  std::int64_t position = 0;
  for (const MetricRecord& m : run.metrics)
    insert.bind(run_id, position++, m.name, m.value, m.higher_is_better, m.samples).run();
}

void insertSearch(Connection& connection, std::int64_t job_id, const JobRecord& job) {
  Statement sensitivity(connection,
                        "INSERT INTO sensitivity VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
  std::int64_t position = 0;
  for (const SensitivityRecord& s : job.sensitivities) {
    const std::string origins = dumpJson(nlohmann::json(s.origins));
    sensitivity
        .bind(job_id, position++, s.key, s.name, origins, s.precision, s.sqnr_db, s.cumulative_db, s.fp32_ns, s.low_ns,
              s.chosen, s.reason)
        .run();
  }
  Statement tradeoff(connection,
                     "INSERT INTO tradeoff VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
  position = 0;
  for (const TradeoffRecord& t : job.tradeoffs) {
    tradeoff
        .bind(job_id, position++, t.name, t.elapsed_ns, t.metric, t.sqnr_db, t.fp32_nodes, t.bf16_nodes, t.int8_nodes,
              t.allowed, t.on_front, t.chosen, t.assignment)
        .run();
  }
}

void insertDecisions(Connection& connection, std::int64_t job_id, const JobRecord& job) {
  Statement insert(connection, "INSERT INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  std::int64_t position = 0;
  for (const DecisionRecord& d : job.decisions)
    insert.bind(job_id, position++, d.what, d.precision, d.spec, d.dst_shape, d.kernel, d.layout).run();
}

void selectMetrics(Connection& connection, std::int64_t run_id, RunRecord& run) {
  if (!hasTables(connection)) return;
  Statement size(connection, "SELECT export_bytes FROM run WHERE id = ?1");
  if (size.bind(run_id).next()) run.export_bytes = size.integer(0);
  Statement row(connection,
                "SELECT name, value, higher_is_better, samples FROM run_metric WHERE run_id = ?1 ORDER BY position");
  for (row.bind(run_id); row.next();)
    run.metrics.push_back({row.text(0), row.real(1), row.integer(2) != 0, row.integer(3)});
}

void selectSearch(Connection& connection, std::int64_t job_id, JobRecord& job) {
  if (!hasTables(connection)) return;
  Statement row(
      connection,
      "SELECT key, name, origins, precision, sqnr_db, cumulative_db, fp32_ns, low_ns, chosen, reason FROM sensitivity "
      "WHERE job_id = ?1 ORDER BY position");
  for (row.bind(job_id); row.next();) {
    SensitivityRecord s;
    s.key = row.text(0);
    s.name = row.text(1);
    s.origins = parseArray<OriginId>(connection, row.view(2));
    s.precision = row.text(3);
    s.sqnr_db = row.real(4);
    s.cumulative_db = row.real(5);
    s.fp32_ns = row.integer(6);
    s.low_ns = row.integer(7);
    s.chosen = row.text(8);
    s.reason = row.text(9);
    job.sensitivities.push_back(std::move(s));
  }
  const std::string assignment = hasDecisions(connection) ? "assignment" : "''";
  Statement tradeoff(
      connection,
      ("SELECT name, elapsed_ns, metric, sqnr_db, fp32_nodes, bf16_nodes, int8_nodes, allowed, on_front, chosen, " +
       assignment + " FROM tradeoff WHERE job_id = ?1 ORDER BY position")
          .c_str());
  for (tradeoff.bind(job_id); tradeoff.next();) {
    TradeoffRecord t;
    t.name = tradeoff.text(0);
    t.elapsed_ns = tradeoff.integer(1);
    t.metric = tradeoff.real(2);
    t.sqnr_db = tradeoff.real(3);
    t.fp32_nodes = tradeoff.integer32(4);
    t.bf16_nodes = tradeoff.integer32(5);
    t.int8_nodes = tradeoff.integer32(6);
    t.allowed = tradeoff.integer(7) != 0;
    t.on_front = tradeoff.integer(8) != 0;
    t.chosen = tradeoff.integer(9) != 0;
    t.assignment = tradeoff.text(10);
    job.tradeoffs.push_back(std::move(t));
  }
}

void selectDecisions(Connection& connection, std::int64_t job_id, JobRecord& job) {
  if (!hasDecisions(connection)) return;
  Statement row(
      connection,
      "SELECT what, precision, spec, dst_shape, kernel, layout FROM decision WHERE job_id = ?1 ORDER BY position");
  for (row.bind(job_id); row.next();)
    job.decisions.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5)});
}

}  // namespace ipex_studio

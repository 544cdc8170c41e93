// Import from another database, and pruning.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/record/source_record.h"
#include "profiler/database.h"
#include "profiler/job_rows.h"
#include "profiler/sqlite.h"
#include "profiler/tuning_rows.h"

namespace ipex_studio {
namespace {

// Removes rows that no job uses any more. Tuning and remembered inputs stay.
void removeUnused(Connection& connection) {
  connection.execute(
      "DELETE FROM model WHERE id NOT IN (SELECT model_id FROM job);"
      "DELETE FROM machine WHERE id NOT IN (SELECT machine_id FROM job);"
      "DELETE FROM snapshot WHERE id NOT IN (SELECT snapshot_id FROM pass_run WHERE snapshot_id IS NOT NULL) "
      "AND id NOT IN (SELECT frozen_id FROM job WHERE frozen_id IS NOT NULL)");
}

std::int64_t usedBytes(Connection& connection) {
  return (connection.integer("PRAGMA page_count") - connection.integer("PRAGMA freelist_count")) *
         connection.integer("PRAGMA page_size");
}

}  // namespace

std::int64_t Database::import(const std::string& other_path) {
  Connection& connection = writable();
  const Database other = open(other_path, OpenMode::kReadOnly);
  // One transaction per job, so that readers are never locked out for long and an interrupted import can be repeated.
  std::int64_t imported = 0;
  Statement ids(*other.connection_, "SELECT id FROM job ORDER BY started_unix_ns, id");
  Statement known(connection,
                  "SELECT 1 FROM job JOIN model ON model.id = model_id "
                  "WHERE started_unix_ns = ?1 AND command = ?2 AND sha256 = ?3");
  while (ids.next()) {
    const JobRecord job = other.job(ids.integer(0));
    const bool here = known.bind(job.started_unix_ns, job.command, job.model.sha256).next();
    known.bind();  // ends the read, which would hold the lock
    if (here) continue;
    const std::int64_t id = record(job);
    if (const auto source = other.source(ids.integer(0))) recordSource(id, *source);
    recordPassGains(id, other.passGains(ids.integer(0)));
    if (const CurvesRecord curves = other.curves(ids.integer(0)); !curves.empty()) recordCurves(id, curves);
    ++imported;
  }
  Transaction transaction(connection);
  constexpr std::int64_t kMaxTunings = 1'000'000;
  writeTunings(connection, other.tunings("", "", kMaxTunings), false);
  Statement input(connection, "INSERT OR IGNORE INTO model_input VALUES (?1, ?2, ?3, ?4, ?5)");
  Statement remembered(connection, "SELECT count(*) FROM model_input WHERE sha256 = ?1");
  for (Statement model(*other.connection_, "SELECT DISTINCT sha256 FROM model_input"); model.next();) {
    const std::string sha256 = model.text(0);
    const bool here = remembered.bind(sha256).next() && remembered.integer(0) > 0;
    std::int64_t position = 0;
    if (here) continue;
    for (const InputRecord& i : other.rememberedInputs(sha256)) {
      input.bind(sha256, position++, i.name, i.description, i.guessed).run();
    }
  }
  remembered.bind();
  transaction.commit();
  return imported;
}

std::int64_t Database::prune(const PruneLimits& limits) {
  Connection& connection = writable();
  std::int64_t removed = 0;
  {
    Transaction transaction(connection);
    const auto tooMuch = [&] {
      const std::int64_t jobs = connection.integer("SELECT count(*) FROM job");
      if (jobs == 0) return false;
      return (limits.jobs >= 0 && jobs > limits.jobs) ||
             (limits.file_bytes >= 0 && usedBytes(connection) > limits.file_bytes);
    };
    while (tooMuch()) {
      connection.execute("DELETE FROM job WHERE id = (SELECT id FROM job ORDER BY started_unix_ns, id LIMIT 1)");
      removeUnused(connection);
      ++removed;
    }
    transaction.commit();
  }
  if (removed > 0) connection.execute("VACUUM");
  return removed;
}

}  // namespace ipex_studio

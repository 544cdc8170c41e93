// Tuning decisions, import from another database, and pruning.
#include <fmt/format.h>

#include "core/plan/error.h"
#include "profiler/database.h"
#include "profiler/job_rows.h"
#include "profiler/sqlite.h"

namespace ipex_studio {
namespace {

Tuning tuningFrom(const Statement& row) {
  return {row.text(0), row.text(1), row.text(2),    row.text(3), row.integer32(4),
          row.text(5), row.text(6), row.integer(7), row.real(8)};
}

// Rows that no job uses any more. Tuning and remembered inputs stay.
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

void Database::putTuning(const Tuning& t) {
  Statement(writable(), "INSERT OR REPLACE INTO tuning VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
      .bind(t.spec, t.device, t.isa, t.libraries, t.threads, t.kernel, t.layout, t.elapsed_ns, t.max_error)
      .run();
}

bool Database::getTuning(Tuning& t) const {
  Statement row(
      *connection_,
      "SELECT * FROM tuning WHERE spec = ?1 AND device = ?2 AND isa = ?3 AND libraries = ?4 AND threads = ?5");
  if (!row.bind(t.spec, t.device, t.isa, t.libraries, t.threads).next()) return false;
  t = tuningFrom(row);
  return true;
}

std::vector<Tuning> Database::tunings(const Tuning& key) const {
  Statement row(
      *connection_,
      "SELECT * FROM tuning WHERE device = ?1 AND isa = ?2 AND libraries = ?3 AND threads = ?4 ORDER BY spec");
  std::vector<Tuning> result;
  for (row.bind(key.device, key.isa, key.libraries, key.threads); row.next();) result.push_back(tuningFrom(row));
  return result;
}

std::int64_t Database::import(const std::string& other_path) {
  Connection& connection = writable();
  const Database other = open(other_path, OpenMode::kReadOnly);
  // One transaction per job: readers are never locked out for long, and an interrupted import can be repeated.
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
    record(job);
    ++imported;
  }
  Transaction transaction(connection);
  Statement put(connection, "INSERT OR IGNORE INTO tuning VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  for (Statement row(*other.connection_, "SELECT * FROM tuning"); row.next();) {
    const Tuning t = tuningFrom(row);
    put.bind(t.spec, t.device, t.isa, t.libraries, t.threads, t.kernel, t.layout, t.elapsed_ns, t.max_error).run();
  }
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

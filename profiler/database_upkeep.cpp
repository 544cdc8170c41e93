// Import from another database, names and pins, forgetting and pruning.
#include <fmt/format.h>

#include <algorithm>

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

// Jobs that nothing keeps from being pruned.
constexpr char kLooseJobs[] =
    "FROM job JOIN model ON model.id = model_id WHERE job.id NOT IN (SELECT job_id FROM job_mark WHERE pinned) "
    "AND sha256 NOT IN (SELECT sha256 FROM model_mark WHERE pinned)";

constexpr std::size_t kMaxNameBytes = 200;

void checkName(const std::string& name) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  if (name.size() <= kMaxNameBytes && !control) return;
  throw Error(ExitCode::kUsage, fmt::format("A name is one line of at most {} bytes.", kMaxNameBytes));
}

// Throws unless the database has the model or job.
void requireItem(Connection& connection, const LibraryItem& item) {
  if (item.job > 0) {
    if (Statement(connection, "SELECT 1 FROM job WHERE id = ?1").bind(item.job).next()) return;
    throw Error(ExitCode::kDatabase,
                fmt::format("The profile database {} has no job {}.", connection.path(), item.job));
  }
  if (Statement(connection, "SELECT 1 FROM model WHERE sha256 = ?1").bind(item.sha256).next()) return;
  throw Error(ExitCode::kDatabase, fmt::format("The profile database {} has no such model.", connection.path()));
}

// Name and pin that a user gave to a model or job.
struct Mark {
  std::string name;
  bool pinned = false;
};

Mark markOf(Connection& connection, const LibraryItem& item) {
  Statement job(connection, "SELECT name, pinned FROM job_mark WHERE job_id = ?1");
  Statement model(connection, "SELECT name, pinned FROM model_mark WHERE sha256 = ?1");
  Statement& row = item.job > 0 ? job.bind(item.job) : model.bind(item.sha256);
  return row.next() ? Mark{row.text(0), row.integer(1) != 0} : Mark();
}

void putMark(Connection& connection, const LibraryItem& item, const Mark& mark) {
  const bool nothing = mark.name.empty() && !mark.pinned;
  if (item.job > 0) {
    Statement(connection, "DELETE FROM job_mark WHERE job_id = ?1").bind(item.job).run();
    if (!nothing)
      Statement(connection, "INSERT INTO job_mark VALUES (?1, ?2, ?3)").bind(item.job, mark.name, mark.pinned).run();
    return;
  }
  Statement(connection, "DELETE FROM model_mark WHERE sha256 = ?1").bind(item.sha256).run();
  if (!nothing)
    Statement(connection, "INSERT INTO model_mark VALUES (?1, ?2, ?3)").bind(item.sha256, mark.name, mark.pinned).run();
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
    importMarks(other, {"", ids.integer(0)}, {"", id});
    importMarks(other, {job.model.sha256}, {job.model.sha256});
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

// Names and pins that are here already stay.
void Database::importMarks(const Database& other, const LibraryItem& from, const LibraryItem& to) {
  if (other.connection_->integer("PRAGMA user_version") < kMarkSchemaVersion) return;
  const Mark theirs = markOf(*other.connection_, from);
  Connection& connection = writable();
  Transaction transaction(connection);
  const Mark ours = markOf(connection, to);
  if (ours.name.empty() && !ours.pinned) putMark(connection, to, theirs);
  transaction.commit();
}

void Database::setName(const LibraryItem& item, const std::string& name) {
  checkName(name);
  Connection& connection = writable();
  Transaction transaction(connection);
  requireItem(connection, item);
  putMark(connection, item, {name, markOf(connection, item).pinned});
  transaction.commit();
}

void Database::setPinned(const LibraryItem& item, bool pinned) {
  Connection& connection = writable();
  Transaction transaction(connection);
  requireItem(connection, item);
  putMark(connection, item, {markOf(connection, item).name, pinned});
  transaction.commit();
}

// The room of what was removed is used by the next jobs; only prune() shrinks the file, which takes its time.
std::int64_t Database::forget(const LibraryItem& item) {
  Connection& connection = writable();
  Transaction transaction(connection);
  requireItem(connection, item);
  if (item.job > 0) {
    Statement(connection, "DELETE FROM job WHERE id = ?1").bind(item.job).run();
  } else {
    Statement(connection, "DELETE FROM job WHERE model_id IN (SELECT id FROM model WHERE sha256 = ?1)")
        .bind(item.sha256)
        .run();
  }
  const std::int64_t removed = connection.integer("SELECT changes()");
  if (item.job == 0) {
    for (const char* table : {"model_mark", "model_input", "trusted_model"})
      Statement(connection, fmt::format("DELETE FROM {} WHERE sha256 = ?1", table).c_str()).bind(item.sha256).run();
  }
  removeUnused(connection);
  transaction.commit();
  return removed;
}

std::int64_t Database::prune(const PruneLimits& limits) {
  Connection& connection = writable();
  std::int64_t removed = 0;
  {
    Transaction transaction(connection);
    const auto tooMuch = [&] {
      const std::int64_t jobs = connection.integer(fmt::format("SELECT count(*) {}", kLooseJobs).c_str());
      if (jobs == 0) return false;
      return (limits.jobs >= 0 && jobs > limits.jobs) ||
             (limits.file_bytes >= 0 && usedBytes(connection) > limits.file_bytes);
    };
    const std::string oldest = fmt::format(
        "DELETE FROM job WHERE id = (SELECT job.id {} ORDER BY started_unix_ns, job.id LIMIT 1)", kLooseJobs);
    while (tooMuch()) {
      connection.execute(oldest.c_str());
      removeUnused(connection);
      ++removed;
    }
    transaction.commit();
  }
  if (removed > 0) connection.execute("VACUUM");
  return removed;
}

}  // namespace ipex_studio

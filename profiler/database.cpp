// Opening, migrating and querying profile.db.
#include "profiler/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "profiler/embedded.h"
#include "profiler/job_rows.h"
#include "profiler/sqlite.h"
#include "profiler/training_rows.h"

namespace ipex_studio {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x49504558;  // "IPEX"

// Version of the tables that schema.sql makes. A released migration never changes.
constexpr std::int64_t kSchemaVersion = 1 + std::size(kMigrations);

// True for versions in which WAL mode is safe. Before 3.51.3 two connections that write in WAL mode at the same instant
// can corrupt the file (https://sqlite.org/wal.html#walresetbug); 3.50.7 and 3.44.6 got the fix on their branches.
bool walIsSafe(int version) {
  return version >= 3'051'003 || (version >= 3'050'007 && version < 3'051'000) ||
         (version >= 3'044'006 && version < 3'045'000);
}

void checkPath(const fs::path& path, OpenMode mode) {
  std::error_code ignored;
  const fs::path directory = path.parent_path();
  if (fs::is_directory(path, ignored)) {
    throw Error(ExitCode::kDatabase, fmt::format("{} is a directory, not a profile database.", path.string()));
  }
  const bool exists = fs::exists(path, ignored);
  if (mode == OpenMode::kReadOnly && !exists) {
    throw Error(ExitCode::kDatabase, fmt::format("The profile database {} does not exist.", path.string()));
  }
  if (mode == OpenMode::kReadOnly) return;
  if (!fs::is_directory(directory, ignored)) {
    throw Error(ExitCode::kDatabase,
                fmt::format("The directory {} for the profile database does not exist; create it or name another file "
                            "with --db.",
                            directory.string()));
  }
  // The check comes now, so that a run does not measure for minutes and then cannot be recorded.
  if (access(directory.c_str(), W_OK) != 0 || (exists && access(path.c_str(), W_OK) != 0)) {
    throw Error(
        ExitCode::kDatabase,
        fmt::format("The profile database {} cannot be written; make it and its directory writable or name another "
                    "file with --db.",
                    path.string()));
  }
}

void migrate(Connection& connection) {
  Transaction transaction(connection);
  // Another process may have made or migrated the tables meanwhile.
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (version >= kSchemaVersion) return;
  if (version <= 0) {
    connection.execute(kSchemaSql);
  } else {
    for (std::int64_t v = version; v < kSchemaVersion; ++v) connection.execute(kMigrations[v - 1]);
  }
  connection.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  connection.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  transaction.commit();
}

void requireOurs(Connection& connection, OpenMode mode) {
  if (connection.integer("PRAGMA application_id") == kApplicationId) return;
  const bool empty = connection.integer("SELECT count(*) FROM sqlite_master") == 0;
  if (mode == OpenMode::kReadWrite && empty) return;
  // A process that was killed before it made the tables leaves an empty file, which the next run fills.
  throw Error(ExitCode::kDatabase,
              empty ? fmt::format("The profile database {} is empty: no run was recorded in it yet.", connection.path())
                    : fmt::format("{} is a database of another program, not a profile database; name another file "
                                  "with --db.",
                                  connection.path()));
}

std::int64_t nowUnixNs() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string defaultDatabasePath() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  fs::path data = variable("XDG_DATA_HOME");
  // The XDG specification asks to ignore relative paths.
  if (!data.is_absolute()) data = (variable("HOME").empty() ? fs::path("/") : variable("HOME")) / ".local" / "share";
  return (data / "ipex-studio" / "profile.db").string();
}

Database::Database(std::unique_ptr<Connection> connection, bool read_only)
    : connection_(std::move(connection)), read_only_(read_only) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Database Database::open(const std::string& path, OpenMode mode) {
  const fs::path absolute = fs::absolute(path);  // also takes ":memory:" and "file:" for the file names they are
  checkPath(absolute, mode);
  auto connection = std::make_unique<Connection>(absolute.string(), mode == OpenMode::kReadWrite);
  requireOurs(*connection, mode);
  const bool newer = connection->integer("PRAGMA user_version") > kSchemaVersion;
  if (mode == OpenMode::kReadOnly || newer) {
    connection->execute("PRAGMA query_only = ON");
    return Database(std::move(connection), true);
  }
  connection->execute(walIsSafe(sqlite3_libversion_number()) ? "PRAGMA journal_mode = WAL"
                                                             : "PRAGMA journal_mode = TRUNCATE");
  connection->execute("PRAGMA synchronous = FULL");
  if (connection->integer("PRAGMA user_version") < kSchemaVersion) migrate(*connection);
  return Database(std::move(connection), false);
}

Database Database::openDefault() {
  const std::string path = defaultDatabasePath();
  const fs::path directory = fs::path(path).parent_path();
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw Error(ExitCode::kDatabase, fmt::format("The directory {} cannot be made: {}; name another file with --db.",
                                                 directory.string(), error.message()));
  }
  return open(path, OpenMode::kReadWrite);
}

const std::string& Database::path() const { return connection_->path(); }

Connection& Database::writable() const {
  if (read_only_) {
    throw Error(
        ExitCode::kDatabase,
        fmt::format("The profile database {} is open for reading only: it was opened so, or a newer version of this "
                    "program wrote it; name another file with --db.",
                    path()));
  }
  return *connection_;
}

std::int64_t Database::record(const JobRecord& job) {
  checkRecord(job);
  Connection& connection = writable();
  Transaction transaction(connection);
  const std::int64_t id = insertJob(connection, job);
  transaction.commit();
  return id;
}

JobRecord Database::job(std::int64_t id, JobParts parts) const { return selectJob(*connection_, id, parts); }

std::pair<JobRecord, std::size_t> Database::run(std::int64_t run_id) const {
  Statement row(*connection_,
                "SELECT job_id, (SELECT count(*) FROM run other WHERE other.job_id = run.job_id AND other.position < "
                "run.position) FROM run WHERE id = ?1");
  if (!row.bind(run_id).next()) {
    throw Error(ExitCode::kDatabase, fmt::format("The profile database {} has no run {}.", path(), run_id));
  }
  const auto position = static_cast<std::size_t>(row.integer(1));
  return {selectJob(*connection_, row.integer(0), JobParts::kWithoutGraphs, run_id), position};
}

std::vector<JobSummary> Database::jobs(std::int64_t limit, const std::string& sha256) const {
  // A read-only database was not migrated.
  const std::int64_t version = connection_->integer("PRAGMA user_version");
  const bool marks = version >= kMarkSchemaVersion;
  const std::string columns =
      marks ? "coalesce(jm.name, ''), coalesce(jm.pinned, 0), coalesce(mm.name, ''), coalesce(mm.pinned, 0)"
            : "'', 0, '', 0";
  const std::string tables =
      marks ? "LEFT JOIN job_mark jm ON jm.job_id = job.id LEFT JOIN model_mark mm ON mm.sha256 = model.sha256 " : "";
  Statement row(*connection_,
                fmt::format("SELECT job.id, command, path, model.sha256, started_unix_ns, cpu, isa, {} "
                            "FROM job JOIN model ON model.id = model_id JOIN machine ON machine.id = machine_id {}"
                            "WHERE ?1 = '' OR model.sha256 = ?1 "
                            "ORDER BY started_unix_ns DESC, job.id DESC LIMIT ?2",
                            columns, tables)
                    .c_str());
  Statement runs(*connection_,
                 fmt::format("SELECT id, variant, device, precision, threads, instances, samples, p50_ns, {}, "
                             "coalesce(a.reference, '') != '', coalesce(a.pass, 0), a.sqnr_db "
                             "FROM run LEFT JOIN accuracy a ON a.run_id = run.id AND a.position = 0 "
                             "WHERE job_id = ?1 ORDER BY run.position",
                             version >= kNoiseSchemaVersion ? "noise" : "''")
                     .c_str());
  std::vector<JobSummary> result;
  for (row.bind(sha256, limit); row.next();) {
    JobSummary job = {
        row.integer(0), row.text(1),         row.text(2), row.text(3),         row.integer(4), 0, 0, {}, {},
        row.text(7),    row.integer(8) != 0, row.text(9), row.integer(10) != 0};
    for (runs.bind(job.id); runs.next();) {
      RunSummary run;
      run.id = runs.integer(0);
      run.job = job.id;
      run.command = job.command;
      run.model_path = job.model_path;
      run.sha256 = job.sha256;
      run.started_unix_ns = job.started_unix_ns;
      run.cpu = row.text(5);
      run.isa = row.text(6);
      run.variant = runs.text(1);
      run.device = runs.text(2);
      run.precision = runs.text(3);
      run.threads = runs.integer32(4);
      run.instances = runs.integer32(5);
      run.samples = runs.integer(6);
      run.p50_ns = runs.integer(7);
      run.noise.level = noiseLevel(runs.text(8));
      run.judged = runs.integer(9) != 0;
      run.accurate = runs.integer(10) != 0;
      run.sqnr_db = runs.real(11);
      if (run.variant == "baseline" && job.baseline_p50_ns == 0) job.baseline_p50_ns = run.p50_ns;
      if (run.variant == "optimized" && job.optimized_p50_ns == 0) job.optimized_p50_ns = run.p50_ns;
      job.runs.push_back(std::move(run));
    }
    job.training = selectTrainingSummary(*connection_, job.id);
    result.push_back(std::move(job));
  }
  return result;
}

std::vector<RunSummary> Database::runs(std::int64_t limit, const std::string& sha256) const {
  std::vector<RunSummary> result;
  for (JobSummary& job : jobs(limit, sha256)) {
    for (RunSummary& run : job.runs) result.push_back(std::move(run));
  }
  return result;
}

void Database::rememberInputs(const std::string& sha256, const std::vector<InputRecord>& inputs) {
  Connection& connection = writable();
  Transaction transaction(connection);
  Statement(connection, "DELETE FROM model_input WHERE sha256 = ?1").bind(sha256).run();
  Statement insert(connection, "INSERT INTO model_input VALUES (?1, ?2, ?3, ?4, ?5)");
  std::int64_t position = 0;
  for (const InputRecord& i : inputs) insert.bind(sha256, position++, i.name, i.description, i.guessed).run();
  transaction.commit();
}

std::vector<InputRecord> Database::rememberedInputs(const std::string& sha256) const {
  Statement row(*connection_, "SELECT name, description, guessed FROM model_input WHERE sha256 = ?1 ORDER BY position");
  std::vector<InputRecord> inputs;
  for (row.bind(sha256); row.next();) inputs.push_back({row.text(0), row.text(1), row.integer(2) != 0});
  return inputs;
}

void Database::trust(const std::string& sha256) {
  Statement(writable(), "INSERT OR REPLACE INTO trusted_model VALUES (?1, ?2)").bind(sha256, nowUnixNs()).run();
}

bool Database::isTrusted(const std::string& sha256) const {
  return Statement(*connection_, "SELECT 1 FROM trusted_model WHERE sha256 = ?1").bind(sha256).next();
}

std::string Database::check() const { return connection_->text("PRAGMA integrity_check"); }

}  // namespace ipex_studio

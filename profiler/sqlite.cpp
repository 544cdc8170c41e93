// Connection settings, statements and transactions of SQLite.
#include "profiler/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

std::string sentenceFor(sqlite3* handle, const std::string& path) {
  const int code = sqlite3_errcode(handle) & 0xff;
  switch (code) {
    case SQLITE_FULL:
      return fmt::format(
          "The profile database {} cannot grow because the disk is full; free some space and run again. What "
          "it held before is intact.",
          path);
    case SQLITE_IOERR:
      return fmt::format(
          "The profile database {} could not be read or written ({}); look for a quota, a size limit or a "
          "failing disk and run again. What it held before is intact.",
          path, sqlite3_errstr(sqlite3_extended_errcode(handle)));
    case SQLITE_NOTADB:
      return fmt::format("{} is not a profile database; name another file with --db.", path);
    case SQLITE_CORRUPT:
      return fmt::format(
          "The profile database {} is damaged; take what is readable over with `db import` into a new one.", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("The profile database {} is in use by another program; close it and run again.", path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fmt::format(
          "The profile database {} cannot be written; make it and its directory writable or name another "
          "file with --db.",
          path);
    default:
      return fmt::format("The profile database {} failed: {}.", path, sqlite3_errmsg(handle));
  }
}

}  // namespace

Connection::Connection(const std::string& path, bool create) : path_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const std::string sentence =
        fmt::format("The profile database {} cannot be opened: {}; name another file with --db.", path,
                    handle_ ? sqlite3_errmsg(handle_) : "out of memory");
    sqlite3_close(handle_);
    throw Error(ExitCode::kDatabase, sentence);
  }
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  // A profile may come from a stranger: its schema is not trusted, and cannot be edited into a trap.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
}

Connection::~Connection() { sqlite3_close(handle_); }

bool Connection::writable() const { return sqlite3_db_readonly(handle_, "main") == 0; }

void Connection::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::int64_t Connection::integer(const char* sql) {
  Statement statement(*this, sql);
  return statement.next() ? statement.integer(0) : 0;
}

std::string Connection::text(const char* sql) {
  Statement statement(*this, sql);
  return statement.next() ? statement.text(0) : std::string();
}

std::int64_t Connection::lastId() const { return sqlite3_last_insert_rowid(handle_); }

void Connection::fail() { throw Error(ExitCode::kDatabase, sentenceFor(handle_, path_)); }

Statement::Statement(Connection& connection, const char* sql) : connection_(connection) {
  if (sqlite3_prepare_v2(connection.handle_, sql, -1, &handle_, nullptr) != SQLITE_OK) connection.fail();
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::reset() {
  sqlite3_reset(handle_);  // returns the error of the last step again, which was thrown then
  sqlite3_clear_bindings(handle_);
}

void Statement::bindOne(int index, std::int64_t value) {
  if (sqlite3_bind_int64(handle_, index, value) != SQLITE_OK) connection_.fail();
}

void Statement::bindOne(int index, double value) {
  if (sqlite3_bind_double(handle_, index, value) != SQLITE_OK) connection_.fail();
}

void Statement::bindOne(int index, std::string_view value) {
  const char* data = value.data() ? value.data() : "";
  if (sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
    connection_.fail();
}

void Statement::bindOne(int index, std::nullptr_t) {
  if (sqlite3_bind_null(handle_, index) != SQLITE_OK) connection_.fail();
}

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.fail();
  return false;
}

bool Statement::isNull(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::int32_t Statement::integer32(int column) const {
  const std::int64_t value = integer(column);
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ExitCode::kDatabase,
                fmt::format("The profile database {} holds a malformed record: {} is out of range.", connection_.path(),
                            value));
  }
  return static_cast<std::int32_t>(value);
}

double Statement::real(int column) const {
  return isNull(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(handle_, column);
}

std::string_view Statement::view(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (!data) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string Statement::text(int column) const { return std::string(view(column)); }

Transaction::Transaction(Connection& connection) : connection_(connection) { connection_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  // SQLite may have rolled back by itself after a full disk; then nothing is left to do.
  if (!sqlite3_get_autocommit(connection_.handle_)) {
    sqlite3_exec(connection_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() { connection_.execute("COMMIT"); }

}  // namespace ipex_studio

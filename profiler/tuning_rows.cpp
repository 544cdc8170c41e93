// Insertion and selection of tuning records.
#include "profiler/tuning_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/record/records_json.h"
#include "profiler/database.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

std::vector<std::string> layoutsFrom(const std::string& text) {
  std::vector<std::string> layouts;
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_array()) return layouts;
  for (const json& layout : parsed) layouts.push_back(layout.is_string() ? layout.get<std::string>() : "");
  return layouts;
}

}  // namespace

void writeTunings(Connection& connection, const Tunings& entries, bool replace) {
  Statement known(
      connection,
      "SELECT id FROM tuning WHERE spec = ?1 AND device = ?2 AND isa = ?3 AND libraries = ?4 AND threads = ?5");
  Statement remove(connection, "DELETE FROM tuning WHERE id = ?1");
  Statement insert(
      connection, "INSERT INTO tuning (spec, device, isa, libraries, threads, effort) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  Statement candidate(connection, "INSERT INTO tuning_candidate VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  for (const auto& [key, entry] : entries) {
    const bool here = known.bind(entry.spec, key.device, key.isa, key.libraries, key.threads).next();
    const std::int64_t id = here ? known.integer(0) : 0;
    known.bind();  // ends the read
    if (here && !replace) continue;
    if (here) remove.bind(id).run();
    insert.bind(entry.spec, key.device, key.isa, key.libraries, key.threads, entry.effort).run();
    const std::int64_t tuning = connection.lastId();
    std::int64_t position = 0;
    for (const TuningCandidate& c : entry.candidates) {
      const std::string src = dumpJson(json(c.src));
      candidate
          .bind(tuning, position++, c.node, c.kernel, c.kept, src, c.dst, c.implementation, c.elapsed_ns, c.max_error,
                c.reason)
          .run();
    }
  }
}

Tunings readTunings(Connection& connection, const std::string& device, const std::string& isa, std::int64_t limit) {
  Statement row(connection,
                "SELECT id, spec, device, isa, libraries, threads, effort FROM tuning "
                "WHERE (?1 = '' OR device = ?1) AND (?2 = '' OR isa = ?2) ORDER BY id DESC LIMIT ?3");
  Statement candidate(
      connection,
      "SELECT node, kernel, kept, src, dst, implementation, elapsed_ns, max_error, reason FROM tuning_candidate "
      "WHERE tuning_id = ?1 ORDER BY position");
  Tunings result;
  for (row.bind(device, isa, limit); row.next();) {
    TuningEntry entry{row.text(1), row.integer32(6), {}};
    for (candidate.bind(row.integer(0)); candidate.next();) {
      TuningCandidate c;
      c.node = candidate.integer32(0);
      c.kernel = candidate.text(1);
      c.kept = candidate.integer32(2);
      c.src = layoutsFrom(candidate.text(3));
      c.dst = candidate.text(4);
      c.implementation = candidate.text(5);
      c.elapsed_ns = candidate.integer(6);
      c.max_error = candidate.isNull(7) ? 0 : candidate.real(7);
      c.reason = candidate.text(8);
      entry.candidates.push_back(std::move(c));
    }
    result.emplace_back(TuningKey{row.text(2), row.text(3), row.text(4), row.integer32(5)}, std::move(entry));
  }
  std::reverse(result.begin(), result.end());
  return result;
}

void Database::putTunings(const Tunings& entries) {
  Connection& connection = writable();
  Transaction transaction(connection);
  writeTunings(connection, entries, true);
  transaction.commit();
}

Tunings Database::tunings(const std::string& device, const std::string& isa, std::int64_t limit) const {
  if (connection_->integer("PRAGMA user_version") < kTuningSchemaVersion) return {};
  return readTunings(*connection_, device, isa, limit);
}

}  // namespace ipex_studio

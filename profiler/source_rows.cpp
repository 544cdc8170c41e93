// The source of models as rows and back.
#include "core/record/source_record.h"
#include "profiler/database.h"
#include "profiler/job_rows.h"
#include "profiler/sqlite.h"

namespace ipex_studio {
namespace {

std::int64_t modelOf(Connection& connection, std::int64_t job) {
  Statement row(connection, "SELECT model_id FROM job WHERE id = ?1");
  return row.bind(job).next() ? row.integer(0) : 0;
}

}  // namespace

void Database::recordSource(std::int64_t job, const SourceRecord& source) {
  Connection& connection = writable();
  Transaction transaction(connection);
  const std::int64_t model = modelOf(connection, job);
  if (Statement(connection, "SELECT 1 FROM source_file WHERE model_id = ?1").bind(model).next()) return;
  Statement file(connection, "INSERT INTO source_file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  std::int64_t position = 0;
  for (const SourceFile& f : source.files)
    file.bind(model, position++, f.name, f.python, f.first_line, f.text, f.cut).run();
  Statement place(connection, "INSERT INTO source_place VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  position = 0;
  for (const SourcePlace& p : source.places) place.bind(model, position++, p.origin, p.file, p.line, p.call).run();
  transaction.commit();
}

std::shared_ptr<const SourceRecord> Database::source(std::int64_t job) const {
  if (connection_->integer("PRAGMA user_version") < kSourceSchemaVersion) return nullptr;
  const std::int64_t model = modelOf(*connection_, job);
  auto source = std::make_shared<SourceRecord>();
  Statement file(*connection_,
                 "SELECT name, python, first_line, text, cut FROM source_file WHERE model_id = ?1 ORDER BY position");
  for (file.bind(model); file.next();)
    source->files.push_back(
        {file.text(0), file.integer(1) != 0, file.integer32(2), file.text(3), file.integer(4) != 0});
  if (source->files.empty()) return nullptr;
  Statement place(*connection_,
                  "SELECT origin, file, line, call FROM source_place WHERE model_id = ?1 ORDER BY position");
  const auto files = static_cast<std::int32_t>(source->files.size());
  for (place.bind(model); place.next();) {
    const SourcePlace p{place.integer32(0), place.integer32(1), place.integer32(2), place.integer(3) != 0};
    // The file may come from anywhere.
    if (p.file >= 0 && p.file < files) source->places.push_back(p);
  }
  return source;
}

}  // namespace ipex_studio

// Files of this folder that are built into the library as text.
#pragma once

namespace ipex_studio {

extern const char* const kSchemaSql;  // schema.sql: tables of a fresh database
// kMigrations[i] takes a database from version i + 1 to i + 2 (migrations/).
extern const char* const kMigrations[14];
extern const char* const kReportCss;  // report.css

}  // namespace ipex_studio

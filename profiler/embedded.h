// Files of this folder that are built in as text.
#pragma once

namespace ipex_studio {

extern const char* const kSchemaSql;           // schema.sql
extern const char* const kSchemaTuningSql;     // schema_tuning.sql
extern const char* const kSchemaPrecisionSql;  // schema_precision.sql
extern const char* const kSchemaDecisionSql;   // schema_decision.sql
extern const char* const kSchemaSlicesSql;     // schema_slices.sql
extern const char* const kReportCss;           // report.css

}  // namespace ipex_studio

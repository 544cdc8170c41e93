// The text of schema.sql, built in.
#pragma once

namespace ipex_studio {

extern const char* const kSchemaSql;

}  // namespace ipex_studio

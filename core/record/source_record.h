// The text of a model's source, and the lines that each node comes from. Crosses the pipe as other records do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// A file of the source, or a function of it where no more is known.
struct SourceFile {
  std::string name;             // "code/__torch__.py", "net.py"
  bool python = false;          // true: what the author wrote; false: TorchScript as the file holds it
  std::int32_t first_line = 1;  // number of the text's first line
  std::string text;             // empty: the model tells the place alone, as traced ones do of Python
  bool cut = false;             // true: long lines or the end are left out
};

// A line that a node comes from.
struct SourcePlace {
  OriginId origin = 0;
  std::int32_t file = 0;  // index into SourceRecord::files
  std::int32_t line = 0;  // number in the file
  bool call = false;      // true: the call of the function that holds the node, not the node itself
};

struct SourceRecord {
  std::vector<SourceFile> files;    // in the order in which forward reaches them
  std::vector<SourcePlace> places;  // of an origin the outermost call first, the node itself last
};

nlohmann::json toJson(const SourceFile& record);
nlohmann::json toJson(const SourcePlace& record);
nlohmann::json toJson(const SourceRecord& record);
// They are read by recordFromJson (core/record/records_json.h).

}  // namespace ipex_studio

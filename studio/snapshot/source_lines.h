// The lines of a model's source with the nodes that come from each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/source_record.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

struct SourceLine {
  std::int32_t file = 0;          // index into SourceRecord::files
  std::int32_t number = 0;        // number in the file; 0: head of the file, without text
  std::string_view text{};        // points into the record
  std::vector<OriginId> made{};   // nodes that the line itself gives; sorted, unique
  std::vector<OriginId> led{};    // nodes in the functions that it calls; sorted, unique
  std::vector<OriginId> nodes{};  // both, which a click on the line selects
  double time_ns = 0;  // of the operations of the optimized run that contain one of its nodes; 0: none, or not measured
};

// True if the text of Python, or of TorchScript, is known.
bool hasSource(const SourceRecord& source, bool python);

// All lines in one language. `source` must outlive them.
std::vector<SourceLine> sourceLines(const SourceRecord& source, const JobIndex& index, bool python);

// The index of the line to show for a node: the innermost one outside of installed packages, else the innermost one;
// -1: there is none.
int lineToShow(const SourceRecord& source, const std::vector<SourceLine>& lines, OriginId origin);

// The place where the author wrote a node, its callers first: "net.py:21 → net.py:8"; empty if it is not known.
std::string sourcePlace(const SourceRecord& source, OriginId origin);

}  // namespace ipex_studio

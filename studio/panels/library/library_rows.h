// The lines of the library: models, and below the open ones their jobs.
#pragma once

#include <string>
#include <vector>

#include "profiler/library/library.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

struct LibraryRow {
  const LibraryModel* model = nullptr;  // never null
  const JobSummary* job = nullptr;      // null: the line of the model
  bool open = false;                    // of a model's line: its jobs follow
};

enum class LibraryColumn { kName, kPin, kWhen, kPrecision, kTime, kRatio, kAccuracy, kRuns };

struct LibraryQuery {
  std::string words;              // that jobs must have; with some, all models are open
  std::vector<std::string> open;  // SHA-256 of the models that are open
  LibraryColumn sort = LibraryColumn::kWhen;
  bool descending = true;
};

// The rows live as long as `history`. Pinned models, and pinned jobs of a model, come first in any order.
std::vector<LibraryRow> libraryRows(const RunHistory& history, const LibraryQuery& query);

// The job that a line tells the numbers of: the job itself, or the newest one of the model that measured.
const JobSummary& numbersOf(const RunHistory& history, const LibraryRow& row);
// What the line is of.
LibraryItem itemOf(const LibraryRow& row);
// Name of a line as a user knows it: the name that it was given, else the file's or the command's.
std::string titleOf(const LibraryRow& row);
// "runs 5, 6" or "3 jobs".
std::string runsText(const LibraryRow& row);

}  // namespace ipex_studio

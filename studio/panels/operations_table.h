// The operations of a run as a list: filtered, sorted and grouped. Needs no window; sorts 100,000 rows in a tenth of
// a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

enum class OperationColumn {
  kName,
  kKind,
  kKernel,
  kLayout,
  kOutput,
  kPrecision,
  kTime,
  kSpread,
  kShare,
  kBar,
  kSpeed,
  kBaseline,
};

enum class OperationGrouping { kNone, kKind, kModule, kKernel, kPrecision };

// A filter and order of operations.
struct OperationQuery {
  // Words that must all be found, in any column of text. "kind:", "kernel:", "layout:", "output:", "precision:" and
  // "module:" before a word look into that alone; "-" before all that turns it round; "ms>0.1", "ms<1" and "share>2"
  // (in %) compare numbers.
  std::string words;
  std::uint32_t kinds = 0;  // shown kinds, a bit per KindGroup; 0: all
  OperationColumn sort = OperationColumn::kTime;
  bool descending = true;
  OperationGrouping grouping = OperationGrouping::kNone;
};

// A line of the list: a row, or the head of a group.
struct OperationLine {
  std::int32_t row = -1;    // index into RunIndex::rows; -1: the head of a group
  std::int32_t group = -1;  // index into OperationList::groups
};

struct OperationGroup {
  std::string name;
  std::int32_t rows = 0;
  double total_ns = 0;
  double share = 0;                    // share of the whole run's time, 0..1
  KindGroup kind = KindGroup::kOther;  // kind of its slowest row
  bool open = false;
};

struct OperationList {
  std::vector<OperationLine> lines;
  std::vector<OperationGroup> groups;  // groups; empty without grouping
  std::int32_t rows = 0;               // number of rows that match
  double total_ns = 0;                 // time of the rows that match
  double widest_share = 0;             // largest share of a line
};

// Module in a name: "layer1.0" of "layer1.0.conv3 + add"; empty if there is none.
std::string_view moduleOf(std::string_view name);

// Lists the operations of a run that match. `open_groups`: names of groups whose rows are listed.
OperationList listOperations(const RunIndex& run, const OperationQuery& query,
                             const std::vector<std::string>& open_groups);

}  // namespace ipex_studio

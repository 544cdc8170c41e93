// Time and error of each operation in each precision, aligned on the nodes of the model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Names of the precisions that tables show, in the order of Precision.
constexpr std::array<const char*, 4> kShownPrecisions = {"fp32", "bf16", "fp16", "int8"};

struct PrecisionRow {
  std::string name;
  std::string kind;
  KindGroup group = KindGroup::kOther;
  std::vector<OriginId> origins;
  std::string module;               // module of the first node, which an override of this row names
  std::vector<std::string> keys;    // keys of its nodes, as searches write them
  std::string now;                  // precision in the shown run; empty: there are several
  std::array<double, 4> time_ns{};  // time in each of kShownPrecisions; 0: not measured
  double alone_db = 0;              // SQNR with this operation alone in lower precision; NaN: not tried
  double together_db = 0;  // SQNR with this operation and all less sensitive ones in lower precision; NaN: not tried
  double cosine = 0;       // cosine of this operation's result against the reference; NaN: not compared
  double max_abs = 0;      // largest difference of its result; NaN: not compared
  std::string why;         // why it is not lower; empty: it is as low as was asked for
};

// True if the next run, or an operation of it, can be in this precision; with `decisions` also beside the decisions so
// far. A model computes in one kind of two-byte floats, and INT8 leaves to BF16 what it does not do.
bool isOffered(const StudioSnapshot& snapshot, const std::string& precision, bool decisions = false);
// True if tables have a column for kShownPrecisions[place]. FP16, which few machines have, needs to be offered or
// measured.
bool isShown(const StudioSnapshot& snapshot, const std::vector<PrecisionRow>& rows, std::size_t place);

// Rows of all operations in order of execution. Takes milliseconds for thousands of rows.
std::vector<PrecisionRow> precisionRows(const StudioSnapshot& snapshot);

// The overrides that turn those in force into the assignment JobRecord::tradeoffs[place]; nullopt if that is not
// known.
std::optional<Overrides> overridesOf(const StudioSnapshot& snapshot, std::size_t place);

}  // namespace ipex_studio

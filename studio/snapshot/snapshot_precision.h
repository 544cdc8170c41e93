// Time and error of each operation in each precision, aligned on the nodes of the model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// In the order of Precision.
constexpr std::array<const char*, 4> kShownPrecisions = {"fp32", "bf16", "fp16", "int8"};

struct PrecisionRow {
  std::string name;
  std::string kind;
  KindGroup group = KindGroup::kOther;
  std::vector<OriginId> origins;
  std::string module;               // of the first node; what an override of this row names
  std::vector<std::string> keys;    // of its nodes, as searches name them
  std::string now;                  // precision of the shown run; empty: several
  std::array<double, 4> time_ns{};  // per kShownPrecisions; 0: not measured
  double alone_db = 0;              // SQNR with this operation alone in lower precision; NaN: not tried
  double together_db = 0;           // with it and all less sensitive ones; NaN: not tried
  double cosine = 0;                // of this operation's result; NaN: not compared
  double max_abs = 0;               // largest difference of its result; NaN: not compared
  std::string why;                  // why it is not lower; empty: it is as low as was asked for
};

// True if the next run, or an operation of it, can be in this precision; with `decisions` also beside the decisions so
// far. A model computes in one kind of two-byte floats, and INT8 leaves to BF16 what it does not do.
bool isOffered(const StudioSnapshot& snapshot, const std::string& precision, bool decisions = false);
// FP16, which few machines have, takes no room where it is neither offered nor measured.
bool isShown(const StudioSnapshot& snapshot, const std::vector<PrecisionRow>& rows, std::size_t place);

// In order of execution. Works on the snapshot's own indexes; milliseconds for thousands of rows.
std::vector<PrecisionRow> precisionRows(const StudioSnapshot& snapshot);

// The decisions that turn the overrides in force into JobRecord::tradeoffs[place]; nullopt if its assignment is not
// known.
std::optional<Overrides> overridesOf(const StudioSnapshot& snapshot, std::size_t place);

}  // namespace ipex_studio

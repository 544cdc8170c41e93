// See snapshot_precision.h.
#include "studio/snapshot/snapshot_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

namespace ipex_studio {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

int placeOf(const std::string& precision) {
  for (std::size_t p = 0; p < kShownPrecisions.size(); ++p) {
    if (precision == kShownPrecisions[p]) return static_cast<int>(p);
  }
  return -1;
}

template <class Record>
std::unordered_map<OriginId, const Record*> byOrigin(const std::vector<Record>& records) {
  std::unordered_map<OriginId, const Record*> table;
  for (const Record& record : records) {
    for (const OriginId origin : record.origins) table.emplace(origin, &record);
  }
  return table;
}

template <class Record>
const Record* find(const std::unordered_map<OriginId, const Record*>& table, const std::vector<OriginId>& origins) {
  for (const OriginId origin : origins) {
    const auto found = table.find(origin);
    if (found != table.end()) return found->second;
  }
  return nullptr;
}

// Texts of the remarks about these nodes by passes that choose precisions.
std::string whyNotLower(const StudioSnapshot& snapshot, const std::vector<OriginId>& origins) {
  for (const std::int32_t r : remarksOf(*snapshot.index, origins)) {
    const Remark& remark = snapshot.job->remarks[static_cast<std::size_t>(r)];
    const bool chooses = remark.pass == "insert-casts" || remark.pass == "insert-quantize";
    // The user knows the decisions made by hand.
    if (remark.kind != RemarkKind::kMissed || !chooses || remark.reason == "decided-by-hand") continue;
    return displayText(remark.text.empty() ? remark.reason : remark.text, 300);
  }
  return {};
}

std::string moduleOfOrigins(const StudioSnapshot& snapshot, const std::vector<OriginId>& origins) {
  for (const OriginId origin : origins) {
    const auto known = snapshot.index->origin_by_id.find(origin);
    if (known == snapshot.index->origin_by_id.end()) continue;
    const std::string& path = snapshot.job->model.origins[static_cast<std::size_t>(known->second)].module_path;
    if (!path.empty()) return path;
  }
  return {};
}

std::vector<std::string> keysOf(const StudioSnapshot& snapshot, const std::vector<OriginId>& origins) {
  std::vector<std::string> keys;
  for (const OriginId origin : origins) {
    const auto known = snapshot.index->origin_by_id.find(origin);
    if (known == snapshot.index->origin_by_id.end()) continue;
    const Origin& from = snapshot.job->model.origins[static_cast<std::size_t>(known->second)];
    keys.push_back(from.module_path + ":" + from.kind + "#" + std::to_string(from.ordinal));
  }
  return keys;
}

// Times of the newest run in each precision, by origin; the comparison has matched its rows already.
std::unordered_map<OriginId, const RunSetRow*> timesByOrigin(const StudioSnapshot& snapshot) {
  return snapshot.precisions && snapshot.precisions->same_model ? byOrigin(snapshot.precisions->rows)
                                                                : std::unordered_map<OriginId, const RunSetRow*>();
}

void addTimes(const StudioSnapshot& snapshot, const RunSetRow* times, PrecisionRow* row) {
  if (times == nullptr) return;
  const auto& runs = snapshot.precisions->runs;
  for (std::size_t r = 0; r < runs.size() && r < times->p50_ns.size(); ++r) {
    const int place = placeOf(runs[r].precision);
    if (place >= 0) row->time_ns[static_cast<std::size_t>(place)] = static_cast<double>(times->p50_ns[r]);
  }
}

const char* textOf(Precision precision) { return kShownPrecisions[static_cast<std::size_t>(precision)]; }

}  // namespace

bool isOffered(const StudioSnapshot& snapshot, const std::string& precision, bool decisions) {
  const auto& choices = snapshot.choices.precisions;
  const bool possible = std::any_of(choices.begin(), choices.end(), [&](const PrecisionChoice& choice) {
    return choice.available && textOf(choice.precision) == precision;
  });
  if (!possible || !decisions || precision == "fp32") return possible;
  const auto excludes = [&](const std::string& other) {
    return other != precision && other != "fp32" && (other == "fp16" || precision == "fp16");
  };
  const auto& decided = snapshot.overrides.now.precisions;
  return !excludes(textOf(snapshot.choices.precision)) &&
         std::none_of(decided.begin(), decided.end(),
                      [&](const PrecisionOverride& override) { return excludes(override.precision); });
}

bool isShown(const StudioSnapshot& snapshot, const std::vector<PrecisionRow>& rows, std::size_t place) {
  if (std::string(kShownPrecisions[place]) != "fp16" || isOffered(snapshot, "fp16")) return true;
  return std::any_of(rows.begin(), rows.end(), [&](const PrecisionRow& row) { return row.time_ns[place] > 0; });
}

std::vector<PrecisionRow> precisionRows(const StudioSnapshot& snapshot) {
  std::vector<PrecisionRow> rows;
  const RunIndex& run = snapshot.index->optimized;
  if (run.run == nullptr) return rows;
  const auto times = timesByOrigin(snapshot);
  const auto sensitivities = byOrigin(snapshot.job->sensitivities);
  // The accumulated error up to an operation is a record of its own, after the error of the operation alone.
  std::vector<AccuracyRecord> added_up;
  for (const AccuracyRecord& record : run.run->node_accuracy) {
    if (record.reference == "fp32") added_up.push_back(record);
  }
  const auto accuracies = byOrigin(run.run->node_accuracy), together = byOrigin(added_up);
  for (const OperationRow& operation : run.rows) {
    // Operations that only move data have no precision of their own to choose.
    if (operation.group == KindGroup::kReorder || operation.origins.empty()) continue;
    PrecisionRow row;
    row.name = operation.name;
    row.kind = operation.kind;
    row.group = operation.group;
    row.origins = operation.origins;
    row.module = moduleOfOrigins(snapshot, operation.origins);
    row.keys = keysOf(snapshot, operation.origins);
    row.now = operation.precision;
    addTimes(snapshot, find(times, operation.origins), &row);
    const int now = placeOf(operation.precision);
    if (now >= 0 && row.time_ns[static_cast<std::size_t>(now)] == 0)
      row.time_ns[static_cast<std::size_t>(now)] = operation.time.p50_ns;
    row.alone_db = row.together_db = row.cosine = row.max_abs = kUnknown;
    if (const SensitivityRecord* found = find(sensitivities, operation.origins)) {
      row.alone_db = found->sqnr_db;
      row.together_db = found->cumulative_db;
      if (row.time_ns[0] == 0) row.time_ns[0] = static_cast<double>(found->fp32_ns);
      const int tried = placeOf(found->precision);
      if (tried > 0 && row.time_ns[static_cast<std::size_t>(tried)] == 0)
        row.time_ns[static_cast<std::size_t>(tried)] = static_cast<double>(found->low_ns);
      if (found->chosen != found->precision) row.why = displayText(found->reason, 300);
    }
    if (const AccuracyRecord* found = find(accuracies, operation.origins)) {
      row.cosine = found->cosine;
      row.max_abs = found->max_abs;
      if (std::isnan(row.alone_db)) row.alone_db = found->sqnr_db;
    }
    if (const AccuracyRecord* found = find(together, operation.origins);
        found != nullptr && std::isnan(row.together_db))
      row.together_db = found->sqnr_db;
    if (row.why.empty()) row.why = whyNotLower(snapshot, operation.origins);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Overrides> overridesOf(const StudioSnapshot& snapshot, std::size_t place) {
  const auto& tradeoffs = snapshot.job->tradeoffs;
  const auto& sensitivities = snapshot.job->sensitivities;
  if (place >= tradeoffs.size() || tradeoffs[place].assignment.empty()) return std::nullopt;
  const std::string& assignment = tradeoffs[place].assignment;
  Overrides overrides;
  if (assignment == "bf16") {
    overrides.precisions.push_back({"*", "bf16"});
    return overrides;
  }
  if (assignment.size() != sensitivities.size()) return std::nullopt;
  // Operations whose keys differ only after '@' share a key here; where their precisions differ FP32 is safe.
  std::map<std::string, char> chosen;
  for (std::size_t s = 0; s < sensitivities.size(); ++s) {
    const std::string key = sensitivities[s].key.substr(0, sensitivities[s].key.find('@'));
    if (key.empty()) return std::nullopt;
    const auto [at, fresh] = chosen.emplace(key, assignment[s]);
    if (!fresh && at->second != assignment[s]) at->second = '0';
  }
  const auto precisionOf = [](char digit) { return digit == '1' ? "int8" : digit == '2' ? "bf16" : "fp32"; };
  const auto any = [&](char digit) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const auto& each) { return each.second == digit; });
  };
  const char whole = any('1') ? '1' : any('2') ? '2' : '0';
  overrides.precisions.push_back({"*", precisionOf(whole)});
  for (const auto& [key, digit] : chosen) {
    if (whole != '0') overrides.precisions.push_back({key, precisionOf(digit)});
  }
  return overrides;
}

}  // namespace ipex_studio

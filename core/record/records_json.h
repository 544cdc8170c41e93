// Records to JSON and back: the language of the pipe between engine and studio, and of the JSON columns of profile.db.
//
// Writing never fails: text that is not UTF-8 is repaired by dumpJson, numbers that are not finite become null.
// Reading trusts nothing. Wrong types, numbers that do not fit, negative sizes, over-long strings and arrays, and
// ids that point outside their tables throw Error(kFailure, "The engine sent a malformed record: …"). A missing field
// keeps its default and an unknown field is ignored, so that a newer engine can talk to an older studio. All functions
// are pure and thread-safe.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/record/records.h"

namespace ipex_studio {

struct ArgumentRecord;   // core/record/argument_record.h
struct ValueDifference;  // core/record/bisect_record.h
struct BisectRecord;

// Longest JSON text that is read. A 5,000-node snapshot takes about 3 MB.
constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 20;

nlohmann::json toJson(const Origin& record);
nlohmann::json toJson(const Remark& record);
nlohmann::json toJson(const GraphValue& record);
nlohmann::json toJson(const GraphNode& record);
nlohmann::json toJson(const GraphSnapshot& record);
nlohmann::json toJson(const PassRecord& record);
nlohmann::json toJson(const StepRecord& record);
nlohmann::json toJson(const DispatchRecord& record);
nlohmann::json toJson(const StepTime& record);
nlohmann::json toJson(const NoiseRecord& record);
nlohmann::json toJson(const MachineFacts& record);
nlohmann::json toJson(const AccuracyRecord& record);
nlohmann::json toJson(const ValueDifference& record);
nlohmann::json toJson(const BisectRecord& record);
nlohmann::json toJson(const MetricRecord& record);
nlohmann::json toJson(const SensitivityRecord& record);
nlohmann::json toJson(const TradeoffRecord& record);
nlohmann::json toJson(const DecisionRecord& record);
nlohmann::json toJson(const Coverage& record);
nlohmann::json toJson(const RunRecord& record);
nlohmann::json toJson(const InputRecord& record);
nlohmann::json toJson(const ArgumentRecord& record);
nlohmann::json toJson(const ModelRecord& record);
nlohmann::json toJson(const TrainingStep& record);
nlohmann::json toJson(const TrainingEpoch& record);
nlohmann::json toJson(const TrainingRecord& record);
nlohmann::json toJson(const JobRecord& record);

// Reads a record: recordFromJson<GraphSnapshot>(json). Instantiated for every record above.
// Ids inside a snapshot, steps inside a run and lengths of parallel arrays are checked; origin ids are only known to be
// non-negative, so look them up, do not index with them.
template <class Record>
Record recordFromJson(const nlohmann::json& json);

// Compact text; bytes that are not UTF-8 become U+FFFD.
std::string dumpJson(const nlohmann::json& json);

// Parses one JSON text of at most `max_bytes` and 32 levels. Throws like recordFromJson.
nlohmann::json parseRecordText(std::string_view text, std::size_t max_bytes = kMaxRecordBytes);

// The checks that recordFromJson makes across fields, for records that came from elsewhere. Throws like recordFromJson.
void checkRecord(const GraphSnapshot& snapshot);
void checkRecord(const RunRecord& run);
void checkRecord(const JobRecord& job);

}  // namespace ipex_studio

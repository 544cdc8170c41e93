// The reader and the writer of records: both visit the field lists of records_fields.h, then cross-field checks follow.
#include "core/record/records_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_set>

#include "core/base/error.h"
#include "core/record/records_fields.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxStringBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;  // IR text and options
constexpr std::size_t kMaxArrayLength = std::size_t{1} << 22;
constexpr int kMaxDepth = 32;

[[noreturn]] void malformed(const std::string& what) {
  throw Error(ExitCode::kFailure, fmt::format("The engine sent a malformed record: {}.", what));
}

void require(bool condition, const char* what) {
  if (!condition) malformed(what);
}

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value, Range = Range::kAny) {
    object_[name] = write(value);
  }
  json take() { return std::move(object_); }

 private:
  template <class T>
  static json write(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      return toJson(value);
    }
  }
  static json write(RemarkKind kind) { return kind == RemarkKind::kApplied ? "applied" : "missed"; }
  static json write(const std::pair<std::string, std::string>& pair) { return json::array({pair.first, pair.second}); }
  template <class T>
  static json write(const std::shared_ptr<const T>& record) {
    return record ? toJson(*record) : json(nullptr);
  }
  template <class T>
  static json write(const std::vector<T>& values) {
    json array = json::array();
    array.get_ref<json::array_t&>().reserve(values.size());
    for (const T& value : values) array.push_back(write(value));
    return array;
  }

  json object_ = json::object();
};

class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {
    if (!object.is_object()) malformed("an object was expected");
  }

  template <class T>
  void operator()(const char* name, T& value, Range range = Range::kAny) {
    const auto found = object_.find(name);
    if (found != object_.end()) read(name, *found, value, range);
  }

 private:
  template <class T>
  static void read(const char* name, const json& source, T& value, Range range) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      value = integer<T>(name, source, range);
    } else {
      value = recordFromJson<T>(source);
    }
  }

  template <class T>
  static T integer(const char* name, const json& source, Range range) {
    using Limits = std::numeric_limits<T>;
    if (!source.is_number_integer()) malformed(fmt::format("\"{}\" must be a whole number", name));
    if (source.is_number_unsigned()) {
      const auto number = source.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(Limits::max())) malformed(fmt::format("\"{}\" is too large", name));
      return static_cast<T>(number);
    }
    // nlohmann::json stores a number as unsigned only when parsing; JSON built in code may hold it as signed.
    const auto number = source.get<std::int64_t>();
    const std::int64_t smallest = range == Range::kNonNegative       ? 0
                                  : range == Range::kAtLeastMinusOne ? -1
                                  : Limits::is_signed                ? static_cast<std::int64_t>(Limits::min())
                                                                     : 0;
    if (number < smallest) malformed(fmt::format("\"{}\" is {}, the least possible is {}", name, number, smallest));
    if (number > 0 && static_cast<std::uint64_t>(number) > static_cast<std::uint64_t>(Limits::max())) {
      malformed(fmt::format("\"{}\" is too large", name));
    }
    return static_cast<T>(number);
  }

  static void read(const char* name, const json& source, bool& value, Range) {
    if (!source.is_boolean()) malformed(fmt::format("\"{}\" must be true or false", name));
    value = source.get<bool>();
  }

  static void read(const char* name, const json& source, double& value, Range) {
    // JSON has no NaN or infinity; the writer leaves null.
    if (source.is_null()) {
      value = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    if (!source.is_number()) malformed(fmt::format("\"{}\" must be a number", name));
    value = source.get<double>();
  }

  static void read(const char* name, const json& source, std::string& value, Range range) {
    if (!source.is_string()) malformed(fmt::format("\"{}\" must be a string", name));
    const auto& text = source.get_ref<const std::string&>();
    if (text.size() > (range == Range::kText ? kMaxTextBytes : kMaxStringBytes)) {
      malformed(fmt::format("\"{}\" has {} bytes", name, text.size()));
    }
    value = text;
  }

  static void read(const char* name, const json& source, RemarkKind& value, Range) {
    std::string text;
    read(name, source, text, Range::kAny);
    if (text != "applied" && text != "missed") malformed("a remark is neither applied nor missed");
    value = text == "applied" ? RemarkKind::kApplied : RemarkKind::kMissed;
  }

  static void read(const char* name, const json& source, std::pair<std::string, std::string>& value, Range) {
    if (!source.is_array() || source.size() != 2) malformed(fmt::format("\"{}\" must hold pairs", name));
    read(name, source[0], value.first, Range::kAny);
    read(name, source[1], value.second, Range::kAny);
  }

  template <class T>
  static void read(const char*, const json& source, std::shared_ptr<const T>& value, Range) {
    value = source.is_null() ? nullptr : std::make_shared<const T>(recordFromJson<T>(source));
  }

  template <class T>
  static void read(const char* name, const json& source, std::vector<T>& values, Range range) {
    if (!source.is_array()) malformed(fmt::format("\"{}\" must be an array", name));
    if (source.size() > kMaxArrayLength) malformed(fmt::format("\"{}\" has {} elements", name, source.size()));
    values.clear();
    values.reserve(source.size());
    for (const json& element : source) {
      T value{};
      read(name, element, value, range);
      values.push_back(std::move(value));
    }
  }

  const json& object_;
};

template <class Record>
json write(const Record& record) {
  Writer writer;
  describe(writer, const_cast<Record&>(record));  // the writer takes every member by const reference
  return writer.take();
}

void checkIds(const std::vector<std::int32_t>& ids, std::size_t count, const char* what) {
  for (const std::int32_t id : ids) require(id >= 0 && static_cast<std::size_t>(id) < count, what);
}

// Records without cross-field rules.
template <class Record>
void checkRecord(const Record&) {}

void checkRecord(const StepTime& time) {
  require(time.begin_ns.empty() || time.begin_ns.size() == time.elapsed_ns.size(),
          "begin_ns and elapsed_ns of a step differ in length");
  require(time.whole_ns.empty() || time.whole_ns.size() == time.elapsed_ns.size(),
          "whole_ns and elapsed_ns of a step differ in length");
}

void checkRecord(const ValueForm& form) {
  const bool whole = form.colors == 1 || form.colors == 3;
  require(whole && form.picture.size() == std::size_t(form.width) * std::size_t(form.height) * std::size_t(form.colors),
          "a picture has not as many pixels as it says");
}

void checkRecord(const SourceRecord& source) {
  for (const SourcePlace& place : source.places) {
    require(place.file >= 0 && static_cast<std::size_t>(place.file) < source.files.size(),
            "a place names a source file that does not exist");
  }
}

}  // namespace

void checkRecord(const GraphSnapshot& snapshot) {
  const std::size_t values = snapshot.values.size();
  const std::size_t nodes = snapshot.nodes.size();
  for (std::size_t i = 0; i < values; ++i) {
    const GraphValue& value = snapshot.values[i];
    require(value.id >= 0 && static_cast<std::size_t>(value.id) == i, "a value's id is not its index");
    require(value.producer >= -1 && value.producer < static_cast<std::int64_t>(nodes),
            "a value names a producer that does not exist");
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const GraphNode& node = snapshot.nodes[i];
    require(node.id >= 0 && static_cast<std::size_t>(node.id) == i, "a node's id is not its index");
    require(node.parent >= -1 && node.parent < static_cast<std::int64_t>(i), "a node's parent does not come before it");
    checkIds(node.inputs, values, "a node reads a value that does not exist");
    for (const std::int32_t input : node.inputs) {
      // Code that walks the graph relies on it having no cycle.
      require(snapshot.values[input].producer < node.id, "a node reads a value that is made later");
    }
    checkIds(node.outputs, values, "a node writes a value that does not exist");
  }
  checkIds(snapshot.inputs, values, "a graph input is not among the values");
  checkIds(snapshot.outputs, values, "a graph output is not among the values");
}

void checkRecord(const RunRecord& run) {
  require(run.turn.empty() || run.turn.size() == run.latency_ns.size(), "turn and latency_ns differ in length");
  std::unordered_set<std::int32_t> steps;
  for (const StepRecord& step : run.steps) require(steps.insert(step.index).second, "two steps have the same index");
  for (const DispatchRecord& dispatch : run.dispatches) {
    require(steps.count(dispatch.step) != 0, "a dispatch names a step that does not exist");
  }
  for (const StepTime& time : run.step_times) {
    require(time.step < 0 || steps.count(time.step) != 0, "a time names a step that does not exist");
    checkRecord(time);
  }
}

void checkRecord(const JobRecord& job) {
  std::unordered_set<OriginId> origins;
  for (const Origin& origin : job.model.origins) {
    require(origins.insert(origin.id).second, "two origins have the same id");
  }
  std::unordered_set<std::int32_t> passes;
  for (const PassRecord& pass : job.passes) {
    require(passes.insert(pass.index).second, "two passes have the same index");
    if (pass.snapshot) checkRecord(*pass.snapshot);
  }
  if (job.frozen) checkRecord(*job.frozen);
  for (const RunRecord& run : job.runs) checkRecord(run);
}

template <class Record>
Record recordFromJson(const json& source) {
  Record record;
  Reader reader(source);
  describe(reader, record);
  checkRecord(record);
  return record;
}

#define IPEX_RECORD(Type)                                   \
  json toJson(const Type& record) { return write(record); } \
  template Type recordFromJson<Type>(const json& source);
IPEX_RECORD(Origin)
IPEX_RECORD(Remark)
IPEX_RECORD(GraphValue)
IPEX_RECORD(GraphNode)
IPEX_RECORD(GraphSnapshot)
IPEX_RECORD(PassRecord)
IPEX_RECORD(StepRecord)
IPEX_RECORD(DispatchRecord)
IPEX_RECORD(StepTime)
IPEX_RECORD(NoiseRecord)
IPEX_RECORD(MachineFacts)
IPEX_RECORD(AccuracyRecord)
IPEX_RECORD(ValueDifference)
IPEX_RECORD(BisectRecord)
IPEX_RECORD(MetricRecord)
IPEX_RECORD(SensitivityRecord)
IPEX_RECORD(TradeoffRecord)
IPEX_RECORD(DecisionRecord)
IPEX_RECORD(Coverage)
IPEX_RECORD(RunRecord)
IPEX_RECORD(InputRecord)
IPEX_RECORD(ArgumentRecord)
IPEX_RECORD(ModelRecord)
IPEX_RECORD(TrainingStep)
IPEX_RECORD(TrainingEpoch)
IPEX_RECORD(TrainingLayer)
IPEX_RECORD(TrainingMemory)
IPEX_RECORD(TrainingRecord)
IPEX_RECORD(JobRecord)
IPEX_RECORD(DeviceRecord)
IPEX_RECORD(DeviceList)
IPEX_RECORD(SourceFile)
IPEX_RECORD(SourcePlace)
IPEX_RECORD(SourceRecord)
IPEX_RECORD(ValueForm)
IPEX_RECORD(ValueRecord)
IPEX_RECORD(GenerationForm)
IPEX_RECORD(GenerationRecord)
#undef IPEX_RECORD

std::string dumpJson(const json& source) { return source.dump(-1, ' ', false, json::error_handler_t::replace); }

json parseRecordText(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) malformed(fmt::format("it has {} bytes", text.size()));
  const auto bounded = [](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth) malformed("it is nested too deeply");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), bounded);
  } catch (const json::exception&) {
    malformed("it is not JSON");
  }
}

}  // namespace ipex_studio

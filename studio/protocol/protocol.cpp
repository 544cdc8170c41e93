#include "studio/protocol/protocol.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/record/records_json.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxListLength = 1 << 20;
constexpr std::size_t kMaxSamplesPerTurn = 50'000'000;

constexpr std::pair<JobKind, const char*> kJobKinds[] = {
    {JobKind::kBaseline, "baseline"}, {JobKind::kOptimize, "optimize"},   {JobKind::kPasses, "passes"},
    {JobKind::kVerify, "verify"},     {JobKind::kCalibrate, "calibrate"}, {JobKind::kSearch, "search"}};
constexpr std::pair<Precision, const char*> kPrecisions[] = {
    {Precision::kFp32, "fp32"}, {Precision::kBf16, "bf16"}, {Precision::kFp16, "fp16"}, {Precision::kInt8, "int8"}};

constexpr std::pair<Hint, const char*> kHints[] = {
    {Hint::kNone, "none"}, {Hint::kLatency, "latency"}, {Hint::kThroughput, "throughput"}};

constexpr std::pair<TuneMode, const char*> kTuneModes[] = {
    {TuneMode::kOff, "off"}, {TuneMode::kQuick, "quick"}, {TuneMode::kFull, "full"}};

[[noreturn]] void malformed(const std::string& what) {
  throw Error(ExitCode::kFailure, fmt::format("The engine sent a malformed message: {}.", what));
}

const json& member(const json& message, const char* name) {
  if (!message.is_object()) malformed("an object was expected");
  const auto found = message.find(name);
  if (found == message.end()) malformed(fmt::format("\"{}\" is missing", name));
  return *found;
}

template <class Enum, std::size_t kCount>
const char* nameOf(Enum value, const std::pair<Enum, const char*> (&table)[kCount]) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  return "";
}

template <class Enum, std::size_t kCount>
std::optional<Enum> valueOf(const std::string& text, const std::pair<Enum, const char*> (&table)[kCount]) {
  for (const auto& [value, name] : table) {
    if (text == name) return value;
  }
  return std::nullopt;
}

json toJson(const OptimizeOptions& options) {
  return {{"precision", precisionName(options.precision)},
          {"device", options.device},
          {"disabled_passes", options.disabled_passes},
          {"rewrite_limit", options.rewrite_limit},
          {"dump_directory", options.dump_directory},
          {"preserved_methods", options.preserved_methods},
          {"verify_passes", options.verify_passes},
          {"plan_regions", options.plan_regions},
          {"tune", tuneModeName(options.tune)},
          {"allow_winograd", options.allow_winograd},
          {"batch_buckets", options.batch_buckets},
          {"precision_overrides", options.precision_overrides},
          {"tuning_record", options.tuning_record},
          {"quantization_recipe", options.quantization_recipe},
          {"equalize", options.equalize},
          {"min_cosine", options.min_cosine}};
}

OptimizeOptions optimizeOptionsFromJson(const json& source) {
  OptimizeOptions options;
  const auto precision = precisionFromName(messageText(source, "precision"));
  if (!precision) malformed("the precision is unknown");
  options.precision = *precision;
  options.device = messageText(source, "device");
  options.disabled_passes = messageTexts(source, "disabled_passes");
  options.rewrite_limit = messageInteger(source, "rewrite_limit", -1, std::numeric_limits<std::int64_t>::max());
  options.dump_directory = messageText(source, "dump_directory");
  options.preserved_methods = messageTexts(source, "preserved_methods");
  options.verify_passes = messageBool(source, "verify_passes");
  options.plan_regions = messageBool(source, "plan_regions");
  const auto tune = tuneModeFromName(messageText(source, "tune"));
  if (!tune) malformed("the tuning mode is unknown");
  options.tune = *tune;
  options.allow_winograd = messageBool(source, "allow_winograd");
  const json& buckets = member(source, "batch_buckets");
  if (!buckets.is_array() || buckets.size() > kMaxListLength) malformed("\"batch_buckets\" must be a list");
  for (const json& bucket : buckets) {
    if (!bucket.is_number_integer()) malformed("\"batch_buckets\" must hold integers");
    options.batch_buckets.push_back(bucket.get<std::int64_t>());
  }
  options.precision_overrides = messageTexts(source, "precision_overrides");
  options.tuning_record = messageText(source, "tuning_record", kMaxFrameBytes);
  options.quantization_recipe = messageText(source, "quantization_recipe", kMaxFrameBytes);
  options.equalize = messageBool(source, "equalize");
  options.min_cosine = messageNumber(source, "min_cosine");
  return options;
}

json toJson(const MeasureOptions& options) {
  return {{"threads", options.threads},          {"instances", options.instances},   {"warmup_s", options.warmup_s},
          {"duration_s", options.duration_s},    {"iterations", options.iterations}, {"seed", options.seed},
          {"hint", nameOf(options.hint, kHints)}};
}

MeasureOptions measureOptionsFromJson(const json& source) {
  MeasureOptions options;
  options.threads = static_cast<std::int32_t>(messageInteger(source, "threads", 0, 1 << 16));
  options.instances = static_cast<std::int32_t>(messageInteger(source, "instances", 1, 1 << 16));
  const auto hint = valueOf(messageText(source, "hint", 20), kHints);
  if (!hint) malformed("the hint is unknown");
  options.hint = *hint;
  options.warmup_s = messageNumber(source, "warmup_s");
  options.duration_s = messageNumber(source, "duration_s");
  options.iterations = messageInteger(source, "iterations", 0, std::numeric_limits<std::int64_t>::max());
  const json& seed = member(source, "seed");
  if (!seed.is_number_unsigned()) malformed("the seed is no number");
  options.seed = seed.get<std::uint64_t>();
  return options;
}

json toJson(const DataRequest& data) {
  return {{"path", data.path},
          {"preprocess", data.preprocess},
          {"samples", data.samples},
          {"batch", data.batch},
          {"metric", data.metric}};
}

DataRequest dataFromJson(const json& source) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  DataRequest data;
  data.path = messageText(source, "path");
  data.preprocess = messageText(source, "preprocess");
  data.samples = messageInteger(source, "samples", 0, kMax);
  data.batch = messageInteger(source, "batch", 1, 1 << 20);
  data.metric = messageText(source, "metric");
  return data;
}

json toJson(const CalibrationRequest& request) {
  return {{"method", request.method}, {"percentile", request.percentile}, {"samples", request.samples}};
}

CalibrationRequest calibrationFromJson(const json& source) {
  CalibrationRequest request;
  request.method = messageText(source, "method", 40);
  request.percentile = messageNumber(source, "percentile");
  request.samples = messageInteger(source, "samples", 0, std::numeric_limits<std::int64_t>::max());
  return request;
}

json toJson(const SearchRequest& request) {
  return {
      {"max_drop", request.max_drop}, {"min_sqnr_db", request.min_sqnr_db}, {"time_budget_s", request.time_budget_s}};
}

SearchRequest searchFromJson(const json& source) {
  SearchRequest request;
  request.max_drop = messageNumber(source, "max_drop");
  request.min_sqnr_db = messageNumber(source, "min_sqnr_db");
  request.time_budget_s = messageNumber(source, "time_budget_s");
  return request;
}

}  // namespace

const char* precisionName(Precision precision) { return nameOf(precision, kPrecisions); }

std::optional<Precision> precisionFromName(const std::string& name) { return valueOf(name, kPrecisions); }

const char* tuneModeName(TuneMode mode) { return nameOf(mode, kTuneModes); }

std::optional<TuneMode> tuneModeFromName(const std::string& name) { return valueOf(name, kTuneModes); }

json toJson(const EngineJob& job) {
  return {{"type", "job"},
          {"kind", nameOf(job.kind, kJobKinds)},
          {"model_name", job.model_name},
          {"inputs", job.inputs},
          {"guessed", job.guessed},
          {"inputs_path", job.inputs_path},
          {"reset_method", job.reset_method},
          {"optimize", toJson(job.optimize)},
          {"measure", toJson(job.measure)},
          {"optimize_only", job.optimize_only},
          {"wait", job.wait},
          {"tune_budget_s", job.tune_budget_s},
          {"job_folder", job.job_folder},
          {"data", toJson(job.data)},
          {"calibration", toJson(job.calibration)},
          {"search", toJson(job.search)},
          {"state", job.state}};
}

EngineJob engineJobFromJson(const json& source) {
  EngineJob job;
  const auto kind = valueOf(messageText(source, "kind"), kJobKinds);
  if (!kind) malformed("the job is of an unknown kind");
  job.kind = *kind;
  job.model_name = messageText(source, "model_name");
  job.inputs = messageTexts(source, "inputs");
  job.guessed = messageTexts(source, "guessed");
  job.inputs_path = messageText(source, "inputs_path");
  job.reset_method = messageText(source, "reset_method");
  job.optimize = optimizeOptionsFromJson(member(source, "optimize"));
  job.measure = measureOptionsFromJson(member(source, "measure"));
  job.optimize_only = messageBool(source, "optimize_only");
  job.wait = messageBool(source, "wait");
  job.tune_budget_s = messageNumber(source, "tune_budget_s");
  job.job_folder = messageText(source, "job_folder");
  job.data = dataFromJson(member(source, "data"));
  job.calibration = calibrationFromJson(member(source, "calibration"));
  job.search = searchFromJson(member(source, "search"));
  job.state = messageText(source, "state", kMaxFrameBytes);
  return job;
}

json toJson(const Turn& turn) {
  return {{"type", "turn"}, {"index", turn.index}, {"seconds", turn.seconds}, {"iterations", turn.iterations}};
}

Turn turnFromJson(const json& source) {
  Turn turn;
  turn.index = static_cast<std::int32_t>(messageInteger(source, "index", -1, std::numeric_limits<std::int32_t>::max()));
  turn.seconds = messageNumber(source, "seconds");
  turn.iterations = messageInteger(source, "iterations", 0, std::numeric_limits<std::int64_t>::max());
  return turn;
}

json toJson(const RoundResult& result) {
  return {{"type", "samples"},           {"index", result.index},     {"latency_ns", result.latency_ns},
          {"begin_ns", result.begin_ns}, {"wall_ns", result.wall_ns}, {"cpu_ns", result.cpu_ns}};
}

RoundResult turnResultFromJson(const json& source) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  RoundResult result;
  result.index =
      static_cast<std::int32_t>(messageInteger(source, "index", -1, std::numeric_limits<std::int32_t>::max()));
  result.begin_ns = messageInteger(source, "begin_ns", 0, std::numeric_limits<std::int64_t>::max());
  result.wall_ns = messageInteger(source, "wall_ns", 0, kMax);
  result.cpu_ns = messageInteger(source, "cpu_ns", 0, kMax);
  const json& samples = member(source, "latency_ns");
  if (!samples.is_array() || samples.size() > kMaxSamplesPerTurn) malformed("the samples are no array");
  result.latency_ns.reserve(samples.size());
  for (const json& sample : samples) {
    if (!sample.is_number_integer() || sample.get<std::int64_t>() < 0) malformed("a sample is no duration");
    result.latency_ns.push_back(sample.get<std::int64_t>());
  }
  return result;
}

json toJson(const FinishRequest& request) {
  const char* form = !request.export_form                            ? ""
                     : *request.export_form == ExportForm::kCompiled ? "compiled"
                                                                     : "portable";
  return {{"type", "finish"},
          {"profile_iterations", request.profile_iterations},
          {"export_form", form},
          {"prepared", request.prepared},
          {"evaluate", request.evaluate},
          {"stay", request.stay}};
}

FinishRequest finishRequestFromJson(const json& source) {
  FinishRequest request;
  request.profile_iterations = static_cast<std::int32_t>(messageInteger(source, "profile_iterations", 0, 1 << 20));
  const std::string form = messageText(source, "export_form");
  if (form == "compiled") request.export_form = ExportForm::kCompiled;
  if (form == "portable") request.export_form = ExportForm::kPortable;
  if (!form.empty() && !request.export_form) malformed("the export form is unknown");
  request.prepared = messageBool(source, "prepared");
  request.evaluate = messageBool(source, "evaluate");
  request.stay = messageBool(source, "stay");
  return request;
}

bool writeFrame(int fd, const json& message) {
  const std::string text = dumpJson(message);
  if (text.size() > kMaxFrameBytes) return false;
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame;
  frame.reserve(text.size() + 4);
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>((size >> shift) & 0xff));
  frame += text;
  std::size_t sent = 0;
  while (sent < frame.size()) {
    ssize_t count = ::send(fd, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    // A worker may speak through a pipe.
    if (count < 0 && errno == ENOTSOCK) count = ::write(fd, frame.data() + sent, frame.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<json> FrameReader::next() {
  if (buffer_.size() - begin_ < 4) return std::nullopt;
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(buffer_[begin_ + i])} << (8 * i);
  if (size > max_bytes_) malformed(fmt::format("it has {} bytes", size));
  if (buffer_.size() - begin_ - 4 < size) return std::nullopt;
  json message = parseRecordText(std::string_view(buffer_).substr(begin_ + 4, size), max_bytes_);
  begin_ += 4 + std::size_t{size};
  // Bytes already read are dropped once they outweigh the rest, so that each byte is moved at most once on average.
  if (begin_ * 2 >= buffer_.size()) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  if (!message.is_object()) malformed("an object was expected");
  return message;
}

std::optional<json> readFrame(int fd, FrameReader& reader) {
  std::vector<char> chunk(1 << 16);
  while (true) {
    if (auto message = reader.next()) return message;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    reader.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

std::string messageText(const json& message, const char* name, std::size_t max_bytes) {
  const json& value = member(message, name);
  if (!value.is_string()) malformed(fmt::format("\"{}\" must be a string", name));
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > max_bytes) malformed(fmt::format("\"{}\" has {} bytes", name, text.size()));
  return text;
}

std::int64_t messageInteger(const json& message, const char* name, std::int64_t low, std::int64_t high) {
  const json& value = member(message, name);
  if (!value.is_number_integer()) malformed(fmt::format("\"{}\" must be a whole number", name));
  const bool too_large =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (too_large || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    malformed(fmt::format("\"{}\" is out of range", name));
  }
  return value.get<std::int64_t>();
}

double messageNumber(const json& message, const char* name) {
  const json& value = member(message, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    malformed(fmt::format("\"{}\" must be a number", name));
  return value.get<double>();
}

bool messageBool(const json& message, const char* name) {
  const json& value = member(message, name);
  if (!value.is_boolean()) malformed(fmt::format("\"{}\" must be true or false", name));
  return value.get<bool>();
}

std::vector<std::string> messageTexts(const json& message, const char* name) {
  const json& values = member(message, name);
  if (!values.is_array() || values.size() > kMaxListLength) malformed(fmt::format("\"{}\" must be a list", name));
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const json& value : values) {
    if (!value.is_string()) malformed(fmt::format("\"{}\" must hold strings", name));
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

}  // namespace ipex_studio

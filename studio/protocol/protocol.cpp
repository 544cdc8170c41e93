// Messages as JSON, and frames cut from a stream of bytes.
#include "studio/protocol/protocol.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "core/record/request_fields.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxListLength = 1 << 20;
constexpr std::size_t kMaxSamplesPerTurn = 50'000'000;

[[noreturn]] void malformed(const std::string& what) {
  throw Error(ExitCode::kFailure, fmt::format("The engine sent a malformed message: {}.", what));
}

const json& member(const json& message, const char* name) {
  if (!message.is_object()) malformed("an object was expected");
  const auto found = message.find(name);
  if (found == message.end()) malformed(fmt::format("\"{}\" is missing", name));
  return *found;
}

// Writes the rows of request_fields.h into an object.
class RequestWriter {
 public:
  explicit RequestWriter(json object) : object_(std::move(object)) {}
  template <class T, class... Parts>
  void operator()(const JsonField& field, const T& value, const Parts&...) {
    std::string path = field.path;
    std::replace(path.begin(), path.end(), '.', '/');
    json& place = object_[json::json_pointer("/" + path)];
    if constexpr (std::is_enum_v<T>) {
      place = enumName(value);
    } else {
      place = value;
    }
  }
  template <class T, class... Parts>
  void operator()(StudioOnly, const T&, const Parts&...) {}
  json take() { return std::move(object_); }

 private:
  json object_;
};

// Reads the rows out of an object; throws Error(kFailure) at the first that is malformed.
class RequestReader {
 public:
  explicit RequestReader(const json& source) : source_(source) {}
  template <class T, class... Parts>
  void operator()(const JsonField& field, T& value, const Parts&...) {
    const json* object = &source_;
    std::string name = field.path;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
      object = &member(*object, name.substr(0, dot).c_str());
      name.erase(0, dot + 1);
    }
    read(*object, name.c_str(), field, value);
  }
  template <class T, class... Parts>
  void operator()(StudioOnly, const T&, const Parts&...) {}

 private:
  template <class T>
  static void read(const json& source, const char* name, const JsonField& field, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto known = enumFromName<T>(messageText(source, name, field.max_bytes));
      if (!known) malformed(fmt::format("the {} is unknown", EnumNames<T>::kNoun));
      value = *known;
    } else {
      static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>);
      const std::int64_t high = std::min<std::int64_t>(field.high, std::numeric_limits<T>::max());
      value = static_cast<T>(messageInteger(source, name, field.low, high));
    }
  }
  static void read(const json& source, const char* name, const JsonField&, std::uint64_t& value) {
    const json& number = member(source, name);
    if (!number.is_number_unsigned()) malformed(fmt::format("the {} is no number", name));
    value = number.get<std::uint64_t>();
  }
  static void read(const json& source, const char* name, const JsonField&, bool& value) {
    value = messageBool(source, name);
  }
  static void read(const json& source, const char* name, const JsonField&, double& value) {
    value = messageNumber(source, name);
  }
  static void read(const json& source, const char* name, const JsonField& field, std::string& value) {
    value = messageText(source, name, field.max_bytes);
  }
  static void read(const json& source, const char* name, const JsonField&, std::vector<std::string>& value) {
    value = messageTexts(source, name);
  }
  static void read(const json& source, const char* name, const JsonField&, std::vector<std::int64_t>& values) {
    const json& list = member(source, name);
    if (!list.is_array() || list.size() > kMaxListLength) malformed(fmt::format("\"{}\" must be a list", name));
    for (const json& element : list) {
      if (!element.is_number_integer()) malformed(fmt::format("\"{}\" must hold integers", name));
      values.push_back(element.get<std::int64_t>());
    }
  }

  const json& source_;
};

}  // namespace

template <>
struct EnumNames<JobKind> {
  static constexpr std::pair<JobKind, const char*> kTable[] = {{JobKind::kBaseline, "baseline"},
                                                               {JobKind::kOptimize, "optimize"},
                                                               {JobKind::kPasses, "passes"},
                                                               {JobKind::kSample, "sample"},
                                                               {JobKind::kVerify, "verify"},
                                                               {JobKind::kCalibrate, "calibrate"},
                                                               {JobKind::kSearch, "search"},
                                                               {JobKind::kBisect, "bisect"},
                                                               {JobKind::kBisectFiles, "bisect-files"},
                                                               {JobKind::kTrain, "train"},
                                                               {JobKind::kValues, "values"},
                                                               {JobKind::kGenerate, "generate"},
                                                               {JobKind::kBatchSizes, "batch-sizes"},
                                                               {JobKind::kGraph, "graph"}};
};

json toJson(const EngineJob& job) {
  RequestWriter writer({{"type", "job"},
                        {"kind", enumName(job.kind)},
                        {"model_name", job.model_name},
                        {"other_name", job.other_name},
                        {"guessed", job.guessed},
                        {"optimize_only", job.optimize_only},
                        {"wait", job.wait},
                        {"tune_budget_s", job.tune_budget_s},
                        {"job_folder", job.job_folder},
                        {"device_programs", job.device_programs},
                        {"node", job.node},
                        {"state", job.state}});
  describe(writer, const_cast<EngineJob&>(job));  // the writer takes every member by const reference
  return writer.take();
}

EngineJob engineJobFromJson(const json& source) {
  EngineJob job;
  const auto kind = enumFromName<JobKind>(messageText(source, "kind"));
  if (!kind) malformed("the job is of an unknown kind");
  job.kind = *kind;
  job.model_name = messageText(source, "model_name");
  job.other_name = messageText(source, "other_name");
  job.guessed = messageTexts(source, "guessed");
  RequestReader reader(source);
  describe(reader, job);
  job.optimize_only = messageBool(source, "optimize_only");
  job.wait = messageBool(source, "wait");
  job.tune_budget_s = messageNumber(source, "tune_budget_s");
  job.job_folder = messageText(source, "job_folder");
  job.device_programs = messageText(source, "device_programs");
  job.node = messageText(source, "node", 1000);
  job.state = messageText(source, "state", kMaxDocumentBytes);
  return job;
}

json toJson(const Turn& turn) {
  return {{"type", "turn"},          {"index", turn.index},
          {"seconds", turn.seconds}, {"iterations", turn.iterations},
          {"threads", turn.threads}, {"instances", turn.instances}};
}

Turn turnFromJson(const json& source) {
  Turn turn;
  turn.index = static_cast<std::int32_t>(messageInteger(source, "index", -1, std::numeric_limits<std::int32_t>::max()));
  turn.seconds = messageNumber(source, "seconds");
  turn.iterations = messageInteger(source, "iterations", 0, std::numeric_limits<std::int64_t>::max());
  turn.threads = static_cast<std::int32_t>(messageInteger(source, "threads", 0, 1 << 16));
  turn.instances = static_cast<std::int32_t>(messageInteger(source, "instances", 0, 1 << 16));
  return turn;
}

json toJson(const RoundResult& result) {
  return {{"type", "samples"},
          {"index", result.index},
          {"latency_ns", result.latency_ns},
          {"begin_ns", result.begin_ns},
          {"wall_ns", result.wall_ns},
          {"cpu_ns", result.cpu_ns},
          {"memory_bytes", result.memory_bytes},
          {"noise", toJson(result.noise)}};
}

RoundResult turnResultFromJson(const json& source) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  RoundResult result;
  result.index =
      static_cast<std::int32_t>(messageInteger(source, "index", -1, std::numeric_limits<std::int32_t>::max()));
  result.begin_ns = messageInteger(source, "begin_ns", 0, std::numeric_limits<std::int64_t>::max());
  result.wall_ns = messageInteger(source, "wall_ns", 0, kMax);
  result.cpu_ns = messageInteger(source, "cpu_ns", 0, kMax);
  result.memory_bytes = messageInteger(source, "memory_bytes", 0, kMax);
  if (const auto noise = source.find("noise"); noise != source.end())
    result.noise = recordFromJson<NoiseRecord>(*noise);
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
  return {{"type", "finish"},
          {"profile_iterations", request.profile_iterations},
          {"export_form", request.export_form ? enumName(*request.export_form) : ""},
          {"prepared", request.prepared},
          {"evaluate", request.evaluate},
          {"compare_nodes", request.compare_nodes},
          {"find_fault", request.find_fault},
          {"stay", request.stay}};
}

FinishRequest finishRequestFromJson(const json& source) {
  FinishRequest request;
  request.profile_iterations = static_cast<std::int32_t>(messageInteger(source, "profile_iterations", 0, 1 << 20));
  const std::string form = messageText(source, "export_form");
  request.export_form = enumFromName<ExportForm>(form);
  if (!form.empty() && !request.export_form) malformed("the export form is unknown");
  request.prepared = messageBool(source, "prepared");
  request.evaluate = messageBool(source, "evaluate");
  request.compare_nodes = messageBool(source, "compare_nodes");
  request.find_fault = messageBool(source, "find_fault");
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
    // A worker may be connected by a pipe instead of a socket.
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

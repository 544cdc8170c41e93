// See session_worker.h.
#include "studio/job/session_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <limits>
#include <memory>

#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "studio/job/session_request.h"
#include "studio/protocol/text_base64.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kExportPiece = std::size_t{3} << 20;
constexpr std::size_t kMaxFindings = 1000;

bool plainHost(const std::string& text) {
  if (text.empty() || text[0] == '-') return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '@';
  });
}

json findingJson(const Finding& finding) {
  return {{"kind", finding.kind}, {"member", finding.member}, {"text", finding.text}, {"dangerous", finding.dangerous}};
}

// One client's model and engine.
class Worker {
 public:
  Worker(int in, int out) : in_(in), out_(out) {}

  void run() {
    const auto start = readFrame(in_, reader_);
    if (!start) return;
    if (messageText(*start, "type") != "start") unexpectedMessage("start");
    model_ = checkModel(messageText(*start, "model"));
    request_.trust = messageBool(*start, "trust");
    request_.use_landlock = messageBool(*start, "landlock");
    threads_ = static_cast<std::int32_t>(messageInteger(*start, "threads", 1, 1 << 16));
    json findings = json::array();
    for (const Finding& finding : model_.report.findings) findings.push_back(findingJson(finding));
    send({{"type", "opened"},
          {"sha256", model_.report.sha256},
          {"file_bytes", model_.report.file_bytes},
          {"findings", std::move(findings)},
          {"machine", toJson(model_.machine)},
          {"precisions", abilitiesToJson(ownAbilities())}});
    const auto described = readFrame(in_, reader_);
    if (!described) return;
    startEngine(engineJobFromJson(*described));
    relay();
  }

  void send(const json& message) { writeFrame(out_, message); }

 private:
  void startEngine(EngineJob job) {
    const bool two_files = job.kind == JobKind::kVerify || job.kind == JobKind::kBisectFiles;
    if (!job.optimize.dump_directory.empty() || two_files) unexpectedMessage("job");
    request_.inputs_path = job.inputs_path = absolutePath(job.inputs_path);
    request_.generate.prompt_path = job.generate.prompt_path = absolutePath(job.generate.prompt_path);
    request_.data = job.data;
    request_.measure = job.measure;
    request_.data.path = job.data.path = absolutePath(job.data.path);
    const std::string metric = absolutePath(job.data.metric);
    if (!metric.empty() && ::access(metric.c_str(), R_OK) == 0) request_.data.metric = job.data.metric = metric;
    job.job_folder = folder_.path();
    export_.reset(::open((folder_.path() + "/export.pt").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    EngineStart start = engineStart(model_, request_, folder_, threads_);
    start.export_fd = export_.get();
    engine_ = std::make_unique<EngineProcess>(start, cancellation_);
    engine_->send(toJson(job));
  }

  // Passes frames on in both directions until either end is done.
  void relay() {
    bool open = true;
    while (open) {
      std::array<pollfd, 2> entries{{{in_, POLLIN, 0}, {engine_->fd(), POLLIN, 0}}};
      if (::poll(entries.data(), entries.size(), 1000) < 0 && errno != EINTR) return;
      while (const auto message = engine_->poll()) fromEngine(*message);
      if (entries[0].revents != 0) open = fromClient();
    }
  }

  bool fromClient() {
    std::array<char, 1 << 16> chunk;
    const ssize_t count = ::read(in_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    reader_.append(chunk.data(), static_cast<std::size_t>(count));
    while (const auto message = reader_.next()) {
      exporting_ = messageText(*message, "type") == "finish" && finishRequestFromJson(*message).export_form.has_value();
      engine_->send(*message);
    }
    return true;
  }

  void fromEngine(const json& message) {
    if (exporting_ && messageText(message, "type") == "result") sendExport();
    send(message);
  }

  void sendExport() {
    exporting_ = false;
    std::string piece(kExportPiece, '\0');
    std::int64_t offset = 0;
    for (ssize_t count = 0; (count = ::pread(export_.get(), piece.data(), piece.size(), offset)) != 0;) {
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw Error(ExitCode::kFailure, "The worker cannot read the export again.");
      send({{"type", "export"},
            {"offset", offset},
            {"data", toBase64(std::string_view(piece).substr(0, static_cast<std::size_t>(count)))}});
      offset += count;
    }
  }

  const int in_;
  const int out_;
  FrameReader reader_;
  CheckedModel model_;
  JobRequest request_;
  std::int32_t threads_ = 1;
  const JobFolder folder_;
  UniqueFd export_;
  Cancellation cancellation_;
  std::unique_ptr<EngineProcess> engine_;
  bool exporting_ = false;
};

// Reads the worker's report on the file; it is as untrusted as all messages.
CheckedModel readOpened(const json& message, const RemoteModel& remote) {
  CheckedModel model;
  model.path = remote.path;
  model.worker = remote.worker;
  model.report.path = remote.path;
  model.report.sha256 = messageText(message, "sha256", 64);
  const bool hex = model.report.sha256.size() == 64 &&
                   model.report.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) unexpectedMessage("opened");
  model.report.file_bytes = messageInteger(message, "file_bytes", 0, std::numeric_limits<std::int64_t>::max());
  const auto findings = message.find("findings");
  const auto machine = message.find("machine");
  if (findings == message.end() || !findings->is_array() || machine == message.end()) unexpectedMessage("opened");
  for (const json& finding : *findings) {
    if (model.report.findings.size() == kMaxFindings) break;
    model.report.findings.push_back({messageText(finding, "kind", 100), messageText(finding, "member", 4000),
                                     messageText(finding, "text", 4000), messageBool(finding, "dangerous")});
  }
  model.machine = recordFromJson<MachineFacts>(*machine);
  const auto precisions = message.find("precisions");
  if (precisions == message.end()) unexpectedMessage("opened");
  model.abilities = abilitiesFromJson(*precisions);
  return model;
}

}  // namespace

std::optional<RemoteModel> parseRemote(const std::string& text) {
  constexpr char kScheme[] = "ssh://";
  if (text.compare(0, sizeof kScheme - 1, kScheme) != 0) return std::nullopt;
  const std::size_t begin = sizeof kScheme - 1;
  const std::size_t slash = text.find('/', begin);
  std::string host = text.substr(begin, slash == std::string::npos ? slash : slash - begin);
  std::string port;
  if (const std::size_t colon = host.rfind(':'); colon != std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
    if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos) host.clear();
  }
  if (!plainHost(host) || slash == std::string::npos || slash + 1 == text.size()) {
    throw Error(ExitCode::kUsage, fmt::format("{} names no file on another machine; write ssh://host/path/model.pt.",
                                              text.substr(0, 200)));
  }
  RemoteModel remote;
  remote.worker = {"ssh", "-T", "-o", "BatchMode=yes"};  // no prompts, which nobody could answer
  if (!port.empty()) remote.worker.insert(remote.worker.end(), {"-p", port});
  remote.worker.insert(remote.worker.end(), {"--", host, "ipex-studio"});
  // ssh://host/~/model.pt is relative to the home folder there, where the worker starts.
  remote.path = text.compare(slash, 3, "/~/") == 0 ? text.substr(slash + 3) : text.substr(slash);
  return remote;
}

std::vector<std::string> splitCommand(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) throw Error(ExitCode::kUsage, fmt::format("--worker {}: a quote stays open.", text));
  if (in_word) words.push_back(std::move(word));
  return words;
}

CheckedModel openModel(const std::string& path, const std::vector<std::string>& worker,
                       const Cancellation& cancellation) {
  std::optional<RemoteModel> remote = parseRemote(path);
  if (!remote && worker.empty()) return checkModel(path);
  if (!remote) remote = RemoteModel{worker, path};
  EngineStart start;
  start.worker = remote->worker;
  start.model_path = remote->path;
  EngineProcess process(start, cancellation);
  const json message = process.receive();
  if (messageText(message, "type") != "opened") unexpectedMessage(messageText(message, "type"));
  return readOpened(message, *remote);
}

int serveWorker(int in, int out) {
  Worker worker(in, out);
  try {
    worker.run();
    return static_cast<int>(ExitCode::kOk);
  } catch (const Error& error) {
    worker.send({{"type", "error"}, {"code", static_cast<int>(error.code())}, {"text", error.what()}});
    return static_cast<int>(error.code());
  }
}

}  // namespace ipex_studio

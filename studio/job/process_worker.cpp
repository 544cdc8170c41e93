// The worker: another ipex-studio, on this machine or behind ssh, that starts the engine and passes frames on over its
// standard input and output.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "studio/job/process.h"
#include "studio/protocol/text_base64.h"

extern char** environ;

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxExportText = std::size_t{16} << 20;

class SpawnActions {
 public:
  SpawnActions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

// Starts the worker. Its words go to exec unchanged, so no shell of this machine interprets them.
void EngineProcess::startWorker(const EngineStart& start, int their_channel, int their_stderr) {
  is_worker_ = true;
  export_fd_ = start.export_fd;
  std::vector<std::string> words = start.worker;
  words.emplace_back("worker");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  SpawnActions spawn;
  ::posix_spawn_file_actions_adddup2(spawn.actions(), their_channel, 0);
  ::posix_spawn_file_actions_adddup2(spawn.actions(), their_channel, 1);
  ::posix_spawn_file_actions_adddup2(spawn.actions(), their_stderr, 2);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(spawn.attributes(), &none);
  ::posix_spawnattr_setpgroup(spawn.attributes(), 0);
  ::posix_spawnattr_setflags(spawn.attributes(), POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int code = ::posix_spawnp(&pid_, arguments[0], spawn.actions(), spawn.attributes(), arguments.data(), environ);
  if (code != 0) {
    pid_ = -1;
    throw Error(ExitCode::kFailure,
                fmt::format("The worker {} cannot be started ({}).", words[0], std::strerror(code)));
  }
  ::fcntl(stderr_.get(), F_SETFL, O_NONBLOCK);
  model_sha256_ = start.model_sha256;
  writeFrame(channel_.get(), {{"type", "start"},
                              {"model", start.model_path},
                              {"threads", start.threads},
                              {"trust", !start.sandbox},
                              {"landlock", start.use_landlock}});
}

bool EngineProcess::isForUs(const nlohmann::json& message, const std::string& type) const {
  if (type == "export") {
    keepExport(message);
    return true;
  }
  if (type != "opened") return false;
  if (!model_sha256_.empty() && messageText(message, "sha256", 64) != model_sha256_)
    throw Error(ExitCode::kBadModel, "The model on the worker's machine is another one now; open it again.");
  return spoken_;
}

void EngineProcess::keepExport(const nlohmann::json& message) const {
  const auto bytes = fromBase64(messageText(message, "data", kMaxExportText));
  const std::int64_t offset = messageInteger(message, "offset", 0, std::int64_t{1} << 44);
  const bool too_large =
      limits_.file_bytes > 0 && bytes && offset + static_cast<std::int64_t>(bytes->size()) > limits_.file_bytes;
  if (export_fd_ < 0 || !bytes || too_large)
    throw Error(ExitCode::kFailure, "The worker sent a malformed message: an export that was not asked for.");
  if (offset == 0 && ::ftruncate(export_fd_, 0) != 0)
    throw Error(ExitCode::kFailure, fmt::format("Cannot write the export ({}).", std::strerror(errno)));
  for (std::size_t at = 0; at < bytes->size();) {
    const ssize_t count =
        ::pwrite(export_fd_, bytes->data() + at, bytes->size() - at, offset + static_cast<std::int64_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw Error(ExitCode::kFailure, fmt::format("Cannot write the export ({}).", std::strerror(errno)));
    at += static_cast<std::size_t>(count);
  }
}

}  // namespace ipex_studio

// The engine process: started by fork and exec with limits and a sandbox, spoken to in frames, its death explained.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Exit code of an interrupted program.
constexpr ExitCode kInterrupted = static_cast<ExitCode>(130);

// Owns one descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Asks whatever waits for an engine to stop. request() may be called from any thread and from signal handlers.
class Cancellation {
 public:
  Cancellation();
  void request() noexcept;
  bool requested() const;
  void clear();
  int fd() const { return event_.get(); }  // readable once requested

 private:
  UniqueFd event_;
};

struct EngineLimits {
  std::int64_t memory_bytes = 0;  // address space; 0: none
  std::int64_t file_bytes = 0;    // largest file written; 0: none
  std::int64_t cpu_s = 0;         // CPU time; 0: none
  double silence_s = 600;         // longest time without a message before the engine counts as hung
};

struct EngineStart {
  std::string program;              // engineProgram(); unused with a worker
  std::vector<std::string> worker;  // words of a command that starts a worker, which starts the engine; empty: none
  std::string model_path;           // for the worker: the model on its machine
  std::string model_sha256;         // that it must still have; empty: any
  int model_fd = -1;                // -1: none
  int other_fd = -1;
  int export_fd = -1;                 // open for writing; the engine needs to open nothing for an export
  std::vector<std::string> readable;  // further files and folders
  std::string job_folder;             // working folder, and the only one that may be written to
  std::int32_t threads = 1;
  bool sandbox = true;
  bool use_landlock = true;  // false: as on a kernel without it
  EngineLimits limits;
};

// "ipex-studio-engine" beside this program or in ../libexec/ipex-studio. Throws Error(kFailure) when it is missing.
std::string engineProgram();

// One running engine. Used by one thread, the one that made it: the engine dies with that thread. The destructor kills.
class EngineProcess {
 public:
  // Throws Error when it cannot be started.
  EngineProcess(const EngineStart& start, const Cancellation& cancellation);
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // A failed send is reported by the next receive().
  void send(const nlohmann::json& message);
  // The next message. Throws Error: kInterrupted when cancelled, what the engine said in an "error" message, 128 + n
  // when signal n ended it, kFailure when it is silent for too long or sends what is no message.
  nlohmann::json receive();
  // A message if there is one already. Throws like receive().
  std::optional<nlohmann::json> poll();
  // Readable when poll() has something to do.
  int fd() const { return channel_.get(); }

  void kill() noexcept;
  pid_t pid() const { return pid_; }
  // Last words on stderr: warnings of libraries, failed checks. At most a few KB.
  const std::string& diagnostics() const { return diagnostics_; }

 private:
  void startWorker(const EngineStart& start, int their_channel, int their_stderr);
  // True for messages between a worker and this class.
  bool isForUs(const nlohmann::json& message, const std::string& type) const;
  void keepExport(const nlohmann::json& message) const;
  std::optional<nlohmann::json> take();
  void wait(std::chrono::steady_clock::time_point deadline);
  void readDiagnostics();
  [[noreturn]] void explainDeath();

  EngineLimits limits_;
  const Cancellation& cancellation_;
  pid_t pid_ = -1;
  UniqueFd channel_;
  UniqueFd stderr_;
  FrameReader reader_;
  std::string diagnostics_;
  std::string stage_;
  bool ended_ = false;  // the channel is at its end
  bool is_worker_ = false;
  bool spoken_ = false;  // anything was sent
  std::string model_sha256_;
  int export_fd_ = -1;  // that a worker's export is written to
};

}  // namespace ipex_studio

// The engine process: starts it with limits and a sandbox, exchanges frames with it, and explains its death.
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
  std::int64_t memory_bytes = 0;  // address space; 0: no limit
  std::int64_t data_bytes = 0;    // memory of its own that it may write to; 0: no limit
  std::int64_t file_bytes = 0;    // largest file written; 0: no limit
  std::int64_t cpu_s = 0;         // seconds of CPU time; 0: no limit
  double silence_s = 600;         // seconds without a message after which the engine counts as hung
};

struct EngineStart {
  std::string program;  // path of the engine, see engineProgram(); unused with a worker
  // Words of a command that starts a worker, which starts the engine; empty: no worker.
  std::vector<std::string> worker;
  std::string model_path;    // the model on the worker's machine; unused without a worker
  std::string model_sha256;  // hash that the file must still have; empty: any
  int model_fd = -1;         // the model's file; -1: none
  int other_fd = -1;
  int export_fd = -1;                     // a file open for writing, so that an export opens none; -1: none
  std::vector<std::string> readable;      // files and folders that it may read beside its libraries and the model
  std::string job_folder;                 // its working folder, the only one it may write to
  std::string device_programs;            // folder of compiled programs for a device; empty: it uses none
  std::vector<std::string> device_files;  // by which the device's driver reaches it
  std::int32_t threads = 1;
  bool sandbox = true;
  bool use_landlock = true;  // false: as on a kernel without Landlock
  EngineLimits limits;
};

// Path of "ipex-studio-engine" beside this program or in ../libexec/ipex-studio. Throws Error(kFailure) if it is
// missing.
std::string engineProgram();
// Path of the operator library that compiled exports need, beside this program or installed with it; empty: not found.
std::string operatorsLibrary();

// One running engine. Not thread-safe; must live on the thread that made it, since the engine dies with that thread.
// The destructor kills the engine.
class EngineProcess {
 public:
  // Throws Error when it cannot be started.
  EngineProcess(const EngineStart& start, const Cancellation& cancellation);
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // A failed send is reported by the next receive().
  void send(const nlohmann::json& message);
  // Waits for the next message. Throws Error: kInterrupted when cancelled, the code of an "error" message, 128 + n
  // when signal n ended the engine, kFailure after too long a silence or for bytes that are no message.
  nlohmann::json receive();
  // The next message if it has arrived already, else nullopt. Throws like receive().
  std::optional<nlohmann::json> poll();
  // Readable when poll() has something to do.
  int fd() const { return channel_.get(); }

  void kill() noexcept;
  pid_t pid() const { return pid_; }
  // Last words on stderr: warnings of libraries, failed checks. At most a few KB.
  const std::string& diagnostics() const { return diagnostics_; }

 private:
  void startWorker(const EngineStart& start, int their_channel, int their_stderr);
  // True for messages between the worker and this class alone; they are dealt with here.
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
  bool ended_ = false;  // the other end of the channel is closed
  bool is_worker_ = false;
  bool spoken_ = false;  // true once a message was sent to the engine
  std::string model_sha256_;
  int export_fd_ = -1;  // receives a worker's export; -1: none
};

}  // namespace ipex_studio

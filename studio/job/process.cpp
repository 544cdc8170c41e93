// Starts the engine between fork and exec, exchanges frames with it, and reads how it ended.
#include "studio/job/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/string_util.h"
#include "studio/job/driver_files.h"
#include "studio/job/own_program.h"
#include "studio/protocol/sandbox.h"

extern char** environ;

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxDiagnostics = 4096;
// Descriptors are first moved to this number and above, so that none is overwritten before it is passed on.
constexpr int kScratchFd = 100;
constexpr int kPassedFds = 4;

// Everything the child needs. Made before fork, since nothing may be allocated between fork and exec.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  int null_fd;
  int stderr_fd;
  int passed[kPassedFds];  // descriptors 3, 4, 5 and 6 of the child; -1: none
  int status_fd;           // receives the errno of a failure; closed by exec
  const Sandbox* sandbox;  // null for a trusted model
  EngineLimits limits;
};

void limit(int resource, std::int64_t value) {
  if (value <= 0) return;
  const rlimit bounds{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bounds);
}

bool passDescriptors(const ChildPlan& plan) {
  std::array<int, kPassedFds> scratch{};
  for (int i = 0; i < kPassedFds; ++i) {
    scratch[i] = plan.passed[i] < 0 ? -1 : ::fcntl(plan.passed[i], F_DUPFD_CLOEXEC, kScratchFd);
    if (plan.passed[i] >= 0 && scratch[i] < 0) return false;
  }
  if (::dup2(plan.null_fd, 0) < 0 || ::dup2(plan.stderr_fd, 1) < 0 || ::dup2(plan.stderr_fd, 2) < 0) return false;
  ::syscall(SYS_close_range, 3, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
  for (int i = 0; i < kPassedFds; ++i) {
    if (scratch[i] >= 0 && ::dup2(scratch[i], 3 + i) < 0) return false;
  }
  return true;
}

[[noreturn]] void runChild(const ChildPlan& original) {
  ChildPlan plan = original;
  // The status pipe must survive the shuffle of descriptors.
  plan.status_fd = ::fcntl(original.status_fd, F_DUPFD_CLOEXEC, kScratchFd);
  const auto fail = [&plan](int code) {
    [[maybe_unused]] const ssize_t written = ::write(plan.status_fd, &code, sizeof code);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  if (::chdir(plan.folder) != 0) fail(errno);
  if (!passDescriptors(plan)) fail(errno);
  limit(RLIMIT_AS, plan.limits.memory_bytes);
  limit(RLIMIT_DATA, plan.limits.data_bytes);
  limit(RLIMIT_FSIZE, plan.limits.file_bytes);
  limit(RLIMIT_CPU, plan.limits.cpu_s);
  limit(RLIMIT_NOFILE, 1024);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(errno);
  if (plan.sandbox != nullptr) {
    if (const int code = plan.sandbox->enter(); code != 0) fail(code);
  }
  ::execve(plan.program, plan.arguments, plan.environment);
  fail(errno);
  ::abort();
}

// Adds the variables that drivers read. PoCL writes what it loads to a folder, and links nothing anew for the size of a
// launch.
void addDriverVariables(const EngineStart& start, std::vector<std::string>* environment) {
  for (const char* name : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"}) {
    if (const char* value = std::getenv(name)) environment->push_back(fmt::format("{}={}", name, value));
  }
  environment->push_back("POCL_CACHE_DIR=" + start.job_folder);
  environment->push_back(fmt::format("CUDA_CACHE_PATH={}/{}", start.job_folder, kDriverCache));
  environment->emplace_back("POCL_WORK_GROUP_SPECIALIZATION=0");
  // PoCL takes as many threads as the CPU would; its versions before 5 know the first name, later ones the second.
  environment->push_back(fmt::format("POCL_MAX_PTHREAD_COUNT={}", start.threads));
  environment->push_back(fmt::format("POCL_CPU_MAX_CU_COUNT={}", start.threads));
}

// Environment of the engine. Its threads must not spin long between rounds: engines take turns on the same cores.
std::vector<std::string> engineEnvironment(const EngineStart& start) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    for (const char* kept : {"PATH=", "LANG=", "LC_", "LD_LIBRARY_PATH=", "ATEN_CPU_CAPABILITY=", "ONEDNN_", "DNNL_"}) {
      if (startsWith(*entry, kept)) environment.emplace_back(*entry);
    }
  }
  environment.push_back(fmt::format("OMP_NUM_THREADS={}", start.threads));
  environment.emplace_back("GOMP_SPINCOUNT=300000");
  environment.push_back("TMPDIR=" + start.job_folder);
  environment.push_back("HOME=" + start.job_folder);
  if (!start.device_programs.empty()) addDriverVariables(start, &environment);
  return environment;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

SandboxPolicy policyFor(const EngineStart& start) {
  SandboxPolicy policy;
  policy.readable = {"/usr",
                     "/lib",
                     "/lib64",
                     "/lib32",
                     "/etc/ld.so.cache",
                     "/etc/ld.so.preload",
                     "/etc/localtime",
                     "/proc",
                     "/sys/devices/system",
                     "/sys/fs/cgroup",
                     "/dev/urandom",
                     "/dev/zero"};
  const std::filesystem::path folder = std::filesystem::path(start.program).parent_path();
  policy.readable.push_back(folder.string());
  // An engine installed in PREFIX/libexec/ipex-studio finds the project's libraries in PREFIX/lib.
  const std::filesystem::path prefix = folder.parent_path();
  if (prefix.filename() == "libexec") policy.readable.push_back((prefix.parent_path() / "lib").string());
  if (const char* paths = std::getenv("LD_LIBRARY_PATH"); paths != nullptr) {
    std::string rest = paths;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':');
      policy.readable.push_back(rest.substr(0, colon));
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
  }
  policy.readable.insert(policy.readable.end(), start.readable.begin(), start.readable.end());
  if (!start.device_programs.empty()) {
    policy.readable.insert(policy.readable.end(), {start.device_programs, "/etc/OpenCL"});
    for (const char* name : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"}) {
      if (const char* value = std::getenv(name)) policy.readable.emplace_back(value);
    }
  }
  // Drivers find a GPU's place among the machine's devices.
  if (!start.device_files.empty()) policy.readable.emplace_back("/sys");
  policy.devices = start.device_files;
  for (const int fd : {start.model_fd, start.other_fd}) {
    if (fd >= 0) policy.readable_fds.push_back(fd);
  }
  policy.executable = start.program;
  policy.writable_folder = start.job_folder;
  policy.use_landlock = start.use_landlock;
  return policy;
}

[[noreturn]] void cannotStart(const std::string& program, int code) {
  throw Error(ExitCode::kFailure, fmt::format("The engine {} cannot be started ({}).", program, std::strerror(code)));
}

}  // namespace

int UniqueFd::release() { return std::exchange(fd_, -1); }

void UniqueFd::reset(int fd) {
  if (fd_ >= 0 && fd_ != fd) ::close(fd_);
  fd_ = fd;
}

Cancellation::Cancellation() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  IPEX_CHECK(event_, "eventfd is not available");
}

void Cancellation::request() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

bool Cancellation::requested() const {
  pollfd entry{event_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

void Cancellation::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(event_.get(), &count, sizeof count);
}

std::string engineProgram() { return ownProgram("ipex-studio-engine"); }

std::string operatorsLibrary() {
  std::error_code code;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
  const auto prefix = folder.parent_path();
  for (const auto& candidate : {folder, prefix / "lib", prefix / "lib" / "x86_64-linux-gnu", prefix / "lib64"}) {
    const auto library = candidate / "libipex_studio_ops.so";
    if (::access(library.c_str(), R_OK) == 0) return library.string();
  }
  return "";
}

EngineProcess::EngineProcess(const EngineStart& start, const Cancellation& cancellation)
    : limits_(start.limits), cancellation_(cancellation) {
  int sockets[2], errors[2], status[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) cannotStart(start.program, errno);
  channel_.reset(sockets[0]);
  const UniqueFd theirs(sockets[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) cannotStart(start.program, errno);
  stderr_.reset(errors[0]);
  const UniqueFd their_stderr(errors[1]);
  if (::pipe2(status, O_CLOEXEC) != 0) cannotStart(start.program, errno);
  const UniqueFd status_read(status[0]);
  UniqueFd status_write(status[1]);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  // An engine that stopped reading must not block the studio.
  const timeval patience{30, 0};
  ::setsockopt(channel_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!start.worker.empty()) {
    startWorker(start, theirs.get(), their_stderr.get());
    return;
  }

  std::optional<Sandbox> sandbox;
  if (start.sandbox) sandbox.emplace(policyFor(start));
  const std::vector<std::string> arguments{start.program};
  const std::vector<std::string> environment = engineEnvironment(start);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  const ChildPlan plan{start.program.c_str(),
                       argument_pointers.data(),
                       environment_pointers.data(),
                       start.job_folder.c_str(),
                       null.get(),
                       their_stderr.get(),
                       {theirs.get(), start.model_fd, start.other_fd, start.export_fd},
                       status_write.get(),
                       sandbox ? &*sandbox : nullptr,
                       start.limits};
  pid_ = ::fork();
  if (pid_ < 0) cannotStart(start.program, errno);
  if (pid_ == 0) runChild(plan);
  ::setpgid(pid_, pid_);
  status_write.reset();
  int code = 0;
  if (::read(status_read.get(), &code, sizeof code) == static_cast<ssize_t>(sizeof code)) {
    kill();
    cannotStart(start.program, code);
  }
  ::fcntl(stderr_.get(), F_SETFL, O_NONBLOCK);
}

EngineProcess::~EngineProcess() { kill(); }

void EngineProcess::kill() noexcept {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void EngineProcess::send(const nlohmann::json& message) {
  spoken_ = true;
  writeFrame(channel_.get(), message);
}

void EngineProcess::readDiagnostics() {
  std::array<char, 4096> chunk{};
  ssize_t count = 0;
  while ((count = ::read(stderr_.get(), chunk.data(), chunk.size())) > 0) {
    diagnostics_.append(chunk.data(), static_cast<std::size_t>(count));
    if (diagnostics_.size() > kMaxDiagnostics) diagnostics_.erase(0, diagnostics_.size() - kMaxDiagnostics);
  }
  if (count == 0) stderr_.reset();
}

std::optional<nlohmann::json> EngineProcess::take() {
  auto message = reader_.next();
  if (!message) return std::nullopt;
  const std::string type = messageText(*message, "type");
  if (type == "progress") stage_ = messageText(*message, "stage", 200);
  if (type == "error") {
    // A worker also reports the exit code of its engine.
    const auto code = static_cast<ExitCode>(messageInteger(*message, "code", 1, is_worker_ ? 255 : 6));
    throw Error(code, messageText(*message, "text", 4000));
  }
  if (is_worker_ && isForUs(*message, type)) return take();
  return message;
}

void EngineProcess::wait(Clock::time_point deadline) {
  std::array<pollfd, 3> entries{
      {{channel_.get(), POLLIN, 0}, {cancellation_.fd(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  const int ready = ::poll(entries.data(), entries.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  if (ready < 0 && errno == EINTR) return;
  if (entries[1].revents != 0) throw Error(kInterrupted, "Cancelled.");
  if (entries[2].revents != 0) readDiagnostics();
  if (entries[0].revents != 0) {
    std::array<char, 1 << 16> chunk;
    const ssize_t count = ::recv(channel_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) reader_.append(chunk.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
  }
  if (ready == 0 && Clock::now() >= deadline) {
    kill();
    throw Error(
        ExitCode::kFailure,
        fmt::format("The engine gave no sign of life for {:.0f} s{}; it was ended. A longer --timeout lets it go on.",
                    limits_.silence_s, stage_.empty() ? "" : " (stage: " + stage_ + ")"));
  }
}

nlohmann::json EngineProcess::receive() {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits_.silence_s));
  while (true) {
    if (auto message = take()) return std::move(*message);
    if (ended_) explainDeath();
    wait(deadline);
  }
}

std::optional<nlohmann::json> EngineProcess::poll() {
  if (auto message = take()) return message;
  if (ended_) explainDeath();
  pollfd entry{channel_.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) <= 0) return std::nullopt;
  wait(Clock::now() + std::chrono::seconds(1));
  if (auto message = take()) return message;
  if (ended_) explainDeath();
  return std::nullopt;
}

void EngineProcess::explainDeath() {
  int status = 0;
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  pid_t gone = 0;
  while (pid_ > 0 && (gone = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < deadline) ::usleep(2000);
  if (gone == pid_) pid_ = -1;
  if (stderr_) readDiagnostics();
  kill();
  const std::string where = stage_.empty() ? "" : fmt::format(" (stage: {})", stage_);
  if (is_worker_) {
    const std::string said = diagnostics_.substr(0, diagnostics_.find_last_not_of("\r\n.") + 1);
    throw Error(ExitCode::kFailure, said.empty() ? fmt::format("The worker ended without a result{}.", where)
                                                 : fmt::format("The worker ended without a result{}. It said: {}.",
                                                               where, said.substr(said.rfind('\n') + 1)));
  }
  if (gone <= 0 || !WIFSIGNALED(status)) {
    throw Error(ExitCode::kFailure, fmt::format("The engine ended without a result{}.", where));
  }
  const int number = WTERMSIG(status);
  const auto code = static_cast<ExitCode>(128 + number);
  switch (number) {
    case SIGKILL:
      throw Error(code,
                  fmt::format("The engine was killed{}, most likely because the machine ran out of memory.", where));
    case SIGXCPU:
      throw Error(code, fmt::format("The engine used more CPU time than it may{}.", where));
    case SIGXFSZ:
      throw Error(code, fmt::format("The engine wrote a larger file than it may{}.", where));
    case SIGABRT:
      if (const auto at = diagnostics_.rfind("CHECK("); at != std::string::npos) {
        throw Error(code, fmt::format("The engine found a mistake of its own{}: {}", where,
                                      diagnostics_.substr(at, diagnostics_.find('\n', at) - at)));
      }
      [[fallthrough]];
    default:
      throw Error(code, fmt::format("The engine crashed{} with signal {} ({}); the model may be damaged.", where,
                                    number, ::strsignal(number)));
  }
}

}  // namespace ipex_studio

// Starts ipex-studio-device, reads its answer, and explains its death.
#include "studio/job/devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/string_util.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "studio/job/own_program.h"
#include "studio/job/process.h"
#include "studio/protocol/protocol.h"

extern char** environ;

namespace ipex_studio {
namespace {

constexpr std::uint32_t kMaxAnswerBytes = 4 << 20;
constexpr double kCompilerPatience_s = 600;

// One run of ipex-studio-device. The destructor kills it and whatever drivers started.
class DriverProcess {
 public:
  // `arguments` of studio/device/main.cpp.
  DriverProcess(double patience_s, std::vector<std::string> arguments)
      : arguments_(std::move(arguments)),
        patience_s_(patience_s),
        deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(patience_s))) {
    start();
  }
  ~DriverProcess() { kill(); }
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  // The message of this type. Throws Error(kUnsupported) with what the driver did instead.
  nlohmann::json answer(const char* type) {
    try {
      while (auto message = next()) {
        const std::string said = messageText(*message, "type");
        if (said == type) return std::move(*message);
        asked_ = messageText(*message, "text", 4000);
        if (said == "error") throw Error(ExitCode::kUnsupported, asked_);
      }
    } catch (const Error& error) {
      if (error.code() == ExitCode::kUnsupported) throw;
      fault("An OpenCL driver broke the answer of the program that asked it");
    }
    fault(late_ ? fmt::format("An OpenCL driver did not answer within {:g} s", patience_s_) : death());
  }

 private:
  void start() {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) cannotStart(errno);
    channel_.reset(sockets[0]);
    const UniqueFd theirs(sockets[1]);
    const std::string program = ownProgram("ipex-studio-device");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    // Nobody reads the output of drivers.
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    for (const int fd : {1, 2}) ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, theirs.get(), kEngineChannelFd);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    std::vector<char*> arguments{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments_) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const int code = ::posix_spawn(&pid_, program.c_str(), &files, &attributes, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (code != 0) cannotStart(code);
  }

  [[noreturn]] static void cannotStart(int code) {
    throw Error(ExitCode::kFailure,
                fmt::format("The program ipex-studio-device cannot be started ({}).", std::strerror(code)));
  }

  int millisecondsLeft() const {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
  }

  // The next message; nothing at the end of the stream, or when time is up.
  std::optional<nlohmann::json> next() {
    while (true) {
      if (auto message = reader_.next()) return message;
      pollfd waiting{channel_.get(), POLLIN, 0};
      const int ready = ::poll(&waiting, 1, millisecondsLeft());
      if (ready < 0 && errno == EINTR) continue;
      late_ = ready == 0;
      std::array<char, 4096> chunk{};
      const ssize_t count = ready > 0 ? ::read(channel_.get(), chunk.data(), chunk.size()) : 0;
      if (count <= 0) return std::nullopt;
      reader_.append(chunk.data(), static_cast<std::size_t>(count));
    }
  }

  // Half a sentence. The program may outlive its end of the socket, which a driver may close.
  std::string death() {
    int status = 0;
    pid_t gone = 0;
    while ((gone = ::waitpid(pid_, &status, WNOHANG)) == 0 && millisecondsLeft() > 0) ::usleep(2000);
    if (gone == pid_) pid_ = -1;
    if (gone <= 0 || !WIFSIGNALED(status)) return "An OpenCL driver ended the program that asked it";
    return fmt::format("An OpenCL driver crashed with signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }

  [[noreturn]] void fault(const std::string& what) const {
    throw Error(ExitCode::kUnsupported,
                fmt::format("{}{}; mend or remove it (drivers are listed in /etc/OpenCL/vendors).", what,
                            asked_.empty() ? "" : " while " + asked_));
  }

  void kill() noexcept {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::vector<std::string> arguments_;
  double patience_s_;
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  UniqueFd channel_;
  FrameReader reader_{kMaxAnswerBytes};
  std::string asked_;
  bool late_ = false;
};

DeviceRecord hostRecord() {
  const MachineFacts facts = machineFacts();
  DeviceRecord host;
  host.asked_by = {"cpu"};
  host.name = facts.cpu;
  host.type = "cpu";
  host.memory_bytes = facts.memory_bytes;
  host.units = facts.cores;
  host.features = facts.features;
  return host;
}

// True for "xpu" and "xpu:3", where the kind is "xpu".
bool isDeviceOf(const std::string& kind, const std::string& device) {
  if (!startsWith(device, kind)) return false;
  const std::string rest = device.substr(kind.size());
  if (rest.empty()) return true;
  const std::string number = rest.substr(1);
  return rest[0] == ':' && !number.empty() && number.size() <= 3 && (number == "0" || number[0] != '0') &&
         number.find_first_not_of("0123456789") == std::string::npos;
}

// "Found were opencl:0 (PoCL's CPU) and …", or why nothing was.
std::string foundText(const DeviceList& list) {
  std::vector<std::string> found;
  for (const DeviceRecord& device : list.devices) {
    if (device.asked_by.front() != "cpu")
      found.push_back(fmt::format("{} ({})", fmt::join(device.asked_by, ", "), device.name));
  }
  if (found.empty()) return list.faults.empty() ? "no OpenCL device was found" : "";
  return fmt::format("found: {}", fmt::join(found, ", "));
}

// Without its full stop, and with a small letter where it begins with an article: to stand behind a colon.
std::string clause(std::string sentence) {
  if (endsWith(sentence, ".")) sentence.pop_back();
  for (const char* article : {"An ", "No ", "The "}) {
    if (startsWith(sentence, article)) sentence[0] = static_cast<char>(sentence[0] - 'A' + 'a');
  }
  return sentence;
}

[[noreturn]] void notThere(const std::string& device, const DeviceList& list) {
  const bool xpu = startsWith(device, "xpu");
  const std::string found = foundText(list);
  std::string why = found;
  for (const std::string& fault : list.faults) why += (why.empty() ? "" : "; ") + clause(fault);
  const char* const what = xpu ? "no such Intel GPU with an OpenCL driver is here" : "no such OpenCL device is here";
  const char* const mend = list.faults.empty() ? "; install its driver by samples/setup.sh --xpu" : "";
  throw Error(ExitCode::kUnsupported,
              fmt::format("--device {}: {} ({}){}, or use --device cpu.", device, what, why, mend));
}

}  // namespace

DeviceList listDevices(double patience_s) {
  DriverProcess program(patience_s, {});
  DeviceList list;
  try {
    list = recordFromJson<DeviceList>(program.answer("devices").value("list", nlohmann::json()));
  } catch (const Error& error) {
    list.faults.emplace_back(error.what());
  }
  list.devices.insert(list.devices.begin(), hostRecord());
  return list;
}

void checkDevice(const std::string& device) {
  if (device == "cpu") return;
  if (!isDeviceOf("xpu", device) && !isDeviceOf("opencl", device))
    throw Error(ExitCode::kUsage, fmt::format("--device {} is unknown; use cpu, xpu[:N] or opencl[:N].", device));
  const DeviceList list = listDevices();
  const auto found = std::find_if(list.devices.begin(), list.devices.end(), [&](const DeviceRecord& record) {
    return std::find(record.asked_by.begin(), record.asked_by.end(), numberedDevice(device)) != record.asked_by.end();
  });
  if (found == list.devices.end()) notThere(device, list);
  if (!found->lacks.empty())
    throw Error(ExitCode::kUnsupported, fmt::format("--device {}: {} cannot run plans: {}; use --device cpu.", device,
                                                    found->name, found->lacks));
}

DeviceRecord prepareDevice(const std::string& device, const std::string& folder) {
  DriverProcess program(kCompilerPatience_s, {"compile", device, folder});
  return recordFromJson<DeviceRecord>(program.answer("compiled").value("device", nlohmann::json()));
}

}  // namespace ipex_studio

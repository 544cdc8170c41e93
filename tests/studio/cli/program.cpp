// Starting the program, capturing its output, and making the model files.
#include "tests/studio/cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;

std::string freshFolder() {
  std::string folder = fs::temp_directory_path().string() + "/ipex-cli-test-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  return folder;
}

// Makes the files once, before the first test.
class ModelFiles : public ::testing::Environment {
 public:
  void SetUp() override {
    folder_ = freshFolder();
    const std::string command =
        "/usr/bin/python3 '" IPEX_SOURCE_DIR "/tests/studio/cli/make_models.py' '" + folder_ + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

ModelFiles* const model_files = static_cast<ModelFiles*>(::testing::AddGlobalTestEnvironment(new ModelFiles));

pid_t spawn(const std::vector<std::string>& command, const std::string& folder) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setenv("XDG_DATA_HOME", (folder + "/data").c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (folder + "/cache").c_str(), 1);
  ::setenv("TMPDIR", (folder + "/tmp").c_str(), 1);
  // No test of the program opens a window.
  ::unsetenv("DISPLAY");
  ::unsetenv("WAYLAND_DISPLAY");
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = ::open((folder + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Sandpit::Sandpit() : folder_(freshFolder()) { fs::create_directory(folder_ + "/tmp"); }

Sandpit::~Sandpit() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Sandpit::path(const std::string& name) const { return name.empty() ? folder_ : folder_ + "/" + name; }

Outcome Sandpit::runProgram(const std::vector<std::string>& command) const {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  rusage usage{};
  outcome.code = waitFor(spawn(command, folder_), &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.out = readText(path("out"));
  outcome.err = readText(path("err"));
  return outcome;
}

Outcome Sandpit::run(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{programPath()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return runProgram(command);
}

pid_t Sandpit::start(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{programPath()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return spawn(command, folder_);
}

int waitFor(pid_t pid, rusage* usage) {
  int status = 0;
  while (::wait4(pid, &status, 0, usage) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string readText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string programPath() { return IPEX_BINARY_DIR "/ipex-studio"; }

std::string modelFile(const std::string& name) { return model_files->folder() + "/" + name; }

std::string victimFile() { return modelFile("victim.txt"); }

void expectOneSentence(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  const std::size_t line = outcome.err.rfind("ipex-studio: ");
  ASSERT_NE(line, std::string::npos) << outcome.err;
  const std::string sentence = outcome.err.substr(line);
  EXPECT_THAT(sentence, ::testing::HasSubstr(part));
  EXPECT_THAT(sentence, ::testing::EndsWith(".\n"));
  EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << sentence;
}

}  // namespace ipex_studio::testing

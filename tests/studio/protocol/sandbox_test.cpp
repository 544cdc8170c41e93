// The abilities of a sandboxed process and their limits, and the two known attacks by model files.
#include "studio/protocol/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;

// Runs `action` in a child inside the sandbox and returns its result.
bool allowed(const SandboxPolicy& policy, const std::function<bool()>& action) {
  const Sandbox sandbox(policy);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (sandbox.enter() != 0) ::_exit(77);
    ::_exit(action() ? 0 : 1);
  }
  const int code = waitFor(pid);
  EXPECT_NE(code, 77) << "the sandbox could not be entered";
  EXPECT_LT(code, 128) << "the child crashed";
  return code == 0;
}

bool canOpen(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

void* nothing(void*) { return nullptr; }

class SandboxTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && landlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* name : {"job", "private"}) fs::create_directory(pit_.path(name));
    std::ofstream(pit_.path("private/secret")) << "secret";
    policy_.readable = {"/usr", "/lib", "/lib64", "/proc"};
    policy_.writable_folder = pit_.path("job");
    policy_.use_landlock = GetParam();
  }
  Sandpit pit_;
  SandboxPolicy policy_;
};

TEST_P(SandboxTest, WritesNothingOutsideTheJobFolder) {
  const std::string secret = pit_.path("private/secret");
  EXPECT_FALSE(allowed(policy_, [&] { return canOpen(secret, O_WRONLY); }));
  EXPECT_FALSE(allowed(policy_, [&] { return canOpen(secret, O_RDWR); }));
  EXPECT_FALSE(allowed(policy_, [&] { return canOpen(secret, O_RDONLY | O_TRUNC); }));
  EXPECT_FALSE(allowed(policy_, [&] { return canOpen(pit_.path("private/new"), O_WRONLY | O_CREAT); }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::unlink(secret.c_str()) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::truncate(secret.c_str(), 0) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::rename(secret.c_str(), pit_.path("job/x").c_str()) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::link(secret.c_str(), pit_.path("job/x").c_str()) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::symlink("/etc", pit_.path("private/x").c_str()) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::mkdir(pit_.path("private/x").c_str(), 0700) == 0; }));
  EXPECT_FALSE(allowed(policy_, [&] { return ::chmod(secret.c_str(), 0777) == 0; }));
  EXPECT_EQ(readText(secret), "secret");
}

TEST_P(SandboxTest, StartsNoProgramsAndReachesNoNetwork) {
  EXPECT_FALSE(allowed(policy_, [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }));
  EXPECT_FALSE(allowed(policy_, [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }));
  EXPECT_FALSE(allowed(policy_, [] { return ::fork() >= 0; }));
  EXPECT_FALSE(allowed(policy_, [] {
    denyExec();
    ::execl("/bin/true", "true", nullptr);
    return false;
  }));
}

TEST_P(SandboxTest, LeavesWhatAnEngineNeeds) {
  EXPECT_TRUE(allowed(policy_, [] { return canOpen("/usr/bin/env", O_RDONLY); }));
  EXPECT_TRUE(allowed(policy_, [] { return canOpen("/proc/self/maps", O_RDONLY); }));
  EXPECT_TRUE(allowed(policy_, [] {
    pthread_t thread;
    return ::pthread_create(&thread, nullptr, nothing, nullptr) == 0 && ::pthread_join(thread, nullptr) == 0;
  }));
}

INSTANTIATE_TEST_SUITE_P(Sandbox, SandboxTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Landlock" : "WithoutLandlock"; });

TEST(Landlock, LeavesTheNodesOfADeviceOpenAlone) {
  if (landlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  SandboxPolicy policy;
  EXPECT_FALSE(allowed(policy, [] { return canOpen("/dev/full", O_RDWR); }));
  policy.devices = {"/dev/full", "/dev/not-there"};
  EXPECT_TRUE(allowed(policy, [] { return canOpen("/dev/full", O_RDWR); }));
  EXPECT_FALSE(allowed(policy, [] { return canOpen("/dev/zero", O_RDWR); }));
  EXPECT_FALSE(allowed(policy, [] { return canOpen("/dev/new", O_RDWR | O_CREAT); }));
}

TEST(Landlock, AllowsTheJobFolderAndHidesTheRest) {
  if (landlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const Sandpit pit;
  fs::create_directory(pit.path("job"));
  std::ofstream(pit.path("secret")) << "secret";
  std::ofstream(pit.path("model")) << "model";
  const int model = ::open(pit.path("model").c_str(), O_RDONLY | O_CLOEXEC);
  SandboxPolicy policy;
  policy.readable = {"/proc"};
  policy.readable_fds = {model};
  policy.writable_folder = pit.path("job");
  EXPECT_TRUE(allowed(policy, [&] { return canOpen(pit.path("job/out"), O_WRONLY | O_CREAT | O_TRUNC); }));
  EXPECT_TRUE(allowed(policy, [&] { return canOpen("/proc/self/fd/" + std::to_string(model), O_RDONLY); }));
  EXPECT_FALSE(allowed(policy, [&] { return canOpen("/proc/self/fd/" + std::to_string(model), O_RDWR); }));
  EXPECT_FALSE(allowed(policy, [&] { return canOpen(pit.path("secret"), O_RDONLY); }));
  EXPECT_FALSE(allowed(policy, [] { return canOpen("/etc/passwd", O_RDONLY); }));
  EXPECT_FALSE(allowed(policy, [] {
    ::execl("/bin/true", "true", nullptr);
    return false;
  }));
  ::close(model);
}

class Attack : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(victimFile()); }
  Outcome run(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"run", modelFile(model), "--input", "x:2x4",    "--iterations",
                                       "10",  "--threads",      "1",       "--warmup", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return pit_.run(arguments);
  }
  Sandpit pit_;
};

TEST_F(Attack, CodeThatRunsWhileLoadingWritesNothing) {
  fs::remove(victimFile());
  run("write_on_load.pt");
  EXPECT_FALSE(fs::exists(victimFile()));
  // The attack is real: it works without the sandbox.
  run("write_on_load.pt", {"--trust"});
  EXPECT_TRUE(fs::exists(victimFile()));
}

TEST_F(Attack, MappingAFileForWritingChangesNothing) {
  std::ofstream(victimFile()) << "SECRET!!";
  const Outcome outcome = run("from_file.pt");
  EXPECT_EQ(readText(victimFile()), "SECRET!!");
  EXPECT_NE(outcome.code, 0);
  run("from_file.pt", {"--trust"});
  EXPECT_EQ(readText(victimFile()), "AAAAAA!!");
}

TEST_F(Attack, BothAreNamedByInspect) {
  EXPECT_NE(pit_.run({"inspect", modelFile("write_on_load.pt")}).out.find("__setstate__"), std::string::npos);
  EXPECT_NE(pit_.run({"inspect", modelFile("from_file.pt")}).out.find("from_file"), std::string::npos);
}

}  // namespace
}  // namespace ipex_studio::testing

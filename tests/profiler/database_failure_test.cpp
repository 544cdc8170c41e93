// profile.db under failures: foreign and hostile files, full disks, several processes at once, kill -9.
#include "profiler/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "profiler/sqlite.h"
#include "tests/profiler/refusal.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using testing::smallJob;
using testing::syntheticJob;
using testing::TempDirectory;

std::string refusedFile(const std::function<void()>& action) { return testing::refusal(ExitCode::kDatabase, action); }

class DatabaseFailureTest : public ::testing::Test {
 protected:
  Database create() { return Database::open(path(), OpenMode::kReadWrite); }
  std::string path() const { return directory_.file("profile.db"); }
  std::int64_t query(const char* sql) { return Connection(path(), false).integer(sql); }

  TempDirectory directory_;
};

// ---- Damaged and foreign files.

TEST_F(DatabaseFailureTest, RefusesWhatIsNoProfileDatabase) {
  std::ofstream(directory_.file("text.db")) << std::string(5000, 'x');
  EXPECT_THAT(refusedFile([&] { Database::open(directory_.file("text.db"), OpenMode::kReadWrite); }),
              HasSubstr("text.db is not a profile database; name another file with --db."));
  Connection(directory_.file("foreign.db"), true).execute("CREATE TABLE t (a)");
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    EXPECT_THAT(refusedFile([&] { Database::open(directory_.file("foreign.db"), mode); }),
                HasSubstr("foreign.db is a database of another program, not a profile database; name another"));
  }
  EXPECT_EQ(Connection(directory_.file("foreign.db"), false).integer("SELECT count(*) FROM sqlite_master"), 1);
  EXPECT_THAT(refusedFile([&] { Database::open(directory_.path(), OpenMode::kReadOnly); }),
              HasSubstr("is a directory, not a profile database."));
  EXPECT_THAT(refusedFile([&] { Database::open(directory_.file("none.db"), OpenMode::kReadOnly); }),
              HasSubstr("none.db does not exist."));
  EXPECT_THAT(refusedFile([&] { Database::open(directory_.file("no/such/profile.db"), OpenMode::kReadWrite); }),
              HasSubstr("no/such for the profile database does not exist; create it or name another file with --db."));
}

TEST_F(DatabaseFailureTest, AnEmptyFileIsFilledByTheNextRun) {
  std::ofstream(path()).close();
  EXPECT_THAT(refusedFile([&] { Database::open(path(), OpenMode::kReadOnly); }),
              HasSubstr("profile.db is empty: no run was recorded in it yet."));
  create().record(smallJob());
  EXPECT_EQ(query("SELECT count(*) FROM job"), 1);
}

TEST_F(DatabaseFailureTest, DirectoryThatCannotBeWrittenIsSaidAtOnce) {
  // /proc refuses writes by everybody, root included.
  EXPECT_THAT(refusedFile([] { Database::open("/proc/self/profile.db", OpenMode::kReadWrite); }),
              HasSubstr("/proc/self/profile.db cannot be "));
}

TEST_F(DatabaseFailureTest, NewerSchemaOpensForReadingOnly) {
  create().record(smallJob());
  Connection(path(), false).execute("PRAGMA user_version = 99");
  Database database = create();
  EXPECT_TRUE(database.readOnly());
  EXPECT_EQ(database.jobs().size(), 1u);
  EXPECT_THAT(refusedFile([&] { database.record(smallJob()); }), HasSubstr("is open for reading only"));
  EXPECT_EQ(query("PRAGMA user_version"), 99);
}

TEST_F(DatabaseFailureTest, HostileRowsAreRefusedWhenRead) {
  create().record(smallJob());
  const char* const changes[] = {"UPDATE run SET latency_ns = '[1,2,x]'",
                                 "UPDATE run SET latency_ns = '[1'",
                                 "UPDATE run SET latency_ns = '[1 2]'",
                                 "UPDATE run SET threads = 5000000000",
                                 "UPDATE step_time SET step = 4000 WHERE step = 1",
                                 "UPDATE snapshot SET graph = '{\"inputs\":[7]}'",
                                 "UPDATE machine SET features = '[[[[[[[[['",
                                 "UPDATE origin SET id = 99999999999 WHERE id = 1"};
  for (const char* change : changes) {
    std::filesystem::copy_file(path(), directory_.file("hostile.db"),
                               std::filesystem::copy_options::overwrite_existing);
    Connection(directory_.file("hostile.db"), false).execute(change);
    const Database database = Database::open(directory_.file("hostile.db"), OpenMode::kReadOnly);
    EXPECT_THAT(refusedFile([&] { database.job(1); }), HasSubstr("holds a malformed record: ")) << change;
  }
}

// Other programs write such rows, too: the comparisons with other engines, a sqlite3 shell.
TEST_F(DatabaseFailureTest, ListsMayHoldSpaces) {
  create().record(smallJob());
  Connection(path(), false).execute("UPDATE run SET latency_ns = '[ 30, 10 , 20 ]', turn = '[0, 0, 1]', samples = 3");
  EXPECT_EQ(create().job(1).runs[0].latency_ns, (std::vector<std::int64_t>{30, 10, 20}));
}

TEST_F(DatabaseFailureTest, DamagedPagesAreNamed) {
  create().record(smallJob());
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    const std::string garbage(static_cast<std::size_t>(std::filesystem::file_size(path())) - 4096, '\x5a');
    file.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
  }
  EXPECT_THAT(refusedFile([&] { create().job(1); }), HasSubstr("is damaged"));
}

// ---- Several processes at once, and failures on the way.

TEST_F(DatabaseFailureTest, ReadersSeeWholeJobsWhileOneWrites) {
  create();
  std::thread writer([&] {
    Database database = create();
    for (std::uint64_t seed = 1; seed <= 10; ++seed) database.record(smallJob(seed));
  });
  const Database reader = Database::open(path(), OpenMode::kReadOnly);
  std::size_t seen = 0;
  while (seen < 10) {
    const auto jobs = reader.jobs();
    ASSERT_GE(jobs.size(), seen);
    seen = jobs.size();
    for (const JobSummary& job : jobs) ASSERT_EQ(job.runs.size(), 2u);
  }
  writer.join();
}

TEST_F(DatabaseFailureTest, FullDiskIsOneSentenceAndLosesNothing) {
  const std::string disk = directory_.file("disk");
  std::filesystem::create_directory(disk);
  if (mount("ipex", disk.c_str(), "tmpfs", 0, "size=512k") != 0) GTEST_SKIP() << "mounting a small disk takes root";
  std::string sentence;
  {
    Database database = Database::open(disk + "/profile.db", OpenMode::kReadWrite);
    database.record(smallJob());
    sentence = refusedFile([&] { database.record(syntheticJob(2, {16, 200})); });
    EXPECT_EQ(database.jobs().size(), 1u);
    EXPECT_EQ(database.check(), "ok");
  }
  EXPECT_EQ(umount(disk.c_str()), 0);
  EXPECT_THAT(sentence,
              HasSubstr("disk/profile.db cannot grow because the disk is full; free some space and run again. What "
                        "it held before is intact."));
}

// A full disk without root rights: a limit on the size of files.
TEST_F(DatabaseFailureTest, FileSizeLimitIsOneSentenceAndLosesNothing) {
  Database database = create();
  database.record(smallJob());
  const rlimit full = {std::filesystem::file_size(path()) + 8192, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  const std::string sentence = refusedFile([&] { database.record(syntheticJob(2, {16, 200})); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(sentence,
              HasSubstr("a quota, a size limit or a failing disk and run again. What it held before is intact."));
  EXPECT_EQ(database.jobs().size(), 1u);
  EXPECT_EQ(database.check(), "ok");
  database.record(smallJob(3));  // space was freed
  EXPECT_EQ(database.jobs().size(), 2u);
}

// Writes jobs forever and reports on `pipe` which ones were acknowledged. The second connection is opened again each
// round, so that creation and recovery are hit as well.
[[noreturn]] void writeUntilKilled(const std::string& path, int pipe, std::uint64_t first_seed) {
  try {
    Database database = Database::open(path, OpenMode::kReadWrite);
    for (std::uint64_t seed = first_seed;; ++seed) {
      database.record(smallJob(seed));
      if (write(pipe, &seed, sizeof seed) != sizeof seed) _exit(1);
    }
  } catch (const Error&) {
    _exit(2);
  }
}

TEST_F(DatabaseFailureTest, AcknowledgedJobsSurviveKill) {
  const int kills = std::getenv("IPEX_CAMPAIGN") != nullptr ? 1000 : 50;
  std::uint64_t random = 12345;
  std::vector<std::uint64_t> acknowledged;
  for (int kill_index = 0; kill_index < kills; ++kill_index) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      writeUntilKilled(path(), ends[1], 1'000u * static_cast<std::uint64_t>(kill_index + 1));
    }
    close(ends[1]);
    random = random * 6364136223846793005u + 1442695040888963407u;
    usleep(static_cast<useconds_t>(500 + (random >> 33) % 40'000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with " << WEXITSTATUS(status);
    for (std::uint64_t seed = 0; read(ends[0], &seed, sizeof seed) == sizeof seed;) acknowledged.push_back(seed);
    close(ends[0]);

    Database database = create();
    ASSERT_EQ(database.check(), "ok");
    std::set<std::int64_t> present;
    for (const JobSummary& job : database.jobs(1'000'000)) {
      present.insert(job.started_unix_ns);
      ASSERT_EQ(job.runs.size(), 2u);
    }
    for (const std::uint64_t seed : acknowledged) {
      ASSERT_EQ(present.count(smallJob(seed).started_unix_ns), 1u) << "kill " << kill_index << ", job " << seed;
    }
    if (present.size() > 200) {
      database.prune({0, -1});
      acknowledged.clear();
    }
  }
}

}  // namespace
}  // namespace ipex_studio

// Job folders are removed with their jobs, and by the next job if a program was killed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/replace_file.h"
#include "studio/job/session_files.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;

class JobFolderTest : public ::testing::Test {
 protected:
  JobFolderTest() { ::setenv("TMPDIR", pit_.path("").c_str(), 1); }
  ~JobFolderTest() override { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }

  std::string abandoned(const std::string& name, int seconds = 3600) const {
    const std::string folder = pit_.path(name);
    fs::create_directory(folder);
    writeFileAtomically(folder + "/export.pt", "what a killed program leaves");
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
    return folder;
  }

  const Sandpit pit_;

 private:
  const std::string before_ = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
};

TEST_F(JobFolderTest, GoesWithItsJobAndTakesAbandonedOnesAlong) {
  const std::string dead = abandoned("ipex-studio-aB3dE6");
  std::string path;
  {
    const JobFolder folder;
    path = folder.path();
    writeFileAtomically(path + "/job.json", "{}");
    EXPECT_FALSE(fs::exists(dead));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(JobFolderTest, LeavesWhatLivesOrIsNotItsOwn) {
  const JobFolder first;
  fs::last_write_time(first.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::string young = abandoned("ipex-studio-young1", 0), other = abandoned("ipex-studio-notes"),
                    longer = abandoned("ipex-studio-exports");
  fs::create_directory(pit_.path("elsewhere"));
  fs::create_directory_symlink(pit_.path("elsewhere"), pit_.path("ipex-studio-linked"));
  const JobFolder second;
  for (const std::string& kept :
       {first.path(), young, other, longer, pit_.path("elsewhere"), pit_.path("ipex-studio-linked")}) {
    EXPECT_TRUE(fs::exists(kept)) << kept;
  }
}

}  // namespace
}  // namespace ipex_studio::testing

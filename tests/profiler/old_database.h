// Databases in the form that earlier versions of the program wrote.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "profiler/embedded.h"
#include "profiler/sqlite.h"

namespace ipex_studio::testing {

// Text of a file of the source tree; `path` is relative to its root.
inline std::string sourceText(const std::string& path) {
  std::ifstream file(IPEX_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Fills an empty file with the tables of `version` and one job (id 1) with one run of one step, all written by version
// 1.
inline void makeOldDatabase(const std::string& path, std::int64_t version) {
  Connection old(path, true);
  old.execute(sourceText("tests/profiler/version_1.sql").c_str());
  old.execute(
      "INSERT INTO model VALUES (1, 'aa', 'net.pt', 1, 1, 0);"
      "INSERT INTO machine VALUES (1, 'cpu', 'avx2', '[]', 2, '1.13', '2.6', 'Linux', '', 0);"
      "INSERT INTO job VALUES (1, 1, 1, 'tune', '{}', 5, NULL);"
      "INSERT INTO run VALUES (1, 1, 0, 'optimized', 'cpu', 'fp32', 2, 1, 0, 1, 7, '[7]', '[0]', 0, 0, 0, 0, 0, 1, "
      "1, 1);"
      "INSERT INTO plan_step VALUES (1, 0, 0, 0, 'conv', 'convolution', 'convolution{}', 'own', '', 'nhwc', 'nhwc', "
      "'1x8', 'fp32', '[]', 1, 1, -1, 0, 0);"
      "INSERT INTO accuracy VALUES (1, 0, '[]', -1, 'fp64', 0, 0, 100, 1, 1, '')");
  for (std::int64_t v = 1; v < version; ++v) old.execute(kMigrations[v - 1]);
  old.execute(fmt::format("PRAGMA application_id = 0x49504558; PRAGMA user_version = {}", version).c_str());
}

}  // namespace ipex_studio::testing

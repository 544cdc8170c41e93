// Whole networks with every pass switched off in turn, against eager in double precision. The networks are those of
// samples/export_models.py --all-tiny in BUILD/models, which ctest makes first.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/model/read_inputs.h"
#include "core/runtime/plan_device.h"
#include "kernels/torch/plans/plan_cache.h"
#include "passes/pipeline.h"
#include "tests/core/graph/script_models.h"
#include "tests/resident_memory.h"

namespace ipex_studio {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT: the fixture's names

struct Network {
  std::string name;
  Module module;
  std::vector<std::vector<Inputs>> sequences;  // recorded calls; those with state are one sequence
};

Network readNetwork(const std::string& name) {
  const std::string path = std::string(IPEX_BINARY_DIR) + "/models/" + name;
  Network network{name, Model::load(path + ".pt").module(), {}};
  for (RecordedCase& recorded : readRecordedCases(path + ".io.pt")) {
    if (recorded.step && !network.sequences.empty()) {
      network.sequences[0].push_back(std::move(recorded.inputs));
    } else {
      network.sequences.push_back({std::move(recorded.inputs)});
    }
  }
  return network;
}

std::vector<std::string> networkNames() {
  std::set<std::string> names;
  std::error_code missing;
  for (const auto& file : fs::directory_iterator(std::string(IPEX_BINARY_DIR) + "/models", missing)) {
    const std::string name = file.path().filename().string();
    const std::size_t end = name.rfind(".io.pt");
    // Recorded cases hold no arguments that are numbers, but two networks have such arguments.
    const bool numbers = name.find("stateful") != std::string::npos || name.find("dynamic") != std::string::npos;
    if (end != std::string::npos && !numbers) names.insert(name.substr(0, end));
  }
  return {names.begin(), names.end()};
}

// Expects right results; returns the reference that they were compared with.
std::string expectRight(const Network& network, const OptimizeOptions& options) {
  std::string reference;
  try {
    Module fast = optimized(network.module, network.sequences[0][0], options).module;
    for (const auto& steps : network.sequences) {
      for (const AccuracyRecord& record : verifyModule(network.module, fast, steps, "")) {
        EXPECT_TRUE(record.pass) << network.name << ", output " << record.output << ": " << record.text;
        reference = record.reference;
      }
    }
  } catch (const std::exception& problem) {
    ADD_FAILURE() << network.name << ": " << problem.what();
  }
  return reference;
}

TEST(Networks, EachPassDisabledInTurn) {
  const std::vector<std::string> names = networkNames();
  if (names.empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  std::vector<std::string> passes{kLowerToPlanName};
  for (const Pass* pass : defaultPasses()) passes.push_back(pass->name);
  const bool campaign = std::getenv("IPEX_CAMPAIGN") != nullptr;
  for (std::size_t n = 0; n < names.size(); ++n) {
    SCOPED_TRACE(names[n]);
    const Network network = readNetwork(names[n]);
    ASSERT_FALSE(network.sequences.empty());
    EXPECT_EQ(expectRight(network, {}), "fp64");
    // A campaign tries every pass with every network, a normal run with one of them.
    for (std::size_t p = 0; p < passes.size(); ++p) {
      if (!campaign && p % names.size() != n) continue;
      SCOPED_TRACE(passes[p]);
      OptimizeOptions options;
      options.disabled_passes = {passes[p]};
      expectRight(network, options);
    }
  }
}

// A random half of the passes is switched off: no pass may rely on another for correctness.
TEST(Networks, AnyPassesDisabled) {
  const std::vector<std::string> names = networkNames();
  if (names.empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  const int rounds = std::getenv("IPEX_CAMPAIGN") != nullptr ? 50 : 1;
  for (const std::string& name : names) {
    const Network network = readNetwork(name);
    for (int round = 0; round < rounds; ++round) {
      OptimizeOptions options;
      std::string left_out;
      for (const Pass* pass : defaultPasses()) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        if (state >> 63 == 0) continue;
        options.disabled_passes.emplace_back(pass->name);
        left_out += std::string(pass->name) + ",";
      }
      SCOPED_TRACE(left_out);
      expectRight(network, options);
    }
  }
}

// Memory of a device that is the host's own counts as the process's.
TEST(Networks, MemoryStaysFlatOnADevice) {
  if (networkNames().empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  OptimizeOptions options;
  options.device = "opencl";
  try {
    openDevice(options.device);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Network network = readNetwork("tiny_resnet");
  Module fast = optimized(network.module, network.sequences[0][0], options).module;
  setPlanBudget(8 << 20);  // so that plans of earlier sizes are dropped long before the last one
  std::size_t before = 0;
  for (int size = 0; size < 300; ++size) {
    if (size == 100) before = residentBytes();
    const Inputs image{at::randn({1, 3, 32 + size % 20, 32 + size / 20})};
    for (int run = 0; run < 5; ++run) fast.forward(image);
  }
  const std::size_t after = residentBytes();
  setPlanBudget(kDefaultPlanBudgetBytes);
  std::printf("resident %.1f to %.1f MB over 200 sizes and 1,000 runs\n", 1e-6 * static_cast<double>(before),
              1e-6 * static_cast<double>(after));
  EXPECT_LT(after, before + (std::size_t{8} << 20));
}

}  // namespace
}  // namespace ipex_studio

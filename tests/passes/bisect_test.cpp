// Faults planted into networks, and what a bisection names: the node and what is to blame. A campaign plants a hundred.
#include "passes/bisect.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/graph/fused_op.h"
#include "core/model/read_inputs.h"
#include "core/quantization/calibrate.h"
#include "core/quantization/recipe.h"
#include "passes/bisect_files.h"
#include "tests/core/graph/script_models.h"
#include "tests/passes/planted_faults.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names
using Clock = std::chrono::steady_clock;

constexpr const char* kNetworks[] = {"tiny_resnet",   "tiny_mobilenet", "tiny_unet",     "tiny_vit",
                                     "tiny_convnext", "tiny_bert",      "tiny_densenet", "tiny_shufflenet",
                                     "tiny_ssd_head", "tiny_dlrm"};

struct SampleNetwork {
  std::string name;
  Module module;
  Inputs inputs;
  OptimizeOptions options = {};
};

std::vector<SampleNetwork> sampleNetworks() {
  std::vector<SampleNetwork> networks;
  for (const char* name : kNetworks) {
    const std::string path = std::string(IPEX_BINARY_DIR) + "/models/" + name;
    if (!std::filesystem::exists(path + ".pt")) continue;
    networks.push_back({name, Model::load(path + ".pt").module(), readRecordedCases(path + ".io.pt").at(0).inputs});
  }
  return networks;
}

// What is wrong with the answer to a planted fault; empty: nothing.
std::string wrongAnswer(const BisectRecord& record, OriginId node, const std::string& blame) {
  if (record.wrong.empty()) return "no node is named";
  const auto& origins = record.wrong[0].origins;
  if (std::find(origins.begin(), origins.end(), node) == origins.end())
    return "another node is named: " + record.wrong[0].name + " (" + record.wrong[0].other + ", blame " + record.blame +
           ", " + record.why + ", " + record.wrong[0].accuracy.text + ")";
  if (record.blame != blame && record.blame != passOfRewrite(blame))
    return "another blame is named: " + record.blame + " (" + record.why + ")";
  return record.confirmed ? "" : "it is not confirmed";
}

struct Tally {
  int planted = 0, named = 0;
  double slowest_s = 0;

  void add(const std::string& title, const std::string& answer, Clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    ++planted;
    named += answer.empty() ? 1 : 0;
    slowest_s = std::max(slowest_s, seconds);
    if (!answer.empty()) std::printf("%s: %s (%.1f s)\n", title.c_str(), answer.c_str(), seconds);
  }
};

bool isWrong(const BisectRecord& record) { return !record.results.pass; }

// Plants faults of this kind behind rewrites of the network until one makes results wrong; false if none does.
bool tryRewrite(const SampleNetwork& network, FaultKind kind, std::mt19937& random, Tally* tally) {
  const std::int64_t rewrites = countRewrites(network.module, network.inputs);
  for (int attempt = 0; attempt < 12; ++attempt) {
    const auto rewrite = std::uniform_int_distribution<std::int64_t>(1, rewrites)(random);
    const auto fault = plantBehindRewrite(network.module, network.inputs, rewrite, kind);
    if (!fault) continue;
    const auto begin = Clock::now();
    const BisectRecord record = bisectOptimized(fault->model);
    if (!isWrong(record)) continue;  // what follows hides the fault
    tally->add(network.name + ", " + faultName(kind) + " behind " + fault->blame,
               wrongAnswer(record, fault->node, fault->blame), begin);
    return true;
  }
  return false;
}

bool tryPlan(const SampleNetwork& network, FaultKind kind, std::mt19937& random, Tally* tally) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    const auto operation = std::uniform_int_distribution<std::size_t>(0, 15)(random);
    const auto fault = plantInPlan(network.module, network.inputs, operation, kind, network.options);
    if (!fault) continue;
    const auto begin = Clock::now();
    const BisectRecord record = bisectOptimized(fault->model);
    if (!isWrong(record)) continue;
    tally->add(network.name + ", " + faultName(kind) + " in " + fault->blame,
               wrongAnswer(record, fault->node, fault->blame), begin);
    return true;
  }
  return false;
}

// True if `reader` of the original reads what `node` gives, at most three nodes behind it.
bool readsFrom(torch::jit::Graph& graph, const OriginTable& table, OriginId node, OriginId reader) {
  std::set<OriginId> reached{node};
  for (int distance = 0; distance < 3; ++distance) {
    std::set<OriginId> next;
    for (const torch::jit::Node* user : allNodes(graph)) {
      const bool reads = std::any_of(user->inputs().begin(), user->inputs().end(), [&](const torch::jit::Value* input) {
        const auto ids = table.of(input);
        return std::any_of(ids.begin(), ids.end(), [&](OriginId id) { return reached.count(id) != 0; });
      });
      if (reads && !table.of(user).empty()) next.insert(table.of(user)[0]);
    }
    if (next.count(reader) != 0) return true;
    reached = std::move(next);
  }
  return false;
}

// Spoils a node of a copy of the model, as another file would have it.
bool tryFile(const SampleNetwork& network, FaultKind kind, std::mt19937& random, Tally* tally) {
  const Module frozen = freezeForPasses(network.module, {});
  const Module original = frozen.clone();
  OriginTable original_table;
  original_table.assign(*original.get_method("forward").graph());
  for (int attempt = 0; attempt < 40; ++attempt) {
    Module other = frozen.clone();
    recordShapes(other, network.inputs);
    std::vector<torch::jit::Node*> nodes;
    for (torch::jit::Node* node : allNodes(*other.get_method("forward").graph())) {
      const bool floats = node->outputs().size() == 1 && knownDtype(node->output()) == at::kFloat;
      if (floats) nodes.push_back(node);
    }
    torch::jit::Node* node = nodes[std::uniform_int_distribution<std::size_t>(0, nodes.size() - 1)(random)];
    OriginTable table;
    table.assign(*other.get_method("forward").graph());
    const OriginId id = table.of(node->output())[0];
    if (!spoilNode(node, kind)) continue;
    TwoModels models{network.module, other, {}, "", {}, {network.inputs}};
    const auto begin = Clock::now();
    const BisectRecord record = bisectFiles(models);
    if (!isWrong(record)) continue;
    std::string answer = record.wrong.empty() ? "no node is named" : "";
    // A node whose operand is taken in its place is missing: nothing reads it any more. Nor is one there that becomes
    // the twin of another: freezing merges both, and what reads it is the first node with another value.
    const bool skips = kind == FaultKind::kOperand && record.why.find("is missing") != std::string::npos;
    const bool named =
        answer.empty() &&
        (record.wrong[0].origins == std::vector<OriginId>{id} ||
         (skips && record.wrong[0].origins.size() == 1 &&
          readsFrom(*original.get_method("forward").graph(), original_table, id, record.wrong[0].origins[0])));
    if (answer.empty() && !named) answer = "another node is named: " + record.wrong[0].name;
    const std::string cause = kind == FaultKind::kWeight    ? "weight"
                              : kind == FaultKind::kOperand ? "operands"
                                                            : "operator";
    if (answer.empty() && record.cause != cause && !skips)
      answer = "another cause is named: " + record.cause + ", " + record.why;
    if (answer.empty() && !record.confirmed) answer = "it is not confirmed";
    tally->add(network.name + ", " + faultName(kind) + " at " + node->kind().toQualString(), answer, begin);
    return true;
  }
  return false;
}

TEST(Bisect, NamesPlantedFaults) {
  const std::vector<SampleNetwork> networks = sampleNetworks();
  if (networks.empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  const bool campaign = std::getenv("IPEX_CAMPAIGN") != nullptr;
  const char* seed = std::getenv("IPEX_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed)));
  Tally tally;
  std::size_t next = 0;
  for (const SampleNetwork& network : networks) {
    SCOPED_TRACE(network.name);
    const int rounds = campaign ? 10 : 1;
    for (int round = 0; round < rounds; ++round, ++next) {
      const auto& plant = next % 10 < 4 ? tryRewrite : next % 10 < 6 ? tryPlan : tryFile;
      bool planted = false;
      // Not every network has a place for each kind.
      for (std::size_t k = 0; k < 5 && !planted; ++k)
        planted = plant(network, kFaultKinds[(next + next / 10 + k) % 5], random, &tally);
    }
  }
  std::printf("%d of %d planted faults named, the slowest in %.1f s\n", tally.named, tally.planted, tally.slowest_s);
  EXPECT_GE(tally.planted, static_cast<int>(networks.size()) * (campaign ? 10 : 1) * 9 / 10);
  EXPECT_GE(tally.named * 100, tally.planted * 99);
}

// Networks whose work is done in loops and branches.
std::vector<SampleNetwork> networksOfLoops() {
  torch::manual_seed(5);
  std::vector<SampleNetwork> networks;
  const auto add = [&](const char* name, const char* source, const Weights& weights, const Inputs& inputs) {
    networks.push_back({name, scriptModule(source, weights), inputs});
  };
  add("recurrent", R"(
def forward(self, x, n: int):
    h = torch.zeros([x.size(1), 24])
    out = []
    for t in range(n):
        a = torch.linear(x[t], self.w, self.b) + torch.linear(h, self.u)
        h = torch.tanh(a) * torch.sigmoid(torch.linear(h, self.v, self.c))
        out.append(torch.relu(torch.linear(h, self.o)))
    return torch.stack(out), h
)",
      {{"w", weight({24, 16})},
       {"b", weight({24})},
       {"u", weight({24, 24})},
       {"v", weight({24, 24})},
       {"c", weight({24})},
       {"o", weight({8, 24})}},
      {at::randn({6, 3, 16}), 6});
  add("iterated convolution", R"(
def forward(self, x, n: int):
    y = torch.conv2d(x, self.first, None, [1, 1], [1, 1])
    i = 0
    while i < n:
        r = torch.relu(torch.conv2d(y, self.w, self.b, [1, 1], [1, 1]))
        r = torch.conv2d(r, self.v, self.c, [1, 1], [1, 1])
        y = y + torch.gelu(r) * 0.5
        i += 1
    return y.mean([2, 3])
)",
      {{"first", weight({12, 3, 3, 3})},
       {"w", weight({12, 12, 3, 3})},
       {"b", weight({12})},
       {"v", weight({12, 12, 3, 3})},
       {"c", weight({12})}},
      {at::randn({2, 3, 12, 12}), 4});
  add("nested", R"(
def forward(self, x, n: int):
    total = x
    for i in range(n):
        y = torch.linear(total, self.w, self.b)
        for j in range(2):
            y = torch.layer_norm(torch.relu(torch.linear(y, self.v)) + y, [20], self.g, self.c)
        if bool(y.sum() > -1e9):
            total = total + torch.linear(torch.tanh(y), self.o) * 0.3
        else:
            total = total - y
    return torch.linear(total, self.last)
)",
      {{"w", weight({20, 20})},
       {"b", weight({20})},
       {"v", weight({20, 20})},
       {"g", weight({20})},
       {"c", weight({20})},
       {"o", weight({20, 20})},
       {"last", weight({5, 20})}},
      {at::randn({7, 20}), 3});
  add("decoder", R"(
def forward(self, x, n: int):
    y = x[:, :1]
    for i in range(n):
        q = torch.linear(y, self.q)
        k = torch.linear(x, self.k)
        a = torch.softmax(torch.matmul(q, k.transpose(1, 2)) * 0.25, -1)
        f = torch.linear(torch.matmul(a, torch.linear(x, self.v)), self.o, self.b)
        y = torch.layer_norm(y + torch.linear(torch.relu(f), self.f), [16], self.g)
    return y
)",
      {{"q", weight({16, 16})},
       {"k", weight({16, 16})},
       {"v", weight({16, 16})},
       {"o", weight({32, 16})},
       {"b", weight({32})},
       {"f", weight({16, 32})},
       {"g", weight({16})}},
      {at::randn({2, 9, 16}), 5});
  return networks;
}

void plantAndName(const std::vector<SampleNetwork>& networks, int rounds, bool plans_alone) {
  const char* seed = std::getenv("IPEX_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed)));
  Tally tally;
  std::size_t next = 0;
  for (const SampleNetwork& network : networks) {
    for (int round = 0; round < rounds; ++round, ++next) {
      const auto& plant = plans_alone || next % 10 >= 7 ? tryPlan : next % 10 < 3 ? tryRewrite : tryFile;
      bool planted = false;
      for (std::size_t k = 0; k < 5 && !planted; ++k)
        planted = plant(network, kFaultKinds[(next + next / 10 + k) % 5], random, &tally);
    }
  }
  std::printf("%d of %d planted faults named, the slowest in %.1f s\n", tally.named, tally.planted, tally.slowest_s);
  EXPECT_GE(tally.planted * 10, static_cast<int>(networks.size()) * rounds * 8);
  EXPECT_GE(tally.named * 100, tally.planted * 99);
}

TEST(Bisect, NamesFaultsInsideOfLoops) {
  plantAndName(networksOfLoops(), std::getenv("IPEX_CAMPAIGN") != nullptr ? 25 : 3, false);
}

TEST(Bisect, NamesFaultsInBf16) {
  std::vector<SampleNetwork> networks = sampleNetworks();
  if (networks.empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  for (SampleNetwork& network : networks) {
    network.options.precision = Precision::kBf16;
    network.name += " in BF16";
  }
  plantAndName(networks, std::getenv("IPEX_CAMPAIGN") != nullptr ? 10 : 1, true);
}

TEST(Bisect, NamesFaultsInInt8) {
  std::vector<SampleNetwork> networks = sampleNetworks();
  if (networks.empty()) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
  for (SampleNetwork& network : networks) {
    OptimizeOptions calibrating;
    calibrating.calibrate = true;
    const OptimizedModel model = optimized(network.module, network.inputs, calibrating);
    Calibrator calibrator(model.module, *model.calibration, {});
    calibrator.observe(network.inputs);
    network.options.precision = Precision::kInt8;
    network.options.quantization_recipe = recipeToText(calibrator.finish());
    network.name += " in INT8";
  }
  plantAndName(networks, std::getenv("IPEX_CAMPAIGN") != nullptr ? 10 : 1, true);
}

TEST(Bisect, RightModelsHaveNothing) {
  for (const SampleNetwork& network : sampleNetworks()) {
    SCOPED_TRACE(network.name);
    WrongModel model;
    model.original = network.module;
    model.steps = {network.inputs};
    model.make = [&](const OptimizeOptions& options, Observer& observer) {
      return optimizeModel(network.module, network.inputs, options, observer);
    };
    const BisectRecord record = bisectOptimized(model);
    EXPECT_TRUE(record.results.pass);
    EXPECT_TRUE(record.wrong.empty()) << record.wrong[0].name;
    EXPECT_GT(record.compared, 3);
    const BisectRecord same = bisectFiles({network.module, network.module, {}, "", {}, {network.inputs}});
    EXPECT_TRUE(same.results.pass);
    EXPECT_TRUE(same.wrong.empty()) << same.wrong[0].name;
    // A compiled export of it is another form of the same.
    const OptimizedModel fast = optimized(network.module, network.inputs);
    const BisectRecord exported = bisectFiles({network.module, fast.module, {}, "", {}, {network.inputs}});
    EXPECT_TRUE(exported.wrong.empty()) << exported.wrong[0].name;
  }
}

}  // namespace
}  // namespace ipex_studio

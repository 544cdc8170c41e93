// The source of models: which lines nodes come from, bounds on what a file may bring. The networks are those of
// samples/export_models.py --all-tiny in BUILD/models, which ctest makes first.
#include "passes/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "passes/unrun_graph.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: the fixture's names

// The module as it is after a file.
Module throughFile(Module module) {
  std::stringstream file;
  module.save(file);
  return torch::jit::load(file);
}

std::string lineOf(const SourceRecord& source, const SourcePlace& place) {
  const SourceFile& file = source.files.at(static_cast<std::size_t>(place.file));
  std::istringstream lines(file.text);
  std::string line;
  for (std::int32_t number = file.first_line; std::getline(lines, line); ++number)
    if (number == place.line) return line;
  return "";
}

// The lines of the first node of this kind, in TorchScript or Python, callers first.
std::vector<std::string> linesOf(const SourceRecord& source, const std::vector<Origin>& origins,
                                 const std::string& kind, bool python) {
  const auto origin = std::find_if(origins.begin(), origins.end(), [&](const Origin& o) { return o.kind == kind; });
  std::vector<std::string> lines;
  for (const SourcePlace& place : source.places) {
    if (origin == origins.end() || place.origin != origin->id) continue;
    if (source.files.at(static_cast<std::size_t>(place.file)).python == python) lines.push_back(lineOf(source, place));
  }
  return lines;
}

UnrunGraph unrunNetwork(const std::string& name) {
  return unrunGraph(Model::load(std::string(IPEX_BINARY_DIR) + "/models/" + name + ".pt").module(), {});
}

TEST(ModelSource, TellsTheLineOfANodeAndTheCallsThatLeadThere) {
  const UnrunGraph network = unrunNetwork("tiny_resnet");
  const auto lines = linesOf(network.source, network.origins, "aten::relu_", false);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines.front(), HasSubstr(".forward("));
  EXPECT_THAT(lines.back(), HasSubstr("relu_("));
}

TEST(ModelSource, HoldsThePythonOfScriptedModels) {
  const UnrunGraph network = unrunNetwork("tiny_bert_scripted");
  const auto lines = linesOf(network.source, network.origins, "aten::softmax", true);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.back(), HasSubstr("softmax"));
}

TEST(ModelSource, NamesThePythonCallsOfTracedModels) {
  bool network = false;
  for (const SourceFile& file : unrunNetwork("tiny_resnet").source.files) {
    if (!file.python) continue;
    EXPECT_EQ(file.text, "");
    network = network || file.name.find("tiny_vision.py") != std::string::npos;
    EXPECT_EQ(file.name.find("/torch/jit/"), std::string::npos) << file.name << " belongs to the tracer";
  }
  EXPECT_TRUE(network);
}

TEST(ModelSource, CutsLongLinesAndKeepsTheirNumbers) {
  Module module("M");
  const std::string longest(3 << 20, 'a');
  module.define("def forward(self, x):\n  s = '" + longest + "'\n  y = torch.relu(x)\n  return y + float(len(s))\n");
  const SourceRecord source = unrunGraph(throughFile(module), {}).source;
  std::size_t bytes = 0;
  bool cut = false;
  for (const SourceFile& file : source.files) {
    bytes += file.text.size();
    cut = cut || file.cut;
  }
  EXPECT_LT(bytes, std::size_t{100} << 10);
  EXPECT_TRUE(cut);
  ASSERT_FALSE(source.places.empty());
  EXPECT_THAT(lineOf(source, source.places.front()), HasSubstr("torch.relu"));
}

TEST(ModelSource, IsEmptyForModulesWithoutFiles) {
  Module module("M");
  module.define("def forward(self, x):\n  return torch.relu(x)\n");
  for (const SourceFile& file : unrunGraph(module, {}).source.files) EXPECT_FALSE(file.python);
}

}  // namespace
}  // namespace ipex_studio

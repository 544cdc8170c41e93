// The runner of passes: gates, limits, dumps, reproducers, checks of "changed", size and speed on large graphs.
#include "core/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/graph/value_uses.h"
#include "passes/pipeline.h"
#include "tests/goal.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

constexpr char kTwoDropouts[] = R"(graph(%x : Float(2, 3)):
  %p : float = prim::Constant[value=0.5]()
  %train : bool = prim::Constant[value=0]()
  %a : Float(2, 3) = aten::dropout(%x, %p, %train)
  %b : Float(2, 3) = aten::tanh(%a)
  %c : Float(2, 3) = aten::dropout(%b, %p, %train)
  %d : Float(2, 3) = aten::exp(%c)
  return (%d)
)";

struct Recording : Observer {
  std::vector<PassRecord> passes;
  std::vector<Remark> remarks;
  void onPass(const PassRecord& record) override { passes.push_back(record); }
  void onRemark(const Remark& remark) override { remarks.push_back(remark); }
};

struct Rewriting {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  OriginTable origins;
  Recording recording;

  explicit Rewriting(const std::string& text) {
    torch::jit::parseIR(text, graph.get());
    origins.assign(*graph);
  }
  void run(const std::vector<const Pass*>& passes, const OptimizeOptions& options = {}) {
    runPipeline(*graph, origins, passes, options, recording);
  }
};

const Pass* passNamed(const std::string& name) {
  for (const Pass* pass : defaultPasses()) {
    if (name == pass->name) return pass;
  }
  return nullptr;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ipex-pipeline-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::ptrdiff_t filesNamed(const char* folder, const std::string& name) {
  const auto files = std::filesystem::recursive_directory_iterator(folder);
  return std::count_if(begin(files), end(files), [&](const auto& entry) { return entry.path().filename() == name; });
}

TEST(Pipeline, NamesOfPassesAreUniqueAndKebabCase) {
  std::set<std::string> names;
  for (const Pass* pass : defaultPasses()) {
    EXPECT_TRUE(names.insert(pass->name).second) << pass->name;
    EXPECT_EQ(std::string(pass->name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
    std::string file = pass->name;
    std::replace(file.begin(), file.end(), '-', '_');
    EXPECT_EQ(filesNamed(IPEX_SOURCE_DIR "/passes", file + ".cpp"), 1) << pass->name;
    EXPECT_EQ(filesNamed(IPEX_SOURCE_DIR "/tests/passes", file + ".ir"), 1) << pass->name;
  }
}

TEST(Pipeline, RecordsWhatAPassDid) {
  Rewriting rewriting(kTwoDropouts);
  rewriting.run({passNamed("eliminate-dropout")});
  ASSERT_EQ(rewriting.recording.passes.size(), 1U);
  const PassRecord& record = rewriting.recording.passes[0];
  EXPECT_TRUE(record.changed);
  EXPECT_EQ(record.rewrites, 2);
  EXPECT_EQ(record.missed, 0);
  EXPECT_EQ(record.nodes_after, 2);
  EXPECT_NE(record.hash_before, record.hash_after);
  ASSERT_NE(record.snapshot, nullptr);
  EXPECT_EQ(record.snapshot->after_pass, "eliminate-dropout");
  EXPECT_EQ(record.snapshot->nodes.size(), 2U);
  EXPECT_EQ(rewriting.recording.remarks[0].origins, std::vector<OriginId>{0});
}

TEST(Pipeline, LeavesDisabledPassesOut) {
  Rewriting rewriting(kTwoDropouts);
  OptimizeOptions options;
  options.disabled_passes = {"eliminate-dropout"};
  const auto before = graphHash(*rewriting.graph);
  rewriting.run({passNamed("eliminate-dropout")}, options);
  EXPECT_TRUE(rewriting.recording.passes.empty());
  EXPECT_EQ(graphHash(*rewriting.graph), before);
}

TEST(Pipeline, RefusesToDisableWhatDoesNotExist) {
  Rewriting rewriting(kTwoDropouts);
  OptimizeOptions options;
  options.disabled_passes = {"eliminate-everything"};
  try {
    rewriting.run(defaultPasses(), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("eliminate-everything"), std::string::npos);
  }
}

TEST(Pipeline, StopsAtTheRewriteLimit) {
  for (const auto& [limit, left] : {std::pair{0, 4}, {1, 3}, {2, 2}, {-1, 2}}) {
    Rewriting rewriting(kTwoDropouts);
    OptimizeOptions options;
    options.rewrite_limit = limit;
    rewriting.run({passNamed("eliminate-dropout")}, options);
    EXPECT_EQ(countNodes(*rewriting.graph), left) << limit;
  }
}

TEST(Pipeline, DumpsEveryChange) {
  TemporaryFolder folder;
  Rewriting rewriting(kTwoDropouts);
  OptimizeOptions options;
  options.dump_directory = (folder.path() / "dumps").string();
  rewriting.run({passNamed("eliminate-dead-code"), passNamed("eliminate-dropout")}, options);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "dumps/01-eliminate-dead-code.ir"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "dumps/02-eliminate-dropout.ir"));
}

bool lying(Graph&, PassContext&) { return true; }

TEST(PipelineDeathTest, APassMustNotLieAboutChange) {
  Rewriting rewriting(kTwoDropouts);
  const Pass pass = {"fold-nothing", "Lies.", &lying};
  EXPECT_DEATH(rewriting.run({&pass}), "said changed=true");
  TemporaryFolder folder;
  OptimizeOptions options;
  options.dump_directory = folder.path().string();
  EXPECT_DEATH(rewriting.run({&pass}, options), "The graph before it is in reproduce-01-fold-nothing.ir");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "reproduce-01-fold-nothing.ir"));
}

TEST(Pipeline, StopsWhenCancelled) {
  Rewriting rewriting(kTwoDropouts);
  EXPECT_THROW(
      runPipeline(*rewriting.graph, rewriting.origins, defaultPasses(), {}, rewriting.recording, [] { return true; }),
      Error);
}

TEST(GraphHash, SeesOperandsConstantsAndKindsButNotNames) {
  const auto hash = [](const std::string& body) {
    Graph graph;
    torch::jit::parseIR("graph(%x : Float(2), %y : Float(2)):\n" + body, &graph);
    return graphHash(graph);
  };
  const std::string add =
      "  %c : int = prim::Constant[value=1]()\n  %z : Tensor = aten::sub(%x, %y, %c)\n  return (%z)\n";
  EXPECT_EQ(hash(add),
            hash("  %d : int = prim::Constant[value=1]()\n  %q : Tensor = aten::sub(%x, %y, %d)\n  return (%q)\n"));
  EXPECT_NE(hash(add),
            hash("  %c : int = prim::Constant[value=2]()\n  %z : Tensor = aten::sub(%x, %y, %c)\n  return (%z)\n"));
  EXPECT_NE(hash(add),
            hash("  %c : int = prim::Constant[value=1]()\n  %z : Tensor = aten::sub(%y, %x, %c)\n  return (%z)\n"));
  EXPECT_NE(hash(add),
            hash("  %c : int = prim::Constant[value=1]()\n  %z : Tensor = aten::add(%x, %y, %c)\n  return (%z)\n"));
  EXPECT_NE(hash(add),
            hash("  %c : int = prim::Constant[value=1]()\n  %z : Tensor = aten::sub(%x, %y, %c)\n  return (%x)\n"));
}

// A chain so long that recursion along it would exhaust the stack.
std::shared_ptr<Graph> chain(int nodes) {
  auto graph = std::make_shared<Graph>();
  torch::jit::Value* value = graph->addInput("x");
  value->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, {2, 3}));
  const auto one = graph->insertConstant(1);
  for (int i = 0; i < nodes; ++i) {
    const bool sum = i % 2 != 0;
    Node* node = sum ? graph->insertNode(graph->create(torch::jit::aten::add, {value, value, one}))
                     : graph->insertNode(graph->create(torch::jit::aten::tanh, {value}));
    node->output()->setType(value->type());
    value = node->output();
  }
  graph->registerOutput(value);
  return graph;
}

double millisecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Pipeline, TakesTenThousandNodesInAChain) {
  const auto graph = chain(10000);
  OriginTable origins;
  origins.assign(*graph);
  const double hash_ms = millisecondsOf([&] { graphHash(*graph); });
  RecordProperty("hash_us", static_cast<int>(hash_ms * 1000));
  const double snapshot_ms = millisecondsOf([&] {
    const GraphSnapshot snapshot = makeSnapshot(*graph, origins, 0, "frozen");
    EXPECT_EQ(snapshot.nodes.size(), 10000U);
  });
  Recording recording;
  const double all_ms = millisecondsOf([&] { runPipeline(*graph, origins, defaultPasses(), {}, recording); });
  expectWithin("hash of 10,000 nodes", hash_ms, 100);
  expectWithin("snapshot of 10,000 nodes", snapshot_ms, 100);
  expectWithin("all passes over 10,000 nodes", all_ms, 2000);
  for (const PassRecord& pass : recording.passes) {
    if (pass.elapsed_ns > 50'000'000)
      printf("  %s %.0f ms\n", pass.name.c_str(), static_cast<double>(pass.elapsed_ns) / 1e6);
  }
}

// A graph whose one input and one constant are read twice by each of many nodes.
std::shared_ptr<Graph> manyReaders(int count, std::vector<Node*>* readers) {
  auto graph = std::make_shared<Graph>();
  torch::jit::Value* x = graph->addInput("x");
  torch::jit::Value* one = graph->insertConstant(1);
  for (int i = 0; i < count; ++i)
    readers->push_back(graph->insertNode(graph->create(c10::Symbol::fromQualString("aten::add"), {x, x, one})));
  return graph;
}

TEST(ValueUses, TakesReadersOfOneValueAwayInAnyOrder) {
  for (const std::size_t stride : {std::size_t{1}, std::size_t{199}, std::size_t{77}}) {  // forwards, backwards, mixed
    std::vector<Node*> readers;
    const auto graph = manyReaders(200, &readers);
    ValueUses uses;
    std::set<Node*> left(readers.begin(), readers.end());
    for (std::size_t i = 0; i < 150; ++i) {
      Node* node = readers[i * stride % readers.size()];
      left.erase(node);
      uses.destroy(node);
    }
    graph->lint();
    EXPECT_EQ(graph->inputs()[0]->uses().size(), 2 * left.size());
    std::set<Node*> found;
    for (const auto& use : graph->inputs()[0]->uses()) found.insert(use.user);
    EXPECT_EQ(found, left);
  }
}

TEST(ValueUses, ReplacesOneOperandAndAllUsesAsLibtorchDoes) {
  std::vector<Node*> readers;
  const auto graph = manyReaders(300, &readers);
  torch::jit::Value* x = graph->inputs()[0];
  torch::jit::Value* y = graph->addInput("y");
  ValueUses uses;
  for (Node* node : readers) uses.replaceInput(node, 1, y);
  graph->lint();
  EXPECT_EQ(x->uses().size(), 300U);
  EXPECT_EQ(y->uses().size(), 300U);
  for (const Node* node : readers) EXPECT_TRUE(node->input(0) == x && node->input(1) == y);
  replaceUses(y, x);
  graph->lint();
  EXPECT_FALSE(y->hasUses());
  ASSERT_EQ(x->uses().size(), 600U);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(x->uses()[300 + i].user, readers[i]);
}

TEST(Snapshot, HoldsValuesNodesBlocksAttributesAndLabels) {
  Rewriting rewriting(R"(graph(%x : Float(1, 3, 8, 8), %c : bool):
  %one : int[] = prim::Constant[value=[1, 1]]()
  %g : int = prim::Constant[value=1]()
  %y : Float(1, 4, 8, 8) = prim::If(%c)
    block0():
      %z : Float(1, 4, 8, 8) = aten::relu(%x)
      -> (%z)
    block1():
      -> (%x)
  %t : Float(1, 3, 8, 8) = aten::leaky_relu(%y, %g)
  return (%t)
)");
  const GraphSnapshot snapshot = makeSnapshot(*rewriting.graph, rewriting.origins, 3, "fold-pad");
  EXPECT_EQ(snapshot.pass_index, 3);
  ASSERT_EQ(snapshot.nodes.size(), 3U);
  EXPECT_EQ(snapshot.nodes[0].kind, "prim::If");
  EXPECT_EQ(snapshot.nodes[1].kind, "aten::relu");
  EXPECT_EQ(snapshot.nodes[1].parent, 0);
  EXPECT_EQ(snapshot.nodes[2].parent, -1);
  EXPECT_EQ(snapshot.nodes[2].name, "leaky_relu");
  ASSERT_EQ(snapshot.nodes[2].attributes.size(), 1U);
  EXPECT_EQ(snapshot.nodes[2].attributes[0], (std::pair<std::string, std::string>{"negative_slope", "1"}));
  EXPECT_EQ(snapshot.inputs.size(), 2U);
  EXPECT_EQ(snapshot.values[snapshot.inputs[0]].type, "Float(1, 3, 8, 8)");
  EXPECT_EQ(snapshot.values[snapshot.outputs[0]].producer, 2);
  for (std::size_t i = 0; i < snapshot.values.size(); ++i) EXPECT_EQ(snapshot.values[i].id, static_cast<int>(i));
}

}  // namespace
}  // namespace ipex_studio

// Passes that break graphs or fail: the runner puts the graph back and goes on without them; the check that finds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/pipeline/graph_copy.h"
#include "core/pipeline/graph_fault.h"
#include "core/pipeline/pipeline.h"
#include "core/record/warning_reasons.h"
#include "passes/pipeline.h"
#include "tests/goal.h"

namespace ipex_studio {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr char kBranches[] = R"(graph(%x : Float(2, 3), %c : bool):
  %p : float = prim::Constant[value=0.5]()
  %train : bool = prim::Constant[value=0]()
  %a : Float(2, 3) = aten::dropout(%x, %p, %train)
  %b : Float(2, 3) = aten::tanh(%a)
  %d : Float(2, 3) = prim::If(%c)
    block0():
      %e : Float(2, 3) = aten::exp(%b)
      %f : Float(2, 3) = aten::relu(%e)
      -> (%f)
    block1():
      -> (%a)
  %g : Float(2, 3) = aten::dropout(%d, %p, %train)
  return (%g, %b)
)";

std::shared_ptr<Graph> graphOf(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}

Node* firstNode(Graph& graph, const char* kind) {
  for (Node* node : allNodes(graph)) {
    if (node->kind() == c10::Symbol::fromQualString(kind)) return node;
  }
  return nullptr;
}

struct PassLog : Observer {
  std::vector<PassRecord> passes;
  std::vector<Remark> remarks;
  void onPass(const PassRecord& record) override { passes.push_back(record); }
  void onRemark(const Remark& remark) override { remarks.push_back(remark); }
  std::vector<std::string> leftOut() const {
    std::vector<std::string> texts;
    for (const Remark& remark : remarks) {
      if (remark.reason == kLeftOutReason) texts.push_back(remark.text);
    }
    return texts;
  }
};

const Pass* passOfName(const std::string& name) {
  const auto& all = defaultPasses();
  return *std::find_if(all.begin(), all.end(), [&](const Pass* pass) { return name == pass->name; });
}

// Rewrites tanh, and moves the new node behind its readers.
bool readTooEarly(Graph& graph, PassContext& context) {
  Node* tanh = firstNode(graph, "aten::tanh");
  if (tanh == nullptr || !context.rewriter.permit()) return false;
  Node* made = context.rewriter.create("aten::sigmoid", {tanh->input(0)}, tanh);
  context.rewriter.replace({tanh}, tanh->output(), made->output(), "broke it");
  made->moveBefore(graph.return_node());
  return true;
}

bool throwHalfWay(Graph& graph, PassContext& context) {
  readTooEarly(graph, context);
  throw std::runtime_error("no such thing\nstack");
}

const Pass kEarly = {"read-too-early", "Breaks a graph.", &readTooEarly};
const Pass kThrows = {"throw-half-way", "Fails.", &throwHalfWay};

std::string originText(Graph& graph, const OriginTable& origins) {
  std::string text;
  for (Node* node : allNodes(graph)) text += fmt::format("{} ", fmt::join(origins.of(node), ","));
  return text;
}

TEST(BrokenPass, IsLeftOutAndTheOthersRun) {
  for (const Pass* broken : {&kEarly, &kThrows}) {
    for (const std::size_t place : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("{} at {}", broken->name, place));
      std::vector<const Pass*> passes{passOfName("eliminate-dropout"), passOfName("eliminate-dead-code")};
      const auto expected = graphOf(kBranches), graph = graphOf(kBranches);
      OriginTable expected_origins, origins;
      expected_origins.assign(*expected);
      origins.assign(*graph);
      PassLog without, with;
      runPipeline(*expected, expected_origins, passes, {}, without);
      passes.insert(passes.begin() + static_cast<std::ptrdiff_t>(place), broken);
      runPipeline(*graph, origins, passes, {}, with);
      EXPECT_EQ(graphFault(*graph), "");
      graph->lint();
      EXPECT_EQ(graphHash(*graph), graphHash(*expected));
      EXPECT_EQ(originText(*graph, origins), originText(*expected, expected_origins));
      ASSERT_EQ(with.leftOut().size(), 1U);
      EXPECT_THAT(with.leftOut()[0], HasSubstr(fmt::format("Pass {} was left out", broken->name)));
      // Each pass is reported once and in order.
      ASSERT_EQ(with.passes.size(), 3U);
      for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(with.passes[p].index, static_cast<int>(p) + 1);
      EXPECT_FALSE(with.passes[place].changed);
      EXPECT_EQ(with.passes[place].missed, 1);
      EXPECT_EQ(with.remarks.size(), without.remarks.size() + 1);
    }
  }
}

TEST(BrokenPass, SeveralAreLeftOut) {
  const auto graph = graphOf(kBranches);
  OriginTable origins;
  origins.assign(*graph);
  PassLog recording;
  runPipeline(*graph, origins, {&kThrows, passOfName("eliminate-dropout"), &kEarly}, {}, recording);
  EXPECT_THAT(recording.leftOut(),
              ElementsAre("Pass throw-half-way was left out: it failed: no such thing.",
                          AllOf(HasSubstr("Pass read-too-early was left out: it broke the graph: aten::exp reads %"),
                                HasSubstr(", which is not computed before it."))));
  EXPECT_EQ(firstNode(*graph, "aten::dropout"), nullptr);
  EXPECT_NE(firstNode(*graph, "aten::tanh"), nullptr);
}

TEST(BrokenPass, DoesNotCountAgainstTheLimit) {
  OptimizeOptions options;
  options.rewrite_limit = 1;
  const auto graph = graphOf(kBranches);
  OriginTable origins;
  origins.assign(*graph);
  PassLog recording;
  runPipeline(*graph, origins, {&kEarly, passOfName("eliminate-dropout")}, options, recording);
  EXPECT_EQ(recording.leftOut().size(), 1U);
  EXPECT_EQ(recording.passes[1].rewrites, 1);
}

TEST(BrokenPass, LeavesAReproducer) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("ipex-broken-{}", getpid());
  OptimizeOptions options;
  options.dump_directory = folder.string();
  const auto graph = graphOf(kBranches);
  OriginTable origins;
  origins.assign(*graph);
  PassLog recording;
  runPipeline(*graph, origins, {&kThrows}, options, recording);
  EXPECT_THAT(recording.leftOut(),
              ElementsAre("Pass throw-half-way was left out: it failed: no such thing. The graph before it is in "
                          "reproduce-01-throw-half-way.ir."));
  std::ifstream file(folder / "reproduce-01-throw-half-way.ir");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str().find("# pass: throw-half-way\n# case: the graph before throw-half-way, which failed\ngraph("),
            0U)
      << text.str();
  std::filesystem::remove_all(folder);
}

std::string tooEarly(const std::string& reader, const Value* value) {
  return fmt::format("{} reads %{}, which is not computed before it", reader, value->debugName());
}

TEST(GraphFault, NamesWhatIsWrong) {
  const auto sound = graphOf(kBranches);
  EXPECT_EQ(graphFault(*sound), "");
  const auto early = graphOf(kBranches);
  firstNode(*early, "aten::dropout")->moveBefore(early->return_node());
  EXPECT_EQ(graphFault(*early), tooEarly("aten::tanh", firstNode(*early, "aten::tanh")->input(0)));
  // The result of a branch is not known behind it.
  const auto branch = graphOf(kBranches);
  firstNode(*branch, "prim::If")->next()->replaceInput(0, firstNode(*branch, "aten::relu")->output());
  EXPECT_EQ(graphFault(*branch), tooEarly("aten::dropout", firstNode(*branch, "aten::relu")->output()));
  const auto result = graphOf(kBranches);
  result->registerOutput(firstNode(*result, "aten::exp")->output());
  EXPECT_EQ(graphFault(*result), tooEarly("the end of a block", firstNode(*result, "aten::exp")->output()));
}

TEST(GraphCopy, PutsAGraphBack) {
  const auto graph = graphOf(kBranches);
  OriginTable origins;
  origins.assign(*graph);
  origins.set(firstNode(*graph, "aten::exp")->output(), {0, 2});
  const std::string known = originText(*graph, origins), type = graph->inputs()[0]->type()->str();
  const auto hash = graphHash(*graph);
  const GraphCopy copy(*graph, origins);
  for (int time = 0; time < 2; ++time) {
    firstNode(*graph, "aten::exp")->output()->replaceAllUsesWith(firstNode(*graph, "prim::If")->output());
    firstNode(*graph, "aten::dropout")->moveBefore(graph->return_node());
    graph->inputs()[0]->setType(c10::TensorType::get());
    EXPECT_NE(graphFault(*graph), "");
    copy.restore(*graph, origins);
    EXPECT_EQ(graphFault(*graph), "");
    graph->lint();
    EXPECT_EQ(graphHash(*graph), hash);
    EXPECT_EQ(graph->inputs()[0]->type()->str(), type);
    EXPECT_EQ(graph->inputs()[1]->debugName(), "c");
    EXPECT_EQ(originText(*graph, origins), known);
  }
}

// libtorch's check takes seconds here: each node searches the readers of the constant that all share.
TEST(GraphFault, IsLinearInTheReadersOfAConstant) {
  constexpr int kNodes = 50000;
  Graph graph;
  Value* value = graph.addInput("x");
  Value* one = graph.insertConstant(1);
  for (int i = 0; i < kNodes; ++i)
    value = graph.insertNode(graph.create(c10::Symbol::fromQualString("aten::add"), {value, value, one}))->output();
  graph.registerOutput(value);
  OriginTable origins;
  origins.assign(graph);
  const double begin = cpuMs();
  EXPECT_EQ(graphFault(graph), "");
  const double checked = cpuMs();
  const GraphCopy copy(graph, origins);
  const double copied = cpuMs();
  copy.restore(graph, origins);
  const double restored = cpuMs();
  expectWithin("check of 50,000 nodes", checked - begin, 50);
  expectWithin("copy of 50,000 nodes", copied - checked, 500);
  expectWithin("putting back 50,000 nodes", restored - copied, 500);
}

}  // namespace
}  // namespace ipex_studio

// Files of --dump are read back as the same graphs by the runner of .ir cases, without the model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/replay_text.h"
#include "passes/pipeline.h"
#include "tests/passes/ir_graph.h"
#include "tests/passes/ir_runner.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Value;

class Replay : public ::testing::Test {
 protected:
  void SetUp() override {
    loadOperators();
    std::string pattern = (std::filesystem::temp_directory_path() / "ipex-replay-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  IrCase readBack(const std::string& text) const {
    const std::string path = folder_ + "/one.ir";
    std::ofstream(path) << text;
    const std::vector<IrCase> cases = readCases(path);
    EXPECT_EQ(cases.size(), 1U) << text;
    return cases.empty() ? IrCase() : cases[0];
  }

  static NamedTensors constantsOf(const IrCase& test) {
    NamedTensors constants;
    for (const auto& [name, expression] : test.constants) constants[name] = evaluate(name, expression).toTensor();
    return constants;
  }

  std::string folder_;
};

Value* constant(Graph& graph, const at::Tensor& tensor) { return graph.insertConstant(tensor); }

// Adds up x and all others, so that every constant is used.
Value* sum(Graph& graph, Value* x, const std::vector<Value*>& others) {
  Value* one = graph.insertConstant(1);
  for (Value* other : others) x = graph.insert(torch::jit::aten::add, {x, other, one});
  return x;
}

TEST_F(Replay, SmallConstantsComeBackExactly) {
  Graph graph;
  Value* x = graph.addInput("x");
  x->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, {2, 3}));
  std::vector<Value*> constants;
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar,
                          at::kByte, at::kBool}) {
    constants.push_back(constant(graph, at::tensor({1, 0, 7}).to(type)));
    constants.push_back(constant(graph, at::scalar_tensor(1, type)));
    constants.push_back(constant(graph, (at::rand({2, 3}) * 100).to(type)));
  }
  constants.push_back(constant(graph, at::tensor({1e-30F, -3e38F, 0.1F})));
  constants.push_back(constant(graph, at::empty({2, 0, 3})));
  constants.back()->setDebugName("self.norm.bias");
  constants.pop_back();
  graph.registerOutput(sum(graph, x, constants));
  const IrCase test = readBack(replayText(graph, "sums"));
  ASSERT_EQ(test.error, "");
  EXPECT_EQ(test.title, "sums");
  const auto again = parseGraph(test.before, constantsOf(test));
  EXPECT_EQ(graphHash(*again), graphHash(graph)) << test.before;
}

TEST_F(Replay, LargeConstantsKeepTypeSizesAndRange) {
  const at::Tensor originals[] = {at::rand({40, 50}) * 3 + 1,
                                  at::randn({10, 10}) * 0.01 + 5,
                                  at::full({100}, 2.5),
                                  at::randint(-50, 1000, {70}),
                                  at::randint(0, 2, {9, 9}).to(at::kBool),
                                  at::full({65}, std::numeric_limits<float>::infinity()),
                                  at::randn({80}).to(at::kBFloat16)};
  for (const at::Tensor& original : originals) {
    Graph graph;
    Value* x = graph.addInput("x");
    x->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, {1}));
    graph.registerOutput(sum(graph, x, {constant(graph, original)}));
    const IrCase test = readBack(replayText(graph, "large"));
    const NamedTensors constants = constantsOf(test);
    ASSERT_EQ(constants.size(), 1U);
    const at::Tensor made = constants.begin()->second;
    EXPECT_EQ(made.scalar_type(), original.scalar_type());
    EXPECT_EQ(made.sizes(), original.sizes());
    if (!at::isfinite(original).all().item<bool>()) continue;
    const at::Tensor from = original.to(at::kDouble), to = made.to(at::kDouble);
    EXPECT_NEAR(to.mean().item<double>(), from.mean().item<double>(), 0.5 * from.abs().max().item<double>());
    if (from.min().item<double>() >= 0) {
      EXPECT_GE(to.min().item<double>(), from.min().item<double>() - 1e-6);
      EXPECT_LE(to.max().item<double>(), from.max().item<double>() + 1e-6);
    }
    EXPECT_NO_THROW(parseGraph(test.before, constants)) << test.before;
  }
}

TEST_F(Replay, ListsOfTensorsUnusedModulesAndOtherConstants) {
  Graph graph;
  Value* module = graph.addInput("self");
  module->setType(c10::ClassType::create(c10::QualifiedName("__torch__.Net"),
                                         std::make_shared<torch::jit::CompilationUnit>(), true));
  Value* x = graph.addInput("x");
  x->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, {2, 3}));
  Value* list = graph.insertConstant(c10::List<at::Tensor>({at::ones({2, 3}), at::zeros({2, 3})}));
  Value* joined = graph.insert(torch::jit::aten::cat, {list, 0});
  Value* product = graph.insert(torch::jit::aten::mul, {x, -std::numeric_limits<float>::max()});
  Value* summed = graph.insert(torch::jit::aten::sum, {product, c10::List<std::int64_t>({0, 1}), true});
  graph.registerOutput(graph.insert(torch::jit::aten::add, {joined, summed, 1}));
  const IrCase test = readBack(replayText(graph, "lists"));
  const auto again = parseGraph(test.before, constantsOf(test));
  EXPECT_EQ(again->inputs().size(), 1U);
  EXPECT_NE(again->toString(false).find("aten::cat"), std::string::npos);
}

bool throwing(Graph&, PassContext&) { throw std::runtime_error("no such thing"); }

// A pass fails in the middle of the real pipeline: its file alone gives the graph, and the pass before it finds nothing
// to do.
TEST_F(Replay, ReproducerOfAFailedPassRunsAlone) {
  const IrCase network = readBack(R"(# pass: fold-batch-norm
# case: network
# const %w randn(8,3,3,3)
# const %mean randn(8)
# const %var 1+rand(8)
graph(%x : Float(1, 3, 8, 8)):
  %no : NoneType = prim::Constant()
  %false : bool = prim::Constant[value=0]()
  %momentum : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value=1e-05]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %zeros : int[] = prim::Constant[value=[0, 0]]()
  %one : int = prim::Constant[value=1]()
  %c : Float(1, 8, 8, 8) = aten::convolution(%x, %w, %no, %ones, %ones, %ones, %false, %zeros, %one)
  %n : Float(1, 8, 8, 8) = aten::batch_norm(%c, %no, %no, %mean, %var, %false, %momentum, %eps, %false)
  return (%n)
)");
  const auto graph = parseGraph(network.before, constantsOf(network));
  std::vector<const Pass*> passes;
  const Pass failing = {"fold-batch-norm", "Throws.", &throwing};
  for (const Pass* pass : defaultPasses()) passes.push_back(std::string(pass->name) == failing.name ? &failing : pass);
  OriginTable origins;
  origins.assign(*graph);
  OptimizeOptions options;
  options.dump_directory = folder_;
  Observer nobody;
  runPipeline(*graph, origins, passes, options, nobody);
  std::vector<IrCase> reproducer;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    if (file.path().filename().string().rfind("reproduce-", 0) == 0) reproducer = readCases(file.path().string());
  }
  ASSERT_EQ(reproducer.size(), 1U);
  EXPECT_EQ(reproducer[0].passes, std::vector<std::string>{"fold-batch-norm"});
  // The pass in the pipeline folds it: the runner checks numbers, origins and that a second run changes nothing.
  EXPECT_EQ(runCase(reproducer[0]), "");
  reproducer[0].any_graph = false;
  reproducer[0].unchanged = true;
  EXPECT_NE(runCase(reproducer[0]).find("not the expected one"), std::string::npos) << "nothing was folded";
}

// Expectations that IPEX_BLESS writes read back, also with small, equal or unused constants.
TEST_F(Replay, BlessedExpectationsReadBack) {
  Graph graph;
  Value* x = graph.addInput("x");
  x->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, {3}));
  constant(graph, at::tensor({4.F, 5.F}));
  Value* same = constant(graph, at::tensor({1.F, 2.F, 3.F}));
  graph.registerOutput(
      sum(graph, x, {constant(graph, at::tensor({1.F, 2.F, 3.F})), same, constant(graph, at::randn({3}))}));
  const auto copy = graph.copy();
  const IrCase test = readBack("# pass: all\n# case: blessed\n" + printExpectation(*copy, {}));
  NamedTensors constants;
  std::map<std::string, Fingerprint> prints;
  for (const auto& [name, text] : test.expected_constants) {
    prints[name] = parseFingerprint(text);
    constants[name] = at::zeros(prints[name].sizes, prints[name].dtype);
  }
  EXPECT_EQ(canonicalGraph(*parseGraph(test.expected, constants), prints).text, canonicalGraph(graph).text);
}

}  // namespace
}  // namespace ipex_studio

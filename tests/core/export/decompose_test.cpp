// Fused operators and the stock operators that replace them give the same numbers.
#include "core/export/decompose.h"
#include "core/export/decompose_newer.h"
#include "core/graph/node_facts.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/torch/stft_version.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;

std::shared_ptr<Graph> parse(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}

std::vector<at::Tensor> runGraph(const std::shared_ptr<Graph>& graph, const std::vector<at::Tensor>& inputs) {
  at::NoGradGuard no_gradients;
  torch::jit::Code code(graph, "test");
  torch::jit::Stack stack(inputs.begin(), inputs.end());
  torch::jit::InterpreterState(code).run(stack);
  std::vector<at::Tensor> results;
  for (const IValue& value : stack) results.push_back(value.toTensor());
  return results;
}

bool hasFusedOps(Graph& graph) {
  for (const Node* node : allNodes(graph)) {
    if (std::string(node->kind().toQualString()).rfind("ipex_studio::", 0) == 0) return true;
  }
  return false;
}

void decompose(Graph& graph) {
  OriginTable origins;
  origins.assign(graph);
  Rewriter rewriter(graph, origins, -1);
  decomposeFusedOps(graph, rewriter);
  graph.lint();
}

// Expects the same numbers before and after decomposition.
void expectSameNumbers(const std::string& text, const std::vector<at::Tensor>& inputs, double rtol = 1e-5) {
  const auto fused = parse(text);
  const auto stock = parse(text);
  decompose(*stock);
  EXPECT_TRUE(hasFusedOps(*fused));
  EXPECT_FALSE(hasFusedOps(*stock)) << stock->toString(false);
  const auto expected = runGraph(fused, inputs);
  const auto actual = runGraph(stock, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].sizes(), expected[i].sizes()) << stock->toString(false);
    const double largest = expected[i].abs().max().item().toDouble();
    EXPECT_LE((actual[i] - expected[i]).abs().max().item().toDouble(), rtol * std::max(largest, 1e-3))
        << text << stock->toString(false);
  }
}

std::string convolutionGraph(const std::string& kind, const std::string& spec, const std::string& operands = "") {
  return fmt::format(
      "graph(%x : Tensor, %w : Tensor, %b : Tensor{0}{1}):\n  %args : Tensor[] = prim::ListConstruct({1})\n"
      "  %spec : str = prim::Constant[value=\"{2}\"]()\n"
      "  %y : Tensor = ipex_studio::{3}(%x, %w, %b, %args, %spec)\n  return (%y)\n",
      operands.empty() ? "" : ", ", operands, spec, kind);
}

class Decompose : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(IPEX_BINARY_DIR "/libipex_studio_ops.so", RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }
  void SetUp() override { at::manual_seed(7); }
};

TEST_F(Decompose, Convolution) {
  const auto x = at::randn({2, 4, 9, 8});
  expectSameNumbers(
      convolutionGraph("convolution", "convolution{dilation=[1,2],groups=2,padding=[1,0],stride=[2,1]}|relu"),
      {x, 0.3 * at::randn({6, 2, 3, 3}), at::randn({6})});
  expectSameNumbers(
      convolutionGraph("convolution", "convolution{dilation=[1],groups=1,padding=[2],stride=[1]}|add(0)|mul(1)",
                       "%r, %g"),
      {at::randn({2, 4, 9}), 0.3 * at::randn({6, 4, 3}), at::randn({6}), at::randn({2, 6, 11}), at::randn({6, 1})});
}

TEST_F(Decompose, AsymmetricPaddingBecomesAPad) {
  const std::string text = convolutionGraph(
      "convolution", "convolution{dilation=[1,1],groups=1,padding=[0,1],padding_end=[1,2],stride=[2,2]}");
  expectSameNumbers(text, {at::randn({1, 3, 8, 7}), 0.3 * at::randn({5, 3, 3, 3}), at::randn({5})});
}

TEST_F(Decompose, TransposedConvolution) {
  const std::string spec =
      "deconvolution{dilation=[1,1],groups=1,output_padding=[1,0],padding=[1,1],stride=[2,2]}|clip(-1.0,inf)";
  expectSameNumbers(convolutionGraph("deconvolution", spec),
                    {at::randn({2, 4, 5, 6}), 0.3 * at::randn({4, 6, 3, 3}), at::randn({6})});
}

TEST_F(Decompose, BlocksInBf16) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const std::string text = fmt::format(
        "graph(%x : {0}(2, 6, 5, 5), %r : {0}(2, 6, 5, 5), %R : Tensor, %E : Tensor):\n"
        "  %none : NoneType = prim::Constant()\n  %args : Tensor[] = prim::ListConstruct(%r)\n  %spec : str = "
        "prim::Constant[value=\"squeeze_excite{{activation=relu,axes=2,gate=sigmoid}}|add(0)|relu\"]()\n"
        "  %y : {0}(2, 6, 5, 5) = ipex_studio::squeeze_excite(%x, %R, %none, %E, %none, %args, %spec)\n"
        "  return (%y)\n",
        type == at::kFloat ? "Float" : "BFloat16");
    const at::Tensor reduce = at::randn({3, 6}), expand = at::randn({6, 3});
    const auto fused = parse(text), stock = parse(text);
    for (Graph* graph : {fused.get(), stock.get()}) {
      torch::jit::WithInsertPoint guard(*graph->nodes().begin());
      graph->inputs()[3]->replaceAllUsesWith(graph->insertConstant(expand));
      graph->inputs()[2]->replaceAllUsesWith(graph->insertConstant(reduce));
      graph->eraseInput(3);
      graph->eraseInput(2);
    }
    decompose(*stock);
    EXPECT_FALSE(hasFusedOps(*stock)) << stock->toString(false);
    const std::vector<at::Tensor> inputs = {at::randn({2, 6, 5, 5}).to(type), at::randn({2, 6, 5, 5}).to(type)};
    const at::Tensor expected = runGraph(fused, inputs)[0], actual = runGraph(stock, inputs)[0];
    EXPECT_EQ(actual.scalar_type(), type);
    EXPECT_LE((actual.to(at::kFloat) - expected.to(at::kFloat)).abs().max().item().toDouble(),
              type == at::kFloat ? 1e-5 : 0.04);
  }
}

TEST_F(Decompose, Matmul) {
  const std::string text =
      "graph(%a : Tensor, %b : Tensor, %m : Tensor):\n  %args : Tensor[] = prim::ListConstruct(%m)\n"
      "  %spec : str = prim::Constant[value=\"matmul{scale=0.5,transpose_a=1,transpose_b=1}|add(0,2.0)\"]()\n"
      "  %y : Tensor = ipex_studio::matmul(%a, %b, %args, %spec)\n  return (%y)\n";
  expectSameNumbers(text, {at::randn({2, 4, 3}), at::randn({2, 5, 4}), at::randn({5})});
}

TEST_F(Decompose, EveryUnaryPostOp) {
  for (const char* post_op : {"relu",
                              "clip(-0.5,0.7)",
                              "clip(-inf,0.2)",
                              "sigmoid",
                              "tanh",
                              "gelu_erf",
                              "gelu_tanh",
                              "silu",
                              "hardswish",
                              "hardsigmoid",
                              "leaky_relu(0.1)",
                              "elu(0.7)",
                              "mish",
                              "abs",
                              "exp",
                              "log",
                              "sqrt",
                              "rsqrt",
                              "square",
                              "neg",
                              "reciprocal",
                              "erf",
                              "softplus(2.0,5.0)",
                              "floor",
                              "round",
                              "pow(1.5)",
                              "sin",
                              "cos",
                              "linear(2.0,-0.5)",
                              "linear(-1.0,0.0)"}) {
    const std::string text = fmt::format(
        "graph(%x : Tensor):\n  %args : Tensor[] = prim::ListConstruct()\n"
        "  %spec : str = prim::Constant[value=\"pointwise{{}}|{}\"]()\n"
        "  %y : Tensor = ipex_studio::pointwise(%x, %args, %spec)\n  return (%y)\n",
        post_op);
    expectSameNumbers(text, {at::rand({3, 7}) * 3 + 0.1});
  }
}

TEST_F(Decompose, EveryBinaryPostOp) {
  for (const char* post_op : {"add(0)", "add(0,0.5)", "sub(0)", "sub(0,-2.0)", "rsub(0)", "rsub(0,3.0)", "mul(0)",
                              "div(0)", "rdiv(0)", "max(0)", "min(0)"}) {
    const std::string text = fmt::format(
        "graph(%x : Tensor, %y : Tensor):\n  %args : Tensor[] = prim::ListConstruct(%y)\n"
        "  %spec : str = prim::Constant[value=\"pointwise{{}}|{}\"]()\n"
        "  %z : Tensor = ipex_studio::pointwise(%x, %args, %spec)\n  return (%z)\n",
        post_op);
    expectSameNumbers(text, {at::rand({3, 7}) + 0.5, at::rand({3, 1}) + 0.5});
  }
}

TEST_F(Decompose, Softmax) {
  const std::string text =
      "graph(%x : Tensor, %m : Tensor):\n  %none : NoneType = prim::Constant()\n"
      "  %spec : str = prim::Constant[value=\"softmax{axis=-1,log=0,scale=0.125}\"]()\n"
      "  %log : str = prim::Constant[value=\"softmax{axis=-1,log=1,scale=2.0}\"]()\n"
      "  %y : Tensor = ipex_studio::softmax(%x, %m, %spec)\n"
      "  %z : Tensor = ipex_studio::softmax(%x, %none, %log)\n  return (%y, %z)\n";
  expectSameNumbers(text, {at::randn({2, 3, 4, 5}), at::randn({2, 1, 1, 5})});
}

TEST_F(Decompose, FourierTransforms) {
  const std::string text =
      "graph(%x : Tensor, %w : Tensor):\n  %none : NoneType = prim::Constant()\n"
      "  %frames : str = prim::Constant[value=\"fourier{frame=10,hop=3,norm=ortho}\"]()\n"
      "  %whole : str = prim::Constant[value=\"fourier{norm=forward,result=magnitude}\"]()\n"
      "  %y : Tensor = ipex_studio::fourier(%x, %w, %frames)\n"
      "  %z : Tensor = ipex_studio::fourier(%x, %none, %whole)\n  return (%y, %z)\n";
  expectSameNumbers(text, {at::randn({2, 3, 33}), at::rand({10})});
}

TEST_F(Decompose, ProductsOfPairsOfFeatures) {
  const std::string text =
      "graph(%a : Tensor, %b : Tensor):\n  %x : Tensor[] = prim::ListConstruct(%a, %b)\n"
      "  %dense : str = prim::Constant[value=\"interaction{dense=1,features=4,triangle=lower}\"]()\n"
      "  %above : str = prim::Constant[value=\"interaction{diagonal=1,features=4,triangle=upper}\"]()\n"
      "  %y : Tensor = ipex_studio::interaction(%x, %dense)\n"
      "  %z : Tensor = ipex_studio::interaction(%x, %above)\n  return (%y, %z)\n";
  expectSameNumbers(text, {at::randn({2, 5}), at::randn({2, 3, 5})});
}

TEST_F(Decompose, SumsOverEdges) {
  std::string text = "graph(%z : Tensor, %to : Tensor, %x : Tensor, %from : Tensor, %w : Tensor, %m : Tensor):\n";
  text += "  %none : NoneType = prim::Constant()\n";
  std::string results;
  int next = 0;
  for (const char* reduction : {"add", "mean", "max", "min"}) {
    for (const char* operands : {"%x, %from, %w", "%x, %from, %none", "%m, %none, %none"}) {
      const std::string number = std::to_string(next++);
      text += "  %s" + number + " : str = prim::Constant[value=\"gather_scatter{rank=3,reduction=" + reduction +
              (number == "0" ? ",wrap=1" : "") + "}\"]()\n  %y" + number +
              " : Tensor = ipex_studio::gather_scatter(%z, %to, " + operands + ", %s" + number + ")\n";
      results += (results.empty() ? "%y" : ", %y") + number;
    }
  }
  text += "  return (" + results + ")\n";
  expectSameNumbers(text, {at::zeros({6, 2, 3}), at::randint(0, 5, {9}), at::randn({4, 2, 3}), at::randint(0, 4, {9}),
                           at::randn({9, 2, 1}), at::randn({9, 2, 3})});
}

TEST_F(Decompose, RotaryEmbeddingInAllForms) {
  std::string text = "graph(%x : Tensor, %c : Tensor, %s : Tensor):\n", results;
  int next = 0;
  for (const char* form : {"", "interleaved=1,"}) {
    for (const char* tables : {"rotated=8}", "rotated=6}", "half=1,rotated=8}", "half=1,rotated=6}"}) {
      const std::string number = std::to_string(next++), spec = std::string(tables);
      const bool half = spec[0] == 'h', part = spec.find('6') != std::string::npos;
      // Attributes stand in the order of their names.
      const std::string attributes = half ? "half=1," + std::string(form) + spec.substr(7) : form + spec;
      text += "  %n" + number + " : str = prim::Constant[value=\"rotary{" + attributes + "\"]()\n";
      const auto table = [&](const char* whole) {
        const std::string columns = std::to_string((part ? 6 : 8) / (half ? 2 : 1));
        text += "  %last" + number + whole + " : int = prim::Constant[value=-1]()\n  %zero" + number + whole +
                " : int = prim::Constant[value=0]()\n  %end" + number + whole +
                " : int = prim::Constant[value=" + columns + "]()\n  %one" + number + whole +
                " : int = prim::Constant[value=1]()\n  %" + whole + number + " : Tensor = aten::slice(%" + whole +
                ", %last" + number + whole + ", %zero" + number + whole + ", %end" + number + whole + ", %one" +
                number + whole + ")\n";
        return "%" + std::string(whole) + number;
      };
      const std::string cosines = table("c"), sines = table("s");
      text +=
          "  %y" + number + " : Tensor = ipex_studio::rotary(%x, " + cosines + ", " + sines + ", %n" + number + ")\n";
      results += (results.empty() ? "%y" : ", %y") + number;
    }
  }
  text += "  return (" + results + ")\n";
  expectSameNumbers(text, {at::randn({2, 3, 5, 8}), at::randn({5, 8}), at::randn({5, 8})});
}

TEST_F(Decompose, LayerNormAsksForSizesWhereNoFactorTellsThem) {
  const std::string text =
      "graph(%x : Tensor, %r : Tensor):\n  %none : NoneType = prim::Constant()\n"
      "  %one : str = prim::Constant[value=\"layer_norm{axes=2,eps=1e-05}\"]()\n"
      "  %two : str = prim::Constant[value=\"layer_norm{axes=1,eps=1e-05,sum_output=1}\"]()\n"
      "  %y : Tensor = ipex_studio::layer_norm(%x, %none, %none, %r, %one)\n"
      "  %z : Tensor, %s : Tensor = ipex_studio::add_layer_norm(%x, %none, %none, %r, %two)\n  return (%y, %z, %s)\n";
  expectSameNumbers(text, {at::randn({4, 3, 6}), at::randn({4, 3, 6})});
}

TEST_F(Decompose, RowsOverTheirRootMeanSquareOrLength) {
  const std::string text =
      "graph(%x : Tensor, %g : Tensor, %r : Tensor):\n  %none : NoneType = prim::Constant()\n"
      "  %mean : str = prim::Constant[value=\"layer_norm{axes=1,eps=0.01,rms=1,sum_output=1}\"]()\n"
      "  %means : str = prim::Constant[value=\"layer_norm{axes=2,eps=0.01,rms=1}\"]()\n"
      "  %length : str = prim::Constant[value=\"layer_norm{axes=1,eps=2.5,l2=1}\"]()\n"
      "  %a : Tensor, %s : Tensor = ipex_studio::add_layer_norm(%x, %g, %none, %r, %mean)\n"
      "  %b : Tensor = ipex_studio::layer_norm(%x, %none, %none, %none, %means)\n"
      "  %c : Tensor = ipex_studio::layer_norm(%x, %g, %g, %none, %length)\n  return (%a, %s, %b, %c)\n";
  expectSameNumbers(text, {at::randn({4, 3, 6}), at::randn({6}), at::randn({4, 3, 6})});
}

TEST_F(Decompose, WorksInsideBranchesAndKeepsWhatIsStock) {
  const auto graph = parse(
      "graph(%x : Tensor, %c : bool):\n  %args : Tensor[] = prim::ListConstruct()\n"
      "  %spec : str = prim::Constant[value=\"pointwise{}|relu|neg\"]()\n  %a : Tensor = aten::tanh(%x)\n"
      "  %z : Tensor = prim::If(%c)\n    block0():\n"
      "      %y : Tensor = ipex_studio::pointwise(%a, %args, %spec)\n      -> (%y)\n    block1():\n      -> (%a)\n"
      "  return (%z)\n");
  decompose(*graph);
  std::vector<std::string> kinds;
  for (const Node* node : allNodes(*graph)) kinds.push_back(node->kind().toQualString());
  EXPECT_EQ(kinds, (std::vector<std::string>{"aten::tanh", "prim::If", "aten::relu", "aten::neg"}));
}

TEST_F(Decompose, RefusesADamagedDescription) {
  const auto graph = parse(
      "graph(%x : Tensor):\n  %args : Tensor[] = prim::ListConstruct()\n"
      "  %spec : str = prim::Constant[value=\"pointwise{}|add(3)\"]()\n"
      "  %y : Tensor = ipex_studio::pointwise(%x, %args, %spec)\n  return (%y)\n");
  EXPECT_THROW(decompose(*graph), Error);
}

// Portable exports hold only operators that stock PyTorch of this version has.
TEST(DecomposeNewerOperators, AttentionIsTheSameWithEveryKindOfMask) {
  for (const char* mask : {"%none", "%floats", "%flags"}) {
    for (const char* causal : {"%no", "%yes"}) {
      const std::string text =
          fmt::format(R"(graph(%q : Tensor, %k : Tensor, %v : Tensor, %floats : Tensor, %flags : Tensor):
  %none : NoneType = prim::Constant()
  %no : bool = prim::Constant[value=0]()
  %yes : bool = prim::Constant[value=1]()
  %p : float = prim::Constant[value=0.]()
  %y : Tensor = aten::scaled_dot_product_attention(%q, %k, %v, {}, %p, {}, %none, %yes)
  return (%y))",
                      mask, causal);
      const auto given = parse(text);
      const auto written = parse(text);
      decomposeNewerOperators(*written);
      written->lint();
      for (const Node* node : allNodes(*written))
        EXPECT_FALSE(IPEX_NEEDS_SDPA_SHIM && isKind(node, "aten::scaled_dot_product_attention"));
      at::manual_seed(1);
      const at::Tensor flags = at::rand({5, 7}).gt(0.3).index_fill(1, at::zeros({1}, at::kLong), true);
      const std::vector<at::Tensor> inputs{at::randn({2, 6, 5, 8}), at::randn({2, 3, 7, 8}), at::randn({2, 3, 7, 4}),
                                           at::randn({5, 7}), flags};
      EXPECT_TRUE(at::equal(runGraph(written, inputs)[0], runGraph(given, inputs)[0])) << mask << " " << causal;
    }
  }
}

TEST(DecomposeNewerOperators, RmsNormIsTheSameWithAndWithoutWeightAndEps) {
  for (const char* weight : {"%none", "%w"}) {
    for (const char* eps : {"%none", "%small"}) {
      const std::string text = fmt::format(R"(graph(%x : Tensor, %w : Tensor):
  %none : NoneType = prim::Constant()
  %small : float = prim::Constant[value=0.25]()
  %four : int = prim::Constant[value=4]()
  %six : int = prim::Constant[value=6]()
  %sizes : int[] = prim::ListConstruct(%four, %six)
  %y : Tensor = aten::rms_norm(%x, %sizes, {}, {})
  return (%y))",
                                           weight, eps);
      const auto given = parse(text);
      const auto written = parse(text);
      decomposeNewerOperators(*written);
      written->lint();
      for (const Node* node : allNodes(*written))
        EXPECT_FALSE(IPEX_NEEDS_RMS_NORM_SHIM && isKind(node, "aten::rms_norm"));
      at::manual_seed(1);
      for (const auto dtype : {at::kFloat, at::kDouble}) {
        const std::vector<at::Tensor> inputs{at::randn({3, 4, 6}, dtype), at::randn({4, 6}, dtype)};
        const at::Tensor result = runGraph(written, inputs)[0];
        EXPECT_TRUE(at::equal(result, runGraph(given, inputs)[0])) << weight << " " << eps;
        const at::Tensor square = inputs[0].pow(2).mean({1, 2}, true) + (eps[1] == 's' ? 0.25 : 0.0);
        const at::Tensor expected = inputs[0] / square.sqrt() * (weight[1] == 'w' ? inputs[1] : at::ones({}, dtype));
        EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-6)) << weight << " " << eps;
      }
    }
  }
}

// Forms of PyTorch 2.7: the stock ones with one argument more.
TEST(DecomposeNewerOperators, StftWithTheArgumentOfPyTorch27) {
  for (const char* centre : {"", "%true, %reflect, "}) {
    const std::string text = fmt::format(R"(graph(%x : Tensor, %w : Tensor):
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %reflect : str = prim::Constant[value="reflect"]()
  %n : int = prim::Constant[value=16]()
  %hop : int = prim::Constant[value=5]()
  %y : Tensor = aten::stft(%x, %n, %hop, %n, %w, {}%false, %none, %true, %none)
  %z : Tensor = aten::abs(%y)
  return (%z))",
                                         centre);
    const auto given = parse(text);
    const auto written = parse(text);
    decomposeNewerOperators(*written);
    written->lint();
    for (const Node* node : allNodes(*written)) {
      EXPECT_FALSE(IPEX_NEEDS_STFT_SHIM && isKind(node, "aten::stft") && node->inputs().size() % 2 == 1);
    }
    at::manual_seed(1);
    const std::vector<at::Tensor> inputs{at::randn({2, 100}), at::hann_window(16)};
    const at::Tensor result = runGraph(written, inputs)[0];
    EXPECT_TRUE(at::equal(result, runGraph(given, inputs)[0])) << centre;
    const c10::optional<bool> none;
    const at::Tensor expected = centre[0] == '\0'
                                    ? at::stft(inputs[0], 16, 5, 16, inputs[1], false, none, true)
                                    : at::stft(inputs[0], 16, 5, 16, inputs[1], true, "reflect", false, none, true);
    EXPECT_TRUE(at::equal(result, expected.abs())) << centre;
  }
}

}  // namespace
}  // namespace ipex_studio

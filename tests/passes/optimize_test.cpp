// Optimized models against eager: networks, control flow, writes, side effects, other sizes, odd types. One concept in
// spite of its length: each test is one kind of model through optimizeModel.
#include "passes/optimize.h"

#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include "core/base/error.h"
#include "passes/pipeline.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

at::Tensor x4(std::int64_t n = 1, std::int64_t h = 9, std::int64_t w = 9) { return at::randn({n, 8, h, w}); }

Module residualNetwork() {
  return scriptModule(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w1, None, [1, 1], [1, 1], [1, 1], 1)
    y = torch.batch_norm(y, self.gamma, self.beta, self.mean, self.var, False, 0.1, 1e-5, False)
    y = torch.relu(y)
    y = torch.conv2d(y, self.w2, self.b2, [1, 1], [1, 1], [1, 1], 1)
    y = torch.relu_(y + x)
    z = torch.max_pool2d(y, [3, 3], [2, 2], [1, 1], [1, 1], False)
    z = torch.adaptive_avg_pool2d(z, [1, 1]).flatten(1)
    z = torch.linear(z, self.w3, self.b3)
    return torch.softmax(z * 0.5, -1), y.mean([2, 3])
)",
                      {{"w1", weight({8, 8, 3, 3})},
                       {"gamma", at::rand({8}) + 0.5},
                       {"beta", weight({8})},
                       {"mean", weight({8})},
                       {"var", at::rand({8}) + 0.5},
                       {"w2", weight({8, 8, 3, 3})},
                       {"b2", weight({8})},
                       {"w3", weight({10, 8})},
                       {"b3", weight({10})}});
}

Module attention() {
  return scriptModule(R"(
def forward(self, x, mask):
    b = x.size(0)
    s = x.size(1)
    q = torch.linear(x, self.wq, self.bq).view([b, s, 2, 8]).transpose(1, 2)
    k = torch.linear(x, self.wk, self.bk).view([b, s, 2, 8]).transpose(1, 2)
    v = torch.linear(x, self.wv, None).view([b, s, 2, 8]).transpose(1, 2)
    scores = torch.matmul(q, k.transpose(-1, -2)) / 2.8284 + mask
    y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).contiguous().view([b, s, 16])
    h = torch.layer_norm(x + torch.linear(y, self.wo, self.bq), [16], self.gamma, self.beta, 1e-5)
    return torch.gelu(torch.linear(h, self.w1, self.b1)), h
)",
                      {{"wq", weight({16, 16})},
                       {"bq", weight({16})},
                       {"wk", weight({16, 16})},
                       {"bk", weight({16})},
                       {"wv", weight({16, 16})},
                       {"wo", weight({16, 16})},
                       {"gamma", at::rand({16})},
                       {"beta", weight({16})},
                       {"w1", weight({32, 16})},
                       {"b1", weight({32})}});
}

Inputs attentionInputs(std::int64_t b, std::int64_t s) { return {at::randn({b, s, 16}), at::randn({b, 1, 1, s})}; }

TEST(Optimize, ResidualNetworkAtSeveralSizes) {
  const OptimizedModel result = expectSame(residualNetwork(), {{x4()}, {x4(3)}, {x4(2, 14, 7)}, {x4()}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1);
}

TEST(Optimize, AttentionAtSeveralSizes) {
  const OptimizedModel result = expectSame(
      attention(), {attentionInputs(1, 6), attentionInputs(2, 6), attentionInputs(3, 1), attentionInputs(1, 6)});
  EXPECT_EQ(regionsIn(result.module), 1);
}

TEST(Optimize, ChannelsLastAndStridedInputs) {
  expectSame(residualNetwork(), {{x4()},
                                 {x4(2).contiguous(at::MemoryFormat::ChannelsLast)},
                                 {at::randn({2, 9, 9, 8}).permute({0, 3, 1, 2})},
                                 {x4(4).slice(0, 1, 3)},
                                 {at::randn({1, 8, 1, 9}).expand({1, 8, 9, 9})}});
}

TEST(Optimize, EachPassDisabledInTurn) {
  std::vector<std::string> names{kLowerToPlanName};
  for (const Pass* pass : defaultPasses()) names.push_back(pass->name);
  for (const std::string& name : names) {
    OptimizeOptions options;
    options.disabled_passes = {name};
    SCOPED_TRACE(name);
    expectSame(residualNetwork(), {{x4()}, {x4(2)}}, options);
    expectSame(attention(), {attentionInputs(1, 6), attentionInputs(2, 4)}, options);
  }
}

TEST(Optimize, EveryRewriteLimit) {
  for (std::int64_t limit = 0; limit < 16; ++limit) {
    OptimizeOptions options;
    options.rewrite_limit = limit;
    SCOPED_TRACE(limit);
    expectSame(residualNetwork(), {{x4()}}, options);
    expectSame(attention(), {attentionInputs(1, 6)}, options);
  }
}

// A network that was converted to BF16 gets the fusions and the casts of its FP32 form; one that only rounds in between
// keeps its products in FP32.
TEST(Optimize, NetworksInBf16) {
  OptimizeOptions options;
  options.tune = TuneMode::kOff;
  options.capabilities = Capabilities{};
  options.capabilities->bf16 = true;
  const auto nodesIn = [&](Module module, const at::Tensor& x) {
    Observer silent;
    OptimizedModel result = optimizeModel(module, {x}, options, silent);
    const at::Tensor expected = call(module, {x}).toTensor(), found = call(result.module, {x}).toTensor();
    EXPECT_EQ(found.scalar_type(), expected.scalar_type());
    EXPECT_LT((found - expected).norm().item<float>(), 0.02 * expected.norm().item<float>());
    return result.rewritten.get_method("forward").graph()->toString(false);
  };
  const auto network = [](at::ScalarType dtype, const std::string& between) {
    return scriptModule(
        "def forward(self, x):\n"
        "    y = torch.relu(torch.conv2d(x, self.w1, None, [1, 1], [1, 1], [1, 1], 1))\n" +
            between +
            "    y = torch.conv2d(y, self.w2, self.b2, [1, 1], [1, 1], [1, 1], 1)\n"
            "    return torch.relu(y + x)\n",
        {{"w1", weight({8, 8, 3, 3}).to(dtype)},
         {"w2", weight({8, 8, 3, 3}).to(dtype)},
         {"b2", weight({8}).to(dtype)}});
  };
  const std::string converted = nodesIn(network(at::kBFloat16, ""), x4().to(at::kBFloat16));
  EXPECT_EQ(converted.find("aten::relu"), std::string::npos) << converted;
  EXPECT_EQ(converted.find("aten::conv"), std::string::npos) << converted;
  const std::string rounding = nodesIn(network(at::kFloat, "    y = y.to(15).to(6)\n"), x4());
  EXPECT_EQ(rounding.find("BFloat16("), std::string::npos) << rounding;
}

TEST(Optimize, LeavesTheOriginalAlone) {
  Module module = residualNetwork();
  const std::string before = module.get_method("forward").graph()->toString(false);
  const at::Tensor x = x4();
  const IValue expected = call(module, {x});
  expectSame(module, {{x}});
  EXPECT_EQ(module.get_method("forward").graph()->toString(false), before);
  EXPECT_EQ(difference(call(module, {x}), expected), "");
}

TEST(Optimize, ControlFlow) {
  const Weights weights{{"w", weight({8, 8})}};
  const auto inputs = [](double shift) { return Inputs{at::randn({4, 8}) + shift}; };
  const std::vector<Inputs> both{inputs(1), inputs(-1), inputs(1)};
  expectSame(scriptModule(R"(
def forward(self, x):
    y = torch.relu(torch.linear(x, self.w))
    if bool(x.sum() > 0):
        z = torch.sigmoid(torch.linear(y, self.w)) + 1
    else:
        z = y * 2
    return torch.tanh(z) + y
)",
                          weights),
             both);
  expectSame(scriptModule(R"(
def forward(self, x):
    y = x
    for i in range(3):
        y = torch.relu(torch.linear(y, self.w)) + x
        if bool(y.max() > 100):
            break
    return torch.linear(y, self.w)
)",
                          weights),
             both);
  expectSame(scriptModule(R"(
def forward(self, x):
    if bool(x.sum() > 0):
        return torch.relu(torch.linear(x, self.w))
    y = torch.linear(x, self.w)
    assert y.dim() == 2, "two dimensions"
    return y * 3
)",
                          weights),
             both);
  expectSame(scriptModule(R"(
def forward(self, x):
    out = x
    n = 0
    while n < 3 and bool(out.abs().max() < 50):
        out = torch.cat([out, torch.relu(torch.linear(x, self.w))], 0)
        n += 1
    return out.sum(0), n
)",
                          weights),
             both);
}

TEST(Optimize, Writes) {
  const Weights weights{{"w", weight({8, 8})}};
  const std::vector<Inputs> inputs{{at::randn({4, 8})}, {at::randn({2, 8})}};
  for (const char* source : {
           "def forward(self, x):\n    y = torch.linear(x, self.w)\n    y.add_(1)\n    return torch.relu_(y) * 2\n",
           "def forward(self, x):\n    y = torch.linear(x, self.w)\n    z = torch.relu(y)\n    y[0] = 7.0\n    return "
           "y + z, torch.tanh(y)\n",
           "def forward(self, x):\n    y = torch.linear(x, self.w)\n    v = y.view([-1])\n    v.mul_(2)\n    return "
           "torch.sigmoid(y) + 1\n",
           "def forward(self, x):\n    y = torch.relu(x)\n    x.add_(1)\n    return y + torch.linear(x, self.w)\n",
           "def forward(self, x):\n    x.mul_(2)\n    return x\n",
           "def forward(self, x):\n    v = x[:, :3]\n    y = torch.cat([x, x], 1)\n    v.relu_()\n    return "
           "torch.tanh(y) * 2\n",
           "def forward(self, x):\n    y = torch.zeros([2, 8])\n    y[0] = torch.linear(x, self.w)[0]\n    z = "
           "torch.tanh(y)\n    y[1] = z[0] + 1\n    return torch.relu(y) + z\n",
           "def forward(self, x):\n    y = torch.linear(x, self.w)\n    z = y.t()\n    y.clamp_(-0.5, 0.5)\n    return "
           "torch.exp(z) * 2\n",
       }) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source, weights), inputs);
  }
}

// Scripted transformers pack padded batches as nested tensors, which have no sizes to ask for.
TEST(Optimize, NestedTensors) {
  Module model = scriptModule(R"(
def forward(self, x, given):
    packed = torch._nested_tensor_from_mask(torch.relu(x) * 2.0, given)
    return torch.linear(packed.to_padded_tensor(0.0), self.w, self.b)
)",
                              {{"w", weight({8, 8})}, {"b", weight({8})}});
  const auto given = [](std::int64_t n, std::int64_t rows) {
    return at::arange(n).unsqueeze(0).lt(at::arange(1, rows + 1).unsqueeze(1) + (n - rows));
  };
  const auto inputs = [&](std::int64_t rows, std::int64_t n) {
    return Inputs{at::randn({rows, n, 8}), given(n, rows)};
  };
  expectSame(model, {inputs(2, 5), inputs(3, 4), inputs(2, 5)});
}

TEST(Optimize, ContainersAndOutputs) {
  const Weights weights{{"w", weight({8, 8})}};
  const std::vector<Inputs> inputs{{at::randn({4, 8})}, {at::randn({6, 8})}};
  for (const char* source : {
           "def forward(self, x):\n    l = [torch.relu(x)]\n    l.append(torch.linear(l[0], self.w))\n    "
           "l.append(torch.tanh(l[1]))\n    return torch.cat(l, 1), l\n",
           "def forward(self, x):\n    return {'a': torch.linear(x, self.w), 'b': torch.relu(x)}\n",
           "def forward(self, x):\n    y = torch.linear(x, self.w)\n    return (y, (torch.relu(y), [y, x])), x\n",
           "def forward(self, x):\n    return x\n",
           "def forward(self, x):\n    return x, self.w, torch.relu(x)\n",
           "def forward(self, x):\n    y = torch.relu(x)\n    return y, y, y.view([-1]), y.t()\n",
           "def forward(self, x):\n    y = torch.tanh(torch.linear(x, self.w))\n    return y.size(0), y.mean(), y + "
           "y.size(1), y.dim()\n",
           "def forward(self, x):\n    return torch.stack([torch.relu(x), torch.linear(x, self.w)], 1).sum([0, 1])\n",
       }) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source, weights), inputs);
  }
}

TEST(Optimize, SplitsAtOtherSizes) {
  const std::vector<Inputs> inputs{{at::randn({4, 6})}, {at::randn({4, 8})}, {at::randn({4, 7})}};
  for (const char* source : {
           "def forward(self, x):\n    a, b = torch.chunk(torch.relu(x), 2, 1)\n    return torch.tanh(a), b * 2\n",
           "def forward(self, x):\n    a, b = torch.split(torch.relu(x), 4, 1)\n    return torch.tanh(a), b * 2\n",
           "def forward(self, x):\n    a, b, c, d = torch.unbind(torch.relu(x), 0)\n    return torch.tanh(a) * b + c - "
           "d\n",
           "def forward(self, x):\n    n = x.size(1) // 2\n    y = torch.relu(x)\n    return y[:, :n] * 2, y[:, n:], "
           "y[1:, ::2], y[-1]\n",
           "def forward(self, x):\n    y = torch.relu(x)\n    return y.reshape([-1, 2, 2]).permute([2, 0, "
           "1]).contiguous() if x.size(1) % 2 == 0 else y\n",
           "def forward(self, x):\n    y = torch.tanh(x)\n    return y + y[:, :1], y.expand([3, x.size(0), "
           "x.size(1)]), y.unsqueeze(0).flatten(0, 1)\n",
       }) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source), inputs);
  }
  const Module taken_apart =
      scriptModule("def forward(self, x):\n    a, b = torch.unbind(torch.relu(x), 0)\n    return torch.tanh(a) * b\n");
  OptimizedModel two = optimized(taken_apart, {at::randn({2, 3})});
  EXPECT_ANY_THROW(call(two.module, {at::randn({3, 3})}));  // as in eager
}

// A dimension of 1 that is larger later must not change the meaning of negative dimensions.
TEST(Optimize, SqueezeOfWhatGrows) {
  const Module module = scriptModule(
      "def forward(self, x):\n    y = torch.relu(x).squeeze(1)\n    return torch.softmax(y, -1), y.sum(-1)\n");
  OptimizedModel result = expectSame(module, {{at::randn({2, 1, 5})}, {at::randn({3, 1, 4})}});
  const at::Tensor x = at::randn({2, 3, 5});
  try {
    EXPECT_EQ(difference(module, result.module, {x}), "");
  } catch (const std::exception& problem) {
    EXPECT_NE(std::string(problem.what()).find("cannot take these inputs"), std::string::npos) << problem.what();
  }
}

// Sizes that happen to be equal in the example are not the same size.
TEST(Optimize, CoincidencesOfTheExample) {
  for (const char* source : {
           "def forward(self, x, y):\n    return torch.relu(x.expand([y.size(0), -1])) + y\n",
           "def forward(self, x, y):\n    return torch.tanh(x.reshape([x.size(0), -1])) * 2, torch.sigmoid(y) + x\n",
           "def forward(self, x, y):\n    return torch.relu(x).view([y.size(0), -1]).sum(1), (x + y).abs()\n",
       }) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source), {{at::randn({1, 4}), at::randn({1, 4})},
                                      {at::randn({1, 4}), at::randn({2, 4})},
                                      {at::randn({1, 4}), at::randn({4, 4})}});
  }
  expectSame(scriptModule("def forward(self, x, y):\n    return torch.relu(torch.linear(x, self.w) + y)\n",
                          {{"w", weight({4, 4})}}),
             {{at::randn({1, 4}), at::randn({1, 4})},
              {at::randn({3, 4}), at::randn({1, 4})},
              {at::randn({3, 4}), at::randn({3, 4})}});
}

// Operations fused at equal sizes are computed separately if one side is larger later.
TEST(Optimize, FusedOperandsThatBroadcastLater) {
  const Weights weights{{"w", weight({4, 4})}, {"c", weight({3, 4, 1, 1})}, {"g", at::rand({4})}, {"b", weight({4})}};
  const auto sequence = [](std::int64_t n, std::int64_t m) {
    return Inputs{at::randn({n, 6, 4}), at::randn({m, 6, 4})};
  };
  for (const char* source : {
           "def forward(self, x, y):\n    return torch.layer_norm(x + y, [4], self.g, self.b, 1e-2)\n",
           "def forward(self, x, y):\n    s = torch.tanh(x) + y\n    return torch.layer_norm(s, [4], self.g, self.b, "
           "1e-2) + s\n",
           "def forward(self, x, y):\n    return torch.relu(torch.linear(x, self.w, self.b) + y) * 2\n",
           "def forward(self, x, y):\n    return torch.sigmoid(torch.linear(x, self.w)) * y + 1\n",
           "def forward(self, x, y):\n    return torch.softmax(torch.matmul(x, x.transpose(1, 2)) * 0.5 + y[:, :1, "
           ":1], -1)\n",
           "def forward(self, x, y):\n    return torch.matmul(torch.relu(x), x.transpose(1, 2)) + y[:, :, :1]\n",
       }) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source, weights), {sequence(1, 1), sequence(2, 1), sequence(1, 3), sequence(3, 3)});
  }
  expectSame(scriptModule("def forward(self, x, y):\n    return torch.relu(torch.conv2d(x, self.c, None, [1, 1], [0, "
                          "0], [1, 1], 1) + y)\n",
                          weights),
             {{at::randn({1, 4, 5, 5}), at::randn({1, 3, 5, 5})},
              {at::randn({1, 4, 5, 5}), at::randn({2, 3, 5, 5})},
              {at::randn({2, 4, 5, 5}), at::randn({1, 3, 5, 5})}});
}

TEST(Optimize, ScalarInputs) {
  const at::Tensor x = at::randn({4, 8});
  expectSame(scriptModule("def forward(self, x, n: int, scale: float, on: bool):\n    y = torch.relu(x)[:, :n] * "
                          "scale\n    return y + 1 if on else y\n"),
             {{x, 3, 0.5, true}, {x, 5, 2.0, true}, {x, 3, 0.5, false}});
  expectSame(scriptModule("def forward(self, x, mask: Optional[Tensor]=None):\n    y = torch.tanh(x)\n    if mask is "
                          "not None:\n        y = y + mask\n    return torch.relu(y)\n"),
             {{x, at::randn({4, 8})}, {x, at::randn({8})}, {x, IValue()}});
  expectSame(scriptModule("def forward(self, x, mask: Optional[Tensor]=None):\n    y = torch.tanh(x)\n    if mask is "
                          "not None:\n        y = y + mask\n    return torch.relu(y)\n"),
             {{x}, {x, at::randn({8})}, {x, IValue()}});
  expectSame(scriptModule("def forward(self, x: List[Tensor]):\n    return torch.relu(x[0]) + x[1]\n"),
             {{c10::List<at::Tensor>({x, x})}});
}

TEST(Optimize, OddTypes) {
  const at::Tensor big = at::arange(12, at::kLong).reshape({3, 4}) + (std::int64_t{1} << 60) + 1;
  const std::vector<std::pair<const char*, at::Tensor>> kCases = {
      {"def forward(self, x):\n    return x.t().contiguous(), x[1:, ::2], x.reshape([-1])\n", big},
      {"def forward(self, x):\n    return x.t().contiguous(), x.unsqueeze(0).transpose(0, 2)\n",
       at::randn({3, 4}).to(at::kHalf)},
      {"def forward(self, x):\n    return x.t().contiguous(), torch.relu(x) + x\n",
       at::randn({3, 4}).to(at::kBFloat16)},
      {"def forward(self, x):\n    return x.t().contiguous(), torch.relu(x) + x\n", at::randn({3, 4}).to(at::kDouble)},
      {"def forward(self, x):\n    return x.t(), x.reshape([x.size(1), -1])\n", at::ones({3, 4}, at::kBool)},
      {"def forward(self, x):\n    y = torch.ones([x.size(0), 2])\n    return torch.relu(y).view([x.size(0), -1]), "
       "x.t()\n",
       at::ones({3, 4}, at::kShort)},
      {"def forward(self, x):\n    return x.t(), torch.relu(torch.real(x))\n", at::randn({3, 4}, at::kComplexFloat)},
      {"def forward(self, x):\n    return torch.relu(x.reshape([1, 1, 1, 1, 1, 1, 1, 3, 4])).sum(0), torch.tanh(x)\n",
       at::randn({3, 4})},
      {"def forward(self, x):\n    return torch.relu(x).sum(), torch.tanh(x.reshape([0, 4])), torch.cat([x, x], 0)\n",
       at::randn({0, 4})},
      {"def forward(self, x):\n    return torch.relu(x) * 2 + x\n", at::randn({})},
      {"def forward(self, x):\n    return (x > 0).float() * x, torch.where(x > 0, x, -x)\n", at::randn({3, 4})},
      {"def forward(self, x):\n    return torch.relu(x.double()).float() + 1\n", at::randn({3, 4})},
      {"def forward(self, x):\n    return x.float().t() * 0.5, x + 1, x // 2\n",
       at::arange(12, at::kInt).reshape({3, 4})},
  };
  for (const auto& [source, input] : kCases) {
    SCOPED_TRACE(source);
    expectSame(scriptModule(source), {{input}});
  }
}

TEST(Optimize, PrintsInOrder) {
  static std::vector<std::string> printed;
  const auto handler = torch::jit::getPrintHandler();
  torch::jit::setPrintHandler([](const std::string& text) { printed.push_back(text); });
  Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(x) * 2
    print("first", y.size(0))
    z = torch.tanh(y)
    print("second", float(z.sum()) > -1000.0)
    return z + y
)");
  const at::Tensor x = at::randn({3, 4});
  OptimizedModel result = optimized(module, {x});
  printed.clear();
  const IValue expected = call(module, {x});
  const std::vector<std::string> eager = std::exchange(printed, {});
  EXPECT_EQ(difference(call(result.module, {x}), expected), "");
  torch::jit::setPrintHandler(handler);
  EXPECT_EQ(eager.size(), 2u);
  EXPECT_EQ(printed, eager);
}

TEST(Optimize, ResultsAreHeldAcrossCalls) {
  const Module module = residualNetwork();
  OptimizedModel result = optimized(module, {x4()});
  std::vector<at::Tensor> inputs;
  std::vector<IValue> held;
  for (int i = 0; i < 10; ++i) {
    inputs.push_back(x4());
    held.push_back(call(result.module, {inputs.back()}));
  }
  Module eager = module.deepcopy();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(difference(held[i], call(eager, {inputs[i]})), "") << i;
}

// pytorch#86527: the stock optimizer writes a convolution's clipped result over its plain result, which is still read.
TEST(Optimize, KnownWrongResultClipAndFloor) {
  const Weights weights{{"w", weight({16, 8, 3, 3})}, {"b", weight({16})}};
  expectSame(scriptModule(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)
    return torch.clip(y, -0.5, 0.5), torch.floor(y)
)",
                          weights),
             {{x4()}, {x4(2)}});
  expectSame(scriptModule(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)
    return torch.floor(y), torch.clip(y, -0.5, 0.5), y
)",
                          weights),
             {{x4()}});
}

// pytorch#86556: the same with a maximum beside another reader.
TEST(Optimize, KnownWrongResultMax) {
  const Weights weights{{"w", weight({16, 8, 1, 1})}, {"b", weight({16})}, {"c", weight({16, 1, 1})}};
  expectSame(scriptModule(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, self.b, [1, 1], [0, 0], [1, 1], 1)
    z = torch.max(y, self.c)
    return torch.relu(y) + z, torch.abs(y)
)",
                          weights),
             {{x4()}, {x4(2)}});
  expectSame(scriptModule(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, self.b, [1, 1], [0, 0], [1, 1], 1)
    return torch.max(y, torch.relu(x[:, :1])), y - 1
)",
                          weights),
             {{x4()}});
}

// A value that is read only by the region behind an interpreter node is computed there, so that the view of the cache
// is never copied to cross.
TEST(Optimize, LateReadersKeepTheirViews) {
  const OptimizedModel result = expectSame(scriptModule(R"(
def forward(self, x, cache):
    past = cache.select(0, 1).transpose(0, 1)
    order = torch.cumprod(torch.relu(x), 1)
    return torch.relu(order + 1) * torch.abs(past)
)",
                                                        {}),
                                           {{at::randn({6, 5}), at::randn({3, 5, 6})}});
  EXPECT_EQ(regionsIn(result.module), 2);
  std::vector<std::size_t> results;
  for (const torch::jit::Node* node : result.module.get_method("forward").graph()->nodes()) {
    if (node->kind() == c10::prim::ListUnpack) results.push_back(node->outputs().size());
  }
  EXPECT_EQ(results, (std::vector<std::size_t>{1, 1}));
}

TEST(Optimize, RefusesWithOneSentence) {
  const Module module = residualNetwork();
  const auto refusal = [&](const Inputs& inputs, const OptimizeOptions& options) {
    try {
      optimized(module, inputs, options);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.code();
    }
    return ExitCode::kOk;
  };
  EXPECT_EQ(refusal({x4(), x4()}, {}), ExitCode::kUsage);
  EXPECT_EQ(refusal({}, {}), ExitCode::kUsage);
  EXPECT_EQ(refusal({at::randn({1, 3, 9, 9})}, {}), ExitCode::kUsage);
  EXPECT_EQ(refusal({at::randn({4})}, {}), ExitCode::kUsage);
  OptimizeOptions options;
  options.disabled_passes = {"no-such-pass"};
  EXPECT_EQ(refusal({x4()}, options), ExitCode::kUsage);
  options = {};
  options.precision = Precision::kInt8;  // without a recipe
  EXPECT_EQ(refusal({x4()}, options), ExitCode::kUsage);
  options = {};
  options.device = "xpu";
  EXPECT_EQ(refusal({x4()}, options), ExitCode::kUnsupported);
}

}  // namespace
}  // namespace ipex_studio

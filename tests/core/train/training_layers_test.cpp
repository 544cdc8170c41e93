// Layers of training by operators of ours: which nodes change and which graphs stay, values and gradients against
// libtorch in double precision, and continuation bit for bit. One set of networks for all, therefore one file.
#include "core/train/training_layers.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>

#include "core/graph/origins.h"
#include "core/model/file_descriptor.h"
#include "core/train/memory_meter.h"
#include "core/train/training.h"
#include "tests/core/data/files.h"

#include <fcntl.h>

namespace ipex_studio::testing {
namespace {

using Kinds = std::map<std::string, int>;

// The kinds of operators after the change, "aten::relu" and how many.
Kinds changed(const std::string& text) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(text, graph.get());
  useTrainingLayers(*graph);
  graph->lint();
  Kinds kinds;
  for (const torch::jit::Node* node : allNodes(*graph)) {
    if (!node->kind().is_prim()) ++kinds[node->kind().toQualString()];
  }
  return kinds;
}

const char* const kConvolution = R"IR(
  %one : int = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %pair : int[] = prim::ListConstruct(%one, %one)
  %sizes : int[] = prim::ListConstruct(%one, %one)
  %none : NoneType = prim::Constant()
  %rate : float = prim::Constant[value=0.1]()
  %c : Tensor = aten::conv2d(%x, %w, %none, %pair, %pair, %pair, %one)
)IR";

Kinds changedWith(const std::string& more) {
  return changed("graph(%x : Tensor, %w : Tensor, %training : bool):" + std::string(kConvolution) + more);
}

TEST(TrainingLayers, TakeTheirKinds) {
  EXPECT_EQ(changedWith(R"IR(
  %n : Tensor = aten::batch_norm(%c, %none, %none, %none, %none, %training, %rate, %rate, %no)
  %d : Tensor = aten::dropout(%n, %rate, %training)
  %v : Tensor = aten::view(%d, %sizes)
  return (%v)
)IR"),
            (Kinds{{"ipex_studio::conv2d", 1},
                   {"ipex_studio::batch_norm2d", 1},
                   {"ipex_studio::dropout", 1},
                   {"aten::reshape", 1}}));
  EXPECT_EQ(changedWith(R"IR(
  %t : Tensor = aten::_convolution(%c, %w, %none, %pair, %pair, %pair, %no, %pair, %one, %no, %no, %no, %no)
  %yes : bool = prim::Constant[value=1]()
  %u : Tensor = aten::_convolution(%t, %w, %none, %pair, %pair, %pair, %yes, %pair, %one, %no, %no, %no, %no)
  %o : Tensor = aten::conv_transpose2d(%u, %w, %none, %pair, %pair, %pair, %one, %pair)
  %single : int[] = prim::ListConstruct(%one)
  %l : Tensor = aten::_convolution(%o, %w, %none, %single, %single, %single, %no, %single, %one, %no, %no, %no, %no)
  %name : str = prim::Constant[value="same"]()
  %s : Tensor = aten::conv2d(%l, %w, %none, %pair, %name, %pair, %one)
  return (%s)
)IR"),
            (Kinds{{"ipex_studio::conv2d", 2},
                   {"ipex_studio::conv_transpose2d", 2},
                   {"ipex_studio::conv1d", 1},
                   {"aten::conv2d", 1}}));
  EXPECT_EQ(changedWith(R"IR(
  %single : int[] = prim::ListConstruct(%one)
  %triple : int[] = prim::ListConstruct(%one, %one, %one)
  %s : Tensor = aten::conv1d(%c, %w, %none, %single, %single, %single, %one)
  %v : Tensor = aten::conv3d(%s, %w, %none, %triple, %triple, %triple, %one)
  %l : Tensor = aten::_convolution(%v, %w, %none, %triple, %triple, %triple, %no, %triple, %one, %no, %no, %no, %no)
  return (%l)
)IR"),
            (Kinds{{"ipex_studio::conv2d", 1}, {"ipex_studio::conv1d", 1}, {"ipex_studio::conv3d", 2}}));
  EXPECT_EQ(changedWith(R"IR(
  %list : Tensor[] = prim::ListConstruct(%c, %c)
  %y : Tensor, %h : Tensor, %s : Tensor = aten::lstm(%c, %list, %list, %no, %one, %rate, %training, %no, %no)
  %z : Tensor, %k : Tensor = aten::gru(%y, %h, %list, %no, %one, %rate, %training, %no, %no)
  %p : Tensor, %q : Tensor = aten::gru(%z, %s, %k, %list, %no, %one, %rate, %training, %no)
  return (%p, %q)
)IR"),
            (Kinds{{"ipex_studio::conv2d", 1}, {"ipex_studio::train_lstm", 1}, {"ipex_studio::train_gru", 2}}));
}

const char* const kNorm = R"IR(
  %n : Tensor = aten::batch_norm(%c, %none, %none, %none, %none, %training, %rate, %rate, %no)
)IR";

// A normalization takes the ReLU behind it, and a sum between the two.
TEST(TrainingLayers, NormsTakeWhatFollows) {
  const Kinds alone{{"ipex_studio::conv2d", 1}, {"ipex_studio::batch_norm2d", 1}};
  const auto normed = [](const std::string& more) { return changedWith(kNorm + more); };
  EXPECT_EQ(normed("  %r : Tensor = aten::relu(%n)\n  return (%r)\n"), alone);
  EXPECT_EQ(normed("  %r : Tensor = aten::relu_(%n)\n  return (%r)\n"), alone);
  for (const char* sum : {"aten::add(%n, %x, %one)", "aten::add_(%n, %x, %one)", "aten::add(%x, %n, %one)"}) {
    const std::string text = "  %s : Tensor = " + std::string(sum) + "\n  %r : Tensor = aten::relu_(%s)\n";
    EXPECT_EQ(normed(text + "  return (%r)\n"), alone) << sum;
  }
  const auto more = [&alone](const std::vector<std::string>& kinds) {
    Kinds all = alone;
    for (const std::string& kind : kinds) ++all[kind];
    return all;
  };
  EXPECT_EQ(normed("  %r : Tensor = aten::relu(%n)\n  return (%r, %n)\n"), more({"aten::relu"}));
  EXPECT_EQ(normed("  %s : Tensor = aten::add_(%x, %n, %one)\n  %r : Tensor = aten::relu(%s)\n  return (%r)\n"),
            more({"aten::add_", "aten::relu"}));
  EXPECT_EQ(normed("  %s : Tensor = aten::add(%n, %n, %one)\n  %r : Tensor = aten::relu(%s)\n  return (%r)\n"),
            more({"aten::add", "aten::relu"}));
  EXPECT_EQ(normed("  %s : Tensor = aten::add(%n, %x, %one)\n  %r : Tensor = aten::relu(%s)\n  return (%r, %s)\n"),
            more({"aten::add", "aten::relu"}));
  EXPECT_EQ(normed("  %two : int = prim::Constant[value=2]()\n  %s : Tensor = aten::add(%n, %x, %two)\n"
                   "  %r : Tensor = aten::relu(%s)\n  return (%r)\n"),
            more({"aten::add", "aten::relu"}));
  // What is normalized changes before the sum.
  EXPECT_EQ(normed("  %z : Tensor = aten::mul_(%c, %rate)\n  %s : Tensor = aten::add(%n, %z, %one)\n"
                   "  %r : Tensor = aten::relu(%s)\n  return (%r)\n"),
            more({"aten::mul_", "aten::add", "aten::relu"}));
}

// Where memory in another order would show, all stays as it is.
TEST(TrainingLayers, LeaveGraphsThatSeeTheOrderOfMemory) {
  const Kinds written = changedWith(R"IR(
  %v : Tensor = aten::view(%c, %sizes)
  %r : Tensor = aten::relu_(%v)
  %z : Tensor = aten::add(%c, %r, %one)
  return (%z)
)IR");
  EXPECT_EQ(written.count("ipex_studio::conv2d"), 0u);
  EXPECT_EQ(written.count("aten::view"), 1u);
  for (const char* asks : {"%s : int[] = aten::stride(%c)", "%s : bool = aten::is_contiguous(%c)",
                           "%s : Tensor = aten::as_strided(%c, %sizes, %sizes, %none)"}) {
    EXPECT_EQ(changedWith(std::string("  ") + asks + "\n  return (%s)\n").count("aten::conv2d"), 1u) << asks;
  }
}

TEST(TrainingLayers, TakeGraphsThatWriteBeforeAViewOrIntoItAlone) {
  const Kinds kinds = changedWith(R"IR(
  %r : Tensor = aten::relu_(%c)
  %p : Tensor = aten::adaptive_avg_pool2d(%r, %pair)
  %v : Tensor = aten::flatten(%p, %one, %one)
  %d : Tensor = aten::dropout_(%v, %rate, %training)
  return (%d)
)IR");
  EXPECT_EQ(kinds.at("ipex_studio::conv2d"), 1);
}

constexpr std::int64_t kImageClasses = 5;

// A residual block with a normalization on both ways.
torch::jit::Module residualNetwork() {
  at::manual_seed(5);
  torch::jit::Module module("Residual");
  const auto weight = [&](const char* name, const std::vector<std::int64_t>& sizes) {
    const at::Tensor values = at::randn(sizes) / std::sqrt(static_cast<double>(at::empty(sizes)[0].numel()));
    module.register_parameter(name, values.set_requires_grad(true), false);
  };
  weight("w1", {9, 3, 3, 3});
  weight("w2", {9, 9, 3, 3});
  weight("w3", {9, 3, 1, 1});
  weight("w4", {kImageClasses, 9});
  for (const char* norm : {"1", "2", "3"}) {
    const auto named = [&norm](const char* name) { return std::string(name) + norm; };
    module.register_parameter(named("scale"), (at::rand({9}) + 0.5).set_requires_grad(true), false);
    module.register_parameter(named("shift"), at::randn({9}).set_requires_grad(true), false);
    module.register_buffer(named("mean"), at::zeros({9}));
    module.register_buffer(named("variance"), at::ones({9}));
  }
  module.define(R"(
def forward(self, x):
  h = torch.conv2d(x, self.w1, None, [2, 2], [1, 1], [1, 1], 1)
  h = torch.relu(torch.batch_norm(h, self.scale1, self.shift1, self.mean1, self.variance1, True, 0.1, 1e-5, False))
  h = torch.conv2d(h, self.w2, None, [1, 1], [1, 1], [1, 1], 1)
  h = torch.batch_norm(h, self.scale2, self.shift2, self.mean2, self.variance2, True, 0.1, 1e-5, False)
  z = torch.conv2d(x, self.w3, None, [2, 2], [0, 0], [1, 1], 1)
  z = torch.batch_norm(z, self.scale3, self.shift3, self.mean3, self.variance3, True, 0.1, 1e-5, False)
  h = torch.relu_(torch.add(h, z))
  return torch.linear(torch.mean(h, [2, 3]), self.w4)
)");
  return module;
}

// Convolutions of odd widths, with groups, strides and dilation, one transposed; a normalization; a view; dropout by
// `p`.
torch::jit::Module imageNetwork(double p) {
  at::manual_seed(3);
  torch::jit::Module module("Net");
  const auto weight = [&](const char* name, std::vector<std::int64_t> sizes) {
    const at::Tensor values = at::randn(sizes) / std::sqrt(static_cast<double>(at::empty(sizes)[0].numel()));
    module.register_parameter(name, values.set_requires_grad(true), false);
  };
  weight("w1", {7, 3, 3, 3});
  weight("b1", {7});
  weight("w2", {7, 1, 3, 3});
  weight("w3", {13, 7, 1, 1});
  weight("w4", {17, 13, 3, 2});
  weight("w6", {17, 9, 3, 2});
  weight("b6", {9});
  weight("w5", {kImageClasses, 9 * 2 * 2});
  module.register_parameter("scale", at::ones({7}).set_requires_grad(true), false);
  module.register_parameter("shift", at::zeros({7}).set_requires_grad(true), false);
  module.register_buffer("mean", at::zeros({7}));
  module.register_buffer("variance", at::ones({7}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("p", c10::FloatType::get(), p);
  module.define(R"(
def forward(self, x):
  h = torch.conv2d(x, self.w1, self.b1, [1, 1], [1, 1], [1, 1], 1)
  h = torch.batch_norm(h, self.scale, self.shift, self.mean, self.variance, self.training, 0.1, 1e-5, False)
  h = torch.relu_(h)
  h = h + torch.conv2d(h, self.w2, None, [1, 1], [1, 1], [1, 1], 7)
  h = torch.relu(torch.conv2d(h, self.w3, None, [2, 2], [0, 0], [1, 1], 1))
  h = torch.conv2d(h, self.w4, None, [2, 1], [1, 1], [1, 2], 1)
  h = torch.conv_transpose2d(h, self.w6, self.b6, [2, 2], [1, 0], [1, 0], 1, [1, 2])
  h = torch.adaptive_avg_pool2d(h, [2, 2])
  h = torch.dropout(h.view(h.size(0), -1), self.p, self.training)
  return torch.linear(h, self.w5)
)");
  return module;
}

struct Images {
  Folder folder;
  std::string path = folder / "data.pt";
  Images() {
    at::manual_seed(7);
    const at::Tensor x = at::randn({30, 3, 9, 11}), y = at::randint(kImageClasses, {30}, at::kLong);
    const std::vector<char> bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(x, y));
    writeBytes(path, std::string(bytes.begin(), bytes.end()));
  }
  DataSet data() const {
    DataSetOptions options;
    options.batch = 6;
    options.seed = 11;
    options.any_targets = options.for_training = true;
    return DataSet(path, options);
  }
};

struct NotedLosses : TrainingWatch {
  std::vector<double> losses;
  void onStep(const TrainingStep& step) override { losses.push_back(step.loss); }
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() /
         std::max(1.0, b.abs().max().item<double>());
}

// Autocast to BF16 for its scope.
class AutocastScope {
 public:
  explicit AutocastScope(bool on) {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
  }
  ~AutocastScope() {
    at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;
};

// Results and gradients of all parameters for a random cotangent.
struct Differentiated {
  at::Tensor result;
  std::vector<at::Tensor> gradients;
};

enum class ComputedIn { kFp32, kAutocast, kFp64 };

Differentiated differentiated(torch::jit::Module module, bool by_kernels, std::int64_t batch, ComputedIn type) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  const at::ScalarType wide = type == ComputedIn::kFp64 ? at::kDouble : at::kFloat;
  module.to(wide);
  TrainingForward forward(module, by_kernels);
  at::manual_seed(static_cast<std::uint64_t>(batch));
  const at::Tensor x = at::randn({batch, 3, 9, 11}), cotangent = at::randn({batch, kImageClasses});
  Differentiated all;
  {
    const AutocastScope autocast(type == ComputedIn::kAutocast);
    all.result = forward({x.to(wide)}).toTensor();
  }
  all.result.backward(cotangent.to(all.result.scalar_type()));
  for (const at::Tensor& parameter : module.parameters()) all.gradients.push_back(parameter.grad());
  return all;
}

TEST(TrainingLayers, SumsAndReluBehindNormsHaveTheirGradients) {
  const auto graph = residualNetwork().get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  useTrainingLayers(*graph);
  for (const torch::jit::Node* node : allNodes(*graph)) {
    EXPECT_FALSE(node->kind() == at::aten::relu || node->kind() == at::aten::add) << *node;
  }
  for (const std::int64_t batch : {1, 5}) {
    const Differentiated ours = differentiated(residualNetwork(), true, batch, ComputedIn::kFp32);
    const Differentiated right = differentiated(residualNetwork(), false, batch, ComputedIn::kFp64);
    EXPECT_LE(distance(ours.result, right.result), 1e-5);
    for (std::size_t i = 0; i < right.gradients.size(); ++i) {
      EXPECT_LE(distance(ours.gradients[i], right.gradients[i]), 1e-5) << i;
    }
  }
}

// The norm of all differences of gradients.
double gradientDistance(const Differentiated& a, const Differentiated& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    sum += (a.gradients[i].to(at::kDouble) - b.gradients[i].to(at::kDouble)).square().sum().item<double>();
  }
  return std::sqrt(sum);
}

// In BF16 values have eight bits, and ReLU passes others; libtorch's autocast shows how far off gradients then are.
TEST(TrainingLayers, AutocastIsNoFartherFromDoublePrecisionThanLibtorchs) {
  double by_ours = 0, by_theirs = 0;
  for (torch::jit::Module (*const make)() : {+[] { return residualNetwork(); }, +[] { return imageNetwork(0); }}) {
    for (const std::int64_t batch : {1, 2, 5, 8}) {
      const Differentiated ours = differentiated(make(), true, batch, ComputedIn::kAutocast);
      const Differentiated theirs = differentiated(make(), false, batch, ComputedIn::kAutocast);
      const Differentiated right = differentiated(make(), false, batch, ComputedIn::kFp64);
      EXPECT_EQ(ours.result.scalar_type(), at::kBFloat16);
      for (const at::Tensor& gradient : ours.gradients) EXPECT_EQ(gradient.scalar_type(), at::kFloat);
      by_ours += gradientDistance(ours, right);
      by_theirs += gradientDistance(theirs, right);
    }
  }
  EXPECT_LE(by_ours, by_theirs);
}

// A random cotangent, through forward as a training runs it, and through libtorch's in double precision.
TEST(TrainingLayers, HaveTheGradientsOfDoublePrecision) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  torch::jit::Module module = imageNetwork(0), exact = imageNetwork(0);
  exact.to(at::kDouble);
  TrainingForward forward(module, /*by_kernels=*/true);
  EXPECT_TRUE(module.attr("w1").toTensor().is_contiguous(at::MemoryFormat::ChannelsLast));
  for (const std::int64_t batch : {1, 5}) {
    at::manual_seed(static_cast<std::uint64_t>(batch));
    const at::Tensor x = at::randn({batch, 3, 9, 11}), cotangent = at::randn({batch, kImageClasses});
    const at::Tensor y = forward({x}).toTensor(), right = exact.forward({x.to(at::kDouble)}).toTensor();
    EXPECT_LE(distance(y, right), 1e-5);
    y.backward(cotangent);
    right.backward(cotangent.to(at::kDouble));
    auto other = exact.named_parameters().begin();
    for (const auto& parameter : module.named_parameters()) {
      EXPECT_LE(distance(parameter.value.grad(), (*other).value.grad()), 1e-5) << parameter.name;
      EXPECT_EQ(parameter.value.grad().strides(), parameter.value.strides()) << parameter.name;
      ++other;
    }
    EXPECT_LE(distance(module.attr("variance").toTensor(), exact.attr("variance").toTensor()), 1e-5);
  }
}

// Convolutions of volumes and, on their planes side by side, of signals; odd sizes.
torch::jit::Module volumeNetwork() {
  at::manual_seed(3);
  torch::jit::Module module("volumes");
  const auto weight = [&](const char* name, at::IntArrayRef sizes) {
    const at::Tensor values = at::randn(sizes) / std::sqrt(static_cast<double>(at::empty(sizes)[0].numel()));
    module.register_parameter(name, values.set_requires_grad(true), false);
  };
  weight("w1", {17, 3, 3, 3, 2});
  weight("b1", {17});
  weight("w2", {5, 17, 1, 3, 3});
  weight("w3", {11, 5, 5});
  weight("w4", {11, 1, 3});
  weight("b4", {11});
  module.define(R"(
def forward(self, x):
  h = torch.relu(torch.conv3d(x, self.w1, self.b1, [1, 2, 1], [1, 0, 1], [1, 1, 2], 1))
  h = torch.conv3d(h, self.w2, None, [2, 1, 1], [0, 1, 1], [1, 1, 1], 1)
  h = torch.conv1d(torch.flatten(h, 2), self.w3, None, [3], [2], [1], 1)
  return torch.conv1d(torch.relu(h), self.w4, self.b4, [1], [1], [1], 11)
)");
  return module;
}

TEST(TrainingLayers, HaveTheGradientsOfDoublePrecisionForVolumesAndSignals) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  torch::jit::Module module = volumeNetwork(), exact = volumeNetwork();
  exact.to(at::kDouble);
  TrainingForward forward(module, /*by_kernels=*/true);
  EXPECT_TRUE(module.attr("w1").toTensor().is_contiguous(at::MemoryFormat::ChannelsLast3d));
  for (const std::int64_t batch : {1, 3}) {
    const at::Tensor x = at::randn({batch, 3, 5, 9, 7}).set_requires_grad(true);
    const at::Tensor exact_x = x.detach().to(at::kDouble).set_requires_grad(true);
    std::vector<at::Tensor> first;  // gradients on one thread
    for (const int threads : {1, 2}) {
      at::set_num_threads(threads);
      for (const auto& parameter : module.parameters()) parameter.mutable_grad().reset();
      x.mutable_grad().reset();
      const at::Tensor y = forward({x}).toTensor();
      const at::Tensor cotangent = at::arange(y.numel(), at::kFloat).mul(1.7).sin().view(y.sizes());
      y.backward(cotangent);
      if (threads == 1) {
        const at::Tensor right = exact.forward({exact_x}).toTensor();
        EXPECT_LE(distance(y, right), 1e-5);
        right.backward(cotangent.to(at::kDouble));
        auto other = exact.named_parameters().begin();
        for (const auto& parameter : module.named_parameters()) {
          EXPECT_LE(distance(parameter.value.grad(), (*other).value.grad()), 1e-5) << parameter.name;
          first.push_back(parameter.value.grad().clone());
          ++other;
        }
        EXPECT_LE(distance(x.grad(), exact_x.grad()), 1e-5);
      }
      std::size_t at = 0;
      for (const auto& parameter : module.named_parameters())
        EXPECT_LE(distance(parameter.value.grad(), first[at++]), 1e-6) << parameter.name;
    }
    at::set_num_threads(1);
    for (const auto& parameter : exact.parameters()) parameter.mutable_grad().reset();
  }
}

// An LSTM in both directions and a GRU over columns of pictures, odd sizes.
torch::jit::Module recurrentNetwork() {
  at::manual_seed(4);
  torch::jit::Module module("recurrent");
  const auto weight = [&](const std::string& name, at::IntArrayRef sizes) {
    module.register_parameter(name, (at::randn(sizes) * 0.3).set_requires_grad(true), false);
  };
  for (const char* direction : {"f", "r"}) {
    weight(std::string("i_") + direction, {4 * 17, 27});
    weight(std::string("h") + direction, {4 * 17, 17});
    weight(std::string("bi") + direction, {4 * 17});
    weight(std::string("bh") + direction, {4 * 17});
  }
  weight("gi", {3 * 5, 34});
  weight("gh", {3 * 5, 5});
  weight("w", {kImageClasses, 5});
  module.define(R"(
def forward(self, x):
  x = torch.flatten(x, 1, 2).transpose(1, 2)
  zeros = torch.zeros([2, x.size(0), 17], dtype=x.dtype)
  all = [self.i_f, self.hf, self.bif, self.bhf, self.i_r, self.hr, self.bir, self.bhr]
  y, h, c = torch.lstm(x, [zeros, zeros], all, True, 1, 0.0, True, True, True)
  first = torch.zeros([1, x.size(0), 5], dtype=x.dtype)
  z, last = torch.gru(y, first, [self.gi, self.gh], False, 1, 0.0, True, False, True)
  return torch.linear(last[0] + torch.mean(z, [1]), self.w)
)");
  return module;
}

TEST(TrainingLayers, HaveTheGradientsOfDoublePrecisionForSequences) {
  for (const std::int64_t batch : {1, 5}) {
    const Differentiated ours = differentiated(recurrentNetwork(), true, batch, ComputedIn::kFp32);
    const Differentiated right = differentiated(recurrentNetwork(), false, batch, ComputedIn::kFp64);
    EXPECT_LE(distance(ours.result, right.result), 1e-5);
    ASSERT_EQ(ours.gradients.size(), right.gradients.size());
    for (std::size_t i = 0; i < right.gradients.size(); ++i)
      EXPECT_LE(distance(ours.gradients[i], right.gradients[i]), 1e-5) << i;
  }
}

// The layers of the third step, by the kinds of their operations since this code has no modules.
TEST(TrainingLayers, AreTimedInBothDirections) {
  const Images images;
  DataSet data = images.data();
  Training training(imageNetwork(0.3), data, nullptr, TrainingOptions());
  NotedLosses noted;
  training.run(noted, 2);
  EXPECT_TRUE(training.profile().layers.empty());
  training.run(noted, 1);
  const std::vector<TrainingLayer> times = training.profile().layers;
  ASSERT_GE(times.size(), 6u);
  std::int64_t both = 0;
  for (const TrainingLayer& layer : times) {
    EXPECT_EQ(layer.step, 3);
    EXPECT_LE(layer.forward_ns + layer.backward_ns + layer.update_ns,
              times.front().forward_ns + times.front().backward_ns + times.front().update_ns);
    both += layer.forward_ns > 0 && layer.backward_ns > 0 ? 1 : 0;
    EXPECT_TRUE(layer.layer != "ipex_studio::conv2d" || layer.backward_ns > 0);
  }
  EXPECT_GE(both, 6);
  EXPECT_EQ(
      layerTimesText({{1, "conv1", 3'000'000, 5'000'000, 0, 0, 0, 0}, {1, "fc", 1'000'000, 1'000'000, 9, 0, 0, 0}}),
      "conv1 3 + 5 ms (80 %), fc 1 + 1 ms (20 %)");
}

struct NotedProfiles : NotedLosses {
  std::vector<StepProfile> profiles;
  std::vector<TrainingStep> steps;
  void onStep(const TrainingStep& step) override {
    NotedLosses::onStep(step);
    steps.push_back(step);
  }
  void onProfile(const StepProfile& profile) override { profiles.push_back(profile); }
};

NotedProfiles profiled(std::int64_t every, std::int64_t steps) {
  const Images images;
  DataSet data = images.data();
  TrainingOptions options;
  options.optimizer = "adamw:lr=0.01";
  options.clip_norm = 1;
  options.epochs = 3;
  options.profile_every = every;
  Training training(imageNetwork(0.3), data, nullptr, options);
  NotedProfiles noted;
  training.run(noted, steps);
  return noted;
}

// A profile tells where the step's gradients and time went, and changes no bit.
TEST(TrainingProfiles, AddUpToTheStepAndLeaveItsBits) {
  const NotedProfiles noted = profiled(2, 6);
  EXPECT_EQ(noted.losses, profiled(0, 6).losses);
  ASSERT_EQ(noted.profiles.size(), 2u);
  for (std::size_t p = 0; p < 2; ++p) {
    const StepProfile& profile = noted.profiles[p];
    const TrainingStep& step = noted.steps[2 + 2 * p];
    ASSERT_FALSE(profile.layers.empty());
    EXPECT_EQ(profile.layers.front().step, step.step);
    double squares = 0;
    std::int64_t update_ns = 0, backward_ns = 0, numbers = 0;
    for (const TrainingLayer& layer : profile.layers) {
      if (!std::isnan(layer.gradient_norm)) squares += layer.gradient_norm * layer.gradient_norm;
      update_ns += layer.update_ns;
      backward_ns += layer.backward_ns;
      numbers += layer.parameters;
    }
    EXPECT_NEAR(std::sqrt(squares), step.gradient_norm, 1e-5 * step.gradient_norm);
    EXPECT_GT(update_ns, 0);
    EXPECT_LE(update_ns, step.update_ns);
    EXPECT_LE(backward_ns, step.backward_ns);
    ASSERT_FALSE(profile.memory.empty());
    EXPECT_EQ(profile.memory.back().gradient_bytes, 4 * numbers);
    EXPECT_EQ(profile.memory.front().gradient_bytes, 0);
    for (std::size_t i = 1; i < profile.memory.size(); ++i) {
      const TrainingMemory &before = profile.memory[i - 1], &row = profile.memory[i];
      EXPECT_LE(before.at_ns, row.at_ns);
      EXPECT_GE(row.gradient_bytes, before.gradient_bytes);
      EXPECT_GE(row.peak_bytes, row.activation_bytes + row.gradient_bytes);
      EXPECT_GE(row.activation_bytes, 0);
    }
  }
}

TEST(TrainingProfiles, MemoryCountsWhatBeganWithTheMeter) {
  at::Tensor before = at::empty({1000});
  const MemoryMeter outer;
  {
    const MemoryMeter meter;
    at::Tensor first = at::empty({256}), second = at::empty({512});
    EXPECT_EQ(meter.bytes(), 3072);
    second.reset();
    before.reset();
    EXPECT_EQ(meter.bytes(), 1024);
  }
  const MemoryMeter again;
  EXPECT_EQ(again.bytes(), 0);
  at::Tensor third = at::empty({256});
  third.reset();
  EXPECT_EQ(again.bytes(), 0);
}

std::vector<double> lossesOf(bool by_kernels, torch::jit::Module* trained) {
  const Images images;
  DataSet data = images.data();
  TrainingOptions options;
  options.optimizer = "sgd:lr=0.02,momentum=0.9";
  options.epochs = 8;
  options.by_kernels = by_kernels;
  Training training(*trained, data, nullptr, options);
  NotedLosses noted;
  EXPECT_TRUE(training.run(noted));
  return noted.losses;
}

TEST(TrainingLayers, GiveTheLossesOfLibtorchsLayers) {
  torch::jit::Module ours = imageNetwork(0), theirs = imageNetwork(0);
  const std::vector<double> losses = lossesOf(true, &ours), expected = lossesOf(false, &theirs);
  ASSERT_EQ(losses.size(), 40u);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-4) << i;
  EXPECT_LT(losses.back(), losses.front());
}

// Files have the order of memory that modules begin with, and a continuation the bits of an uninterrupted run.
TEST(TrainingLayers, GoOnFromACheckpointBitForBit) {
  for (const char* optimizer : {"sgd:lr=0.1,momentum=0.9", "adamw", "lamb"}) {
    SCOPED_TRACE(optimizer);
    const Images images;
    TrainingOptions options;
    options.optimizer = optimizer;
    options.epochs = 4;
    torch::jit::Module whole = imageNetwork(0.3), part = imageNetwork(0.3);
    DataSet data = images.data(), same = images.data(), again = images.data();
    TrainingWatch silent;
    Training uninterrupted(whole, data, nullptr, options);
    uninterrupted.run(silent, 12);
    std::stringstream checkpoint, end;
    {
      Training first(part, same, nullptr, options);
      first.run(silent, 7);
      first.saveCheckpoint(checkpoint);
    }
    const std::string path = images.folder / "net.checkpoint";
    writeBytes(path, checkpoint.str());
    const FileDescriptor file(::open(path.c_str(), O_RDONLY));
    torch::jit::Module loaded = torch::jit::load(path);
    EXPECT_TRUE(loaded.attr("w1").toTensor().is_contiguous());
    Training second(loaded, again, nullptr, options);
    second.resume(readTrainingState(file.get(), path));
    second.run(silent, 5);
    auto other = whole.parameters().begin();
    for (const at::Tensor& parameter : loaded.parameters()) {
      EXPECT_TRUE(at::equal(parameter, *other));
      ++other;
    }
    second.saveModel(end, "");
    torch::jit::Module result = torch::jit::load(end);
    EXPECT_TRUE(result.attr("w1").toTensor().is_contiguous());
    EXPECT_TRUE(at::equal(result.attr("w4").toTensor(), whole.attr("w4").toTensor()));
    EXPECT_TRUE(loaded.attr("w1").toTensor().is_contiguous(at::MemoryFormat::ChannelsLast));
  }
}

// CPU time of steps by turns: libtorch's layers and ours, in FP32 and under autocast, with a second training of
// ours in BF16 for what turns alone make of a ratio. IPEX_TRAIN_ONLY, which may be left out, runs one kind, for a
// profiler.
// IPEX_TRAIN_MODEL=m.pt IPEX_TRAIN_DATA=d.pt IPEX_TRAIN_BATCH=32 IPEX_TRAIN_ROUNDS=20 IPEX_TRAIN_ONLY='ours bf16'
//   build/train_tests --gtest_also_run_disabled_tests --gtest_filter='*StepsByTurns'
TEST(TrainingLayers, DISABLED_StepsByTurns) {
  const auto setting = [](const char* name, const char* otherwise) {
    return std::string(std::getenv(name) ? std::getenv(name) : otherwise);
  };
  struct Kind {
    const char* name;
    bool bf16, ours;
  };
  constexpr Kind kKinds[] = {{"ours bf16", true, true},
                             {"ours bf16 again", true, true},
                             {"ours fp32", false, true},
                             {"libtorch autocast", true, false},
                             {"libtorch fp32", false, false}};
  constexpr std::size_t kCount = std::size(kKinds);
  std::vector<std::unique_ptr<DataSet>> data;
  std::vector<std::unique_ptr<Training>> trainings;
  for (const Kind& kind : kKinds) {
    DataSetOptions data_options;
    data_options.batch = std::stoll(setting("IPEX_TRAIN_BATCH", "32"));
    data_options.any_targets = data_options.for_training = true;
    data.push_back(std::make_unique<DataSet>(setting("IPEX_TRAIN_DATA", ""), data_options));
    TrainingOptions options;
    options.epochs = 1000;
    options.optimizer = setting("IPEX_TRAIN_OPTIMIZER", "sgd:lr=0.01,momentum=0.9");
    options.bf16 = kind.bf16;
    options.by_kernels = kind.ours;
    trainings.push_back(
        std::make_unique<Training>(torch::jit::load(setting("IPEX_TRAIN_MODEL", "")), *data.back(), nullptr, options));
  }
  NotedLosses noted[kCount];
  const auto timed = [&](std::size_t kind) {
    const std::clock_t begin = std::clock();
    trainings[kind]->run(noted[kind], 1);
    return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  constexpr int kWarm = 3;
  const int rounds = std::stoi(setting("IPEX_TRAIN_ROUNDS", "20"));
  const std::string only = setting("IPEX_TRAIN_ONLY", "");
  std::vector<double> times[kCount], ratios[kCount];
  for (int round = 0; round < kWarm + rounds; ++round) {
    double now[kCount];
    for (std::size_t kind = 0; kind < kCount; ++kind)
      now[kind] = only.empty() || only == kKinds[kind].name ? timed(kind) : 1;
    for (std::size_t kind = 0; round >= kWarm && kind < kCount; ++kind) {
      times[kind].push_back(now[kind]);
      ratios[kind].push_back(now[kind] / now[0]);
    }
  }
  for (std::size_t kind = 0; kind < kCount; ++kind) {
    std::sort(times[kind].begin(), times[kind].end());
    std::sort(ratios[kind].begin(), ratios[kind].end());
    const auto at = [&](double share) {
      return ratios[kind][static_cast<std::size_t>(share * static_cast<double>(ratios[kind].size() - 1))];
    };
    std::printf("%-18s %8.1f ms  %.3f [%.3f, %.3f] × ours in bf16, last loss %.4f\n", kKinds[kind].name,
                times[kind][times[kind].size() / 2], at(0.5), at(0.1), at(0.9),
                noted[kind].losses.empty() ? 0.0 : noted[kind].losses.back());
  }
}

}  // namespace
}  // namespace ipex_studio::testing

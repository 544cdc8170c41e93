// LSTM and GRU as models call them become one region with the same numbers as eager, at other lengths and batches too.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

struct Layers {
  int layers = 1, directions = 1;
  bool biased = true, batch_first = false;
  int states = 6;  // fewer: projected
};

// Weights w0, w1 … of layers with `gates` · 6 rows, as PyTorch orders them.
Weights layerWeights(int gates, const Layers& of) {
  Weights weights;
  const auto add = [&](at::IntArrayRef sizes) {
    weights.emplace_back("w" + std::to_string(weights.size()), weight(sizes));
  };
  for (int l = 0; l < of.layers; ++l) {
    for (int d = 0; d < of.directions; ++d) {
      add({gates * 6, l == 0 ? 5 : of.states * of.directions});
      add({gates * 6, of.states});
      for (int b = 0; of.biased && b < 2; ++b) add({gates * 6});
      if (of.states < 6) add({of.states, 6});
    }
  }
  return weights;
}

std::string listOf(const Weights& weights) {
  std::string list;
  for (const auto& [name, tensor] : weights) list += (list.empty() ? "[self." : ", self.") + name;
  return list + "]";
}

void expectRegion(const char* cell, int gates, const Layers& of) {
  const Weights weights = layerWeights(gates, of);
  const auto flag = [](bool value) { return value ? "True" : "False"; };
  const bool is_lstm = std::string(cell) == "lstm";
  const std::string states = std::to_string(of.layers * of.directions),
                    batch = of.batch_first ? "x.size(0)" : "x.size(1)";
  const auto state = [&](const char* name, int width, const char* value) {
    return std::string("    ") + name + " = torch.zeros([" + states + ", " + batch + ", " + std::to_string(width) +
           "]) + " + value + "\n";
  };
  std::string source =
      "def forward(self, x):\n" + state("h", of.states, "0.25") + state("c", 6, "0.5") + "    x = torch.tanh(x)\n";
  source += is_lstm ? "    y, a, b = torch.lstm(x, [h, c], " : "    y, a = torch.gru(x, h, ";
  source += listOf(weights) + ", " + flag(of.biased) + ", " + std::to_string(of.layers) + ", 0.0, False, " +
            flag(of.directions == 2) + ", " + flag(of.batch_first) + ")\n";
  source += is_lstm ? "    return torch.relu(y), a, b\n" : "    return torch.relu(y), a * 2.0\n";
  const Module module = scriptModule(source, weights);
  const auto input = [&](std::int64_t batches, std::int64_t steps) {
    return Inputs{of.batch_first ? at::randn({batches, steps, 5}) : at::randn({steps, batches, 5})};
  };
  const OptimizedModel result = expectSame(module, {input(2, 7), input(1, 7), input(5, 1), input(2, 7)});
  EXPECT_EQ(regionsIn(result.module), 1) << source;
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1) << result.module.get_method("forward").graph()->toString(false);
}

TEST(Recurrent, LayersAreOneRegion) {
  for (const auto& [cell, gates] : {std::pair<const char*, int>{"lstm", 4}, {"gru", 3}}) {
    expectRegion(cell, gates, {1, 1, true, false});
    expectRegion(cell, gates, {1, 1, false, true});
    expectRegion(cell, gates, {2, 2, true, true});
    expectRegion(cell, gates, {3, 1, true, false});
    expectRegion(cell, gates, {1, 2, false, false});
  }
}

TEST(Recurrent, ProjectedLayersAreOneRegion) {
  expectRegion("lstm", 4, {1, 1, true, false, 4});
  expectRegion("lstm", 4, {2, 2, true, true, 1});
  expectRegion("lstm", 4, {2, 1, false, false, 5});
}

TEST(Recurrent, CellsAreOneRegion) {
  const Weights weights = {{"w", weight({24, 5})}, {"u", weight({24, 6})}, {"b", weight({24})}, {"d", weight({24})},
                           {"v", weight({18, 5})}, {"t", weight({18, 6})}, {"e", weight({18})}, {"f", weight({18})}};
  const Module module = scriptModule(
      "def forward(self, x, h):\n    a, c = torch.lstm_cell(x, [h, h * 0.5], self.w, self.u, self.b, self.d)\n"
      "    g = torch.gru_cell(x, a, self.v, self.t, self.e, self.f)\n    return torch.tanh(c) + g\n",
      weights);
  const OptimizedModel result =
      expectSame(module, {Inputs{at::randn({3, 5}), at::randn({3, 6})}, Inputs{at::randn({1, 5}), at::randn({1, 6})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1) << result.module.get_method("forward").graph()->toString(false);
}

}  // namespace
}  // namespace ipex_studio

// LSTM and GRU as models call them become one region with the same numbers as eager, at other lengths and batches too.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Weights w0, w1 … of layers with `gates` · 6 rows, as PyTorch orders them.
Weights layerWeights(int gates, int layers, int directions, bool biased) {
  Weights weights;
  const auto add = [&](at::IntArrayRef sizes) {
    weights.emplace_back("w" + std::to_string(weights.size()), weight(sizes));
  };
  for (int l = 0; l < layers; ++l) {
    for (int d = 0; d < directions; ++d) {
      add({gates * 6, l == 0 ? 5 : 6 * directions});
      add({gates * 6, 6});
      for (int b = 0; biased && b < 2; ++b) add({gates * 6});
    }
  }
  return weights;
}

std::string listOf(const Weights& weights) {
  std::string list;
  for (const auto& [name, tensor] : weights) list += (list.empty() ? "[self." : ", self.") + name;
  return list + "]";
}

struct Layers {
  int layers = 1, directions = 1;
  bool biased = true, batch_first = false;
};

void expectRegion(const char* cell, int gates, const Layers& of) {
  const Weights weights = layerWeights(gates, of.layers, of.directions, of.biased);
  const auto flag = [](bool value) { return value ? "True" : "False"; };
  const bool is_lstm = std::string(cell) == "lstm";
  const std::string states = std::to_string(of.layers * of.directions),
                    batch = of.batch_first ? "x.size(0)" : "x.size(1)";
  std::string source =
      "def forward(self, x):\n    h = torch.zeros([" + states + ", " + batch + ", 6]) + 0.25\n    x = torch.tanh(x)\n";
  source += is_lstm ? "    y, a, b = torch.lstm(x, [h, h * 2.0], " : "    y, a = torch.gru(x, h, ";
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

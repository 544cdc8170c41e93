// Which nodes regions take, and what they leave to the interpreter.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Written out by a plan, the result would have many times the memory.
TEST(Regions, ExpansionsThatLeaveAreViews) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(x)
    return y.unsqueeze(0).expand([50, x.size(0), 4]), y * 2
)");
  OptimizedModel result = expectSame(module, {Inputs{at::randn({3, 4})}, Inputs{at::randn({5, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  const IValue outputs = call(result.module, {at::randn({3, 4})});
  EXPECT_EQ(outputs.toTupleRef().elements()[0].toTensor().stride(0), 0);
}

TEST(Regions, ExpansionsThatPlansReadStayInside) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(x)
    return torch.cat([y.unsqueeze(0).expand([5, x.size(0), 4]), torch.tanh(y).unsqueeze(0)]) + 1
)");
  const OptimizedModel result = expectSame(module, {Inputs{at::randn({3, 4})}, Inputs{at::randn({5, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1);
}

// `uses` gets a list of two results of layers, and the place of one that is known in the run alone.
Module listModel(const std::string& uses) {
  return scriptModule(
      "def forward(self, x):\n"
      "    a = torch.tanh(torch.linear(x, self.w))\n    b = torch.relu(torch.linear(a, self.w))\n"
      "    features = [a, b]\n    i = int(bool(x.sum() > 0))\n" +
          uses,
      {{"w", weight({4, 4})}});
}
const std::vector<Inputs>& listInputs() {
  static const std::vector<Inputs> inputs{{at::ones({3, 4})}, {-at::ones({3, 4})}, {at::randn({5, 4})}};
  return inputs;
}

// Elements that are read out of lists have names that libtorch's analysis takes for those of anything that is written.
TEST(Regions, ElementsOfListsThatAreOnlyReadStayInside) {
  const std::string write = "    boxes = [x + 1.0, x - 1.0]\n    boxes[i].mul_(2.0)\n";
  for (const std::string& uses : std::vector<std::string>{
           "    y = features[i] * 2.0\n" + write + "    return y + boxes[0], boxes[1]\n",
           "    y = x\n    for k in range(i + 1):\n        y = y + features[k].view([-1, 4])\n" + write +
               "    return y, boxes\n",
           "    pair = (features, x)\n    f = features if i > 0 else [b]\n    y = f[0] + pair[0][1] + f[-1][:, :1]\n" +
               write + "    return y, boxes[1], len(f)\n",
           "    y = torch.cat(features + [x])\n    features.append(x)\n    y = y + features[i].sum()\n" + write +
               "    return y, boxes[1]\n",
           "    more: List[Tensor] = []\n    if i > 0:\n        more.append(a)\n    more += features\n" + write +
               "    return more[0] + more[-i] + boxes[0], boxes[1]\n",
           "    more: Dict[int, Tensor] = {}\n    more[i] = a\n    more[1 - i] = b\n" + write +
               "    return more[0] + boxes[0], boxes[1], len(list(more.values()))\n"}) {
    OptimizedModel result = expectSame(listModel(uses), listInputs());
    const std::string text = result.module.get_method("forward").graph()->toString(false);
    EXPECT_EQ(text.find("::linear("), std::string::npos) << text;
  }
}

TEST(Regions, ElementsOfListsThatAreWrittenKeepTheirNames) {
  for (const std::string& uses : std::vector<std::string>{
           "    features[i].mul_(2.0)\n    return a + 0.0, b + 1.0\n",
           "    more = [x * 1.0]\n    more += features\n    more[i].add_(1.0)\n    return a * 2.0, b + 1.0, more[0]\n",
           "    more = [x * 1.0]\n    more.extend(features)\n    more[-i].add_(1.0)\n    return a * 2.0, b + 1.0\n",
           "    more = {'x': x * 1.0}\n    more['a'] = features[i]\n    more['a'].add_(1.0)\n    return a * 2.0, b + "
           "1.0\n",
           "    more: List[Tensor] = []\n    all = [more]\n    all[0].append(features[i])\n    more[0].add_(1.0)\n"
           "    return a * 2.0, b + 1.0\n",
           "    more: List[Tensor] = []\n    all = [more]\n    more.append(features[i])\n    all[0][0].add_(1.0)\n"
           "    return a * 2.0, b + 1.0\n",
           "    more = features.copy()[i:]\n    more[0].add_(1.0)\n    return a * 2.0, b + 1.0\n",
           "    pair = (features[i], x)\n    pair[0].t().add_(1.0)\n    return a * 2.0, b + 1.0\n",
           "    y = x * 1.0\n    for k in range(2 + i):\n        y.add_(1.0)\n        y = features[k % 2]\n"
           "    return a * 2.0, b + 1.0, y\n",
           "    y = x * 1.0\n    if i > 0:\n        y = features[1]\n    y.split(2)[0].add_(1.0)\n"
           "    return a * 2.0, b + 1.0, y\n",
           "    y = x * 1.0\n    y.set_(features[i])\n    y.add_(1.0)\n    return a * 2.0, b + 1.0\n"}) {
    expectSame(listModel(uses), listInputs());
  }
}

// Ids in int32 where the example had int64, and the other way round.
TEST(Regions, IntegersOfTheOtherWidthChooseTheSame) {
  const Module module = scriptModule(R"(
def forward(self, ids, at):
    y = torch.embedding(self.w, ids.view([-1, 4])) * (ids != 0).to(6).unsqueeze(-1)
    return torch.relu(y[:, at]).sum([1])
)",
                                     {{"w", weight({9, 6})}});
  const auto ids = [](at::ScalarType dtype) { return at::randint(9, {3, 4}, at::kLong).to(dtype); };
  const auto at = [](at::ScalarType dtype) { return at::randint(4, {5}, at::kLong).to(dtype); };
  for (const at::ScalarType shown : {at::kLong, at::kInt}) {
    const at::ScalarType other = shown == at::kLong ? at::kInt : at::kLong;
    OptimizedModel result = optimized(module, Inputs{ids(shown), at(at::kLong)});
    EXPECT_EQ(difference(module, result.module, Inputs{ids(shown), at(at::kLong)}), "");
    EXPECT_EQ(difference(module, result.module, Inputs{ids(other), at(at::kLong)}), "");
    EXPECT_EQ(regionsIn(result.module), 1);
  }
}

// Where results have the type of the integers the plan would give another one.
TEST(Regions, IntegersOfTheOtherWidthThatAreResultsAreRefused) {
  const Module module = scriptModule("def forward(self, ids):\n    return ids * 3 + 1\n");
  OptimizedModel result = optimized(module, Inputs{at::arange(6)});
  ASSERT_EQ(regionsIn(result.module), 1);
  EXPECT_THROW(call(result.module, {at::arange(6, at::kInt)}), std::exception);
}

// A number beyond int32 is no other number.
TEST(Regions, LargeIntegersAreNotCut) {
  const Module module = scriptModule("def forward(self, ids):\n    return torch.relu(torch.embedding(self.w, ids))\n",
                                     {{"w", weight({9, 6})}});
  OptimizedModel result = optimized(module, Inputs{at::arange(6, at::kInt)});
  EXPECT_THROW(call(result.module, {at::full({6}, (std::int64_t{1} << 32) + 1, at::kLong)}), std::exception);
}

}  // namespace
}  // namespace ipex_studio

// Loops over levels of features become plans.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// As a detector does: levels in a dictionary, a pyramid filled from its end, a head on each level.
TEST(RecordShapes, HeadsOnLevelsOfFeatures) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    levels: Dict[str, Tensor] = {}\n"
      "    levels['a'] = torch.relu(torch.conv2d(x, self.w, padding=1))\n"
      "    levels['b'] = torch.max_pool2d(levels['a'], 2)\n"
      "    features = list(levels.values())\n"
      "    results = [torch.relu(features[-1])]\n"
      "    for i in range(len(features) - 2, -1, -1):\n"
      "        results.insert(0, torch.conv2d(features[i], self.w, padding=1))\n"
      "    results.append(torch.max_pool2d(results[-1], 1, 2))\n"
      "    heads: List[Tensor] = []\n"
      "    for feature in results:\n"
      "        heads.append(torch.tanh(torch.conv2d(feature, self.w, padding=1)).flatten(1))\n"
      "    return torch.cat(heads, 1)\n",
      {{"w", weight({4, 4, 3, 3})}});
  OptimizedModel result = expectSame(module, {Inputs{at::randn({1, 4, 8, 12})}, Inputs{at::randn({2, 4, 16, 8})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  const std::string text = result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("aten::conv"), std::string::npos) << text;
  EXPECT_EQ(text.find("ipex_studio::convolution("), std::string::npos) << text;
  EXPECT_EQ(text.find("prim::Loop"), std::string::npos) << text;
}

// Each level is enlarged to the sizes of the one before it, which the rounds ask for as a list and check.
TEST(RecordShapes, PyramidsOfFeatures) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    features = [torch.relu(torch.conv2d(x, self.w, padding=1))]\n"
      "    for k in range(2):\n        features.append(torch.max_pool2d(features[-1], 2))\n"
      "    last = torch.conv2d(features[-1], self.w, padding=1)\n"
      "    results = [last]\n"
      "    for i in range(len(features) - 2, -1, -1):\n"
      "        inner = torch.conv2d(features[i], self.w, padding=1)\n"
      "        shape = inner.size()[-2:]\n"
      "        assert len(shape) == last.dim() - 2, 'cannot enlarge {} to {}'.format(list(last.size()[2:]), shape)\n"
      "        last = inner + torch.upsample_nearest2d(last, shape, None)\n"
      "        results.insert(0, torch.conv2d(last, self.w, padding=1))\n"
      "    return results\n",
      {{"w", weight({4, 4, 3, 3})}});
  OptimizedModel result = expectSame(module, {Inputs{at::randn({1, 4, 8, 12})}, Inputs{at::randn({2, 4, 18, 9})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  const std::string text = result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("aten::"), std::string::npos) << text;
}

}  // namespace
}  // namespace ipex_studio

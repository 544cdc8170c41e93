// Encoder layers hand padded sequences on as nested tensors, which have no sizes and few operators: whatever looks at
// the values of a run has to leave them alone.
#include <gtest/gtest.h>

#include "core/model/denormals.h"
#include "core/model/measure.h"
#include "core/model/model.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using testing::expectSame;
using testing::optimized;
using testing::scriptModule;
using testing::weight;
using torch::jit::Module;

// Two layers as nn.TransformerEncoder calls them in evaluation mode where a padding mask is given.
Module encoder() {
  const std::string layer =
      ", 8, 2, self.w, self.b, self.v, self.c, False, False, 1e-5, self.g, self.c, self.g, self.c, self.f, self.fb, "
      "self.h, self.c, None, None)\n";
  return scriptModule(
      "def forward(self, x, padding):\n"
      "    n = torch._nested_tensor_from_mask(x, torch.logical_not(padding), False)\n"
      "    n = torch._transformer_encoder_layer_fwd(n" +
          layer + "    n = torch._transformer_encoder_layer_fwd(n" + layer +
          "    return torch.to_padded_tensor(n, 0.0, None)\n",
      {{"w", weight({24, 8})},
       {"b", weight({24})},
       {"v", weight({8, 8})},
       {"c", weight({8})},
       {"g", weight({8}) + 1},
       {"f", weight({12, 8})},
       {"fb", weight({12})},
       {"h", weight({8, 12})}});
}

Inputs padded(std::int64_t longest, std::int64_t shorter) {
  at::Tensor padding = at::zeros({2, longest}, at::kBool);
  padding[1].slice(0, shorter).fill_(true);
  return {at::randn({2, longest, 8}), padding};
}

TEST(NestedTensors, AreLookedAtNeitherForDenormalsNorForTimes) {
  Module module = encoder();
  const Inputs inputs = padded(6, 4);
  EXPECT_EQ(denormalsRemark(module, inputs, {}), std::nullopt);
  RunRecord run;
  profileSteps(module, inputs, 2, {}, run);
  EXPECT_FALSE(run.step_times.empty());
}

TEST(NestedTensors, EncodersWithPaddingArePlanned) {
  const OptimizedModel result = expectSame(encoder(), {padded(6, 4), padded(9, 2), padded(5, 5)});
  EXPECT_GE(result.coverage.nodes, 0.9);
}

}  // namespace
}  // namespace ipex_studio

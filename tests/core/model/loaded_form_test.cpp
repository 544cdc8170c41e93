// Files that were saved for training, for a GPU or in FP16 run here, and what is not as in the file is said.
#include "core/model/loaded_form.h"

#include <gtest/gtest.h>

#include "tests/core/graph/script_classes.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// The module as it is after it was saved and loaded.
Model reloaded(const Module& module) {
  const TempDirectory directory;
  module.save(directory.file("model.pt"));
  return Model::load(directory.file("model.pt"));
}

TEST(LoadedForm, TrainingModeIsLeftAndSaid) {
  Module module = scriptModule("def forward(self, x):\n    return torch.dropout(x, 0.5, self.training)\n");
  EXPECT_TRUE(reloaded(module).notes().empty());
  module.train();
  Model model = reloaded(module);
  ASSERT_EQ(model.notes().size(), 1U);
  EXPECT_NE(model.notes()[0].find("saved in training mode"), std::string::npos);
  const at::Tensor x = at::randn({2, 4});
  EXPECT_EQ(difference(call(model.module(), {x}), x), "");
}

// Automatic mixed precision makes norms of BF16 with weights in FP32, which PyTorch takes since 2.0.
TEST(LoadedForm, NormsOfBf16WithWeightsInFp32Run) {
  Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.linear(torch.to(x, 15), self.w)\n"
      "    y = torch.layer_norm(y, [4], self.scale, self.shift)\n"
      "    return torch.group_norm(torch.unsqueeze(y, -1), 2, self.scale, self.shift)\n",
      {{"w", at::randn({4, 4}).to(at::kBFloat16)}, {"scale", at::rand({4})}, {"shift", at::rand({4})}});
  Model model = reloaded(module);
  const at::Tensor x = at::randn({3, 4});
  const at::Tensor y = call(model.module(), {x}).toTensor();
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  const at::Tensor w = module.attr("w").toTensor().to(at::kFloat);
  const at::Tensor scale = module.attr("scale").toTensor(), shift = module.attr("shift").toTensor();
  const at::Tensor normed = at::layer_norm(at::linear(x, w), {4}, scale, shift).unsqueeze(-1);
  EXPECT_LT((at::group_norm(normed, 2, scale, shift) - y.to(at::kFloat)).abs().max().item<double>(), 0.1);
}

// Autocast makes them BF16, which PyTorch computes since 2.0; weights in attributes have no dtype in the code.
TEST(LoadedForm, TransposedConvolutionsOfBf16Run) {
  for (const bool low : {true, false}) {
    const auto dtype = low ? at::kBFloat16 : at::kFloat;
    Module module = scriptModule(
        "def forward(self, x):\n"
        "    y = torch.conv_transpose2d(x, self.w, self.b, [2, 2], [1, 1], [1, 1])\n"
        "    return torch.convolution(y, self.v, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 2)\n",
        {{"w", at::randn({4, 6, 3, 3}).to(dtype)},
         {"b", at::randn({6}).to(dtype)},
         {"v", at::randn({6, 2, 2, 2}).to(dtype)},
         {"other", at::ones({1}, at::kBFloat16)}});
    Model model = reloaded(module);
    const auto wide = [&](const char* name) { return module.attr(name).toTensor().to(at::kFloat); };
    const at::Tensor x = at::randn({2, 4, 5, 5}).to(dtype);
    const at::Tensor first =
        at::conv_transpose2d(x.to(at::kFloat), wide("w"), wide("b"), {2, 2}, {1, 1}, {1, 1}).to(dtype);
    const at::Tensor expected = at::conv_transpose2d(first.to(at::kFloat), wide("v"), {}, {1, 1}, {0, 0}, {0, 0}, 2);
    EXPECT_EQ(difference(call(model.module(), {x}), expected.to(dtype)), "");
    if (!low) {
      expectSame(model.module(), {{x}, {at::randn({1, 4, 7, 6}).to(dtype)}});
      continue;
    }
    // Optimized, it may round less often: it is not further from FP32 than the model itself.
    OptimizedModel result = optimized(model.module(), {x});
    for (const at::Tensor& image : {x, at::randn({1, 4, 7, 6}).to(dtype)}) {
      const at::Tensor between =
          at::conv_transpose2d(image.to(at::kFloat), wide("w"), wide("b"), {2, 2}, {1, 1}, {1, 1});
      const at::Tensor exact = at::conv_transpose2d(between, wide("v"), {}, {1, 1}, {0, 0}, {0, 0}, 2);
      const auto error = [&](const at::Tensor& y) { return (y.to(at::kFloat) - exact).norm().item<float>(); };
      const at::Tensor own = call(model.module(), {image}).toTensor();
      const at::Tensor found = call(result.module, {image}).toTensor();
      EXPECT_EQ(found.scalar_type(), at::kBFloat16);
      EXPECT_LE(error(found), 1.01f * error(own));
    }
  }
}

TEST(LoadedForm, EmbeddingBagsOfBf16Run) {
  Module module = scriptModule(
      "def forward(self, ids, offsets):\n"
      "    return torch.embedding_bag(self.table, ids, offsets, False, 0, False, None, False)[0]\n",
      {{"table", at::randn({10, 4}).to(at::kBFloat16)}});
  Model model = reloaded(module);
  const at::Tensor ids = at::randint(10, {12}, at::kLong), offsets = at::arange(0, 12, 3, at::kLong);
  const at::Tensor table = module.attr("table").toTensor().to(at::kFloat);
  const at::Tensor expected = std::get<0>(at::embedding_bag(table, ids, offsets)).to(at::kBFloat16);
  EXPECT_EQ(difference(call(model.module(), {ids, offsets}), expected), "");
  expectSame(model.module(), {{ids, offsets}});
}

TEST(LoadedForm, AGpuIsReadAsTheCpu) {
  const Module module = classModule(
      "    w = self.w\n"
      "    a = torch.arange(4, dtype=None, layout=None, device=torch.device(\"cuda:0\"), pin_memory=False)\n"
      "    b = torch.to(a, dtype=6, layout=0, device=torch.device(\"cuda\"))\n"
      "    c = torch.cuda(torch.mul(x, w))\n"
      "    if torch.gt(torch.size(x, 0), 2):\n"
      "      d = __torch__.there(c, )\n"
      "    else:\n"
      "      d = torch.to(c, torch.device(\"cuda:1\"), 6)\n"
      "    return torch.add(d, b)\n",
      weight({4}), "def there(x: Tensor) -> Tensor:\n  return torch.cuda(x)\n");
  Model model = reloaded(module);
  ASSERT_EQ(model.notes().size(), 1U);
  EXPECT_EQ(model.notes()[0], "The code names a GPU in 5 places; the CPU is taken instead.");
  for (const std::int64_t rows : {2, 3}) {
    const at::Tensor x = at::randn({rows, 4});
    const at::Tensor expected = x * module.attr("w").toTensor() + at::arange(4, at::kFloat);
    EXPECT_EQ(difference(call(model.module(), {x}), expected), "");
  }
  expectSame(model.module(), {{at::randn({2, 4})}, {at::randn({3, 4})}});
}

TEST(LoadedForm, Fp16FilesAreComputedInFp32) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.linear(torch.to(x, 5), self.w)\n"  // 5: float16
      "    return torch.relu(y + torch.ones([4], dtype=5)) * self.s\n",
      {{"w", weight({4, 6}).to(at::kHalf)}}, {{"s", at::full({4}, 2.0).to(at::kHalf)}});
  Model model = reloaded(module);
  ASSERT_EQ(model.notes().size(), 1U);
  EXPECT_TRUE(model.readsFp16AsFp32());
  const at::Tensor x = at::randn({2, 6});
  const at::Tensor w = module.attr("w").toTensor().to(at::kFloat);
  const at::Tensor expected = (at::linear(x, w) + 1).relu() * 2;
  EXPECT_EQ(difference(call(model.module(), {x}), expected), "");
  expectSame(model.module(), {{x}});
  EXPECT_EQ(model.guessInputs()[0].dtype, "float32");
}

TEST(LoadedForm, OneFp16TensorAmongOthersStaysAsItIs) {
  Model model =
      reloaded(scriptModule("def forward(self, x):\n    return torch.linear(x, self.w) + torch.to(self.s, 6)\n",
                            {{"w", weight({4, 6})}}, {{"s", at::ones({4}).to(at::kHalf)}}));
  EXPECT_FALSE(model.readsFp16AsFp32());
  EXPECT_EQ(model.module().attr("s").toTensor().scalar_type(), at::kHalf);
}

TEST(LoadedForm, GuessedInputsHaveTheDtypeOfTheWeights) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kFloat}) {
    const Module module = scriptModule("def forward(self, x):\n    return torch.relu(torch.linear(x, self.w)) * 2.0\n",
                                       {{"w", weight({4, 6}).to(type)}});
    Model model = Model::fromModule(module);
    const Inputs inputs = makeInputs(model.guessInputs(), 0);
    EXPECT_EQ(inputs[0].toTensor().scalar_type(), type);
    if (type != at::kBFloat16) expectSame(module, {inputs});
  }
}

}  // namespace
}  // namespace ipex_studio

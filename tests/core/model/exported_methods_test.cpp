// Exported methods stay in exports as they are, and one of them can be optimized in the place of forward.
#include "core/model/exported_methods.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/base/error.h"
#include "tests/core/graph/script_models.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

constexpr char kStreaming[] = R"(
def encode(self, x, scale: float = 1.0):
    return torch.relu(torch.linear(x, self.w)) * scale

def step(self, x, rate: float = 2.0):
    self.state = self.state + self.encode(x, rate).sum(0)
    return torch.tanh(torch.linear(self.state, self.v)) * 2.0

def reset(self):
    self.state = torch.zeros([4])

def _private(self, x):
    return x

def forward(self, x):
    return torch.sigmoid(torch.linear(self.encode(x), self.v)) + 1.0
)";

Module streaming() {
  return scriptModule(kStreaming, {{"w", weight({4, 6})}, {"v", weight({3, 4})}}, {{"state", at::zeros({4})}});
}

IValue callMethod(Module& module, const std::string& name, const Inputs& inputs) {
  const torch::NoGradGuard no_grad;
  return module.get_method(name)(inputs);
}

TEST(ExportedMethods, AreThoseOfTheModuleBesideForward) {
  EXPECT_EQ(exportedMethods(streaming()), (std::vector<std::string>{"encode", "step", "reset"}));
}

TEST(ExportedMethods, ExchangingTwiceChangesNothing) {
  Module module = streaming(), exchanged = streaming().deepcopy();
  for (const auto& attribute : module.named_attributes(false))
    exchanged.setattr(attribute.name,
                      attribute.value.isTensor() ? attribute.value.toTensor().clone() : attribute.value);
  exchangeForward(exchanged, "step");
  const at::Tensor x = at::randn({2, 6});
  EXPECT_EQ(difference(callMethod(exchanged, "forward", {x}), callMethod(module, "step", {x})), "");
  EXPECT_EQ(difference(callMethod(exchanged, "step", {x}), callMethod(module, "forward", {x})), "");
  EXPECT_EQ(exchanged.get_method("forward").function().getSchema().arguments()[2].name(), "rate");
  exchangeForward(exchanged, "step");
  EXPECT_EQ(difference(callMethod(exchanged, "forward", {x}), callMethod(module, "forward", {x})), "");
  EXPECT_EQ(difference(callMethod(exchanged, "step", {x}), callMethod(module, "step", {x})), "");
  EXPECT_THROW(exchangeForward(exchanged = scriptModule("def f(self, x):\n    return x\n"), "g"), Error);
}

TEST(ExportedMethods, AreKeptInExports) {
  const Module module = streaming();
  const OptimizedModel result = expectSame(module, {{at::randn({2, 6})}});
  for (const ExportForm form : {ExportForm::kCompiled, ExportForm::kPortable}) {
    std::stringstream file;
    exportModule(result, file, form);
    Module exported = torch::jit::load(file);
    Module original = module.deepcopy();
    for (int call = 0; call < 3; ++call) {
      const at::Tensor x = at::randn({2, 6});
      EXPECT_EQ(difference(callMethod(exported, "step", {x}), callMethod(original, "step", {x})), "");
      EXPECT_EQ(difference(callMethod(exported, "encode", {x, 3.0}), callMethod(original, "encode", {x, 3.0})), "");
      if (call == 1) callMethod(exported, "reset", {}), callMethod(original, "reset", {});
    }
  }
}

TEST(ExportedMethods, AnotherThanForwardIsOptimized) {
  const TempDirectory directory;
  streaming().save(directory.file("model.pt"));
  Model model = Model::load(directory.file("model.pt"), "step");
  OptimizedModel result = optimized(model.module(), {at::randn({2, 6})});
  result.method = "step";
  EXPECT_GE(regionsIn(result.module), 1);
  for (const ExportForm form : {ExportForm::kCompiled, ExportForm::kPortable}) {
    std::stringstream file;
    exportModule(result, file, form);
    Module exported = torch::jit::load(file);
    Module original = streaming();
    for (const char* name : {"w", "v", "state"}) original.setattr(name, model.module().attr(name));
    original = original.deepcopy();
    for (int call = 0; call < 3; ++call) {
      const at::Tensor x = at::randn({2, 6});
      EXPECT_EQ(difference(callMethod(exported, "step", {x}), callMethod(original, "step", {x})), "");
      EXPECT_EQ(difference(callMethod(exported, "forward", {x}), callMethod(original, "forward", {x})), "");
    }
    const std::string step = exported.get_method("step").graph()->toString(false);
    EXPECT_EQ(step.find("ipex_studio::region") != std::string::npos, form == ExportForm::kCompiled) << step;
  }
}

TEST(ExportedMethods, AModelWithoutForwardNeedsOneNamed) {
  const TempDirectory directory;
  scriptModule("def turn(self, x):\n    return torch.relu(torch.linear(x, self.w)) * 2.0\n", {{"w", weight({4, 6})}})
      .save(directory.file("model.pt"));
  const auto refusal = [&](const std::string& method) -> std::string {
    try {
      Model::load(directory.file("model.pt"), method);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(""), "The model has no forward; name one of its methods with --method: turn.");
  EXPECT_EQ(refusal("walk"),
            "The model has no method 'walk' to be optimized in the place of forward; name one of its methods with "
            "--method: turn.");
  Model model = Model::load(directory.file("model.pt"), "turn");
  OptimizedModel result = expectSame(model.module(), {{at::randn({2, 6})}});
  result.method = "turn";
  std::stringstream file;
  exportModule(result, file, ExportForm::kCompiled);
  Module exported = torch::jit::load(file);
  EXPECT_FALSE(exported.find_method("forward").has_value());
  const at::Tensor x = at::randn({2, 6});
  EXPECT_EQ(difference(callMethod(exported, "turn", {x}), call(model.module(), {x})), "");
}

}  // namespace
}  // namespace ipex_studio

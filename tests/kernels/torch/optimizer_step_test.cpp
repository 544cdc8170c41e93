// ipex_studio::optimizer_step: the bits of the for-loops of torch.optim, any layout, errors before anything changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/version.h>

#include <cmath>
#include <vector>

namespace ipex_studio {
namespace {

using Tensors = std::vector<at::Tensor>;

// The arguments of a call, with the defaults of the rest.
struct StepCall {
  std::string optimizer;
  std::vector<double> settings;
  Tensors parameters, gradients, states;
  std::int64_t step = 1;
  double gradient_scale = 1, max_norm = 0;
  bool skip_infinite = false;

  double run() const {
    torch::jit::Stack stack{optimizer,
                            settings,
                            c10::List<at::Tensor>(parameters),
                            c10::List<at::Tensor>(gradients),
                            c10::List<at::Tensor>(states),
                            step,
                            gradient_scale,
                            max_norm,
                            skip_infinite,
                            false,
                            c10::IValue()};
    c10::Dispatcher::singleton().findSchemaOrThrow("ipex_studio::optimizer_step", "").callBoxed(&stack);
    return stack.at(0).toDouble();
  }
};

const Tensors& someParameters() {
  static const Tensors parameters = {at::randn({}), at::randn({3}), at::randn({17, 5}), at::randn({4, 3, 3, 3})};
  return parameters;
}

Tensors copiesOf(const Tensors& tensors) {
  Tensors copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

Tensors gradientsFor(const Tensors& tensors) {
  Tensors gradients;
  for (const at::Tensor& tensor : tensors) gradients.push_back(at::randn_like(tensor));
  return gradients;
}

Tensors zerosFor(const Tensors& tensors, int each) {
  Tensors states;
  for (const at::Tensor& tensor : tensors) {
    for (int j = 0; j < each; ++j) states.push_back(at::zeros_like(tensor));
  }
  return states;
}

void expectEqual(const Tensors& a, const Tensors& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

bool meansAreLerped() { return TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1); }

// One step of _single_tensor_adamw, without amsgrad.
void adamwByLoop(const StepCall& call) {
  const double lr = call.settings[0], beta1 = call.settings[1], beta2 = call.settings[2];
  const double step = static_cast<double>(call.step), bias1 = 1 - std::pow(beta1, step),
               bias2 = 1 - std::pow(beta2, step);
  for (std::size_t i = 0; i < call.parameters.size(); ++i) {
    at::Tensor p = call.parameters[i], g = call.gradients[i], m = call.states[2 * i], v = call.states[2 * i + 1];
    p.mul_(1 - lr * call.settings[4]);
    meansAreLerped() ? m.lerp_(g, 1 - beta1) : m.mul_(beta1).add_(g, 1 - beta1);
    v.mul_(beta2).addcmul_(g, g, 1 - beta2);
    p.addcdiv_(m, v.sqrt().div_(std::sqrt(bias2)).add_(call.settings[3]), -lr / bias1);
  }
}

TEST(OptimizerStep, HasTheBitsOfTheForLoop) {
  StepCall fused{
      "adamw", {0.01, 0.9, 0.999, 1e-8, 0.1, 0, 0}, copiesOf(someParameters()), {}, zerosFor(someParameters(), 2)};
  StepCall loop = fused;
  loop.parameters = copiesOf(fused.parameters);
  loop.states = copiesOf(fused.states);
  for (std::int64_t step = 1; step <= 5; ++step) {
    fused.gradients = loop.gradients = gradientsFor(fused.parameters);
    fused.step = loop.step = step;
    EXPECT_EQ(fused.run(), 0);
    adamwByLoop(loop);
  }
  if (TORCH_VERSION_MAJOR > 1) GTEST_SKIP() << "the square roots of later versions are MKL's, which round differently";
  expectEqual(fused.parameters, loop.parameters);
  expectEqual(fused.states, loop.states);
}

TEST(OptimizerStep, TakesAnyLayout) {
  const at::Tensor image = at::randn({2, 5, 4, 4}), gradient = at::randn_like(image);
  const at::Tensor last = image.clone(at::MemoryFormat::ChannelsLast);
  const at::Tensor sliced = at::zeros({2, 5, 4, 9}).slice(3, 0, 8, 2),
                   transposed = at::zeros({4, 4, 5, 2}).permute({3, 2, 1, 0});
  sliced.copy_(image);
  transposed.copy_(image);
  const std::vector<double> settings = {0.5, 0.9, 0, 0, 0.1, 0};
  StepCall plain{"sgd", settings, {image}, {gradient}, {at::zeros_like(image)}};
  plain.run();
  StepCall other{
      "sgd", settings, {last, sliced, transposed}, {gradient, gradient, gradient}, zerosFor({image, last, sliced}, 1)};
  other.run();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::equal(other.parameters[i], image)) << i;
    EXPECT_TRUE(at::equal(other.states[i], plain.states[0])) << i;
  }
}

TEST(OptimizerStep, RaisesVersionsAndLeavesGradients) {
  const at::Tensor p = at::randn({20}), g = at::randn({20}), kept = g.clone();
  const auto version = p._version();
  StepCall{"lamb", {0.1, 0.9, 0.999, 1e-8, 0.1, 1, 1, 1, 1, 0}, {p}, {g}, zerosFor({p}, 2)}.run();
  EXPECT_EQ(p._version(), version + 1);
  EXPECT_TRUE(at::equal(g, kept));
}

TEST(OptimizerStep, ReturnsTheNormAndSkipsInfiniteGradients) {
  const at::Tensor p = at::randn({9}), before = p.clone();
  StepCall call{"sgd", {0.1, 0, 0, 0, 0, 0}, {p}, {at::full({9}, 2.f)}, {}};
  call.gradient_scale = 0.5;
  call.max_norm = 1;
  EXPECT_DOUBLE_EQ(call.run(), 3);
  EXPECT_TRUE(at::allclose(p, before - 0.1 / 3));
  call.gradients = {at::full({9}, INFINITY)};
  call.skip_infinite = true;
  const at::Tensor after = p.clone();
  EXPECT_TRUE(std::isinf(call.run()));
  EXPECT_TRUE(at::equal(p, after));
}

std::string errorOf(const StepCall& call) {
  try {
    call.run();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "none";
}

TEST(OptimizerStep, SaysWhatDoesNotFit) {
  const at::Tensor p = at::randn({4}), before = p.clone(), g = at::randn({4});
  const std::vector<double> sgd = {0.1, 0, 0, 0, 0, 0}, momentum = {0.1, 0.9, 0, 0, 0, 0};
  const auto expect = [](const StepCall& call, const char* part) {
    EXPECT_THAT(errorOf(call), ::testing::HasSubstr(part));
  };
  expect({"adan", sgd, {p}, {g}, {}}, "There is no optimizer \"adan\"; give one of sgd, adam");
  expect({"sgd", {0.1}, {p}, {g}, {}}, "got 1 settings; sgd has 6");
  expect({"sgd", sgd, {p, p}, {g}, {}}, "got 2 parameters and 1 gradients");
  expect({"sgd", momentum, {p}, {g}, {}}, "got 0 states; sgd with these settings has 1 for each of 1 parameters");
  expect({"sgd", sgd, {p}, {at::randn({5})}, {}}, "gradient 0 has the sizes [5], its parameter has [4]");
  expect({"sgd", sgd, {p, at::randn({4}, at::kDouble)}, {g, g}, {}},
         "dense FP32 tensors on the CPU; parameter 1 is none");
  expect({"sgd", sgd, {p}, {g.to_sparse()}, {}}, "gradient 0 is none");
  expect({"sgd", sgd, {p}, {g}, {}, 0}, "steps count from 1, not 0");
  EXPECT_TRUE(at::equal(p, before));
}

}  // namespace
}  // namespace ipex_studio

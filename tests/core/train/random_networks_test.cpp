// Two hundred random networks as a training runs them: results, gradients and statistics against libtorch in double
// precision. Their operations change sizes and forms, join what earlier ones gave, and write in place, also through
// views.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "core/train/training_forward.h"

namespace ipex_studio::testing {
namespace {

constexpr std::int64_t kBatch = 3, kResults = 4;

// Writes the code of a network, and gives two modules its parameters, FP32 and FP64.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : single("Net"), exact("Net"), random_(seed) {
    at::manual_seed(seed);
    x_ = {"x", pick(1, 5), pick(4, 8), pick(4, 8), false};
    input_ = {x_.channels, x_.height, x_.width};
    for (std::int64_t i = pick(3, 9); i > 0; --i) add();
    say(fmt::format("y = torch.linear({}.flatten(1), {})", x_.name,
                    parameter({kResults, x_.channels * x_.height * x_.width})));
    code_ += "  return y\n";
    for (torch::jit::Module* module : {&single, &exact}) module->define("def forward(self, x):\n" + code_);
  }

  torch::jit::Module single, exact;

  at::Tensor input() const { return at::randn({kBatch, input_[0], input_[1], input_[2]}); }
  const std::string& code() const { return code_; }

 private:
  struct Image {
    std::string name;
    std::int64_t channels, height, width;
    bool writable;  // no gradient needs the values
  };

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  void say(const std::string& line) { code_ += "  " + line + "\n"; }

  std::string keep(const at::Tensor& values, bool buffer) {
    const std::string name = fmt::format("v{}", kept_++);
    const at::Tensor wide = values.to(at::kDouble);
    if (buffer) {
      single.register_buffer(name, values);
      exact.register_buffer(name, wide.clone());
    } else {
      single.register_parameter(name, values.clone().set_requires_grad(true), false);
      exact.register_parameter(name, wide.clone().set_requires_grad(true), false);
    }
    return "self." + name;
  }
  std::string parameter(const std::vector<std::int64_t>& sizes) {
    const at::Tensor values = at::randn(sizes);
    return keep(values / std::sqrt(static_cast<double>(values[0].numel())), false);
  }

  void becomes(const std::string& text, std::int64_t channels, std::int64_t height, std::int64_t width, bool writable) {
    seen_.push_back(x_);
    x_ = {fmt::format("h{}", seen_.size()), channels, height, width, writable};
    say(fmt::format("{} = {}", x_.name, text));
  }
  void becomes(const std::string& text, bool writable) { becomes(text, x_.channels, x_.height, x_.width, writable); }

  void add() {
    switch (pick(0, 8)) {
      case 0:
      case 1:
        return convolution();
      case 2:
        return transposed();
      case 3:
        return norm();
      case 4:
        return becomes(fmt::format("torch.{}({})", pick(0, 1) ? "silu" : "tanh", x_.name), false);
      case 5:
        return inPlace();
      case 6:
        return pool();
      case 7:
        return join();
      default:
        return form();
    }
  }

  std::string biasOf(std::int64_t outputs) { return pick(0, 1) ? keep(at::randn({outputs}), false) : "None"; }

  void convolution() {
    const std::int64_t kernel = pick(1, 3), stride = pick(1, 2), padding = pick(0, 1), dilation = pick(1, 2);
    const bool depthwise = pick(0, 2) == 0;
    const std::int64_t outputs = depthwise ? x_.channels : pick(1, 9), window = dilation * (kernel - 1) + 1;
    const std::int64_t height = x_.height + 2 * padding - window, width = x_.width + 2 * padding - window;
    if (height < 0 || width < 0) return;
    const std::string w = parameter({outputs, depthwise ? 1 : x_.channels, kernel, kernel});
    becomes(fmt::format("torch.conv2d({}, {}, {}, [{}, {}], [{}, {}], [{}, {}], {})", x_.name, w, biasOf(outputs),
                        stride, stride, padding, padding, dilation, dilation, depthwise ? x_.channels : 1),
            outputs, height / stride + 1, width / stride + 1, true);
  }

  void transposed() {
    const std::int64_t kernel = pick(2, 3), stride = pick(1, 2), more = stride - 1, outputs = pick(1, 9);
    if (x_.height * stride > 16 || x_.width * stride > 16) return;
    const std::string w = parameter({x_.channels, outputs, kernel, kernel});
    becomes(fmt::format("torch.conv_transpose2d({}, {}, {}, [{}, {}], [0, 0], [{}, {}], 1, [1, 1])", x_.name, w,
                        biasOf(outputs), stride, stride, more, more),
            outputs, (x_.height - 1) * stride + kernel + more, (x_.width - 1) * stride + kernel + more, true);
  }

  void norm() {
    const auto numbers = [&](bool buffer) { return keep(at::rand({x_.channels}) + 0.5, buffer); };
    const std::string scale = numbers(false), shift = numbers(false), mean = numbers(true), variance = numbers(true);
    becomes(fmt::format("torch.batch_norm({}, {}, {}, {}, {}, True, 0.1, 0.1, False)", x_.name, scale, shift, mean,
                        variance),
            true);
  }

  void inPlace() {
    if (!x_.writable) return;
    const std::int64_t way = pick(0, 2);
    if (way == 0) return becomes(fmt::format("torch.tanh_({})", x_.name), false);
    if (way == 1) return becomes(fmt::format("{}.mul_(0.75)", x_.name), true);
    say(fmt::format("w{} = {}.view({}, -1).mul_(0.5)", seen_.size(), x_.name, kBatch));
  }

  void pool() {
    if (x_.height < 2 || x_.width < 2) return;
    becomes(fmt::format("torch.{}_pool2d({}, [2, 2], [2, 2])", pick(0, 1) ? "avg" : "max", x_.name), x_.channels,
            x_.height / 2, x_.width / 2, false);
  }

  void join() {
    for (const Image& other : seen_) {
      if (other.height != x_.height || other.width != x_.width) continue;
      if (other.channels == x_.channels) return becomes(fmt::format("{} + {}", x_.name, other.name), true);
      if (other.channels + x_.channels > 16) continue;
      return becomes(fmt::format("torch.cat([{}, {}], 1)", x_.name, other.name), other.channels + x_.channels,
                     x_.height, x_.width, true);
    }
  }

  // Other forms of the same numbers, and a shuffle of channels.
  void form() {
    const std::string sizes = fmt::format("{}, {}, {}, {}", kBatch, x_.channels, x_.height, x_.width);
    if (x_.channels % 2 != 0) return becomes(fmt::format("{}.view({}, -1).view({})", x_.name, kBatch, sizes), false);
    becomes(fmt::format("{}.view({}, 2, {}, {}, {}).transpose(1, 2).contiguous().view({})", x_.name, kBatch,
                        x_.channels / 2, x_.height, x_.width, sizes),
            false);
  }

  std::mt19937 random_;
  std::vector<std::int64_t> input_;
  std::vector<Image> seen_;
  Image x_;
  std::string code_;
  std::int64_t kept_ = 0;
};

double farthest(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>() / std::max(1.0, b.abs().max().item<double>());
}

TEST(RandomNetworks, TrainAsInDoublePrecision) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomNetwork network(seed);
    SCOPED_TRACE(network.code());
    TrainingForward forward(network.single, /*by_kernels=*/true);
    const at::Tensor x = network.input(), cotangent = at::randn({kBatch, kResults});
    const at::Tensor y = forward({x}).toTensor(), right = network.exact.forward({x.to(at::kDouble)}).toTensor();
    ASSERT_LE(farthest(y, right), 2e-5);
    y.backward(cotangent);
    right.backward(cotangent.to(at::kDouble));
    const auto parameters = network.exact.parameters();
    auto other = parameters.begin();
    for (const at::Tensor& parameter : network.single.parameters()) {
      if ((*other).grad().defined()) {
        ASSERT_LE(farthest(parameter.grad(), (*other).grad()), 5e-5);
      }
      ++other;
    }
    const auto buffers = network.exact.buffers();
    auto statistic = buffers.begin();
    for (const at::Tensor& buffer : network.single.buffers()) {
      ASSERT_LE(farthest(buffer, *statistic), 2e-5);
      ++statistic;
    }
  }
}

}  // namespace
}  // namespace ipex_studio::testing

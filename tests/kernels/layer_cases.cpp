// Shapes of layers in well-known networks, by which the speed of convolutions and linear layers is judged.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr double kTolerance = 2e-5;  // sums over up to 4,608 values

Case convolution(std::int64_t channels, std::int64_t results, std::int64_t size, std::int64_t kernel,
                 std::int64_t stride, std::int64_t groups, const std::string& post_ops) {
  const std::string pair = std::to_string(stride), padding = std::to_string(kernel / 2);
  const std::int64_t out = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  Case made;
  made.spec = "convolution{groups=" + std::to_string(groups) + ",padding=[" + padding + "," + padding + "],stride=[" +
              pair + "," + pair + "]}" + post_ops;
  made.src = {Source::of({1, channels, size, size}), Source::weight({results, channels / groups, kernel, kernel}),
              Source::weight({results})};
  if (post_ops.find("add(0)") != std::string::npos) made.src.push_back(Source::dying({1, results, out, out}));
  made.tolerance = kTolerance;
  made.bench = true;
  return made;
}

Case linear(std::int64_t rows, std::int64_t depth, std::int64_t columns, const std::string& post_ops) {
  Case made;
  made.spec = "linear{}" + post_ops;
  made.src = {Source::of({rows, depth}), Source::weight({columns, depth}), Source::weight({columns})};
  if (post_ops.find("add(0)") != std::string::npos) made.src.push_back(Source::dying({rows, columns}));
  made.tolerance = kTolerance;
  made.bench = true;
  return made;
}

}  // namespace

const std::vector<Case>& layerCases() {
  static const std::vector<Case> cases = {
      // MobileNetV3-Large
      convolution(3, 16, 224, 3, 2, 1, "|hardswish"),
      convolution(16, 64, 112, 1, 1, 1, "|relu"),
      convolution(64, 64, 112, 3, 2, 64, "|relu"),
      convolution(64, 24, 56, 1, 1, 1, ""),
      convolution(24, 72, 56, 1, 1, 1, "|relu"),
      convolution(72, 72, 56, 3, 1, 72, "|relu"),
      convolution(72, 24, 56, 1, 1, 1, "|add(0)"),
      convolution(72, 40, 28, 1, 1, 1, ""),
      convolution(40, 120, 28, 1, 1, 1, "|relu"),
      convolution(120, 120, 28, 5, 1, 120, "|relu"),
      convolution(80, 200, 14, 1, 1, 1, "|hardswish"),
      convolution(184, 80, 14, 1, 1, 1, "|add(0)"),
      convolution(672, 672, 14, 3, 1, 672, "|hardswish"),
      convolution(672, 112, 14, 1, 1, 1, "|add(0)"),
      convolution(960, 960, 7, 5, 1, 960, "|hardswish"),
      convolution(960, 160, 7, 1, 1, 1, "|add(0)"),
      // EfficientNet-B0
      convolution(16, 96, 112, 1, 1, 1, "|silu"),
      convolution(24, 144, 56, 1, 1, 1, "|silu"),
      convolution(144, 144, 56, 3, 1, 144, "|silu"),
      convolution(144, 40, 28, 1, 1, 1, ""),
      convolution(320, 1280, 7, 1, 1, 1, "|silu"),
      // EfficientNetV2-S
      convolution(48, 192, 56, 3, 1, 1, "|silu"),
      convolution(160, 960, 14, 1, 1, 1, "|silu"),
      convolution(256, 1536, 7, 1, 1, 1, "|silu"),
      // ResNet-50
      convolution(3, 64, 224, 7, 2, 1, "|relu"),
      convolution(64, 256, 56, 1, 1, 1, "|add(0)|relu"),
      convolution(256, 64, 56, 1, 1, 1, "|relu"),
      convolution(128, 128, 28, 3, 1, 1, "|relu"),
      convolution(1024, 256, 14, 1, 1, 1, "|relu"),
      convolution(512, 512, 7, 3, 1, 1, "|relu"),
      convolution(512, 2048, 7, 1, 1, 1, "|add(0)|relu"),
      convolution(1024, 2048, 14, 1, 2, 1, ""),
      // grouped, shuffled, large windows
      convolution(128, 128, 56, 3, 1, 32, "|relu"),
      convolution(512, 512, 14, 3, 1, 32, "|relu"),
      convolution(240, 240, 28, 3, 1, 10, "|relu"),
      convolution(240, 240, 28, 1, 1, 3, "|relu"),
      convolution(192, 192, 28, 7, 1, 192, ""),
      // transformers, recommendation
      linear(2, 768, 3072, ""),
      linear(8, 768, 3072, ""),
      linear(32, 768, 3072, ""),
      linear(128, 768, 768, ""),
      linear(128, 768, 3072, "|gelu_erf"),
      linear(128, 3072, 768, "|add(0)"),
      linear(197, 384, 1536, "|gelu_erf"),
      linear(128, 479, 1024, "|relu"),
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test

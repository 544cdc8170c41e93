// Squeeze-and-excitation blocks: channels that fill no panel, one image and more than threads, activations, chains
// behind.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

Case squeezeExcite(const std::string& activations, Dims x, std::int64_t hidden, bool has_bias = true) {
  Case made;
  made.spec = "squeeze_excite{" + activations + ",axes=" + std::to_string(x.rank - 2) + "}";
  const auto bias = [&](std::int64_t size) { return has_bias ? Source::weight({size}) : Source::none(); };
  made.src = {Source::of(x), Source::weight({hidden, x[1]}), bias(hidden), Source::weight({x[1], hidden}), bias(x[1])};
  made.kernel = "squeeze_excite_simd";
  made.tolerance = 2e-5;  // as in layer_cases.cpp: sums over up to 960 products, of averages over up to 2,500 values
  return made;
}

Case followed(Case made, const std::string& post_ops, std::vector<Source> operands) {
  made.spec += post_ops;
  for (Source& operand : operands) made.src.push_back(std::move(operand));
  return made;
}

Case timed(Case made) {
  made.bench = true;
  return made;
}

}  // namespace

const std::vector<Case>& squeezeExciteCases() {
  const std::string relu = "activation=relu,gate=sigmoid", silu = "activation=silu,gate=sigmoid",
                    hard = "activation=relu,gate=hardsigmoid";
  static const std::vector<Case> cases = {
      squeezeExcite(relu, {1, 32, 5, 7}, 8),
      squeezeExcite(hard, {1, 24, 6, 6}, 8),
      squeezeExcite(silu, {2, 72, 9, 4}, 24, false),
      squeezeExcite(silu, {3, 40, 3, 3}, 10),
      squeezeExcite(relu, {5, 100, 4, 5}, 33),
      squeezeExcite(relu, {9, 64, 2, 3}, 16),
      squeezeExcite("activation=clip,activation_alpha=-1.0,activation_beta=2.0,gate=tanh", {2, 48, 4, 4}, 17),
      squeezeExcite("activation=leaky_relu,activation_alpha=0.1,gate=linear,gate_alpha=0.5,gate_beta=1.0",
                    {1, 17, 3, 3}, 5),
      // The gate of zero is not zero, so channels that only fill a block must stay zero.
      squeezeExcite("activation=exp,gate=exp", {1, 19, 4, 4}, 3),
      // One and three spatial dimensions, one pixel, one channel.
      squeezeExcite(relu, {2, 20, 31}, 5),
      squeezeExcite(relu, {1, 24, 3, 4, 5}, 6),
      squeezeExcite(relu, {2, 35, 1, 1}, 7),
      squeezeExcite(relu, {1, 1, 6, 6}, 2),
      // Weights and images large enough for several threads.
      squeezeExcite(hard, {1, 480, 14, 14}, 120),
      squeezeExcite(relu, {3, 250, 9, 9}, 130),
      squeezeExcite(silu, {4, 96, 16, 16}, 6),
      // Chains behind the block.
      followed(squeezeExcite(relu, {2, 36, 5, 5}, 9), "|add(0)|relu", {Source::dying({2, 36, 5, 5})}),
      followed(squeezeExcite(relu, {1, 70, 9, 11}, 9), "|mul(0)|tanh|add(1,0.5)",
               {Source::of({1, 70, 9, 11}), Source::of({1, 70, 9, 11})}),
      followed(squeezeExcite(silu, {1, 16, 50, 50}, 8), "|clip(-0.5,0.5)", {}),
      timed(squeezeExcite(silu, {1, 144, 28, 28}, 6)),
      timed(squeezeExcite(silu, {1, 672, 14, 14}, 28)),
      timed(squeezeExcite(silu, {1, 1152, 7, 7}, 48)),
      timed(squeezeExcite(hard, {1, 960, 7, 7}, 240)),
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test

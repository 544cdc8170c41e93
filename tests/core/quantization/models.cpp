// The networks, their data, and conversions that the tests share.
#include "tests/core/quantization/models.h"

#include <cmath>

namespace ipex_studio {

using torch::jit::Module;

namespace {

class Maker {
 public:
  explicit Maker(const char* name) : module_(name) { torch::manual_seed(5); }

  Maker& weight(const std::string& name, std::vector<std::int64_t> sizes, double gain = 1.6) {
    double inputs = 1;
    for (std::size_t d = 1; d < sizes.size(); ++d) inputs *= static_cast<double>(sizes[d]);
    module_.register_parameter(name, at::randn(sizes) * (gain / std::sqrt(inputs)), false);
    return *this;
  }
  Maker& vector(const std::string& name, std::int64_t size, double mean = 0, double spread = 0.1) {
    module_.register_parameter(name, at::randn({size}) * spread + mean, false);
    return *this;
  }
  Module make(const std::string& text) {
    module_.define(text);
    module_.eval();
    return module_;
  }

 private:
  Module module_;
};

}  // namespace

Module residualNetwork() {
  Maker maker("Residual");
  maker.weight("w0", {16, 3, 3, 3})
      .vector("b0", 16)
      .weight("w1", {16, 16, 3, 3})
      .vector("b1", 16)
      .weight("w2", {16, 16, 3, 3})
      .vector("b2", 16);
  maker.weight("w3", {32, 16, 1, 1}).vector("b3", 32).weight("w4", {10, 32}).vector("b4", 10);
  return maker.make(R"(
def forward(self, x):
    a = torch.relu(torch.conv2d(x, self.w0, self.b0, [1, 1], [1, 1]))
    p = torch.max_pool2d(a, [3, 3], [2, 2], [1, 1])
    c = torch.relu(torch.conv2d(p, self.w1, self.b1, [1, 1], [1, 1]))
    d = torch.relu(torch.conv2d(c, self.w2, self.b2, [1, 1], [1, 1]) + p)
    e = torch.relu(torch.conv2d(d, self.w3, self.b3))
    m = torch.flatten(torch.adaptive_avg_pool2d(e, [1, 1]), 1)
    return torch.linear(m, self.w4, self.b4)
)");
}

Module mobileNetwork() {
  Maker maker("Mobile");
  maker.weight("w0", {16, 3, 3, 3})
      .vector("b0", 16)
      .weight("w1", {16, 1, 3, 3}, 2.5)
      .vector("b1", 16)
      .weight("w2", {16, 16, 1, 1})
      .vector("b2", 16);
  maker.weight("s0", {8, 16, 1, 1}).vector("t0", 8).weight("s1", {16, 8, 1, 1}).vector("t1", 16);
  maker.weight("w3", {16, 32, 1, 1}).vector("b3", 16).weight("w4", {10, 16}).vector("b4", 10);
  return maker.make(R"(
def forward(self, x):
    a = torch.hardswish(torch.conv2d(x, self.w0, self.b0, [2, 2], [1, 1]))
    d = torch.hardswish(torch.conv2d(a, self.w1, self.b1, [1, 1], [1, 1], [1, 1], 16))
    s = torch.adaptive_avg_pool2d(d, [1, 1])
    s = torch.relu(torch.conv2d(s, self.s0, self.t0))
    s = torch.hardsigmoid(torch.conv2d(s, self.s1, self.t1))
    e = torch.conv2d(d * s, self.w2, self.b2)
    j = torch.cat([e, a], 1)
    u = torch.upsample_nearest2d(j, None, [2.0, 2.0])
    f = torch.clamp(torch.conv2d(u, self.w3, self.b3), 0.0, 6.0)
    g = torch.avg_pool2d(f, [2, 2], [2, 2])
    return torch.linear(g.mean([2, 3]), self.w4, self.b4)
)");
}

Module transformerNetwork() {
  Maker maker("Transformer");
  for (const char* name : {"q", "k", "v", "o"})
    maker.weight(std::string("w") + name, {32, 32}).vector(std::string("b") + name, 32);
  maker.weight("u", {64, 32}).vector("ub", 64).weight("d", {32, 64}).vector("db", 32);
  maker.vector("g1", 32, 1).vector("c1", 32).vector("g2", 32, 1).vector("c2", 32);
  return maker.make(R"(
def forward(self, x):
    q = torch.linear(x, self.wq, self.bq).view([2, -1, 4, 8]).transpose(1, 2)
    k = torch.linear(x, self.wk, self.bk).view([2, -1, 4, 8]).transpose(1, 2)
    v = torch.linear(x, self.wv, self.bv).view([2, -1, 4, 8]).transpose(1, 2)
    s = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 2.8284271, -1)
    h = torch.matmul(s, v).transpose(1, 2).contiguous().view([2, -1, 32])
    y = torch.layer_norm(torch.linear(h, self.wo, self.bo) + x, [32], self.g1, self.c1)
    f = torch.linear(torch.gelu(torch.linear(y, self.u, self.ub)), self.d, self.db)
    return torch.layer_norm(f + y, [32], self.g2, self.c2)
)");
}

at::Tensor imageBatch(unsigned seed) {
  torch::manual_seed(seed);
  return at::randn({2, 3, 16, 16});
}

at::Tensor tokenBatch(unsigned seed) {
  torch::manual_seed(seed);
  at::Tensor x = at::randn({2, 6, 32});
  x.select(2, 7).mul_(12);  // one channel far larger than the others, as language models have them
  return x;
}

Calibrated calibrate(const Module& module, const std::vector<Inputs>& data, const CalibrationOptions& options) {
  OptimizeOptions how;
  how.calibrate = true;
  Observer silent;
  const OptimizedModel model = optimizeModel(module, data.at(0), how, silent);
  Calibrator calibrator(model.module, *model.calibration, options);
  for (const Inputs& inputs : data) calibrator.observe(inputs);
  return {calibrator.finish(), model.calibration};
}

OptimizedModel quantized(const Module& module, const Inputs& example, const Recipe& recipe, RemarkLog* log,
                         std::int32_t weight_bits) {
  OptimizeOptions how;
  how.precision = Precision::kInt8;
  how.quantization_recipe = recipeToText(recipe);
  how.weight_bits = weight_bits;
  RemarkLog own;
  return optimizeModel(module, example, how, log != nullptr ? *log : own);
}

double cosineOf(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kDouble).flatten(), y = b.to(at::kDouble).flatten();
  return (x.dot(y) / (x.norm() * y.norm())).item<double>();
}

double sqnrOf(const at::Tensor& actual, const at::Tensor& reference) {
  const at::Tensor r = reference.to(at::kDouble);
  const double noise = (actual.to(at::kDouble) - r).square().sum().item<double>();
  return 10 * std::log10(r.square().sum().item<double>() / std::max(noise, 1e-300));
}

}  // namespace ipex_studio

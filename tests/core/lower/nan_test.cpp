// NaN and infinity go through regions as through libtorch's operators, in both layouts of images.
#include <gtest/gtest.h>

#include <limits>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

struct Operator {
  const char* name;
  const char* text;  // of x [2, 8, 10, 12]
};
void PrintTo(const Operator& tested, std::ostream* out) { *out << tested.text; }

class NanThroughRegions : public ::testing::TestWithParam<Operator> {};

TEST_P(NanThroughRegions, IsWhereLibtorchHasIt) {
  Module module =
      scriptModule("def forward(self, x):\n    x = x * 1.5 + 0.25\n    y = " + std::string(GetParam().text) +
                   "\n    return y * 1.5\n");
  const at::Tensor example = at::randn({2, 8, 10, 12});
  OptimizedModel result = optimized(module, {example});
  const at::Tensor x = example.clone();
  float* const numbers = x.data_ptr<float>();
  for (std::int64_t i = 0; i < x.numel(); i += 13) numbers[i] = std::numeric_limits<float>::quiet_NaN();
  numbers[5] = std::numeric_limits<float>::infinity();
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor laid_out = x.contiguous(format);
    const at::Tensor expected = call(module, {laid_out}).toTensor(),
                     actual = call(result.module, {laid_out}).toTensor();
    ASSERT_EQ(actual.sizes(), expected.sizes());
    const at::Tensor other = at::isclose(actual, expected, 1e-4, 1e-5, true).logical_not();
    EXPECT_FALSE(other.any().item<bool>())
        << other.sum().item<std::int64_t>() << " of " << other.numel() << ": "
        << actual.masked_select(other).slice(0, 0, 4) << " should be " << expected.masked_select(other).slice(0, 0, 4);
  }
}

const Operator kOperators[] = {
    {"relu", "torch.relu(x)"},
    {"relu6", "torch.relu6(x)"},
    {"clamp", "torch.clamp(x, -0.5, 0.5)"},
    {"clamp_min", "torch.clamp_min(x, 0.1)"},
    {"clamp_max", "torch.clamp_max(x, 0.1)"},
    {"maximum", "torch.maximum(x, x.flip(0))"},
    {"minimum", "torch.minimum(x, x.flip(0))"},
    {"max2", "torch.max(x, x * -1.0)"},
    {"amax", "torch.amax(x, [2, 3])"},
    {"amin", "torch.amin(x, [1])"},
    {"amax_last", "torch.amax(x, -1)"},
    {"argmax", "torch.argmax(x, 1).float()"},
    {"argmin", "torch.argmin(x, -1).float()"},
    {"maxdim", "torch.max(x, 1)[0]"},
    {"mindim", "torch.min(x, 3)[0]"},
    {"maxdimi", "torch.max(x, 2)[1].float()"},
    {"hardswish", "torch.hardswish(x)"},
    {"hardtanh", "torch.hardtanh(x)"},
    {"hardsigmoid", "torch.hardsigmoid(x)"},
    {"softmax", "torch.softmax(x, 1)"},
    {"softmax_last", "torch.softmax(x, -1)"},
    {"log_softmax", "torch.log_softmax(x, -1)"},
    {"topk", "torch.topk(x, 3, -1)[0]"},
    {"sort", "torch.sort(x, -1)[0]"},
    {"sorti", "torch.sort(x, 1)[1].float()"},
    {"leaky", "torch.leaky_relu(x, 0.1)"},
    {"elu", "torch.elu(x)"},
    {"gelu", "torch.gelu(x)"},
    {"silu", "torch.silu(x)"},
    {"mish", "torch.mish(x)"},
    {"sigmoid", "torch.sigmoid(x)"},
    {"tanh", "torch.tanh(x)"},
    {"exp", "torch.exp(x)"},
    {"erf", "torch.erf(x)"},
    {"softplus", "torch.softplus(x)"},
    {"abs", "torch.abs(x)"},
    {"sign", "torch.sign(x)"},
    {"round", "torch.round(x)"},
    {"floor", "torch.floor(x)"},
    {"gt", "(x > 0.1).float()"},
    {"eq", "(x == x).float()"},
    {"ne", "(x != 0.5).float()"},
    {"where", "torch.where(x > 0.0, x, x * 2.0)"},
    {"mp2", "torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])"},
    {"mp2d", "torch.max_pool2d(x, [2, 2], [1, 1], [0, 0], [2, 2])"},
    {"amp2", "torch.adaptive_max_pool2d(x, [2, 2])[0]"},
    {"amp1", "torch.adaptive_max_pool2d(x, [1, 1])[0]"},
    {"avg", "torch.avg_pool2d(x, [2, 2])"},
    {"mp1", "torch.max_pool1d(x.flatten(2), [3], [2], [1])"},
    {"mp3", "torch.max_pool3d(x.unsqueeze(1), [1, 2, 2], [1, 2, 2])"},
    {"layer_norm", "torch.layer_norm(x, [12])"},
    {"cumsum", "torch.cumsum(x, -1)"},
    {"norm", "torch.linalg_vector_norm(x, 2.0, [-1])"},
    {"norminf", "torch.linalg_vector_norm(x, float('inf'), [-1])"},
    {"prelu", "torch.prelu(x, torch.full([1], 0.2))"},
    {"masked_fill", "x.masked_fill(x > 0.0, -1.0)"},
    {"clamp_t", "torch.clamp(x, -0.3)"},
    {"threshold", "torch.threshold(x, 0.1, 2.0)"},
    {"logsumexp", "torch.logsumexp(x, [-1])"},
    {"hardshrink", "torch.hardshrink(x)"},
    {"sub_relu", "torch.relu(x - 0.5) * 2.0"},
    {"cdist", "torch.sqrt(torch.clamp_min(x, 0.0))"},
};

// Products with what plans fuse into them.
const Operator kProducts[] = {
    {"conv_relu",
     "torch.relu(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3), None, [1, 1], [1, 1]))"},
    {"conv_relu6", "torch.clamp(torch.conv2d(x, torch.sin(torch.arange(128.0)).view(16, 8, 1, 1)), 0.0, 6.0)"},
    {"conv_hardtanh", "torch.hardtanh(torch.conv2d(x, torch.sin(torch.arange(128.0)).view(16, 8, 1, 1)))"},
    {"conv_add_relu", "torch.relu(torch.conv2d(x, torch.sin(torch.arange(64.0)).view(8, 8, 1, 1)) + x)"},
    {"conv_log_conv_relu",
     "torch.relu(torch.conv2d(torch.log(torch.conv2d(x, torch.sin(torch.arange(64.0)).view(8, 8, 1, 1))), "
     "torch.sin(torch.arange(64.0)).view(8, 8, 1, 1)))"},
    {"conv_silu", "torch.silu(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3)))"},
    {"conv_sigmoid", "torch.sigmoid(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3)))"},
    {"conv_hardswish", "torch.hardswish(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3)))"},
    {"conv_hardsigmoid", "torch.hardsigmoid(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3)))"},
    {"conv_gelu", "torch.gelu(torch.conv2d(x, torch.sin(torch.arange(1152.0)).view(16, 8, 3, 3)))"},
    {"conv_exp", "torch.exp(torch.conv2d(x, torch.sin(torch.arange(128.0)).view(16, 8, 1, 1)))"},
    {"depthwise_relu",
     "torch.relu(torch.conv2d(x, torch.sin(torch.arange(72.0)).view(8, 1, 3, 3), None, [1, 1], [1, 1], "
     "[1, 1], 8))"},
    {"groups_relu",
     "torch.relu(torch.conv2d(x, torch.sin(torch.arange(144.0)).view(8, 2, 3, 3), None, [1, 1], [1, 1], "
     "[1, 1], 4))"},
    {"linear_relu", "torch.relu(torch.matmul(x, torch.sin(torch.arange(384.0)).view(12, 32)))"},
    {"linear_clamp_min", "torch.clamp_min(torch.matmul(x, torch.sin(torch.arange(384.0)).view(12, 32)), 0.5)"},
    {"matmul_relu", "torch.relu(torch.matmul(x, x.transpose(2, 3)))"},
    {"matmul_maximum", "torch.maximum(torch.matmul(x, x.transpose(2, 3)), torch.zeros([10, 10]))"},
    {"conv_transpose_relu",
     "torch.relu(torch.conv_transpose2d(x, torch.sin(torch.arange(128.0)).view(8, 4, 2, 2), None, "
     "[2, 2]))"},
};
INSTANTIATE_TEST_SUITE_P(Products, NanThroughRegions, ::testing::ValuesIn(kProducts),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Operators, NanThroughRegions, ::testing::ValuesIn(kOperators),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ipex_studio

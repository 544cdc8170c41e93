// Every activation behind every kind of operation that fuses one: fused, with the same numbers.
#include <gtest/gtest.h>

#include "tests/passes/ir_runner.h"

namespace ipex_studio {
namespace {

struct Named {
  const char* name;
  const char* text;
};

void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }

// Results are %y : Float(1, 8, 6, 6).
constexpr Named kOperations[] = {
    {"convolution", "aten::convolution(%x, %w, %b, %ones, %ones, %ones, %false, %zeros, %one)"},
    {"transposed_convolution", "aten::convolution(%x, %t, %b, %ones, %ones, %ones, %true, %zeros, %one)"},
    {"linear", "aten::linear(%v, %l, %c)"},
    {"matmul", "aten::matmul(%v, %m)"},
};

constexpr Named kActivations[] = {
    {"relu", "aten::relu(%y)"},
    {"relu6", "aten::relu6(%y)"},
    {"hardtanh", "aten::hardtanh(%y, %low, %high)"},
    {"clamp", "aten::clamp(%y, %low, %high)"},
    {"clamp_from_below", "aten::clamp(%y, %low, %none)"},
    {"clamp_min", "aten::clamp_min(%y, %low)"},
    {"sigmoid", "aten::sigmoid(%y)"},
    {"tanh", "aten::tanh(%y)"},
    {"gelu_erf", "aten::gelu(%y, %erf)"},
    {"gelu_tanh", "aten::gelu(%y, %approximate)"},
    {"silu", "aten::silu(%y)"},
    {"hardswish", "aten::hardswish(%y)"},
    {"hardsigmoid", "aten::hardsigmoid(%y)"},
    {"leaky_relu", "aten::leaky_relu(%y, %slope)"},
    {"elu", "aten::elu(%y, %alpha, %one, %one)"},
    {"mish", "aten::mish(%y)"},
    {"softplus", "aten::softplus(%y, %one, %twenty)"},
};

class Activation : public ::testing::TestWithParam<std::tuple<Named, Named>> {};

TEST_P(Activation, IsFused) {
  const auto& [operation, activation] = GetParam();
  ASSERT_TRUE(loadOperators());
  IrCase test;
  test.title = std::string(activation.name) + " behind " + operation.name;
  test.passes = {"fuse-activation"};
  test.constants = {{"w", "0.2*randn(8,4,3,3)"},
                    {"t", "0.2*randn(4,8,3,3)"},
                    {"b", "randn(8)"},
                    {"l", "0.3*randn(6,5)"},
                    {"c", "randn(6)"}};
  test.before = std::string(R"(graph(%x : Float(1, 4, 6, 6), %v : Float(1, 8, 6, 5), %m : Float(5, 6)):
  %none : NoneType = prim::Constant()
  %false : bool = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %zeros : int[] = prim::Constant[value=[0, 0]]()
  %one : int = prim::Constant[value=1]()
  %twenty : int = prim::Constant[value=20]()
  %low : float = prim::Constant[value=-0.5]()
  %high : float = prim::Constant[value=0.75]()
  %slope : float = prim::Constant[value=0.1]()
  %alpha : float = prim::Constant[value=0.8]()
  %erf : str = prim::Constant[value="none"]()
  %approximate : str = prim::Constant[value="tanh"]()
  %y : Float(1, 8, 6, 6) = )") +
                operation.text + "\n  %z : Float(1, 8, 6, 6) = " + activation.text + "\n  return (%z)\n";
  test.any_graph = true;
  test.remarks = {"applied"};
  EXPECT_EQ(runCase(test), "") << test.before;
}

INSTANTIATE_TEST_SUITE_P(Behind, Activation,
                         ::testing::Combine(::testing::ValuesIn(kOperations), ::testing::ValuesIn(kActivations)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace ipex_studio

// Values of any nesting come from text, keep the types that forward asks for, and defaults stay as they are.
#include "core/model/input_values.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

IValue valueOf(const std::string& text) {
  at::Generator generator = at::detail::createCPUGenerator(0);
  return parseInputValue(text, generator, 0);
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

Inputs inputsOf(const Module& module, const std::vector<std::string>& texts) {
  std::vector<InputSpec> given;
  for (const std::string& text : texts) given.push_back(parseInputSpec(text));
  return makeInputs(Model::fromModule(module).completeInputs(given), 0);
}

TEST(InputValues, TextsAreReadBack) {
  for (const char* text :
       {"None", "true", "-5", "1.5", "1e-05", "\"a: \\\"b\\\", [c]\"", "[1, 2, 3]", "(1, [2.0, None])", "(1,)", "[]",
        "{}", "{\"a\": 1, \"b\": [2x3:float32, scalar:int64]}", "{1: (), 2: {}}", "inf", "[[2:int64], [0x4:bool]]"}) {
    EXPECT_EQ(inputValueText(valueOf(text)), text);
  }
  EXPECT_EQ(inputValueText(valueOf(" [ 'a' , {b:2x3 , c : -1}, ] ")), "[\"a\", {\"b\": 2x3:float32, \"c\": -1}]");
  EXPECT_LE(valueOf("[5:int64[3,4]]").toListRef()[0].toTensor().max().item<int>(), 4);
  EXPECT_GE(valueOf("[5:int64[3,4]]").toListRef()[0].toTensor().min().item<int>(), 3);
}

TEST(InputValues, WhatIsNoValueIsRefused) {
  for (const char* text :
       {"", "[", "[1 2]", "{1}", "{a: }", "\"a", "(1", "5:int99", "[1]]", "{[1]: 2}", "{a: 1, 2: 3}", "a b"})
    EXPECT_NE(refusal([&] { valueOf(text); }), "") << text;
  EXPECT_NE(refusal([] { valueOf(std::string(40, '[') + std::string(40, ']')); }).find("too deep"), std::string::npos);
}

TEST(InputValues, DefaultsStayAsTheyAre) {
  const Module module = scriptModule(
      "def forward(self, x, mask: Optional[Tensor] = None, scale: float = 1.0, eps: float = 1e-5, flag: bool = True,\n"
      "            n: int = 2, mode: str = 'max: 1', sizes: List[int] = [1, 2]):\n"
      "    return torch.linear(x, self.w) * scale\n",
      {{"w", weight({4, 6})}});
  const std::vector<InputSpec> specs = Model::fromModule(module).guessInputs();
  const Inputs inputs = makeInputs(specs, 0);
  ASSERT_EQ(inputs.size(), 8U);
  EXPECT_TRUE(inputs[1].isNone());
  EXPECT_EQ(inputs[2].toDouble(), 1.0);
  EXPECT_EQ(inputs[3].toDouble(), 1e-5);
  EXPECT_TRUE(inputs[4].toBool());
  EXPECT_EQ(inputs[5].toInt(), 2);
  EXPECT_EQ(inputs[6].toStringRef(), "max: 1");
  EXPECT_EQ(inputs[7].toIntVector(), (std::vector<std::int64_t>{1, 2}));
  Module copy = module.deepcopy();
  call(copy, inputs);
  // Another engine gets them as text.
  std::vector<std::string> texts;
  for (const InputSpec& spec : specs) texts.push_back(spec.str());
  const Inputs again = inputsOf(module, texts);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    EXPECT_EQ(inputValueText(again[i]), inputValueText(inputs[i]));
    EXPECT_EQ(*again[i].type(), *inputs[i].type());
  }
}

TEST(InputValues, ForwardsTypesAreMet) {
  const Module module = scriptModule(
      "def forward(self, images: List[Tensor], named: Dict[str, Tensor], scale: float, pair: Tuple[int, List[float]],\n"
      "            mode: str, rest: Optional[List[int]], boxes: Optional[Dict[str, List[Tensor]]]):\n"
      "    y = images[0] * scale + named['a'] + pair[0] + pair[1][0]\n"
      "    if rest is not None:\n        y = y + rest[0]\n"
      "    if mode == 'twice':\n        y = y * 2\n"
      "    return y\n");
  Module copy = module.deepcopy();
  const Inputs inputs = inputsOf(module, {"images=[2x3, 4x5]", "named={a: 2x3}", "scale=2", "pair=(3, [1, 0.5])",
                                          "mode=twice", "rest=[7]", "boxes={a: []}"});
  const at::Tensor expected =
      (inputs[0].toListRef()[0].toTensor() * 2 + inputs[1].toGenericDict().at("a").toTensor() + 3 + 1 + 7) * 2;
  EXPECT_EQ(difference(call(copy, inputs), expected), "");
  // An optional argument without a default may be left out.
  EXPECT_EQ(inputsOf(module, {"images=[2x3]", "named={a: 2x3}", "scale=2", "pair=(3, [1])", "mode=twice"}).size(), 7U);
  const std::string why = refusal([&] {
    inputsOf(module, {"images=[2x3]", "named={a: 2x3}", "scale=true", "pair=(3, [1])", "mode=twice"});
  });
  EXPECT_NE(why.find("The input 'scale' takes float, and true is no float"), std::string::npos) << why;
  for (const char* text : {"images=2x3", "images=[1]", "named={1: 2x3}", "pair=(1, 2, 3)", "pair=5"})
    EXPECT_NE(refusal([&] { inputsOf(module, {text, "scale=1", "mode=x"}); }), "") << text;
  EXPECT_NE(refusal([&] { inputsOf(module, {}); }).find("--input 'images=[1x3x224x224]'"), std::string::npos);
}

TEST(InputValues, NestedTensorsAreVerified) {
  const Module module = scriptModule(
      "def forward(self, x: List[Tensor], y: Dict[str, Tensor]):\n"
      "    return torch.relu(torch.linear(x[0], self.w)) + torch.sigmoid(y['a'])\n",
      {{"w", weight({4, 6})}});
  expectSame(module, {inputsOf(module, {"x=[2x6]", "y={a: 2x4}"}), inputsOf(module, {"x=[3x6]", "y={a: 3x4}"})});
  EXPECT_TRUE(parseInputSpec("x=[1..4x6]").ranged());
  const std::vector<InputSpec> specs =
      Model::fromModule(module).completeInputs({parseInputSpec("x=[1..5x6]"), parseInputSpec("y={a: 1..5x4}")});
  EXPECT_EQ(makeInputs(specs, 0, 1)[0].toListRef()[0].toTensor().size(0), 5);
  EXPECT_EQ(makeInputs(specs, 0, 0.5)[0].toListRef()[0].toTensor().size(0), 3);
}

}  // namespace
}  // namespace ipex_studio

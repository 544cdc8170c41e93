// Files that Intel Extension for PyTorch wrote open without it: its layers and operators become PyTorch's.
#include "core/extension/write_out_extension.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/custom_class.h>

#include <fstream>

#include "core/base/error.h"
#include "core/extension/declare_extension.h"
#include "core/extension/extension_operators.h"
#include "core/model/model.h"
#include "tests/core/file/pt_file_fixture.h"
#include "tests/core/graph/script_classes.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names
using ::testing::HasSubstr;
using ::testing::Not;

IValue tupleOf(std::vector<IValue> parts) { return c10::ivalue::Tuple::create(std::move(parts)); }

IValue ints(std::vector<std::int64_t> values) { return IValue(std::move(values)); }

// An object as the extension has it once its state is set, which a file does.
IValue packed(const std::string& name, const IValue& state) {
  declareExtension();
  for (const PackedLayer& layer : packedLayers()) {
    if (name != layer.name) continue;
    const auto type = torch::getCustomClass(packedClassName(layer))->expect<c10::ClassType>();
    const auto object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), type->numAttributes());
    type->getMethod("__setstate__")({object, state});
    return object;
  }
  throw std::out_of_range(name);
}

IValue convolution(const at::Tensor& w, const IValue& bias, std::int64_t groups = 1) {
  return packed("Convolution", tupleOf({w, bias, ints({1, 1}), ints({1, 1}), ints({1, 1}), groups, true, ints({})}));
}

IValue linear(const at::Tensor& w, const IValue& bias, const char* name = "MKL") {
  return packed(name, tupleOf({w, bias, IValue()}));
}

// A module as `body` and constants in a file say, each line indented by four columns.
Module fileModule(const std::string& body, const std::vector<IValue>& constants,
                  const std::vector<std::pair<std::string, IValue>>& attributes = {},
                  const std::string& result = "Tensor") {
  std::string declared;
  for (const auto& [name, value] : attributes) declared += "  " + name + " : " + value.type()->annotation_str() + "\n";
  ScriptClasses classes("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n" + declared +
                            "  def forward(self: __torch__.M, x: Tensor) -> " + result + ":\n" + body,
                        constants);
  return classes.module("M", attributes);
}

Model throughFile(const Module& module) {
  const TempDirectory directory;
  module.save(directory.file("model.pt"));
  return Model::load(directory.file("model.pt"));
}

std::string textOf(const Module& module) {
  return module.dump_to_str(/*print_method_bodies=*/true, /*print_attr_values=*/false, /*print_param_values=*/false);
}

const char kConvolution[] =
    "    c = ops.torch_ipex.convolution_forward(x, CONSTANTS.c1, CONSTANTS.c1, (CONSTANTS.c0).get_data_handle(), "
    "[4, 3, 3, 3], [1, 1], [1, 1], [1, 1], True)\n";

TEST(WriteOutExtension, LayersOfAFrozenFileArePlain) {
  const at::Tensor w = weight({4, 3, 3, 3}), b = weight({4}), v = weight({5, 4});
  const Module module = fileModule(std::string(kConvolution) +
                                       "    y = torch.mean(torch.relu(c), [2, 3])\n"
                                       "    return ops.torch_ipex.ipex_MKLSGEMM(y, CONSTANTS.c1, CONSTANTS.c1, "
                                       "(CONSTANTS.c2).get_data_handle(), 5)\n",
                                   {convolution(w, b), at::empty({0}), linear(v, IValue())});
  Model model = throughFile(module);
  ASSERT_EQ(model.notes().size(), 1U);
  EXPECT_THAT(model.notes()[0], HasSubstr("2 of its operators became operators of PyTorch"));
  EXPECT_THAT(textOf(model.module()), Not(HasSubstr("ipex")));
  const at::Tensor x = at::randn({2, 3, 8, 8});
  const at::Tensor expected = at::linear(at::relu(at::conv2d(x, w, b, 1, 1)).mean({2, 3}), v);
  EXPECT_EQ(difference(call(model.module(), {x}), expected), "");
  expectSame(model.module(), {{at::randn({3, 3, 6, 6})}});
}

// The body of a convolution asks how many axes there are.
TEST(WriteOutExtension, LengthsOfALayersListsAreKnown) {
  const Module module = fileModule(std::string(kConvolution) + "    return c\n",
                                   {convolution(weight({4, 3, 3, 3}), IValue()), at::empty({0})});
  const std::string text = textOf(throughFile(module).module());
  EXPECT_THAT(text, HasSubstr("aten::conv2d"));
  for (const char* gone : {"aten::len", "prim::If", "aten::conv1d", "aten::conv3d"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
}

TEST(WriteOutExtension, LengthsOfListsThatAreWrittenToAreAskedFor) {
  const Module module = fileModule(
      "    kept = CONSTANTS.c1\n"
      "    grown = CONSTANTS.c2\n"
      "    _0 = torch.append(grown, 1)\n"
      "    y = ops.ipex_prepack.convolution_relu_run(x, CONSTANTS.c0)\n"
      "    return torch.add(torch.mul(y, torch.len(kept)), torch.len(grown))\n",
      {convolution(weight({4, 3, 3, 3}), IValue()), ints({1, 2}), ints({3})});
  EXPECT_EQ(writeOutExtension(module), 1);
  const std::string text = textOf(module);
  EXPECT_THAT(text, AllOf(HasSubstr("aten::len"), Not(HasSubstr("prim::If"))));
  EXPECT_EQ(text.find("aten::len"), text.rfind("aten::len"));
}

// The error names the functions that nodes were inlined from, which must be there still.
TEST(WriteOutExtension, ErrorsOfARunAreSentences) {
  const Module module = fileModule(std::string(kConvolution) + "    return c\n",
                                   {convolution(weight({4, 3, 3, 3}), IValue()), at::empty({0})});
  Model model = throughFile(module);
  EXPECT_THROW(call(model.module(), {at::randn({1, 3, 0, 8})}), std::exception);
  EXPECT_THROW(call(model.module(), {at::randn({1, 5, 8, 8})}), std::exception);
}

TEST(WriteOutExtension, LayersThatAreAttributesBecomeTheirStates) {
  const at::Tensor w = weight({4, 1, 3, 3});
  const Module module = fileModule(
      "    c = self.c\n"
      "    return ops.torch_ipex.convolution_forward(x, x, None, (c).get_data_handle(), [4, 1, 3, 3], [1, 1], [1, 1], "
      "[1, 1], True)\n",
      {}, {{"c", convolution(w, IValue(), 4)}});
  Model model = throughFile(module);
  EXPECT_THAT(textOf(model.module()), Not(HasSubstr("ipex")));
  const TempDirectory directory;
  model.module().save(directory.file("plain.pt"));
  const at::Tensor x = at::randn({1, 4, 5, 5});
  const at::Tensor expected = at::conv2d(x, w, {}, 1, 1, 1, 4);
  Module plain = torch::jit::load(directory.file("plain.pt"));
  EXPECT_EQ(difference(call(plain, {x}), expected), "");
  expectSame(model.module(), {{x}});
}

TEST(WriteOutExtension, FusedOperatorsAreTheirChains) {
  const at::Tensor w = weight({4, 3, 3, 3}), b = weight({4});
  const Module module = fileModule(
      "    a = ops.ipex_prepack.convolution_relu_run(x, CONSTANTS.c0)\n"
      "    b = ops.ipex_prepack.convolution_swish_run(x, CONSTANTS.c0)\n"
      "    c = ops.ipex_prepack.convolution_add_relu_run(x, a, alpha=2, W_prepack=CONSTANTS.c0)\n"
      "    return ops.ipex_prepack.convolution_add_run(x, torch.add(b, c), alpha=None, W_prepack=CONSTANTS.c0)\n",
      {convolution(w, b)});
  Model model = throughFile(module);
  const at::Tensor x = at::randn({2, 3, 6, 6}), y = at::conv2d(x, w, b, 1, 1);
  const at::Tensor expected = at::silu(y) + at::relu(y + 2 * at::relu(y)) + y;
  EXPECT_EQ(difference(call(model.module(), {x}), expected), "");
}

// The third layer is the one beside the others where there are four.
TEST(WriteOutExtension, BottlenecksOfThreeAndFourLayers) {
  const at::Tensor a = weight({4, 3, 3, 3}), b = weight({4, 4, 3, 3}), beside = weight({5, 3, 3, 3}),
                   c = weight({5, 4, 3, 3}), d = weight({4, 5, 3, 3});
  const Module module = fileModule(
      "    y = ops.ipex_prepack.convolution_bottleneck_run(x, CONSTANTS.c0, CONSTANTS.c1, CONSTANTS.c2, CONSTANTS.c3)\n"
      "    return ops.ipex_prepack.convolution_bottleneck_run(y, CONSTANTS.c4, CONSTANTS.c1, CONSTANTS.c3)\n",
      {convolution(a, IValue()), convolution(b, IValue()), convolution(beside, IValue()), convolution(c, IValue()),
       convolution(d, IValue())});
  Model model = throughFile(module);
  const auto layer = [](const at::Tensor& x, const at::Tensor& w) { return at::conv2d(x, w, {}, 1, 1); };
  const auto relu = [&](const at::Tensor& x, const at::Tensor& w) { return at::relu(layer(x, w)); };
  const at::Tensor x = at::randn({2, 3, 6, 6});
  const at::Tensor y = at::relu(layer(relu(relu(x, a), b), c) + layer(x, beside));
  const at::Tensor expected = at::relu(layer(relu(relu(y, d), b), c) + y);
  EXPECT_EQ(difference(call(model.module(), {x}), expected), "");
}

TEST(WriteOutExtension, OperatorsOfSeveralResults) {
  std::vector<IValue> constants;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{12, 4}, {12, 3}, {12}, {12}})
    constants.emplace_back(weight(sizes));
  const Module module = fileModule(
      "    h = torch.zeros([1, 2, 3])\n"
      "    y, hn, cn = ops.torch_ipex.ipex_lstm(x, [h, h], [CONSTANTS.c0, CONSTANTS.c1, CONSTANTS.c2, CONSTANTS.c3], "
      "True, 1, 0., False, False, True)\n"
      "    return torch.add(y, torch.transpose(cn, 0, 1))\n",
      constants);
  const at::Tensor x = at::randn({2, 5, 4}), h = at::zeros({1, 2, 3});
  std::vector<at::Tensor> weights;
  for (const IValue& one : constants) weights.push_back(one.toTensor());
  const auto [y, hn, cn] = at::lstm(x, {h, h}, weights, true, 1, 0, false, false, true);
  EXPECT_EQ(difference(call(throughFile(module).module(), {x}), y + cn.transpose(0, 1)), "");
}

// Two rows of six columns in groups of four; two integers a byte, the first in the lower half.
TEST(WriteOutExtension, WeightsOf4BitsAreSpread) {
  const at::Tensor integers = at::tensor({3, 9, 15, 0, 1, 8, 7, 12, 5, 2, 14, 11}).view({2, 6}).to(at::kFloat);
  const at::Tensor halves = integers.to(at::kByte).view({2, 3, 2});
  const at::Tensor bytes = halves.select(2, 0) + halves.select(2, 1) * 16;
  const at::Tensor scales = at::tensor({0.5, 2.0, 0.25, 3.0}).view({2, 2}).to(at::kFloat);
  const at::Tensor zeros = at::tensor({8, 7, 9, 6}).view({2, 2}).to(at::kFloat);
  const auto spread = [](const at::Tensor& each) { return each.repeat_interleave(4, 1).slice(1, 0, 6); };
  const at::Tensor x = at::randn({3, 6});
  for (const bool symmetric : {false, true}) {
    const IValue state = tupleOf({bytes, 2, ints({2, 6}), scales, symmetric ? IValue() : IValue(zeros), IValue(),
                                  IValue(), IValue(), 4, 0, -1, false});
    const Module module = fileModule("    return ops.torch_ipex.ipex_woq_linear(x, (CONSTANTS.c0).get_data_handle())\n",
                                     {packed("WoqLinear", state)});
    const at::Tensor w = (integers - (symmetric ? at::full({1}, 8.0) : spread(zeros))) * spread(scales);
    EXPECT_EQ(difference(call(throughFile(module).module(), {x}), at::linear(x, w)), "");
  }
}

TEST(WriteOutExtension, EveryOperatorHasABodyThatCompiles) {
  declareExtension();
  for (const ExtensionOperator& one : extensionOperators()) {
    const c10::FunctionSchema schema = torch::jit::parseSchema(one.schema);
    ASSERT_EQ(extensionOperator(schema), &one) << one.schema;
    EXPECT_NE(writtenOut(schema), nullptr) << one.schema;
    EXPECT_EQ(writtenOut(schema)->inputs().size(), schema.arguments().size()) << one.schema;
  }
}

template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadModel);
    return error.what();
  }
  return "not refused";
}

TEST(WriteOutExtension, AddressesOfAFileAreNotFollowed) {
  const Module module = fileModule("    return ops.torch_ipex.ipex_linear(x, x, None, CONSTANTS.c0, 4)\n",
                                   {at::full({1}, 0x7fffdeadbeef, at::kLong)});
  EXPECT_THAT(refusal([&] { throughFile(module); }), HasSubstr("the address of its weights in a process that is gone"));
}

TEST(WriteOutExtension, StatesOfAnotherFormAreRefused) {
  const at::Tensor w = weight({4, 4});
  const std::string body = "    return ops.torch_ipex.ipex_MKLSGEMM(x, x, None, (CONSTANTS.c0).get_data_handle(), 4)\n";
  for (const IValue& state : {tupleOf({w, IValue()}), tupleOf({IValue(3), IValue(), IValue()}), IValue(w)}) {
    const Module module = fileModule(body, {packed("MKL", state)});
    EXPECT_THAT(refusal([&] { writeOutExtension(module); }), HasSubstr("a form that is not known here"));
  }
}

TEST(WriteOutExtension, UnknownOperatorsAreNamedTogether) {
  const TempDirectory directory;
  const std::string path = directory.file("unknown.pt");
  Net net;
  const std::string stock = "torch.relu(torch.matmul(x, weight))";
  net.code.replace(net.code.find(stock), stock.size(),
                   "ops.torch_ipex.rnnt_update(ops.ipex.no_such_thing(torch.matmul(x, weight)))");
  std::ofstream(path, std::ios::binary) << net.bytes();
  EXPECT_THAT(refusal([&] { Model::load(path); }),
              HasSubstr("calls ipex::no_such_thing, torch_ipex::rnnt_update of Intel Extension for PyTorch"));
}

}  // namespace
}  // namespace ipex_studio

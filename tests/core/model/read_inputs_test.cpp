// Input files of torch.save, torch.jit.save and numpy become arguments; all others are refused without running
// anything.
#include "core/model/read_inputs.h"

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>

#include "core/base/error.h"
#include "core/model/input_values.h"
#include "tests/core/file/pt_file_fixture.h"
#include "tests/core/graph/script_models.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

class ReadInputs : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_.file(name), std::ios::binary) << bytes;
    return directory_.file(name);
  }
  std::string save(const IValue& value) {
    const std::vector<char> bytes = torch::jit::pickle_save(value);
    return write("values.pt", std::string(bytes.begin(), bytes.end()));
  }
  // Writes a pickle as Python's torch.save lays it out; `body` leaves the value on the stack.
  std::string savePython(const std::string& body, const std::string& order = "little") {
    ZipWriter zip;
    zip.add("archive/data.pkl", "\x80\x02" + body + ".");
    zip.add("archive/byteorder", order);
    zip.add("archive/data/0", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16));
    zip.add("archive/version", "3\n");
    return write("python.pt", zip.finish());
  }
  std::string refusal(const std::string& path) {
    try {
      readNamedInputs(path);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return {};
  }
  TempDirectory directory_;
};

// The pickle of a 2x2 tensor of 1 2 3 4, column-major if `turned`.
std::string tensorPickle(bool turned = false) {
  return global("torch._utils", "_rebuild_tensor_v2") + "((" + binUnicode("storage") + global("torch", "FloatStorage") +
         binUnicode("0") + binUnicode("cpu") + "K\4tQK" + std::string(1, '\0') +
         (turned ? "K\2K\2\x86K\1K\2\x86" : "K\2K\2\x86K\2K\1\x86") + "\x89" + global("collections", "OrderedDict") +
         ")RtR";
}

TEST_F(ReadInputs, ListsTuplesDictsAndTensors) {
  const at::Tensor a = at::randn({2, 3}), b = at::arange(4, at::kLong);
  const Inputs list = readInputs(save(c10::List<at::Tensor>({a, b})));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(at::equal(list[0].toTensor(), a));
  EXPECT_TRUE(at::equal(list[1].toTensor(), b));
  const Inputs tuple =
      readInputs(save(c10::ivalue::Tuple::create({a, 3, 0.5, true, IValue(), c10::ivalue::Tuple::create({b, a})})));
  ASSERT_EQ(tuple.size(), 6u);
  EXPECT_EQ(tuple[1].toInt(), 3);
  EXPECT_EQ(tuple[2].toDouble(), 0.5);
  EXPECT_TRUE(tuple[3].toBool());
  EXPECT_TRUE(tuple[4].isNone());
  EXPECT_TRUE(at::equal(tuple[5].toTupleRef().elements()[0].toTensor(), b));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("y", b);
  dict.insert("x", a);
  const NamedInputs named = readNamedInputs(save(dict));
  EXPECT_EQ(named.names, (std::vector<std::string>{"y", "x"}));
  EXPECT_TRUE(at::equal(named.values[1].toTensor(), a));
  EXPECT_TRUE(at::equal(readInputs(save(a))[0].toTensor(), a));
}

TEST_F(ReadInputs, AnyNesting) {
  const at::Tensor a = at::randn({2, 3});
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("boxes", c10::List<at::Tensor>({a, a}));
  dict.insert("size", c10::ivalue::Tuple::create({1, 0.5}));
  const Inputs inputs =
      readInputs(save(c10::ivalue::Tuple::create({dict, std::string("mode"), c10::List<double>({})})));
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputValueText(inputs[0]), "{\"boxes\": [2x3:float32, 2x3:float32], \"size\": (1, 0.5)}");
  EXPECT_EQ(inputs[1].toStringRef(), "mode");
  const auto type = c10::ListType::create(c10::FloatType::get());
  EXPECT_EQ(*asType(inputs[2], type, "x").type(), *type);
}

TEST_F(ReadInputs, TypesViewsAndSharedData) {
  for (const at::ScalarType type : {at::kHalf, at::kFloat, at::kDouble, at::kBFloat16, at::kChar, at::kShort, at::kInt,
                                    at::kLong, at::kByte, at::kBool}) {
    const at::Tensor tensor = at::randint(0, 2, {3, 4}).to(type).t();
    const at::Tensor read = readInputs(save(c10::List<at::Tensor>({tensor, tensor.select(0, 1)})))[1].toTensor();
    EXPECT_EQ(read.scalar_type(), type);
    EXPECT_TRUE(at::equal(read, tensor.select(0, 1))) << c10::toString(type);
  }
  const at::Tensor last = at::randn({1, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(readInputs(save(last))[0].toTensor().is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(readInputs(save(at::zeros({0, 4})))[0].toTensor().sizes(), (at::IntArrayRef{0, 4}));
}

TEST_F(ReadInputs, WhatPythonWrites) {
  const at::Tensor expected = at::tensor({1.f, 2.f, 3.f, 4.f}).reshape({2, 2});
  const std::pair<std::string, std::size_t> kForms[] = {{tensorPickle(), 1},
                                                        {"]q\x01" + tensorPickle() + "a", 1},
                                                        {"]q\x01(" + tensorPickle() + tensorPickle() + "e", 2},
                                                        {tensorPickle() + "\x85", 1},
                                                        {"}" + binUnicode("x") + tensorPickle() + "s", 1}};
  for (const auto& [body, count] : kForms) {
    const std::string path =
        body.compare(0, 3, "]q\x01") == 0 ? savePython("]q" + std::string(1, '\0') + body.substr(3)) : savePython(body);
    const Inputs inputs = readInputs(path);
    ASSERT_EQ(inputs.size(), count);
    EXPECT_TRUE(at::equal(inputs[0].toTensor(), expected));
  }
  EXPECT_TRUE(at::equal(readInputs(savePython(tensorPickle(true)))[0].toTensor(), expected.t()));
  EXPECT_EQ(readNamedInputs(savePython("}" + binUnicode("mask") + tensorPickle() + "s")).names[0], "mask");
  EXPECT_EQ(readInputs(savePython("]" + std::string("\x8a\x05\0\0\0\0\1", 7) + "a"))[0].toInt(), std::int64_t{1} << 32);
}

TEST_F(ReadInputs, RefusesOtherPickles) {
  EXPECT_NE(refusal(savePython(global("os", "system") + binUnicode("touch x") + "\x85R")).find("'os.system'"),
            std::string::npos);
  EXPECT_NE(refusal(savePython(global("__torch__", "Evil") + ")\x81}b")), "");
  EXPECT_NE(refusal(savePython(binUnicode("hello"))), "");
  EXPECT_NE(refusal(savePython("]")), "");
  EXPECT_NE(refusal(savePython("}K\1" + tensorPickle() + "s")), "");
  EXPECT_NE(refusal(savePython(tensorPickle(), "big")), "");
  std::string nested = "K\1";
  for (int depth = 0; depth < 30; ++depth) nested += "\x85";
  EXPECT_NE(refusal(savePython("]" + nested + "a")).find("nests too deep"), std::string::npos);
  // Shared tuples that unfold to 3^14 values.
  std::string bomb = "K\1\x85";
  for (int depth = 0; depth < 14; ++depth) {
    const std::string id(1, static_cast<char>(depth));
    bomb += "q" + id + "h" + id + "h" + id + "\x87";
  }
  EXPECT_NE(refusal(savePython(bomb)).find("too many values"), std::string::npos);
}

TEST_F(ReadInputs, RecordedCases) {
  const at::Tensor a = at::randn({2}), b = at::randn({3}), c = at::randn({1});
  Module box("Box");
  for (const auto& [name, tensor] : Weights{{"case1_in0", b},
                                            {"case0_in1", b},
                                            {"case0_in0", a},
                                            {"case0_out0", c},
                                            {"case1_in1", a},
                                            {"case1_out0", a}})
    box.register_buffer(name, tensor);
  const std::string path = directory_.file("model.io.pt");
  box.save(path);
  const Inputs inputs = readInputs(path);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(at::equal(inputs[0].toTensor(), a));
  const std::vector<RecordedCase> cases = readRecordedCases(path);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].name, "case1");
  EXPECT_FALSE(cases[1].step);
  EXPECT_TRUE(at::equal(cases[1].inputs[0].toTensor(), b));
  EXPECT_TRUE(at::equal(cases[0].expected[0], c));

  Module steps("Box");
  for (int s = 0; s < 12; ++s) {
    steps.register_buffer("step" + std::to_string(s) + "_in0", at::full({1}, s));
    steps.register_buffer("step" + std::to_string(s) + "_out0", at::full({1}, -s));
  }
  steps.save(path);
  const std::vector<RecordedCase> sequence = readRecordedCases(path);
  ASSERT_EQ(sequence.size(), 12u);
  for (int s = 0; s < 12; ++s) {
    EXPECT_TRUE(sequence[static_cast<std::size_t>(s)].step);
    EXPECT_EQ(sequence[static_cast<std::size_t>(s)].expected[0].item<float>(), -s);
  }

  Module gap("Box");
  gap.register_buffer("case0_in1", a);
  gap.save(path);
  EXPECT_NE(refusal(path).find("lacks one of its tensors"), std::string::npos);
  EXPECT_TRUE(readRecordedCases(save(a)).empty());
}

std::string npy(const std::string& order, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '|u1', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + littleEndian(header.size(), 2) + header + data;
}

TEST_F(ReadInputs, Numpy) {
  const at::Tensor expected = at::tensor({1, 2, 3, 4, 5, 6}).to(at::kByte).reshape({2, 3});
  EXPECT_TRUE(at::equal(readInputs(write("c.npy", npy("False", "(2, 3)", "\1\2\3\4\5\6")))[0].toTensor(), expected));
  EXPECT_TRUE(at::equal(readInputs(write("f.npy", npy("True", "(2, 3)", "\1\4\2\5\3\6")))[0].toTensor(), expected));
  EXPECT_TRUE(at::equal(readInputs(write("named.pt", npy("False", "(2, 3)", "\1\2\3\4\5\6")))[0].toTensor(), expected));
  ZipWriter zip;
  zip.add("arr_0.npy", npy("False", "(1,)", "\7"));
  zip.add("mask.npy", npy("False", "()", "\1"), true);
  const NamedInputs archive = readNamedInputs(write("a.npz", zip.finish()));
  EXPECT_EQ(archive.names, (std::vector<std::string>{"", "mask"}));
  EXPECT_EQ(archive.values[1].toTensor().dim(), 0);
}

TEST_F(ReadInputs, RefusesWithOneSentence) {
  EXPECT_NE(refusal(directory_.file("missing.pt")), "");
  EXPECT_NE(refusal(directory_.path()), "");
  EXPECT_NE(refusal(write("empty.pt", "")), "");
  EXPECT_NE(refusal(write("text.pt", "hello world")).find("neither a numpy file nor"), std::string::npos);
  EXPECT_NE(refusal(write("legacy.pt", std::string("\x80\x02\x8a\x0al", 5))), "");
  const Module model = scriptModule("def forward(self, x):\n    return x\n", {{"w", at::ones({1})}});
  model.save(directory_.file("model.pt"));
  EXPECT_NE(refusal(directory_.file("model.pt")).find("it is a model, not inputs"), std::string::npos);
  const std::vector<char> bytes = torch::jit::pickle_save(at::randn({100}));
  std::string damaged(bytes.begin(), bytes.end());
  EXPECT_NE(refusal(write("cut.pt", damaged.substr(0, damaged.size() / 2))), "");
  damaged[damaged.find("data/0") + 100] ^= 1;  // in the tensor's data, which only the CRC protects
  EXPECT_NE(refusal(write("flipped.pt", damaged)), "");
}

}  // namespace
}  // namespace ipex_studio

// Operators are trusted by name: what files can reach through those they call is found, however it is spelled.
#include "core/file/operator_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file/strided_call.h"
#include "tests/core/file/pt_file_fixture.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The findings of a file whose forward has this statement, as "kind: text" lines.
std::string foundIn(const std::string& statement) {
  Net net;
  net.code += "    " + statement + "\n";
  std::string lines;
  for (const Finding& finding : inspectBytes(net.bytes()).findings) {
    lines += (finding.dangerous ? "DANGER " : "note ") + finding.kind + ": " + finding.text + "\n";
  }
  return lines;
}

TEST(OperatorTable, TrustsByName) {
  ASSERT_NE(operatorRisk("aten::relu"), nullptr);
  EXPECT_EQ(operatorRisk("aten::relu")->kind, "");
  EXPECT_EQ(operatorRisk("quantized::conv2d_relu")->kind, "");
  EXPECT_EQ(operatorRisk("torchvision::nms")->kind, "");
  ASSERT_NE(operatorRisk("inductor::_reinterpret_tensor"), nullptr);
  EXPECT_EQ(operatorRisk("inductor::_reinterpret_tensor")->kind, "reaches-memory");
  EXPECT_TRUE(operatorRisk("inductor::_reinterpret_tensor")->dangerous);
  EXPECT_FALSE(operatorRisk("aten::as_strided")->dangerous);
  EXPECT_EQ(operatorRisk("inductor::relu"), nullptr);
  EXPECT_EQ(operatorRisk("aten::"), nullptr);
  EXPECT_TRUE(isStockNamespace("inductor"));
  EXPECT_FALSE(isStockNamespace("torchvision"));
  EXPECT_TRUE(isListedClass("quantized::LinearPackedParamsBase"));
  EXPECT_FALSE(isListedClass("quantized::Evil"));
}

TEST(OperatorTable, ReadsListsOfUsers) {
  EXPECT_THAT(parseOperatorList("# target\n\naten::relu.out  # in place\r\naten::add\naten::relu\n", "ops.txt"),
              ElementsAre("aten::add", "aten::relu"));
  for (const char* text : {"", "# none\n", "relu\n", "aten:relu\n", "aten::relu aten::add\n", "aten::\n", "a b::c\n",
                           "aten::re-lu\n", "::relu\n"}) {
    EXPECT_THROW(parseOperatorList(text, "ops.txt"), Error) << text;
  }
  try {
    parseOperatorList("aten::relu\nrelu\n", "ops.txt");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "ops.txt, line 2: a line is one operator, such as aten::relu; # begins a comment.");
    EXPECT_EQ(error.code(), ExitCode::kUsage);
  }
}

TEST(StridedCall, TellsWhatConstantsReach) {
  EXPECT_EQ(lastElementReached("(x, [2, 3], [3, 1])", false), 5);
  EXPECT_EQ(lastElementReached(" ( x , [ 2,3] ,[3 , 1])", false), 5);
  EXPECT_EQ(lastElementReached("(torch.relu(a, [1]), [2, 3, ], [3, 1], 4)", false), 9);
  EXPECT_EQ(lastElementReached("([2, 3], [3, 1], 4, )", true), 9);
  EXPECT_EQ(lastElementReached("(x, [0, 3], [3, 1])", false), -1);
  EXPECT_EQ(lastElementReached("(x, [], [])", false), 0);
  EXPECT_EQ(lastElementReached("(x, [100], [0])", false), 0);
  for (const char* computed : {"(x, [n], [1])", "(x, [2], [-1])", "(x, [2], [1, 1])", "(x, [2, 3], s)",
                               "(x, [2], [1], n)", "(x)", "", "(", "(x, [2", "(x, [281474976710657], [1])",
                               "(x, [99999999], [99999999])", "(x, [2], [1], 4 + n)", "(\")\", [2], [1])"}) {
    EXPECT_EQ(lastElementReached(computed, false), std::nullopt) << computed;
  }
}

TEST(Operators, AreNamedByWhatTheyReach) {
  EXPECT_EQ(
      foundIn("_1 = ops.inductor._reinterpret_tensor(x, [9], [1], 0)"),
      "DANGER reaches-memory: Calls inductor::_reinterpret_tensor: reaches memory by sizes, strides or indices that "
      "nothing checks.\n");
  const std::string strided =
      "note reaches-storage: Calls aten::as_strided: reaches memory beside the elements of its tensor, inside of what "
      "was "
      "allocated. ";
  EXPECT_EQ(foundIn("_1 = torch.as_strided(x, [2, 2], [2, 1], 1)"),
            strided + "Its sizes and strides are constants and end at element 4.\n");
  EXPECT_EQ(foundIn("_1 = torch.as_strided(x, [n, 2], [2, 1])"), strided + "Its sizes and strides are computed.\n");
  EXPECT_EQ(foundIn("_1 = x.as_strided([0], [1])"), strided + "Its sizes are constants and hold no element.\n");
  EXPECT_THAT(foundIn("_1 = torch.quantum_add(x)"),
              HasSubstr("DANGER unknown-operators: Calls aten::quantum_add, which"));
  EXPECT_THAT(foundIn("_1 = ops.c10d.allreduce_([x])"), HasSubstr("DANGER network: "));
  EXPECT_THAT(foundIn("_1 = ops.image.write_file(\"f\", x)"),
              HasSubstr("DANGER writes-files: Calls image::write_file"));
  EXPECT_EQ(foundIn("_1 = ops.torchvision.nms(x, x, 0.5)"),
            "note own-operators: Calls torchvision::nms, which ipex-studio computes without torchvision.\n");
  EXPECT_EQ(
      foundIn("_1 = ops.torchvision._cuda_version()"),
      "note foreign-operators: Needs operators of 'torchvision' (torchvision::_cuda_version), which stock PyTorch "
      "lacks.\n");
  EXPECT_EQ(foundIn("_1 = ops.quantized.linear(x, x, 1., 0)"), "");
}

TEST(Operators, AreNoMethodsOfTheModel) {
  const std::string call = "_1 = (self).resize(x, )",
                    method = "\n  def resize(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x";
  EXPECT_EQ(foundIn(call + method), "");
  EXPECT_THAT(foundIn(call), HasSubstr("note reaches-storage: Calls aten::resize"));
  EXPECT_THAT(foundIn("_1 = (x).resize([1], )" + method), HasSubstr("note reaches-storage: Calls aten::resize"));
}

TEST(Operators, DoNotHideBehindSpelling) {
  for (const char* call :
       {"x._reshape_alias([9], [1])", "_1 = x._reshape_alias", "x . _reshape_alias([9], [1])",
        "(x)._reshape_alias([9])", "getattr(x, \"_reshape_alias\")([9], [1])",
        "getattr(x, \"_reshape\" \"_alias\")([9], [1])", "getattr (torch.relu(x), '_reshape_alias')([9])",
        "torch._reshape_alias(x, [9], [1])", "ops.aten._reshape_alias(x, [9], [1])", "x.#\n      _reshape_alias([9])",
        "__parameters__ = x._reshape_alias([9], [1])"}) {
    EXPECT_THAT(foundIn(call), HasSubstr("DANGER reaches-memory: Calls aten::_reshape_alias")) << call;
  }
  EXPECT_THAT(foundIn("getattr(x, \"\\x5freshape_alias\")([9])"), HasSubstr("DANGER hidden-calls"));
  // torch.jit.save writes members whose names are no identifiers so.
  EXPECT_EQ(foundIn("_1 = (getattr(self, \"0\")).forward(x, )"), "");
}

TEST(Operators, CannotBeCrowdedOut) {
  Net net;
  for (int i = 0; i < 400; ++i) net.code += "    _1 = torch.as_strided(x, [" + std::to_string(i) + "], [1])\n";
  net.code += "    torch.save(x, \"f\")\n";
  const PtFileReport report = inspectBytes(net.bytes());
  EXPECT_TRUE(report.dangerous());
  EXPECT_EQ(report.findings.size(), 201u);
}

TEST(Operators, OutsideOfATargetAreNamed) {
  Net net;
  PtFileReport report = inspectBytes(net.bytes());
  addOutsideTarget({"aten::relu", "aten::matmul"}, &report);
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].kind, "outside-target");
  EXPECT_EQ(report.findings[0].text, "Calls aten::mul 1 time, which the target's list lacks.");
  EXPECT_EQ(report.findings[1].text, "Calls prim::NumToTensor 1 time, which the target's list lacks.");
  EXPECT_FALSE(report.dangerous());
}

// libtorch finds members in any case.
TEST(Operators, CannotHideInUpperCase) {
  for (const char* member : {"code/__torch__/evil.PY", "CODE/__torch__/evil.py", "code/__torch__/evil.pY"}) {
    Net net;
    net.more = {{member, "def f(x: Tensor) -> Tensor:\n  return x\n"}};
    EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("is named in upper case, which hides what it is")) << member;
  }
  Net net;
  net.more = {{"code/__torch__/models/ResNet.py", "def f(x: Tensor) -> Tensor:\n  return x\n"}, {"extra/A.PY", "x"}};
  EXPECT_EQ(refusalOf(net.bytes()), "accepted");
}

TEST(Operators, ObjectsOfClassesThatCodeDoesNotName) {
  Net net;
  net.data_pkl = modulePickle(tensorOf("0", 6, 0, {2, 3}, {3, 1}),
                              binUnicode("e") + global("__torch__.torch.classes.evil", "Engine") + ")\x81Nb");
  const PtFileReport report = inspectBytes(net.bytes());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].text, "Uses class evil::Engine of another library, which must be loaded with it.");
  EXPECT_EQ(report.findings[0].member, "net/data.pkl");
  EXPECT_TRUE(report.dangerous());
}

}  // namespace
}  // namespace ipex_studio

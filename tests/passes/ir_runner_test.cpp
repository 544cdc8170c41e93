// The runner itself refuses cases that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/passes/ir_runner.h"

namespace ipex_studio {
namespace {

IrCase dropoutCase() {
  IrCase test;
  test.file = "none.ir";
  test.title = "dropout";
  test.passes = {"eliminate-dropout"};
  test.constants = {{"w", "randn(2,3)"}};
  test.before = R"(graph(%x : Float(2, 3)):
  %p : float = prim::Constant[value=0.5]()
  %train : bool = prim::Constant[value=0]()
  %y : Float(2, 3) = aten::dropout(%x, %p, %train)
  %z : Float(2, 3) = aten::div(%y, %w)
  return (%z)
)";
  test.expected = R"(graph(%x : Float(2, 3)):
  %z : Float(2, 3) = aten::div(%x, %w)
  return (%z)
)";
  return test;
}

TEST(IrRunner, AcceptsWhatIsRight) { EXPECT_EQ(runCase(dropoutCase()), ""); }

TEST(IrRunner, RefusesSwappedOperands) {
  IrCase test = dropoutCase();
  test.expected = "graph(%x : Float(2, 3)):\n  %z : Float(2, 3) = aten::div(%w, %x)\n  return (%z)\n";
  EXPECT_NE(runCase(test).find("not the expected one"), std::string::npos);
}

TEST(IrRunner, RefusesAnotherConstant) {
  IrCase test = dropoutCase();
  test.expected = "graph(%x : Float(2, 3)):\n  %z : Float(2, 3) = aten::div(%x, %v)\n  return (%z)\n";
  test.expected_constants = {{"v", "Float(2,3) sum=1 abs=9 mix=2"}};
  EXPECT_NE(runCase(test).find("should be"), std::string::npos);
}

TEST(IrRunner, RefusesAChangeWhereNoneIsExpected) {
  IrCase test = dropoutCase();
  test.unchanged = true;
  EXPECT_NE(runCase(test).find("not the expected one"), std::string::npos);
}

TEST(IrRunner, RefusesMissingRemarks) {
  IrCase test = dropoutCase();
  test.remarks = {"missed training-mode"};
  EXPECT_NE(runCase(test).find("remark \"missed training-mode\" expected"), std::string::npos);
}

TEST(IrRunner, RefusesUnknownPasses) {
  IrCase test = dropoutCase();
  test.passes = {"eliminate-nothing"};
  EXPECT_NE(runCase(test), "");
}

TEST(IrRunner, NamesTheGraphThatFails) {
  IrCase test = dropoutCase();
  test.constants = {{"w", "randn(5,7)"}};
  EXPECT_THAT(runCase(test), testing::HasSubstr("running the graph before the pass failed: "));
}

std::string textOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(IrRunner, BlessesOnlyWhereTheNumbersHold) {
  IrCase test = dropoutCase();
  test.file = testing::TempDir() + "bless_" + std::to_string(getpid()) + ".ir";
  const std::string written = "# pass: eliminate-dropout\n# case: dropout\n" + test.before + "# expect: unchanged\n";
  std::ofstream(test.file) << written;
  test.expected.clear();
  test.unchanged = true;

  test.constants = {{"w", "randn(5,7)"}};
  EXPECT_THAT(runCase(test, true), testing::HasSubstr("not written as the new expectation"));
  EXPECT_EQ(textOf(test.file), written);

  test.constants = {{"w", "randn(2,3)"}};
  EXPECT_EQ(runCase(test, true), "");
  EXPECT_THAT(textOf(test.file), testing::HasSubstr("# expect:\ngraph("));
  std::remove(test.file.c_str());
}

TEST(IrRunner, OperatorsAreThere) { EXPECT_TRUE(loadOperators()); }

}  // namespace
}  // namespace ipex_studio

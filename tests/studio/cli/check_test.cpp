// The command check: exit codes and pages of models that are equal, slower and wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "studio/cli/check_page.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string wholeFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Check, EqualModelsPass) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  // The allowance is so large that a busy machine does not decide; the rule is tested on simulated processes.
  const Outcome check = pit.run({"check", model, model, "--threads", "1", "--within", "20", "--max-slowdown", "0.5",
                                 "--json", "--junit", pit.path("c.xml"), "--markdown", pit.path("c.md")});
  ASSERT_EQ(check.code, 0) << check.err;
  const json result = json::parse(check.out);
  EXPECT_EQ(result["pass"], true);
  EXPECT_GT(result["speed"]["rounds"], 0);
  EXPECT_THAT(wholeFile(pit.path("c.xml")), HasSubstr("tests=\"2\" failures=\"0\""));
  EXPECT_THAT(wholeFile(pit.path("c.md")), HasSubstr("# The new model passes"));
}

TEST(Check, WrongAndDamagedFilesFail) {
  const Sandpit pit;
  EXPECT_EQ(pit.run({"check", modelFile("small.pt"), pit.path("none.pt")}).code, 3);
  EXPECT_EQ(pit.run({"check", modelFile("small.pt")}).code, 2);
  EXPECT_EQ(pit.run({"check", modelFile("small.pt"), modelFile("small.pt"), "--max-slowdown", "-1"}).code, 2);
}

TEST(CheckPage, SaysWhatFailed) {
  CheckPage page;
  page.old_path = "old.pt";
  page.new_path = "a<b>&\"|.pt";
  page.max_slowdown = 0.02;
  page.check.speed = {{1.06, 1.05, 1.07}, {1.001, 0.998, 1.004}, 12, true, false};
  page.check.accuracy_text = "top-1 0.7, was 0.76: more than 0.01 lost";
  EXPECT_THAT(textPage(page), HasSubstr("speed     1.060 [1.050, 1.070] of the time before, 1.02 allowed: slower\n"));
  EXPECT_THAT(junitPage(page), HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(junitPage(page), HasSubstr("classname=\"a&lt;b&gt;&amp;&quot;|.pt\" name=\"speed\"><failure message="));
  EXPECT_THAT(markdownPage(page), HasSubstr("# The new model fails"));
  EXPECT_THAT(markdownPage(page), HasSubstr("a<b>&\"\\|.pt"));
  EXPECT_EQ(jsonPage(page)["pass"], false);
  page.check.speed.slower = false;
  page.check.accurate = false;
  EXPECT_THAT(junitPage(page), HasSubstr("name=\"accuracy\"><failure message=\"top-1 0.7"));
  EXPECT_THAT(textPage(page), HasSubstr(": less accurate\n"));
}

}  // namespace
}  // namespace ipex_studio::testing

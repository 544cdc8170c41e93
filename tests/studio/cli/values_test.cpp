// The command values: what one value holds, as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Values, AreShownForTheOriginalTheOptimizedAndFp64) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const Outcome text = pit.run({"values", model, "--node", "aten::relu"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("original"));
  EXPECT_THAT(text.out, HasSubstr("fp64"));
  EXPECT_THAT(text.out, HasSubstr("NaN"));
  EXPECT_THAT(text.out, HasSubstr("The optimized value"));
  const std::string data = writeSamples(pit.path("data.npy"), 8);
  const Outcome run = pit.run({"values", model, "--node", "convolution", "--data", data, "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json record = json::parse(run.out);
  EXPECT_EQ(record["schema"], 1);
  ASSERT_EQ(record["forms"].size(), 3U);
  EXPECT_EQ(record["forms"][0]["form"], "original");
  EXPECT_EQ(record["forms"][0]["nans"], 0);
  EXPECT_THAT(record["remark"].get<std::string>(), HasSubstr("at once"));
  EXPECT_LT(record["differences"][0]["accuracy"]["max_rel"].get<double>(), 1e-4);
}

TEST(Values, NeedANodeThatIsThere) {
  const Sandpit pit;
  expectOneSentence(pit.run({"values", modelFile("small.pt"), "--node", "softmax"}), 2, "no node \"softmax\"");
  EXPECT_EQ(pit.run({"values", modelFile("small.pt")}).code, 2);
  expectOneSentence(pit.run({"values", modelFile("small.pt"), "--node", "relu", "--dump", pit.path("d")}), 2, "--dump");
}

}  // namespace
}  // namespace ipex_studio::testing

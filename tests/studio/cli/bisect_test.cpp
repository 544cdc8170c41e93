// The command bisect: exit codes, text and JSON, on models that are equal and models that were changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "studio/snapshot/bisect_text.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Bisect, EqualModelsHaveNothing) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const Outcome alone = pit.run({"bisect", model, "--tune", "off", "--json"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  const json result = json::parse(alone.out);
  EXPECT_EQ(result["found"], false);
  EXPECT_EQ(result["results"]["pass"], true);
  EXPECT_GT(result["compared"], 1);
  const Outcome both = pit.run({"bisect", model, model});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("Nothing is over the tolerance.\n"));
  const std::string data = writeSamples(pit.path("samples.npy"), 3);
  EXPECT_EQ(pit.run({"bisect", model, "--tune", "off", "--data", data, "--threads", "1"}).code, 0);
}

TEST(Bisect, NamesTheChangedWeight) {
  const Sandpit pit;
  const Outcome scaled = pit.run({"bisect", modelFile("small.pt"), modelFile("scaled.pt"), "--json"});
  EXPECT_EQ(scaled.code, 4) << scaled.err;
  EXPECT_THAT(scaled.err, HasSubstr("because of weight"));
  const json result = json::parse(scaled.out);
  EXPECT_EQ(result["found"], true);
  EXPECT_EQ(result["cause"], "weight");
  EXPECT_EQ(result["confirmed"], true);
  EXPECT_THAT(result["why"].get<std::string>(), HasSubstr("is 1.5 times the original's"));
  EXPECT_THAT(result["wrong"][0]["name"].get<std::string>(), HasSubstr("convolution"));
}

TEST(Bisect, NamesTheFirstNan) {
  const Sandpit pit;
  const Outcome nan = pit.run({"bisect", modelFile("nan_weight.pt"), modelFile("small.pt")});
  EXPECT_EQ(nan.code, 4);
  EXPECT_THAT(nan.out, HasSubstr("first wrong node"));
}

TEST(Bisect, RefusesWhatItCannotRead) {
  const Sandpit pit;
  EXPECT_EQ(pit.run({"bisect", modelFile("small.pt"), pit.path("none.pt")}).code, 3);
  EXPECT_EQ(pit.run({"bisect"}).code, 2);
  EXPECT_EQ(pit.run({"bisect", modelFile("small.pt"), "--disable", "no-such-pass"}).code, 2);
  EXPECT_EQ(pit.run({"bisect", modelFile("small.pt"), "--dump", pit.path("dump")}).code, 2);
}

TEST(BisectText, SaysAllThatIsKnown) {
  BisectRecord record;
  record.results.pass = false;
  record.results.text = "max|Δ| 0.41";
  record.compared = 7;
  record.nodes = 9;
  ValueDifference wrong;
  wrong.name = "layer1.conv (aten::conv2d)";
  wrong.source = "net.py:12";
  wrong.place = "[0, 3]";
  wrong.value = 0.53;
  wrong.expected = 0.12;
  wrong.accuracy.pass = false;
  record.wrong = {wrong};
  ValueDifference feed;
  feed.name = "stem (aten::relu)";
  record.feeds = {feed};
  record.cause = "rewrite";
  record.blame = "fuse-activation#12+13";
  record.why = "rewrite 5 of 9";
  record.confirmed = true;
  const std::string text = bisectText(record);
  EXPECT_THAT(text, HasSubstr("first wrong node  layer1.conv (aten::conv2d), net.py:12\n"));
  EXPECT_THAT(text, HasSubstr("0.53 instead of 0.12 at [0, 3]\n"));
  EXPECT_THAT(text, HasSubstr("reads            stem (aten::relu): right"));
  EXPECT_THAT(text, HasSubstr("Confirmed"));
  EXPECT_THAT(text, HasSubstr("--disable fuse-activation#12+13\n"));
  EXPECT_EQ(bisectSentence(record),
            "The first wrong node is layer1.conv (aten::conv2d): 0.53 instead of 0.12 at [0, 3], because of "
            "fuse-activation#12+13.");
}

}  // namespace
}  // namespace ipex_studio::testing

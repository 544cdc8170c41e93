// The command generate, as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json generated(const Sandpit& pit, std::vector<std::string> flags) {
  std::vector<std::string> words = {"generate", modelFile("decoder.pt"), "--json", "--max-new", "8", "--tune", "off"};
  words.insert(words.end(), flags.begin(), flags.end());
  const Outcome outcome = pit.run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? json::parse(outcome.out) : json();
}

TEST(Generate, PrintsTheIdsAndHowFastTheyCame) {
  const Sandpit pit;
  const Outcome text = pit.run({"generate", modelFile("decoder.pt"), "--prompt", "3,1,4", "--max-new", "8"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.err, HasSubstr("The original writes the same"));
  const json record = generated(pit, {"--prompt-file", modelFile("prompt.npy"), "--compare"});
  EXPECT_EQ(record["schema"], 1);
  EXPECT_EQ(record["cache"], "grows");
  EXPECT_TRUE(record["same_ids"]);
  ASSERT_EQ(record["forms"].size(), 2U);
  EXPECT_EQ(record["forms"][0]["form"], "original");
  EXPECT_EQ(record["forms"][0]["ids"], record["forms"][1]["ids"]);
  EXPECT_EQ(record["forms"][1]["log_probabilities"].size(), 8U);
  EXPECT_GT(record["forms"][1]["tokens_per_s"], 0);
  EXPECT_EQ(record["forms"][1]["cache_bytes"], 2 * 2 * 8 * (3 + 7) * 4);
  std::string ids;
  for (const json& id : record["forms"][1]["ids"]) ids += (ids.empty() ? "" : " ") + std::to_string(id.get<int>());
  EXPECT_EQ(text.out, ids + "\n");
}

TEST(Generate, SearchesAndDraws) {
  const Sandpit pit;
  const json beams = generated(pit, {"--prompt", "3,1,4", "--beams", "3", "--length-penalty", "0.5"});
  EXPECT_EQ(beams["strategy"], "beam search");
  EXPECT_TRUE(beams["same_ids"]);
  const std::vector<std::string> draws = {"--prompt", "3,1,4", "--temperature", "2", "--top-p", "0.9", "--seed", "5"};
  const json drawn = generated(pit, draws);
  EXPECT_EQ(drawn["strategy"], "sampling");
  EXPECT_EQ(generated(pit, draws)["forms"][0]["ids"], drawn["forms"][0]["ids"]);
  const std::string end = std::to_string(drawn["forms"][0]["ids"][0].get<int>());
  std::vector<std::string> ending = draws;
  ending.insert(ending.end(), {"--eos", end});
  EXPECT_EQ(generated(pit, ending)["forms"][0]["ids"].size(), 1U);
}

TEST(Generate, SaysInOneSentenceWhatCannotBe) {
  const Sandpit pit;
  const std::string model = modelFile("decoder.pt");
  expectOneSentence(pit.run({"generate", model}), 2, "--prompt");
  expectOneSentence(pit.run({"generate", model, "--prompt", "1", "--top-k", "2"}), 2, "--temperature");
  expectOneSentence(pit.run({"generate", model, "--prompt", "1", "--beams", "2", "--temperature", "1"}), 2, "--beams");
  expectOneSentence(pit.run({"generate", model, "--prompt", "50"}), 2, "no token 50");
  expectOneSentence(pit.run({"generate", model, "--prompt", "1", "--eos", "51"}), 2, "no token 51");
  expectOneSentence(pit.run({"generate", model, "--prompt", "1", "--role", "ids=x"}), 2, "a role is");
  expectOneSentence(pit.run({"generate", model, "--prompt-file", pit.path("none.npy")}), 2, "no such readable file");
  expectOneSentence(pit.run({"generate", model, "--prompt-file", modelFile("x.npy")}), 2, "tensor of integers");
  expectOneSentence(pit.run({"generate", model, "--prompt", "1", "--max-new", "100"}), 2, "context is full");
  expectOneSentence(pit.run({"generate", modelFile("silent.pt"), "--prompt", "1"}), 5, "returns its cache");
  expectOneSentence(pit.run({"generate", modelFile("small.pt"), "--prompt", "1", "--role", "x=other"}), 5, "--role");
  expectOneSentence(pit.run({"generate", modelFile("truncated.pt"), "--prompt", "1"}), 3, "");
}

}  // namespace
}  // namespace ipex_studio::testing

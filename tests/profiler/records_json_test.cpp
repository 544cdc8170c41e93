// Records survive the conversion to JSON text and back; text from a hostile engine is refused with one sentence.
#include "core/record/records_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/record/bisect_record.h"
#include "tests/profiler/refusal.h"
#include "tests/profiler/synthetic_job.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

std::string refusedRecord(const std::function<void()>& action) { return testing::refusal(ExitCode::kFailure, action); }

TEST(RecordsJson, JobSurvivesTextAndBack) {
  const json before = toJson(testing::smallJob());
  const JobRecord after = recordFromJson<JobRecord>(parseRecordText(dumpJson(before)));
  EXPECT_EQ(before, toJson(after));
  EXPECT_EQ(after.passes[0].hash_before, 0xF000'0000'0000'0001u);
  EXPECT_EQ(after.frozen->nodes.size(), 18u);
  EXPECT_EQ(after.passes[2].snapshot, nullptr);
  EXPECT_EQ(after.remarks.front().kind, RemarkKind::kApplied);
  EXPECT_EQ(after.remarks[after.remarks.size() - 4].kind, RemarkKind::kMissed);
}

TEST(RecordsJson, NumbersThatAreNotFiniteBecomeNaN) {
  AccuracyRecord accuracy;
  accuracy.max_rel = std::nan("");
  accuracy.max_abs = INFINITY;
  const auto after = recordFromJson<AccuracyRecord>(parseRecordText(dumpJson(toJson(accuracy))));
  EXPECT_TRUE(std::isnan(after.max_rel));
  EXPECT_TRUE(std::isnan(after.max_abs));
}

TEST(RecordsJson, BisectionsSurviveTextAndBack) {
  BisectRecord before;
  before.results.pass = false;
  before.compared = 7;
  before.wrong.resize(1);
  before.wrong[0].name = "layer1.conv (aten::conv2d)";
  before.wrong[0].origins = {3, 4};
  before.wrong[0].place = "[0, 3]";
  before.wrong[0].value = 0.5;
  before.feeds.resize(2);
  before.cause = "rewrite";
  before.blame = "fuse-activation#3+4";
  before.confirmed = true;
  const auto after = recordFromJson<BisectRecord>(parseRecordText(dumpJson(toJson(before))));
  EXPECT_EQ(toJson(after), toJson(before));
  EXPECT_EQ(after.wrong.at(0).origins, before.wrong[0].origins);
}

TEST(RecordsJson, BytesThatAreNotUtf8AreRepaired) {
  Remark remark;
  remark.text =
      "a\xff"
      "b";
  EXPECT_EQ(recordFromJson<Remark>(parseRecordText(dumpJson(toJson(remark)))).text,
            "a\xEF\xBF\xBD"
            "b");
}

TEST(RecordsJson, MissingFieldsKeepDefaultsAndUnknownOnesAreIgnored) {
  const auto origin = recordFromJson<Origin>(json::parse(R"({"id":4,"from_the_future":[1]})"));
  EXPECT_EQ(origin.id, 4);
  EXPECT_EQ(origin.kind, "");
}

TEST(RecordsJson, RefusesTextThatIsNoRecord) {
  EXPECT_EQ(refusedRecord([] { parseRecordText("{\"id\":"); }), "The engine sent a malformed record: it is not JSON.");
  EXPECT_EQ(refusedRecord([] { parseRecordText(std::string(100'000, '[')); }),
            "The engine sent a malformed record: it is nested too deeply.");
  EXPECT_EQ(refusedRecord([] { parseRecordText("[1,2,3]", 4); }),
            "The engine sent a malformed record: it has 7 bytes.");
  EXPECT_EQ(refusedRecord([] { recordFromJson<Origin>(json::parse("[1]")); }),
            "The engine sent a malformed record: an object was expected.");
}

// A change to a good job, and a part of the sentence that must refuse it.
struct Hostile {
  const char* pointer;
  const char* value;
  const char* sentence;
};

class RecordsJsonHostile : public ::testing::TestWithParam<Hostile> {};

TEST_P(RecordsJsonHostile, IsRefused) {
  json job = toJson(testing::smallJob());
  job[json::json_pointer(GetParam().pointer)] = json::parse(GetParam().value);
  const std::string text = dumpJson(job);
  EXPECT_THAT(refusedRecord([&] { recordFromJson<JobRecord>(parseRecordText(text)); }),
              ::testing::AllOf(::testing::StartsWith("The engine sent a malformed record: "),
                               ::testing::HasSubstr(GetParam().sentence)));
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordsJsonHostile,
    ::testing::Values(Hostile{"/command", "5", "\"command\" must be a string"},
                      Hostile{"/model", "null", "an object was expected"},
                      Hostile{"/model/file_bytes", "-1", "\"file_bytes\" is -1"},
                      Hostile{"/model/file_bytes", "1.5", "\"file_bytes\" must be a whole number"},
                      Hostile{"/model/file_bytes", "18446744073709551615", "\"file_bytes\" is too large"},
                      Hostile{"/model/nodes", "2147483648", "\"nodes\" is too large"},
                      Hostile{"/model/origins/1/id", "0", "two origins have the same id"},
                      Hostile{"/passes/0/changed", "1", "\"changed\" must be true or false"},
                      Hostile{"/passes/0/hash_before", "-1", "\"hash_before\" is -1"},
                      Hostile{"/passes/1/index", "1", "two passes have the same index"},
                      Hostile{"/passes/0/snapshot", "[]", "an object was expected"},
                      Hostile{"/frozen/nodes/3/id", "4", "a node's id is not its index"},
                      Hostile{"/frozen/nodes/3/parent", "3", "a node's parent does not come before it"},
                      Hostile{"/frozen/nodes/3/inputs", "[99999]", "a node reads a value that does not exist"},
                      Hostile{"/frozen/nodes/3/inputs", "[-1]", "\"inputs\" is -1"},
                      Hostile{"/frozen/nodes/3/inputs", "[10]", "a node reads a value that is made later"},
                      Hostile{"/frozen/nodes/3/outputs", "[19]", "a node writes a value that does not exist"},
                      Hostile{"/frozen/nodes/3/attributes", R"([["a"]])", "\"attributes\" must hold pairs"},
                      Hostile{"/frozen/values/3/id", "2", "a value's id is not its index"},
                      Hostile{"/frozen/values/3/producer", "18", "a value names a producer that does not exist"},
                      Hostile{"/frozen/outputs", "[2147483647]", "a graph output is not among the values"},
                      Hostile{"/frozen/inputs", R"({"0":1})", "\"inputs\" must be an array"},
                      Hostile{"/remarks/0/kind", "\"maybe\"", "neither applied nor missed"},
                      Hostile{"/remarks/0/origins", "[-3]", "\"origins\" is -3"},
                      Hostile{"/runs/1/turn", "[0]", "turn and latency_ns differ in length"},
                      Hostile{"/runs/1/latency_ns/0", "-5", "\"latency_ns\" is -5"},
                      Hostile{"/runs/1/cpu_per_wall", "\"2\"", "\"cpu_per_wall\" must be a number"},
                      Hostile{"/runs/1/steps/1/index", "0", "two steps have the same index"},
                      Hostile{"/runs/1/steps/1/arena_begin", "-2", "\"arena_begin\" is -2, the least possible is -1"},
                      Hostile{"/runs/1/dispatches/0/step", "77", "a dispatch names a step that does not exist"},
                      Hostile{"/runs/1/step_times/0/step", "77", "a time names a step that does not exist"},
                      Hostile{"/runs/1/step_times/0/begin_ns", "[1]",
                              "begin_ns and elapsed_ns of a step differ in length"}));

TEST(RecordsJson, RefusesOverLongStringsAndArrays) {
  json origin = toJson(Origin{});
  origin["kind"] = std::string((std::size_t{1} << 20) + 1, 'x');
  EXPECT_THAT(refusedRecord([&] { recordFromJson<Origin>(origin); }),
              ::testing::HasSubstr("\"kind\" has 1048577 bytes"));
  json run = toJson(RunRecord{});
  run["latency_ns"] = json(std::vector<int>((std::size_t{1} << 22) + 1, 1));
  EXPECT_THAT(refusedRecord([&] { recordFromJson<RunRecord>(run); }),
              ::testing::HasSubstr("\"latency_ns\" has 4194305 elements"));
}

// Every leaf of a job replaced by each kind of wrong value: either accepted or refused, never a crash.
TEST(RecordsJson, AnyLeafMayBeAnything) {
  const json job = toJson(testing::syntheticJob(3, {1, 2}));
  const json flat = job.flatten();
  const json wrong[] = {nullptr,   true,      -1, 1e300, "x", json::array({1}), json::object({{"a", 1}}),
                        INT64_MIN, UINT64_MAX};
  std::size_t refused = 0;
  std::size_t seen = 0;
  for (auto leaf = flat.begin(); leaf != flat.end(); ++leaf) {
    if (++seen % 7 != 0) continue;
    json changed = job;
    changed[json::json_pointer(leaf.key())] = wrong[seen / 7 % std::size(wrong)];
    refused += refusedRecord([&] { recordFromJson<JobRecord>(changed); }) != "accepted";
  }
  EXPECT_GT(refused, seen / 14);
}

}  // namespace
}  // namespace ipex_studio

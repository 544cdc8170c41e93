// The points that curves are measured at.
#include "studio/curves/curve_points.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studio/curves/measure_curves.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const std::vector<CoreSplit>& splits) {
  std::vector<std::string> all;
  for (const CoreSplit& split : splits) all.push_back(fmt::format("{}x{}", split.instances, split.threads));
  return all;
}

TEST(CurvePoints, FillTheMachineWithoutLists) {
  std::vector<std::string> notes;
  EXPECT_THAT(texts(coreSplits({}, 1, false, &notes)), ElementsAre("1x1"));
  EXPECT_THAT(texts(coreSplits({}, 2, false, &notes)), ElementsAre("1x1", "1x2", "2x1"));
  EXPECT_THAT(texts(coreSplits({}, 6, false, &notes)), ElementsAre("1x1", "1x2", "1x4", "1x6", "3x2", "6x1"));
  EXPECT_TRUE(notes.empty());
}

TEST(CurvePoints, LeaveOutWhatNeedsMoreCoresThanThereAre) {
  CurvesRequest request;
  request.threads = {2, 1, 2};
  request.instances = {1, 2};
  std::vector<std::string> notes;
  EXPECT_THAT(texts(coreSplits(request, 2, false, &notes)), ElementsAre("1x1", "1x2", "2x1"));
  EXPECT_THAT(notes, ElementsAre("2 instances of 2 threads need 4 cores; there are 2."));
  notes.clear();
  request.threads = {8};
  EXPECT_TRUE(coreSplits(request, 1, false, &notes).empty());
  EXPECT_THAT(notes.front(), HasSubstr("there is 1"));
}

TEST(CurvePoints, HaveOneInstanceWhereTheModelKeepsState) {
  std::vector<std::string> notes;
  EXPECT_THAT(texts(coreSplits({}, 4, true, &notes)), ElementsAre("1x1", "1x2", "1x4"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes.front(), HasSubstr("keeps state"));
}

TEST(CurvePoints, ShareTheTime) {
  const CurveRounds few = curveRounds(60, 3);
  EXPECT_EQ(few.rounds, 7);
  EXPECT_EQ(few.turn_s, 1);
  const CurveRounds many = curveRounds(65, 100);
  EXPECT_EQ(many.rounds, 6);
  EXPECT_NEAR(many.turn_s * many.rounds * 100, 65, 1);
  EXPECT_EQ(curveRounds(0.1, 10).rounds, 3) << "a ratio needs a few";
}

TEST(CurvePrecisions, AreThoseThatTheRequestHasWhatItTakesFor) {
  JobRequest request;
  request.force_precision = true;  // all that need no recipe
  EXPECT_THAT(curvePrecisions(request), ElementsAre(Precision::kFp32, Precision::kBf16, Precision::kFp16));
  request.optimize.quantization_recipe = "{}";
  EXPECT_EQ(curvePrecisions(request).back(), Precision::kInt8);
  request.curves.every_precision = false;
  EXPECT_THAT(curvePrecisions(request), ElementsAre(Precision::kFp32));
  request.also = {Precision::kFp32};
  request.optimize.precision = Precision::kInt8;
  EXPECT_THAT(curvePrecisions(request), ElementsAre(Precision::kFp32, Precision::kInt8));
  request.optimize.quantization_recipe.clear();
  EXPECT_THROW(curvePrecisions(request), Error);
}

}  // namespace
}  // namespace ipex_studio

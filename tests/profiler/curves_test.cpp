// Curves: the best points, the sentence about them, and curves in the database and in reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "profiler/curves/curve_choice.h"
#include "profiler/curves/curves_table.h"
#include "profiler/database.h"
#include "profiler/export/export_html.h"
#include "profiler/sqlite.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CurvePoint point(std::int64_t batch, std::int32_t instances, std::int32_t threads, double p50_ms, double rate) {
  CurvePoint made;
  made.batch = batch;
  made.instances = instances;
  made.threads = threads;
  made.inputs = {"x:" + std::to_string(batch) + "x3:float32"};
  made.requests = 50;
  made.p50_ns = p50_ms * 1e6;
  made.p99_ns = p50_ms * 1.5e6;
  made.rate_per_s = {rate * 0.98, rate, rate * 1.02};
  made.memory_bytes = 100'000'000;
  made.sqnr_db = 120;
  made.noise = "quiet";
  return made;
}

// Two threads at batch 1 are quickest, two instances at batch 4 compute most.
CurvesRecord twoCores() {
  CurvesRecord curves;
  curves.points = {point(1, 1, 1, 10, 100), point(1, 1, 2, 6, 160), point(1, 2, 1, 11, 180),
                   point(4, 1, 1, 36, 28),  point(4, 1, 2, 20, 50), point(4, 2, 1, 22, 90)};
  curves.notes = {"Batch 16 is left out: the model does not take it."};
  curves.noise = "quiet";
  return curves;
}

TEST(CurveChoice, NamesTheBestOfEachKind) {
  const CurveChoice choice = chooseCurvePoints(twoCores(), 20);
  EXPECT_EQ(choice.throughput, 5U) << "360 samples/s";
  EXPECT_EQ(choice.latency, 1U);
  EXPECT_EQ(choice.within_limit, 2U) << "180 samples/s with a p99 of 16.5 ms";
  EXPECT_FALSE(chooseCurvePoints(twoCores(), 1).within_limit);
  EXPECT_FALSE(chooseCurvePoints(twoCores()).within_limit);
  EXPECT_FALSE(chooseCurvePoints({}).throughput);
}

TEST(CurveChoice, NeverMarksWrongOrUnmeasuredPoints) {
  CurvesRecord curves = twoCores();
  curves.points[5].accurate = false;
  EXPECT_EQ(chooseCurvePoints(curves).throughput, 4U);
  curves.points[1].requests = 0;
  EXPECT_EQ(chooseCurvePoints(curves).latency, 0U);
}

TEST(CurveChoice, TakesFewerCoresWhereTheyAreAsGood) {
  CurvesRecord curves;
  curves.points = {point(1, 1, 4, 10, 100.5), point(1, 1, 1, 10.05, 100)};
  EXPECT_EQ(chooseCurvePoints(curves).throughput, 1U);
  EXPECT_EQ(chooseCurvePoints(curves).latency, 1U);
}

TEST(CurveChoice, SaysWhatTheBestSplitGains) {
  EXPECT_EQ(curvesSentence(twoCores()),
            "2 instances of 1 thread at batch 4: 1.80 x the requests/s of 1 instance of 2 threads (95 % 1.80 to "
            "1.80).");
  CurvesRecord curves = twoCores();
  curves.points[5].accurate = false;
  EXPECT_THAT(curvesSentence(curves), HasSubstr("no other split of the cores computes more"));
  curves = twoCores();
  curves.points[5].rate_per_s = {45, 55, 52};
  EXPECT_THAT(curvesSentence(curves), HasSubstr("no clear difference"));
  EXPECT_EQ(curvesSentence({}), "");
}

TEST(CurveChoice, GivesFlagsThatAShellTakes) {
  CurvePoint made = point(2, 2, 1, 1, 1);
  EXPECT_EQ(pointFlags(made), "--threads 1 --instances 2 --precision fp32 --input x:2x3:float32");
  made.inputs = {"ids:2x128:int64[0,9]", "say=\"it's\""};
  EXPECT_EQ(pointFlags(made),
            "--threads 1 --instances 2 --precision fp32 --input 'ids:2x128:int64[0,9]' --input 'say=\"it'\\''s\"'");
}

TEST(CurvesTable, ShowsEveryPointWithItsMarks) {
  CurvesRecord curves = twoCores();
  curves.points[3].requests = 0;
  const std::string text = curvesTable(curves, 20, false);
  EXPECT_THAT(text, HasSubstr("most samples/s"));
  EXPECT_THAT(text, HasSubstr("most within 20 ms"));
  EXPECT_THAT(text, HasSubstr("Batch 16 is left out"));
  EXPECT_THAT(text, HasSubstr("The machine was quiet."));
  const nlohmann::json json = curvesJson(curves, 20);
  EXPECT_EQ(json["points"].size(), 6U);
  EXPECT_EQ(json["best"]["throughput"], 5);
  EXPECT_TRUE(json["points"][3]["p50_ms"].is_null());
  EXPECT_EQ(json["points"][5]["samples_per_s"], 360);
  EXPECT_THAT(curvesTable(curves, 1, false), HasSubstr("No point keeps its p99 within 1 ms."));
}

void expectEqual(const CurvesRecord& a, const CurvesRecord& b) {
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.noise, b.noise);
  EXPECT_EQ(a.complete, b.complete);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t p = 0; p < a.points.size(); ++p) {
    EXPECT_EQ(pointFlags(a.points[p]), pointFlags(b.points[p]));
    EXPECT_EQ(a.points[p].rate_per_s, b.points[p].rate_per_s);
    EXPECT_EQ(a.points[p].p99_ns, b.points[p].p99_ns);
    EXPECT_EQ(a.points[p].memory_bytes, b.points[p].memory_bytes);
    EXPECT_EQ(a.points[p].accurate, b.points[p].accurate);
    EXPECT_EQ(a.points[p].noise, b.points[p].noise);
  }
}

TEST(CurvesRows, AreReadAsTheyWereWritten) {
  const testing::TempDirectory directory;
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  const JobRecord job = testing::smallJob();
  const std::int64_t id = database.record(job);
  EXPECT_TRUE(database.curves(id).empty());
  CurvesRecord curves = twoCores();
  curves.complete = false;
  curves.points[2].accurate = false;
  curves.points[2].sqnr_db = std::nan("");
  database.recordCurves(id, curves);
  const CurvesRecord read = database.curves(id);
  expectEqual(read, curves);
  EXPECT_TRUE(std::isnan(read.points[2].sqnr_db));
  EXPECT_EQ(read.started_unix_ns, job.started_unix_ns);
  expectEqual(database.newestCurves(job.model.sha256, job.machine.cpu), curves);
  EXPECT_TRUE(database.newestCurves(job.model.sha256, "another CPU").empty());
  EXPECT_TRUE(database.newestCurves("another model", job.machine.cpu).empty());
}

TEST(CurvesRows, AreImportedAndPrunedWithTheirJob) {
  const testing::TempDirectory directory;
  {
    Database other = Database::open(directory.file("a.db"), OpenMode::kReadWrite);
    other.recordCurves(other.record(testing::smallJob()), twoCores());
  }
  Database database = Database::open(directory.file("b.db"), OpenMode::kReadWrite);
  ASSERT_EQ(database.import(directory.file("a.db")), 1);
  expectEqual(database.curves(1), twoCores());
  database.prune({0, -1});
  EXPECT_EQ(Connection(directory.file("b.db"), false).integer("SELECT count(*) FROM curve_point"), 0);
}

TEST(CurvesRows, OldDatabasesHaveNoneAndForeignOnesAreChecked) {
  const testing::TempDirectory directory;
  testing::makeOldDatabase(directory.file("old.db"), 10);
  EXPECT_TRUE(Database::open(directory.file("old.db"), OpenMode::kReadOnly).curves(1).empty());
  Database::open(directory.file("old.db"), OpenMode::kReadWrite).recordCurves(1, twoCores());
  const Database database = Database::open(directory.file("old.db"), OpenMode::kReadOnly);
  EXPECT_EQ(database.curves(1).points.size(), 6U);
  for (const char* change : {"threads = 0", "rate_per_s = '[]'", "p50_ns = -1", "inputs = '[1]'", "inputs = '{'"}) {
    SCOPED_TRACE(change);
    Connection(directory.file("old.db"), true)
        .execute(fmt::format("UPDATE curve_point SET {} WHERE position = 2", change).c_str());
    EXPECT_THROW(database.curves(1), Error);
    Connection(directory.file("old.db"), true)
        .execute(
            "UPDATE curve_point SET threads = 1, rate_per_s = '[1]', p50_ns = 1, inputs = '[]' WHERE position = 2");
  }
}

TEST(CurvesHtml, StandsInTheReportWhereItWasMeasured) {
  const JobRecord job = testing::smallJob();
  EXPECT_THAT(htmlReport(job), Not(HasSubstr("Curves")));
  const std::string page = htmlReport(job, {}, {}, twoCores());
  EXPECT_THAT(page, HasSubstr("Curves"));
  EXPECT_THAT(page, HasSubstr("1.80 x the requests/s of 1 instance of 2 threads"));
  EXPECT_THAT(page, HasSubstr("2 instances of 1 thread at batch 4: 360 samples/s, p50 22"));
}

}  // namespace
}  // namespace ipex_studio

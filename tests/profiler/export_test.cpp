// Exports are valid in their format, complete, and harmless whatever the model's names hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/record/device_copy_name.h"
#include "core/record/records_json.h"
#include "profiler/comparison.h"
#include "profiler/export/export_html.h"
#include "profiler/export/export_json.h"
#include "profiler/run_table.h"
#include "profiler/summary.h"
#include "profiler/text.h"
#include "tests/profiler/synthetic_job.h"

namespace ipex_studio {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::syntheticJob;

constexpr const char* kHostile = "<script>alert('x')</script>\"&\x1b[31m\xff\xe2\x80\xae,=1+1\n";

// A job with hostile text in every name that a model file decides.
JobRecord hostileJob() {
  JobRecord job = syntheticJob(3, {2, 20});
  job.model.path = std::string("dir/") + kHostile;
  job.options = kHostile;
  for (Origin& origin : job.model.origins) origin.module_path = origin.kind = origin.source = kHostile;
  for (InputRecord& input : job.model.inputs) input.name = input.description = kHostile;
  for (Remark& remark : job.remarks) remark.text = remark.reason = remark.pass = kHostile;
  for (PassRecord& pass : job.passes) pass.name = pass.summary = kHostile;
  for (RunRecord& run : job.runs) {
    run.accuracy.text = kHostile;
    for (StepRecord& step : run.steps) {
      step.name = step.kind = step.implementation = step.dst_layout = step.dst_shape = step.precision = kHostile;
    }
    for (StepTime& time : run.step_times) time.name = time.kind = kHostile;
  }
  job.machine.cpu = job.machine.governor = kHostile;
  return job;
}

TEST(Exports, TellWhereTheDifferenceComesFrom) {
  const JobRecord job = syntheticJob();
  const json waterfall = benchJson(job).at("waterfall");
  double sum = 0;
  for (const json& bar : waterfall.at("bars")) sum += bar.at("gain_ms").get<double>();
  EXPECT_NEAR(sum, waterfall.at("before_ms").get<double>() - waterfall.at("after_ms").get<double>(), 1e-9);
  EXPECT_THAT(htmlReport(job, {}), HasSubstr("Fused operations"));
  EXPECT_THAT(runTable(job, 120, false), HasSubstr("Fused operations"));
  EXPECT_TRUE(benchJson(JobRecord()).at("waterfall").is_null());
}

TEST(Summary, SharesAndUnattributedAddUpToTheRun) {
  const JobRecord job = syntheticJob();
  const RunDigest digest = digestOf(job.runs[1]);
  EXPECT_EQ(digest.steps.size(), job.runs[1].step_times.size());
  EXPECT_EQ(digest.steps_p50_ns + digest.unattributed_ns, median(job.runs[1].latency_ns));
  double shares = static_cast<double>(digest.unattributed_ns) / digest.latency.p50_ns;
  for (const StepSummary& step : digest.steps) shares += step.share;
  EXPECT_NEAR(shares, 1.0, 1e-9);
  const auto order = slowestFirst(digest.steps);
  EXPECT_GE(digest.steps[order[0]].p50_ns, digest.steps[order[1]].p50_ns);
  EXPECT_EQ(digest.steps.back().kernel, "interpreter");
}

// Profiling or noise can make all steps together longer than a run.
TEST(Summary, StepsOfSlowerRunsAreScaledToTheRun) {
  RunRecord run;
  run.latency_ns = {1000, 1000, 1000};
  run.steps.resize(2);
  run.steps[1].index = 1;
  run.steps[0].flops = run.steps[1].flops = 6000;
  run.step_times.resize(2);
  run.step_times[0].elapsed_ns = {3000};
  run.step_times[1].step = 1;
  run.step_times[1].elapsed_ns = {1000};
  const RunDigest digest = digestOf(run);
  EXPECT_NEAR(digest.step_scale, 0.25, 1e-9);
  EXPECT_EQ(digest.steps[0].p50_ns, 750);
  EXPECT_NEAR(digest.steps[0].share, 0.75, 1e-9);
  EXPECT_NEAR(digest.steps[1].share, 0.25, 1e-9);
  EXPECT_NEAR(digest.steps[0].gflops_per_s, 8, 1e-9);
  EXPECT_EQ(digest.steps_p50_ns, 1000);
  EXPECT_EQ(digest.unattributed_ns, 0);
  EXPECT_EQ(stepScaleText(digest.step_scale), "the runs in which steps were timed took 4 times as long; scaled");
  EXPECT_EQ(stepScaleText(1), "");
}

TEST(Summary, InstancesOfAStepAreOneRow) {
  RunRecord run;
  run.latency_ns = {100};
  run.steps.resize(1);
  run.step_times.resize(2);
  run.step_times[0].elapsed_ns = {10, 10};
  run.step_times[1].elapsed_ns = {30};
  run.step_times[1].thread = 1;
  const RunDigest digest = digestOf(run);
  ASSERT_EQ(digest.steps.size(), 1u);
  EXPECT_EQ(digest.steps[0].samples, 3);
  EXPECT_EQ(digest.steps[0].p50_ns, 10);
  EXPECT_EQ(digest.unattributed_ns, 90);
}

TEST(Comparison, NodesOfTheBaselineStandBesideTheFusedStep) {
  const JobRecord job = syntheticJob(1, {2, 50});
  const RunComparison comparison = compareRuns(job, 0, job, 1);
  EXPECT_NEAR(comparison.ratio.value, 1.92, 0.05);
  EXPECT_LT(comparison.ratio.low, comparison.ratio.value + 1e-9);
  EXPECT_TRUE(comparison.same_model);
  EXPECT_TRUE(comparison.same_machine);
  // Six layers; the flatten node shares an origin with the first.
  ASSERT_EQ(comparison.rows.size(), 6u);
  std::int64_t a = 0;
  for (const ComparedRow& row : comparison.rows) {
    EXPECT_EQ(row.steps_a, 3);
    a += row.a_ns;
  }
  EXPECT_EQ(a + comparison.a_unattributed_ns, comparison.a.p50_ns);
}

TEST(Comparison, AlignsByPathAndKindNotById) {
  const JobRecord a = syntheticJob(1, {2, 10});
  JobRecord b = a;
  b.started_unix_ns += 1;
  b.machine.cores = 64;
  for (Origin& origin : b.model.origins) origin.id += 1000;
  for (StepRecord& step : b.runs[1].steps) {
    for (OriginId& id : step.origins) id += 1000;
  }
  b.runs[1].step_times.pop_back();
  const RunComparison comparison = compareRuns(a, 1, b, 1);
  EXPECT_EQ(comparison.rows.size(), 6u);
  EXPECT_FALSE(comparison.same_machine);
  EXPECT_DOUBLE_EQ(comparison.ratio.value, 1.0);
  for (const ComparedRow& row : comparison.rows) EXPECT_GE(row.steps_b, 1);
}

TEST(ExportJson, HasEveryFieldThatScriptsRelyOn) {
  const json result = json::parse(dumpJson(benchJson(syntheticJob())));
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["model"].size(), 3u);
  for (const char* key : {"path", "sha256", "nodes"}) EXPECT_TRUE(result["model"].contains(key)) << key;
  for (const char* key : {"cpu", "isa", "cores", "threads", "libtorch", "onednn"}) {
    EXPECT_TRUE(result["machine"].contains(key)) << key;
  }
  ASSERT_EQ(result["runs"].size(), 2u);
  const json& run = result["runs"][1];
  EXPECT_EQ(run["variant"], "optimized");
  for (const char* key : {"device", "precision", "threads", "instances", "throughput_per_s", "compile_ms", "tune_ms",
                          "first_run_ms", "peak_rss_mb"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  for (const char* key : {"min", "mean", "p50", "p90", "p95", "p99", "max"}) {
    EXPECT_TRUE(run["latency_ms"][key].is_number_float()) << key;
  }
  for (const char* key : {"max_abs", "max_rel", "sqnr_db", "cosine", "pass"}) {
    EXPECT_TRUE(run["accuracy"].contains(key)) << key;
  }
  EXPECT_TRUE(run["coverage"]["nodes"].is_number());
  EXPECT_TRUE(run["coverage"]["time"].is_number());
  EXPECT_NEAR(result["speedup_p50"].get<double>(), 1.92, 0.05);
  EXPECT_LE(result["speedup_ci95"][0], result["speedup_p50"]);
  EXPECT_GE(result["speedup_ci95"][1], result["speedup_p50"]);
  EXPECT_EQ(run["compile_ms"], 1240.0);
}

TEST(ExportJson, SpeedupIsNullWhenOnlyOneVariantRan) {
  JobRecord job = syntheticJob(1, {1, 5});
  job.runs.pop_back();
  const json result = benchJson(job);
  EXPECT_TRUE(result["speedup_p50"].is_null());
  EXPECT_TRUE(result["speedup_ci95"].is_null());
}

TEST(ExportJson, ComparisonIsJson) {
  const JobRecord job = hostileJob();
  const json result = json::parse(dumpJson(comparisonJson(compareRuns(job, 0, job, 1))));
  EXPECT_EQ(result["schema"], 1);
  EXPECT_GT(result["rows"].size(), 0u);
}

TEST(ExportTrace, IsJsonWithOneCompleteEventPerSample) {
  const JobRecord job = hostileJob();
  const json trace = json::parse(traceJson(job));
  std::size_t samples = 0;
  for (const RunRecord& run : job.runs) {
    for (const StepTime& time : run.step_times) samples += time.elapsed_ns.size();
  }
  std::size_t events = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++events;
    EXPECT_TRUE(event["ts"].is_number());
    EXPECT_GT(event["dur"].get<double>(), 0);
    EXPECT_TRUE(event["pid"].is_number());
  }
  EXPECT_EQ(events, samples);
  EXPECT_EQ(json::parse(traceJson(JobRecord{}))["traceEvents"].size(), 0u);
}

TEST(ExportTrace, HasATrackForTheDeviceAndOneForCopies) {
  JobRecord job = syntheticJob(1, {1, 4});
  RunRecord& run = job.runs[1];
  ASSERT_GE(run.steps.size(), 3u);
  run.steps[0].device = run.steps[1].device = "opencl:1";
  run.steps[0].kernel = kDeviceCopyName;
  std::map<std::string, std::set<std::string>> steps;  // by the name of their track
  std::map<std::int64_t, std::string> names;
  const json trace = json::parse(traceJson(job));
  for (const json& event : trace["traceEvents"]) {
    if (event["pid"] != 2) continue;
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") steps[names[event["tid"]]].insert(event["name"]);
  }
  EXPECT_EQ(steps["instance 0, copies"], std::set<std::string>{run.steps[0].name});
  EXPECT_EQ(steps["instance 0 on opencl:1"], std::set<std::string>{run.steps[1].name});
  EXPECT_EQ(steps["instance 0"].count(run.steps[2].name), 1u);
  EXPECT_EQ(steps.size(), 3u);
  EXPECT_THAT(stepsCsv(job), HasSubstr(",opencl:1\r\n"));
}

// Splits CSV by the rules of RFC 4180.
std::vector<std::vector<std::string>> parseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\r' && text[i + 1] == '\n') {
      rows.emplace_back(1);
      ++i;
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(ExportCsv, QuotesAndDisarmsFormulas) {
  JobRecord job = hostileJob();
  job.runs[1].steps[0].name = "=HYPERLINK(\"http://x\")";
  job.runs[1].steps[1].name = "a,\"b\"\r\nc";
  const auto rows = parseCsv(stepsCsv(job));
  ASSERT_EQ(rows.size(), 1 + job.runs[0].step_times.size() + job.runs[1].step_times.size());
  for (const auto& row : rows) ASSERT_EQ(row.size(), 21u);
  const std::size_t first = 1 + job.runs[0].step_times.size();
  EXPECT_EQ(rows[first][5], "'=HYPERLINK(\"http://x\")");
  EXPECT_EQ(rows[first + 1][5], "a,\"b\"\r\nc");
  EXPECT_EQ(rows[0][15], "p50_ns");
}

TEST(ExportHtml, EscapesWhateverAModelIsNamed) {
  const std::string html = htmlReport(hostileJob());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, Not(HasSubstr("\xff")));
  EXPECT_THAT(html, Not(HasSubstr("\xe2\x80\xae")));
}

TEST(ExportHtml, LoadsNothingFromOutsideAndIsClosed) {
  const std::string html = htmlReport(syntheticJob());
  EXPECT_FALSE(std::regex_search(html, std::regex("https?:|src=|@import|<link|url\\([^#]")));
  for (const char* tag :
       {"table", "tr", "td", "th", "svg", "div", "details", "section", "header", "footer", "b", "ul"}) {
    const auto count = [&](const std::string& pattern) {
      const std::regex expression(pattern);
      return std::distance(std::sregex_iterator(html.begin(), html.end(), expression), std::sregex_iterator());
    };
    EXPECT_EQ(count(std::string("<") + tag + "[ >]"), count(std::string("</") + tag + ">")) << tag;
  }
}

TEST(ExportHtml, ShowsTheAnswersFirst) {
  const JobRecord job = syntheticJob();
  const std::string html = htmlReport(job);
  EXPECT_THAT(html, HasSubstr("<div class=\"number\">1.92×</div>"));
  for (const char* part :
       {"▲ faster", "117.9 dB", "unattributed", "fuse-residual-add", "other-layout-wanted",
        "layer1.0.conv3 + add + relu", "brgconv:avx512_core", "AMD EPYC 9654", "1x3x224x224:float32"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  if (const char* keep = std::getenv("IPEX_KEEP_REPORT")) {
    std::vector<JobSummary> history(6);
    for (std::size_t i = 0; i < history.size(); ++i) {
      history[i].started_unix_ns = job.started_unix_ns - static_cast<std::int64_t>(i) * 86'400'000'000'000;
      history[i].optimized_p50_ns = 64'700'000 + static_cast<std::int64_t>(i * i) * 1'500'000;
    }
    std::ofstream(keep) << htmlReport(job, history);
  }
}

TEST(ExportHtml, JobsWithLittleInThemStillHaveAReport) {
  EXPECT_THAT(htmlReport(JobRecord{}), HasSubstr("Nothing was measured."));
  JobRecord job = syntheticJob(1, {1, 3});
  job.runs.pop_back();
  EXPECT_THAT(htmlReport(job), HasSubstr("median of 3 iterations"));
  job.runs[0].step_times.clear();
  job.runs[0].latency_ns.clear();
  job.runs[0].turn.clear();
  EXPECT_THAT(htmlReport(job), HasSubstr("</html>"));
}

TEST(RunTable, FitsTheTerminalAndHidesNothing) {
  for (const std::size_t width : {60u, 80u, 120u}) {
    const std::string table = runTable(syntheticJob(), width, false);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(displayWidth(line), width) << line;
    for (const char* part :
         {"baseline", "optimized", "1.92× faster", "95 % interval", "unattributed", "other-layout-wanted"}) {
      EXPECT_THAT(table, HasSubstr(part)) << width;
    }
    EXPECT_THAT(table, Not(HasSubstr("\x1b")));
    if (std::getenv("IPEX_KEEP_REPORT")) std::cout << table << '\n';
  }
  EXPECT_THAT(runTable(syntheticJob(), 100, true), HasSubstr("\x1b[32m"));
}

TEST(RunTable, TerminalEscapesInNamesAreNotPassedOn) {
  EXPECT_THAT(runTable(hostileJob(), 100, false), Not(HasSubstr("\x1b")));
  const JobRecord job = hostileJob();
  EXPECT_THAT(comparisonTable(compareRuns(job, 0, job, 1), 100, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(runTable(JobRecord{}, 80, false), HasSubstr("0 nodes"));
}

TEST(Text, NumbersAndNames) {
  EXPECT_EQ(msText(124'123'000), "124.1");
  EXPECT_EQ(msText(64'700'000), "64.70");
  EXPECT_EQ(msText(82'000), "0.082");
  EXPECT_EQ(msText(0), "–");
  EXPECT_EQ(ratioText(1.918), "1.92×");
  EXPECT_EQ(shareText(0.0331), "3.3 %");
  EXPECT_EQ(ellipsized("übermäßig", 4), "übe…");
  EXPECT_EQ(ellipsized("kurz", 4), "kurz");
  EXPECT_EQ(printable("a\xc0\xaf"
                      "b\xe2\x82\xac"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b€");
  EXPECT_EQ(printable("\xed\xa0\x80\xe2\x82"),
            std::string("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"));
  EXPECT_EQ(dateText(0), "1970-01-01 00:00 UTC");
  EXPECT_EQ(fileName("a/b.pt"), "b.pt");
}

}  // namespace
}  // namespace ipex_studio

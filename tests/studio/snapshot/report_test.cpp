// The contents of reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "studio/panels/panel_list.h"
#include "studio/protocol/text_base64.h"
#include "studio/snapshot/snapshot_report.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Report, HoldsNothingThatIsNotText) {
  const auto job = testing::hostileJob();
  auto evil = std::make_shared<JobRecord>(*job);
  evil->model.path = "/tmp/<script>alert(1)</script>.pt";
  evil->machine.cpu = "\"><img src=x onerror=alert(1)>";
  for (StepRecord& step : evil->runs.back().steps) step.name = "</td><iframe src='http://evil'>" + step.name;
  const SnapshotPtr snapshot = makeSnapshot(evil, testing::donePartsOf(*evil), nullptr);
  for (const char* panel : {"operations", "remarks", "text", "log", "kernels", ""}) {
    const std::string html = screenReportHtml(*snapshot, {*panel == '\0' ? TableSource{} : tableSource(panel),
                                                          {"<b>selected</b>"},
                                                          std::string("\x89PNG\r\n\x1a\n\0\x01", 10)});
    EXPECT_THAT(html, Not(HasSubstr("<script"))) << panel;
    EXPECT_THAT(html, Not(HasSubstr("<iframe"))) << panel;
    EXPECT_THAT(html, Not(HasSubstr("<img src"))) << panel;
    EXPECT_THAT(html, Not(HasSubstr("<b>selected"))) << panel;
    EXPECT_THAT(html, HasSubstr("data:image/png;base64,iVBORw0KGgoAAQ==")) << panel;
    EXPECT_LT(html.size(), 8U << 20) << panel;
    for (const char c : html) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  }
}

TEST(Base64, IsThatOfTheStandard) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(toBase64(bytes), text);
    EXPECT_EQ(fromBase64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 1000; ++i) all += static_cast<char>(i * 7);
  EXPECT_EQ(fromBase64(toBase64(all)), all);
  for (const char* bad : {"Zg=", "Zg=a", "Z===", "Zg==Zg==", "Zm 9", "\xff\xff\xff\xff"})
    EXPECT_FALSE(fromBase64(bad)) << bad;
}

}  // namespace
}  // namespace ipex_studio

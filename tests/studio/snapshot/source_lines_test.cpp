// Lines of a model's source with their nodes and times.
#include "studio/snapshot/source_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studio/panels/panel_list.h"
#include "studio/snapshot/snapshot_tables.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;

SourceRecord netSource() {
  SourceRecord source;
  source.files = {{"code/net.py", false, 1, "def forward(x):\n  y = conv(x)\n  return y", false},
                  {"/home/net.py", true, 0, "", false},
                  {"code/conv.py", false, 10, "return conv2d(x)\n", false}};
  source.places = {{4, 0, 2, true},   {4, 2, 10, false}, {4, 1, 21, true},  {4, 1, 8, false}, {2, 0, 2, true},
                   {2, 2, 10, false}, {2, 2, 99, false}, {3, 0, -5, false}, {3, 0, 4, false}};
  return source;
}

TEST(SourceLines, HoldTheNodesTheyGiveAndThoseTheyLeadTo) {
  const SourceRecord source = netSource();
  const auto lines = sourceLines(source, JobIndex(), false);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].number, 0);
  EXPECT_EQ(lines[2].text, "  y = conv(x)");
  EXPECT_THAT(lines[2].led, ElementsAre(2, 4));
  EXPECT_THAT(lines[2].nodes, ElementsAre(2, 4));
  EXPECT_TRUE(lines[3].nodes.empty());
  EXPECT_EQ(lines[5].number, 10);
  EXPECT_THAT(lines[5].made, ElementsAre(2, 4));
  EXPECT_TRUE(sourceLines(source, JobIndex(), true).empty()) << "of Python only places are known";
  EXPECT_FALSE(hasSource(source, true));
}

TEST(SourceLines, ShowTheAuthorsLineBeforeThatOfAPackage) {
  SourceRecord source = netSource();
  EXPECT_EQ(lineToShow(source, sourceLines(source, JobIndex(), false), 4), 5);
  source.files[2].name = "/usr/lib/python3/dist-packages/torch/conv.py";
  EXPECT_EQ(lineToShow(source, sourceLines(source, JobIndex(), false), 4), 2);
  EXPECT_EQ(lineToShow(source, sourceLines(source, JobIndex(), false), 77), -1);
}

TEST(SourceLines, TellWhereTheAuthorWroteANode) {
  EXPECT_EQ(sourcePlace(netSource(), 4), "net.py:21 → net.py:8");
  EXPECT_EQ(sourcePlace(netSource(), 2), "");
}

TEST(SourceLines, AreAPanelsTableWithTimes) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const PanelTable table = panelTable("source", *snapshot);
  ASSERT_FALSE(table.rows.empty());
  double nodes = 0, time_ms = 0;
  for (const auto& row : table.rows) {
    nodes += row[4].number;
    if (row[5].number > 0) time_ms += row[5].number;
  }
  EXPECT_GT(nodes, 0);
  EXPECT_GT(time_ms, 0);
}

}  // namespace
}  // namespace ipex_studio

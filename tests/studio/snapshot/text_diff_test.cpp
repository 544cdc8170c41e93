// Side-by-side text: every line once on its side, in order, and equal lines opposite each other.
#include "studio/snapshot/text_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace ipex_studio {
namespace {

// Checks the rules for any two texts; returns the number of lines opposite an equal one.
std::int32_t checkedMatches(const std::string& before_text, const std::string& after_text) {
  const auto before = linesOf(before_text);
  const auto after = linesOf(after_text);
  std::int32_t b = 0;
  std::int32_t a = 0;
  std::int32_t matches = 0;
  for (const DiffRow& row : diffLines(before, after)) {
    EXPECT_TRUE(row.before >= 0 || row.after >= 0);
    EXPECT_TRUE(row.before < 0 || row.before == b++);
    EXPECT_TRUE(row.after < 0 || row.after == a++);
    if (row.before < 0 || row.after < 0) continue;
    EXPECT_EQ(before[row.before], after[row.after]);
    ++matches;
  }
  EXPECT_EQ(static_cast<std::size_t>(b), before.size());
  EXPECT_EQ(static_cast<std::size_t>(a), after.size());
  return matches;
}

TEST(TextDiff, MarksWhatAPassRemovedAndAdded) {
  EXPECT_EQ(checkedMatches("a\nconv\nbn\nrelu\nz\n", "a\nconv_relu\nz\n"), 2);
  EXPECT_EQ(checkedMatches("a\nb\nc\n", "a\nb\nc\n"), 3);
  EXPECT_EQ(checkedMatches("", "a\nb\n"), 0);
  EXPECT_EQ(checkedMatches("x\nx\nx\n", "x\nx\n"), 2);
  EXPECT_EQ(checkedMatches("a\nb", "b\na"), 1);
}

TEST(TextDiff, RandomTextsKeepTheRules) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      for (unsigned n = random() % 40; n > 0; --n) text += static_cast<char>('a' + random() % 12) + std::string("\n");
    }
    checkedMatches(texts[0], texts[1]);
  }
}

}  // namespace
}  // namespace ipex_studio

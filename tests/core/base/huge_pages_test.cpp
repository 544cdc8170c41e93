// Collapsing keeps contents, and does nothing where it cannot work.
#include "core/base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace ipex_studio {
namespace {

// The kernel decides whether pages move; contents and addresses stay, whichever part of the memory is named.
TEST(HugePages, CollapsingKeepsContents) {
  std::vector<std::uint32_t> values(3 * kHugePage / sizeof(std::uint32_t) + 777);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  collapseIntoHugePages(values.data(), values.size() * sizeof(values[0]));
  collapseIntoHugePages(values.data() + 5, kHugePage);
  collapseIntoHugePages(values.data(), 1);
  collapseIntoHugePages(values.data(), 0);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != static_cast<std::uint32_t>(i * 2654435761u);
  EXPECT_EQ(wrong, 0u);
}

// Memory that cannot be collapsed is left alone: constants of the program, less than a page, null.
TEST(HugePages, DeclinesQuietly) {
  static const char kConstant[64] = "read only";
  collapseIntoHugePages(kConstant, sizeof kConstant);
  collapseIntoHugePages(nullptr, 0);
  EXPECT_STREQ(kConstant, "read only");
}

}  // namespace
}  // namespace ipex_studio

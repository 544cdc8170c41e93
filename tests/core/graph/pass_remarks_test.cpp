// Remarks come back in order, and none of them after clear().
#include "core/graph/pass_remarks.h"

#include <gtest/gtest.h>

#include "core/graph/reasons.h"

namespace ipex_studio {
namespace {

std::vector<Remark> remarksIn(const PassRemarks& log) {
  std::vector<Remark> remarks;
  log.visit("fuse-add", [&](const Remark& remark) { remarks.push_back(remark); });
  return remarks;
}

TEST(PassRemarks, GivesBackWhatWasSaidInOrder) {
  PassRemarks log;
  for (OriginId n = 0; n < 1000; ++n) {
    log.add(RemarkKind::kApplied, reasons::kApplied, "fused add", {n, n + 1});
    log.add(RemarkKind::kMissed, reasons::kOtherUses, "read by " + std::to_string(n % 3), {});
  }
  const std::vector<Remark> remarks = remarksIn(log);
  ASSERT_EQ(remarks.size(), 2000u);
  for (OriginId n = 0; n < 1000; ++n) {
    const Remark& applied = remarks[2 * static_cast<std::size_t>(n)];
    const Remark& missed = remarks[2 * static_cast<std::size_t>(n) + 1];
    EXPECT_EQ(applied.pass, "fuse-add");
    EXPECT_EQ(applied.kind, RemarkKind::kApplied);
    EXPECT_EQ(applied.reason, reasons::kApplied);
    EXPECT_EQ(applied.text, "fused add");
    EXPECT_EQ(applied.origins, (std::vector<OriginId>{n, n + 1}));
    EXPECT_EQ(missed.kind, RemarkKind::kMissed);
    EXPECT_EQ(missed.reason, reasons::kOtherUses);
    EXPECT_EQ(missed.text, "read by " + std::to_string(n % 3));
    EXPECT_TRUE(missed.origins.empty());
  }
}

TEST(PassRemarks, BeginsAnewWhenCleared) {
  PassRemarks log;
  log.add(RemarkKind::kMissed, reasons::kOtherUses, "before", {1});
  log.clear();
  EXPECT_TRUE(remarksIn(log).empty());
  log.add(RemarkKind::kApplied, reasons::kApplied, "after", {2});
  const std::vector<Remark> remarks = remarksIn(log);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].text, "after");
  EXPECT_EQ(remarks[0].origins, std::vector<OriginId>{2});
}

}  // namespace
}  // namespace ipex_studio

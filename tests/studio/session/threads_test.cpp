// Parts of a session that threads share: the queue of commands and the feed of snapshots. Needs no engine.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <variant>

#include "studio/session/command_queue.h"
#include "studio/session/snapshot_feed.h"

namespace ipex_studio {
namespace {

SnapshotPtr snapshotAfter(const SnapshotPtr& previous) {
  return previous ? withStatus(previous, {}) : makeSnapshot(nullptr, {}, nullptr);
}

TEST(CommandQueue, GivesCommandsInOrderAndIsIdleBetween) {
  CommandQueue queue;
  EXPECT_TRUE(queue.idle());
  queue.post(OpenCommand{"model.pt"});
  queue.post(CompareCommand{});
  EXPECT_FALSE(queue.idle());
  const std::optional<Command> first = queue.next();
  ASSERT_TRUE(first && std::holds_alternative<OpenCommand>(*first));
  queue.done();
  EXPECT_FALSE(queue.idle()) << "one still waits";
  const std::optional<Command> second = queue.next();
  ASSERT_TRUE(second && std::holds_alternative<CompareCommand>(*second));
  EXPECT_FALSE(queue.idle()) << "it runs";
  queue.done();
  EXPECT_TRUE(queue.idle());
}

TEST(CommandQueue, AsksTheRunningCommandToEnd) {
  CommandQueue queue;
  queue.post(CancelCommand{});
  EXPECT_TRUE(queue.idle()) << "nothing runs that could be cancelled";
  queue.post(OpenCommand{"model.pt"});
  ASSERT_TRUE(queue.next());
  EXPECT_FALSE(queue.cancellation().requested());
  queue.post(ExportCommand{});
  EXPECT_FALSE(queue.cancellation().requested()) << "an export can wait";
  queue.post(OverrideCommand{});
  EXPECT_FALSE(queue.cancellation().requested()) << "nothing is measured";
  queue.post(OptimizeCommand{});
  EXPECT_TRUE(queue.cancellation().requested());
  queue.done();
  ASSERT_TRUE(queue.next());
  EXPECT_FALSE(queue.cancellation().requested()) << "it was meant for the command before";
  queue.post(CancelCommand{});
  EXPECT_TRUE(queue.cancellation().requested());
}

TEST(CommandQueue, StopsAWaitingThread) {
  CommandQueue queue;
  std::atomic<int> taken{0};
  std::thread worker([&] {
    while (queue.next()) {
      ++taken;
      queue.done();
    }
  });
  for (int i = 0; i < 100; ++i) queue.post(CompareCommand{});
  while (!queue.idle()) std::this_thread::yield();
  queue.stop();
  worker.join();
  EXPECT_EQ(taken, 100);
  queue.post(CompareCommand{});
  EXPECT_FALSE(queue.next());
}

TEST(SnapshotFeed, WakesTheWindowUnlessSomethingIsTimed) {
  SnapshotFeed feed;
  int wakes = 0;
  feed.publish(snapshotAfter(nullptr));
  feed.setWakeup([&] { ++wakes; });
  feed.publish(snapshotAfter(feed.latest()));
  EXPECT_EQ(wakes, 1);
  feed.drew(10, 20, false);
  feed.setTimed(true);
  EXPECT_TRUE(feed.timed());
  feed.publish(snapshotAfter(feed.latest()));
  feed.publish(snapshotAfter(feed.latest()));
  EXPECT_EQ(wakes, 1) << "held back";
  feed.setTimed(false);
  EXPECT_EQ(wakes, 2) << "once for all that were held back";
  EXPECT_EQ(feed.latest()->revision, 4U);
  EXPECT_TRUE(feed.disturbed(15, 30));
  EXPECT_FALSE(feed.disturbed(20, 30));
}

TEST(SnapshotFeed, IsSharedByTheWorkingAndTheDrawingThread) {
  SnapshotFeed feed;
  feed.publish(snapshotAfter(nullptr));
  std::atomic<int> asked{0};
  feed.setWakeup([&] { ++asked; });
  constexpr int kSnapshots = 200;
  std::thread working([&] {
    for (int i = 0; i < kSnapshots; ++i) {
      feed.setTimed(i % 2 == 0);
      feed.publish(snapshotAfter(feed.latest()));
      feed.disturbed(0, i);
    }
    feed.setTimed(false);
  });
  std::uint64_t seen = 0;
  for (std::int64_t now = 0; seen <= kSnapshots; ++now) {
    const std::uint64_t revision = feed.latest()->revision;
    EXPECT_GE(revision, seen);
    seen = revision;
    if (!feed.timed()) feed.drew(now, now + 1, false);
    std::this_thread::yield();
  }
  feed.setWakeup({});
  working.join();
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace ipex_studio

// The heap of graphs: the arena that blocks lie in, their reuse, and memory that is given back.
#include "core/graph/graph_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/freed_memory.h"
#include "core/base/jemalloc.h"
#include "tests/resident_memory.h"

namespace ipex_studio {
namespace {

// The jemalloc arena that `memory` lies in.
std::optional<unsigned> arenaOf(void* memory) {
  unsigned arena = 0;
  std::size_t size = sizeof(arena);
  if (mallctl == nullptr || mallctl("arenas.lookup", &arena, &size, &memory, sizeof(memory)) != 0) return {};
  return arena;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory filled(std::size_t bytes) {
  Memory memory(std::malloc(bytes));
  std::memset(memory.get(), 0x5a, bytes);
  return memory;
}

class GraphHeapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!arenaOf(filled(64).get())) GTEST_SKIP() << "no jemalloc in this process";
  }
};

TEST_F(GraphHeapTest, HoldsWhatItsThreadAllocatesWhileItLives) {
  const auto before = arenaOf(filled(64).get());
  std::optional<unsigned> inside, nested, after_nested, elsewhere;
  {
    const GraphHeap heap;
    inside = arenaOf(filled(64).get());
    {
      const GraphHeap again;
      nested = arenaOf(filled(1 << 20).get());
    }
    after_nested = arenaOf(filled(64).get());
    std::thread([&] { elsewhere = arenaOf(filled(64).get()); }).join();
  }
  EXPECT_NE(inside, before);
  EXPECT_EQ(nested, inside);
  EXPECT_EQ(after_nested, inside);
  EXPECT_NE(elsewhere, inside);
  EXPECT_EQ(arenaOf(filled(64).get()), before);
}

TEST_F(GraphHeapTest, KeepsMemoryOfAllSizesAndAlignmentsAfterItsEnd) {
  struct Block {
    Memory memory;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  {
    const GraphHeap heap;
    for (std::size_t bytes = 1; bytes <= (std::size_t{32} << 20); bytes = bytes * 3 + 1) {
      blocks.push_back({filled(bytes), bytes});
      void* aligned = nullptr;
      for (const std::size_t alignment : {std::size_t{4096}, std::size_t{16} << 20}) {
        ASSERT_EQ(posix_memalign(&aligned, alignment, bytes), 0);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % alignment, 0u);
        std::memset(aligned, 0x5a, bytes);
        blocks.push_back({Memory(aligned), bytes});
      }
    }
  }
  returnFreedMemory();
  for (const Block& block : blocks) {
    const auto* bytes = static_cast<const unsigned char*>(block.memory.get());
    for (std::size_t n = 0; n < block.bytes; ++n) ASSERT_EQ(bytes[n], 0x5a) << "byte " << n << " of " << block.bytes;
  }
  std::thread([&] { blocks.clear(); }).join();  // any thread may free
}

TEST_F(GraphHeapTest, ZeroedMemoryIsZeroWhenUsedAgain) {
  const GraphHeap heap;
  constexpr std::size_t kBytes = std::size_t{5} << 20;
  for (int round = 0; round < 3; ++round) {
    filled(kBytes).reset();
    const std::unique_ptr<unsigned char, Free> zeros(static_cast<unsigned char*>(std::calloc(kBytes, 1)));
    for (std::size_t n = 0; n < kBytes; n += 511) ASSERT_EQ(zeros.get()[n], 0);
    if (round == 1) returnFreedMemory();
  }
}

TEST_F(GraphHeapTest, GivesFreedMemoryBackWhenTold) {
  constexpr std::size_t kBlock = 64 << 10, kBlocks = 2048;
  std::vector<Memory> blocks;
  {
    const GraphHeap heap;
    for (std::size_t n = 0; n < kBlocks; ++n) blocks.push_back(filled(kBlock));
  }
  const std::size_t full = residentBytes();
  blocks.clear();
  returnFreedMemory();
  EXPECT_LT(residentBytes(), full - kBlock * kBlocks / 2);
}

}  // namespace
}  // namespace ipex_studio

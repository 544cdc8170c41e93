// Tuning records are read as they were written, and damaged entries are left out.
#include "core/record/tuning_store.h"

#include <gtest/gtest.h>

#include "core/op/layout_text.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

using testing::Random;

TuningEntry sample(const std::string& spec, std::int64_t elapsed_ns) {
  TuningCandidate fast{-1, "fast", 1, {"channels-last", ""}, "row-major", "jit:x", elapsed_ns, 1e-6, ""};
  TuningCandidate refused{-1, "refused", 0, {}, "", "", 0, 0, "dtype"};
  return {spec, 1, {fast, refused}};
}

TEST(TuningStore, ComesBackFromText) {
  MemoryTuningStore store;
  const TuningKey one{"cpu", "avx2", "lib 1", 1}, two{"cpu", "avx2", "lib 1", 2};
  store.put(one, sample("a", 10));
  store.put(one, sample("b", 20));
  store.put(two, sample("a", 30));
  MemoryTuningStore read;
  read.readText(store.toJson(true).dump());
  EXPECT_EQ(read.toJson(false), store.toJson(false));
  EXPECT_EQ(read.toJson(true)["tuning"].size(), 0u) << "what was read is not new";
  const auto found = read.find(two, "a", 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->candidates[0].elapsed_ns, 30);
  EXPECT_EQ(found->candidates[1].reason, "dtype");
  EXPECT_FALSE(read.find(two, "b", 1));
  EXPECT_FALSE(read.find(two, "a", 2)) << "a quick measurement is not a full one";
}

TEST(TuningStore, RecordsOfVersion010KeepTheirWorth) {
  MemoryTuningStore store;
  TuningEntry entry = sample("expand_depthwise{padding=[1,1]} : 1x8x4x4", 10);
  entry.candidates[0].kernel = "expand_depthwise_simd";
  entry.candidates[1].kernel = "linear_onednn_widened_weights";
  store.put({}, entry);
  MemoryTuningStore read;
  read.readText(store.toJson(false).dump());
  const auto found = read.find({}, "pointwise_depthwise{padding=[1,1]} : 1x8x4x4", 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->candidates[0].kernel, "pointwise_depthwise_simd");
  EXPECT_EQ(found->candidates[1].kernel, "linear_onednn_upconverted_weights");
}

TEST(TuningStore, DamagedRecordsAreHintsLeftOut) {
  MemoryTuningStore store;
  store.put({}, sample("a", 10));
  store.put({}, sample("b", 20));
  const std::string text = store.toJson(false).dump();
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (std::int64_t times = random.between(1, 4); times > 0; --times) {
      const std::size_t at = random.index(damaged.size());
      switch (random.between(0, 2)) {
        case 0:
          damaged[at] = static_cast<char>(random.between(0, 255));
          break;
        case 1:
          damaged.erase(at, static_cast<std::size_t>(random.between(1, 20)));
          break;
        default:
          damaged.insert(at, random.chance(50) ? "99999999999999999999" : "[[[{\"spec\":");
          break;
      }
    }
    MemoryTuningStore read;
    read.readText(damaged);
    for (const char* spec : {"a", "b"}) {
      const auto found = read.find({}, spec, 1);
      if (!found) continue;
      for (const TuningCandidate& candidate : found->candidates)
        ASSERT_TRUE(candidate.kept >= 0 && candidate.elapsed_ns >= 0);
    }
  }
  MemoryTuningStore read;
  for (const char* hostile : {"", "[", "null", "{\"tuning\":7}", "{\"tuning\":[[],{},null]}"}) read.readText(hostile);
  read.readText(std::string(100000, '['));
  EXPECT_EQ(read.toJson(false)["tuning"].size(), 0u);
}

TEST(LayoutText, NamesDenseLayouts) {
  const Dims image{2, 32, 5, 4};
  for (const TensorDesc& desc : {contiguousDesc(DType::kF32, image), channelsLastDesc(DType::kF32, image),
                                 blockedDesc(DType::kF32, image, 16)}) {
    const auto read = descInLayout(layoutText(desc), DType::kF32, image);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->sameLayout(desc)) << layoutText(desc);
  }
  TensorDesc gaps = contiguousDesc(DType::kF32, image);
  gaps.strides[0] *= 2;
  EXPECT_EQ(layoutText(gaps), "");
  EXPECT_FALSE(descInLayout("channels-last", DType::kF32, Dims{2, 3}));
  EXPECT_FALSE(descInLayout("blocked-3", DType::kF32, image));
  EXPECT_TRUE(plainest(blockedDesc(DType::kF32, Dims{1, 32, 1, 1}, 16)).isContiguous());
  EXPECT_EQ(plainest(blockedDesc(DType::kF32, Dims{1, 20, 1, 1}, 16)).block, 16);
}

}  // namespace
}  // namespace ipex_studio

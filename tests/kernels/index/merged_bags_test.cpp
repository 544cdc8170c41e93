// Embedding bags of many tables: FP32 against the plain version in FP64, and the same bits for any number of threads.
#include "kernels/index/merged_bags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ipex_studio {
namespace {

// Ids, offsets, weights and gradients of a few tables, in both precisions.
struct Tables {
  std::vector<Bags> bags;
  std::vector<std::vector<std::int64_t>> ids, offsets;
  std::vector<std::vector<float>> weights, gradients;
};

Tables randomTables(std::int64_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tables tables;
  for (const std::int64_t rows : {1, 9, 3000}) {
    const std::int64_t count = 60, bags = 7;
    std::vector<std::int64_t> ids(count), offsets(bags);
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % static_cast<unsigned>(rows));
    for (std::int64_t& offset : offsets) offset = static_cast<std::int64_t>(random() % (count + 1));
    std::sort(offsets.begin(), offsets.end());
    offsets[0] = 0;
    std::vector<float> weights(static_cast<std::size_t>(rows * width)),
        gradients(static_cast<std::size_t>(bags * width));
    for (float& weight : weights) weight = normal(random);
    for (float& gradient : gradients) gradient = normal(random);
    tables.ids.push_back(ids);
    tables.offsets.push_back(offsets);
    tables.weights.push_back(weights);
    tables.gradients.push_back(gradients);
    Bags described;
    described.rows = rows;
    described.width = width;
    described.id_count = count;
    described.offset_count = described.bags = bags;
    tables.bags.push_back(described);
  }
  for (std::size_t t = 0; t < tables.bags.size(); ++t) {
    tables.bags[t].ids = tables.ids[t].data();
    tables.bags[t].offsets = tables.offsets[t].data();
  }
  return tables;
}

template <typename T>
std::vector<std::vector<T>> as(const std::vector<std::vector<float>>& values) {
  std::vector<std::vector<T>> converted;
  for (const auto& each : values) converted.emplace_back(each.begin(), each.end());
  return converted;
}

template <typename To, typename T>
std::vector<To*> pointers(std::vector<std::vector<T>>& values) {
  std::vector<To*> data;
  for (auto& each : values) data.push_back(each.data());
  return data;
}

// Results of all bags, then the tables after an update.
template <typename T>
std::vector<std::vector<T>> computed(const Tables& tables, BagMode mode, const RowUpdate& update,
                                     std::int32_t threads) {
  auto weights = as<T>(tables.weights), gradients = as<T>(tables.gradients);
  std::vector<std::vector<T>> results, states;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    EXPECT_EQ(checkBags(tables.bags[t]), "");
    results.emplace_back(gradients[t].size(), T(7));
    states.emplace_back(weights[t].size(), T(0));
  }
  sumBags<T>(tables.bags, mode, pointers<const T>(weights), pointers<T>(results), {}, threads);
  const auto touched = touchedRows(tables.bags, threads);
  updateRows<T>(tables.bags, mode, touched, pointers<const T>(gradients), {}, update, pointers<T>(weights),
                pointers<T>(states), threads);
  results.insert(results.end(), weights.begin(), weights.end());
  return results;
}

TEST(MergedBags, AgreeWithThePlainVersion) {
  for (const std::int64_t width : {1, 3, 17, 64, 100, 129}) {
    const Tables tables = randomTables(width, 5);
    for (const BagMode mode : {BagMode::kSum, BagMode::kMean}) {
      for (const auto kind : {RowUpdate::Kind::kSgd, RowUpdate::Kind::kAdagrad, RowUpdate::Kind::kRowwiseAdagrad}) {
        const RowUpdate update{kind, 0.1, 0.01, 1e-3};
        const auto exact = computed<double>(tables, mode, update, 1);
        const auto one = computed<float>(tables, mode, update, 1);
        EXPECT_EQ(one, computed<float>(tables, mode, update, 3));
        for (std::size_t t = 0; t < exact.size(); ++t) {
          for (std::size_t e = 0; e < exact[t].size(); ++e) {
            const double right = exact[t][e], tolerance = 1e-5 * std::max(1.0, std::abs(right));
            ASSERT_NEAR(one[t][e], right, tolerance) << "table " << t << ", element " << e << ", width " << width;
          }
        }
      }
    }
  }
}

TEST(MergedBags, NarrowIdsAndPadding) {
  Tables tables = randomTables(37, 8);
  const RowUpdate update{RowUpdate::Kind::kSgd, 0.1, 0, 0};
  const auto wide = computed<float>(tables, BagMode::kMean, update, 1);
  std::vector<std::vector<std::int32_t>> narrow;
  for (std::size_t t = 0; t < tables.bags.size(); ++t) {
    narrow.emplace_back(tables.ids[t].begin(), tables.ids[t].end());
    narrow.emplace_back(tables.offsets[t].begin(), tables.offsets[t].end());
  }
  for (std::size_t t = 0; t < tables.bags.size(); ++t) {
    tables.bags[t].index_type = DType::kS32;
    tables.bags[t].ids = narrow[2 * t].data();
    tables.bags[t].offsets = narrow[2 * t + 1].data();
  }
  EXPECT_EQ(computed<float>(tables, BagMode::kMean, update, 2), wide);
  // Padding that no id is: the other walk over bags.
  for (Bags& bags : tables.bags) bags.padding = bags.rows;
  EXPECT_EQ(computed<float>(tables, BagMode::kMean, update, 1), wide);
  for (Bags& bags : tables.bags) bags.padding = 0;
  const auto exact = computed<double>(tables, BagMode::kMean, update, 1);
  const auto padded = computed<float>(tables, BagMode::kMean, update, 1);
  EXPECT_NE(padded, wide);
  for (std::size_t t = 0; t < exact.size(); ++t) {
    for (std::size_t e = 0; e < exact[t].size(); ++e) ASSERT_NEAR(padded[t][e], exact[t][e], 1e-5) << t << ", " << e;
  }
}

TEST(MergedBags, RowsThatNoBagReadsStay) {
  Tables tables = randomTables(8, 6);
  const auto after = computed<float>(tables, BagMode::kSum, {RowUpdate::Kind::kSgd, 0.1, 0.5, 0}, 2);
  const std::vector<float>&weights = after[5], &before = tables.weights[2];
  for (std::int64_t row = 0; row < tables.bags[2].rows; ++row) {
    if (std::count(tables.ids[2].begin(), tables.ids[2].end(), row) > 0) continue;
    for (std::int64_t e = row * 8; e < (row + 1) * 8; ++e)
      ASSERT_EQ(weights[static_cast<std::size_t>(e)], before[static_cast<std::size_t>(e)]);
  }
}

TEST(MergedBags, FaultsAreNamed) {
  Tables tables = randomTables(4, 7);
  tables.ids[1][5] = 9;
  EXPECT_EQ(checkBags(tables.bags[1]), "position 5 holds 9, and the table has 9 rows");
  tables.offsets[0] = {0, 3, 2};
  tables.bags[0].offsets = tables.offsets[0].data();
  tables.bags[0].offset_count = 3;
  EXPECT_EQ(checkBags(tables.bags[0]), "offsets decrease at position 2");
  tables.offsets[0] = {1};
  tables.bags[0].offsets = tables.offsets[0].data();
  tables.bags[0].offset_count = 1;
  EXPECT_EQ(checkBags(tables.bags[0]), "the first offset is 1 instead of 0");
}

}  // namespace
}  // namespace ipex_studio

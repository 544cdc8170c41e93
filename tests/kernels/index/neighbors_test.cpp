// Aggregation over neighbours and softmax of segments: FP32 against the plain version in FP64, gradients of that
// against differences, and the same bits for any number of threads.
#include "kernels/index/neighbors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/index/neighbor_math.h"
#include "kernels/index/segment_softmax.h"
#include "tests/kernels/random_numbers.h"

namespace ipex_studio {
namespace {

using kernel_test::randomNumbers;

constexpr std::int64_t kRows = 23, kColumns = 11;
constexpr Aggregation kAll[] = {Aggregation::kSum, Aggregation::kMean, Aggregation::kMax, Aggregation::kMin};

// A graph with rows without entries, a row with half of them all and edges that occur twice; edges in any order.
struct Graph {
  std::vector<std::int64_t> row_of, column_of;
  GroupedEdges grouped;
  std::vector<std::int64_t> columns;

  explicit Graph(std::int64_t edges, unsigned seed = 3) {
    std::mt19937 random(seed);
    for (std::int64_t e = 0; e < edges; ++e) {
      const auto drawn = static_cast<std::int64_t>(random() % (2 * kRows));
      row_of.push_back(drawn < kRows ? drawn / 2 * 2 : 4);
      column_of.push_back(static_cast<std::int64_t>(random() % kColumns));
    }
    grouped = groupByRow(row_of.data(), edges, kRows);
    for (const std::int64_t place : grouped.places) columns.push_back(column_of[static_cast<std::size_t>(place)]);
  }

  SparseRows matrix() const { return {kRows, grouped.begins.data(), columns.data(), grouped.places.data()}; }
};

template <typename T>
struct Aggregated {
  std::vector<T> out, of_x, of_values;
  std::vector<std::int32_t> winners;
};

// Results and gradients. groups 0: without values.
template <typename T>
Aggregated<T> aggregated(const Graph& graph, Aggregation aggregation, std::int64_t width, std::int64_t groups,
                         std::int32_t threads) {
  const SparseRows matrix = graph.matrix();
  const auto edges = static_cast<std::int64_t>(graph.columns.size());
  const auto x = randomNumbers<T>(kColumns * width, 1), values = randomNumbers<T>(edges * groups, 2);
  auto gradient = randomNumbers<T>(kRows * width, 4);
  const EntryValues<T> of_entries{groups == 0 ? nullptr : values.data(), std::max<std::int64_t>(1, groups)};
  Aggregated<T> result;
  result.out.assign(gradient.size(), T(7));
  result.of_x.assign(x.size(), T(7));
  result.of_values.assign(values.size(), T(7));
  const bool extreme = aggregation == Aggregation::kMax || aggregation == Aggregation::kMin;
  if (extreme) result.winners.assign(gradient.size(), 7);
  std::int32_t* const winners = extreme ? result.winners.data() : nullptr;
  aggregateNeighbors<T>(matrix, aggregation, x.data(), width, of_entries, result.out.data(), winners, threads);
  if (aggregation == Aggregation::kMean) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::int64_t count = std::max<std::int64_t>(1, matrix.begins[row + 1] - matrix.begins[row]);
      for (std::int64_t f = 0; f < width; ++f)
        gradient[static_cast<std::size_t>(row * width + f)] /= static_cast<T>(count);
    }
  }
  const TransposedRows flipped = transposeRows(matrix, kColumns);
  const SparseRows transposed{kColumns, flipped.begins.data(), flipped.rows.data(), flipped.places.data()};
  if (extreme) {
    gradientOfExtremes<T>(transposed, gradient.data(), width, of_entries, winners, result.of_x.data(), threads);
  } else {
    aggregateNeighbors<T>(transposed, Aggregation::kSum, gradient.data(), width, of_entries, result.of_x.data(),
                          nullptr, threads);
  }
  if (groups > 0) {
    gradientOfValues<T>(matrix, gradient.data(), x.data(), width, groups, winners, result.of_values.data(), threads);
  }
  return result;
}

// `addends`: of the largest sum, which may cancel each other.
void expectNear(const std::vector<float>& values, const std::vector<double>& right, std::int64_t addends,
                const char* what) {
  const double tolerance = 1e-7 * static_cast<double>(std::max<std::int64_t>(100, addends));
  ASSERT_EQ(values.size(), right.size()) << what;
  for (std::size_t i = 0; i < right.size(); ++i)
    ASSERT_NEAR(values[i], right[i], tolerance * std::max(1.0, std::abs(right[i]))) << what << " " << i;
}

TEST(Neighbors, AgreeWithThePlainVersion) {
  for (const std::int64_t edges : {0, 1, 300, 3000}) {  // threads share the last ones
    const Graph graph(edges);
    for (const Aggregation aggregation : kAll) {
      for (const std::int64_t width : {1, 3, 17, 33, 64, 100, 129}) {
        for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{1}, width % 3 == 0 ? 3 : width}) {
          SCOPED_TRACE(testing::Message() << edges << " edges, width " << width << ", groups " << groups
                                          << ", aggregation " << static_cast<int>(aggregation));
          const auto exact = aggregated<double>(graph, aggregation, width, groups, 1);
          const auto one = aggregated<float>(graph, aggregation, width, groups, 1);
          expectNear(one.out, exact.out, edges, "result");
          expectNear(one.of_x, exact.of_x, edges, "gradient of x");
          expectNear(one.of_values, exact.of_values, edges, "gradient of values");
          EXPECT_EQ(one.winners, exact.winners);
          for (const std::int32_t threads : {2, 4}) {
            const auto more = aggregated<float>(graph, aggregation, width, groups, threads);
            EXPECT_EQ(one.out, more.out);
            EXPECT_EQ(one.of_x, more.of_x);
            EXPECT_EQ(one.of_values, more.of_values);
          }
        }
      }
    }
  }
}

// The definition, over the edges in their own order.
TEST(Neighbors, ThePlainVersionIsTheDefinition) {
  const Graph graph(300);
  constexpr std::int64_t kWidth = 6, kGroups = 2;
  const auto x = randomNumbers<double>(kColumns * kWidth, 1), values = randomNumbers<double>(300 * kGroups, 2);
  std::vector<double> sums(kRows * kWidth, 0.0), most(kRows * kWidth, -std::numeric_limits<double>::infinity());
  std::vector<std::int64_t> counts(kRows, 0);
  for (std::size_t e = 0; e < 300; ++e) {
    ++counts[static_cast<std::size_t>(graph.row_of[e])];
    for (std::int64_t f = 0; f < kWidth; ++f) {
      const auto at = static_cast<std::size_t>(graph.row_of[e] * kWidth + f);
      const double message = values[e * kGroups + static_cast<std::size_t>(f / 3)] *
                             x[static_cast<std::size_t>(graph.column_of[e] * kWidth + f)];
      sums[at] += message;
      most[at] = std::max(most[at], message);
    }
  }
  const auto sum = aggregated<double>(graph, Aggregation::kSum, kWidth, kGroups, 1).out;
  const auto mean = aggregated<double>(graph, Aggregation::kMean, kWidth, kGroups, 1).out;
  const auto max = aggregated<double>(graph, Aggregation::kMax, kWidth, kGroups, 1).out;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto count = static_cast<double>(counts[i / kWidth]);
    EXPECT_NEAR(sum[i], sums[i], 1e-12);
    EXPECT_NEAR(mean[i], count == 0 ? 0 : sums[i] / count, 1e-12);
    EXPECT_EQ(max[i], count == 0 ? 0 : most[i]);
  }
}

TEST(Neighbors, OlderInstructionSetsAgree) {
  const Graph graph(300);
  const SparseRows matrix = graph.matrix();
  for (const std::int64_t width : {1, 7, 100}) {
    const auto x = randomNumbers<float>(kColumns * width, 1);
    for (const Aggregation aggregation : {Aggregation::kSum, Aggregation::kMax}) {
      const auto right = aggregated<float>(graph, aggregation, width, 0, 1);
      for (const char* isa : {"sse41", "avx2"}) {
        std::vector<float> out(static_cast<std::size_t>(kRows * width), 7.0f);
        NeighborJob<float> job;
        job.matrix = &matrix;
        job.end = kRows;
        job.width = width;
        job.x = x.data();
        job.out = out.data();
        const NeighborMath<float> math = neighborMathSimd(isa);
        (aggregation == Aggregation::kSum ? math.sum : math.extremes)(job);
        for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], right.out[i], 1e-4) << isa << " " << i;
      }
    }
  }
}

TEST(Neighbors, NaNIsTheMostExtremeAndTheFirstOfEqualOnesWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{1, 5, nan, 5, 2};
  const std::vector<std::int64_t> begins{0, 3, 6, 6, 9}, columns{0, 1, 3, 1, 2, 3, 4, 0, 4};
  const SparseRows matrix{4, begins.data(), columns.data(), nullptr};
  std::vector<float> out(4);
  std::vector<std::int32_t> winners(4);
  aggregateNeighbors<float>(matrix, Aggregation::kMax, x.data(), 1, {}, out.data(), winners.data(), 1);
  EXPECT_EQ(winners, (std::vector<std::int32_t>{1, 4, -1, 6}));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], 0);
  aggregateNeighbors<float>(matrix, Aggregation::kMin, x.data(), 1, {}, out.data(), winners.data(), 1);
  EXPECT_EQ(winners, (std::vector<std::int32_t>{0, 4, -1, 7}));
  EXPECT_EQ(out[0], 1);
}

template <typename T>
std::vector<T> softmaxAndGradient(const Graph& graph, std::int64_t groups, std::int32_t threads) {
  const auto edges = static_cast<std::int64_t>(graph.columns.size());
  auto scores = randomNumbers<T>(edges * groups, 8);
  for (T& score : scores) score *= 20;
  const auto gradient = randomNumbers<T>(edges * groups, 9);
  std::vector<T> softmax(scores.size()), result(scores.size());
  segmentSoftmax<T>(graph.matrix(), groups, scores.data(), softmax.data(), threads);
  segmentSoftmaxGradient<T>(graph.matrix(), groups, softmax.data(), gradient.data(), result.data(), threads);
  result.insert(result.end(), softmax.begin(), softmax.end());
  return result;
}

TEST(SegmentSoftmax, AgreesWithThePlainVersionAndSumsToOne) {
  for (const std::int64_t edges : {0, 1, 300, 5000}) {
    const Graph graph(edges);
    for (const std::int64_t groups : {1, 3, 8}) {
      const auto exact = softmaxAndGradient<double>(graph, groups, 1);
      const auto one = softmaxAndGradient<float>(graph, groups, 1);
      for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(one[i], exact[i], 2e-6) << i;
      EXPECT_EQ(one, softmaxAndGradient<float>(graph, groups, 3));
      std::vector<double> sums(static_cast<std::size_t>(kRows * groups));
      for (std::int64_t i = 0; i < edges * groups; ++i) {
        sums[static_cast<std::size_t>(graph.row_of[static_cast<std::size_t>(i / groups)] * groups + i % groups)] +=
            exact[static_cast<std::size_t>(edges * groups + i)];
      }
      for (const double sum : sums) EXPECT_TRUE(sum == 0 || std::abs(sum - 1) < 1e-12) << sum;
    }
  }
}

TEST(Neighbors, FaultsAreNamed) {
  const std::vector<std::int64_t> index{0, 3, -1, 7};
  EXPECT_EQ(checkIndex(index.data(), 2, 4, 2), "");
  EXPECT_EQ(checkIndex(index.data(), 4, 4, 1), "position 2 holds -1, and there are 4 rows");
  EXPECT_EQ(checkIndex(index.data() + 3, 1, 7, 1), "position 0 holds 7, and there are 7 rows");
  const std::vector<std::int64_t> begins{0, 3, 2};
  EXPECT_EQ(checkBegins(begins.data(), 2, 2), "they decrease at position 2");
  EXPECT_EQ(checkBegins(begins.data(), 1, 2), "the last is 3, and there are 2 entries");
  EXPECT_EQ(checkBegins(begins.data() + 1, 1, 3), "the first is 3 instead of 0");
}

}  // namespace
}  // namespace ipex_studio

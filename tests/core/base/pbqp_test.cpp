// The solver against all assignments of small graphs, and on long chains.
#include "core/base/pbqp.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

using testing::Random;

std::vector<double> randomCosts(Random& random, std::size_t count) {
  std::vector<double> costs;
  for (std::size_t i = 0; i < count; ++i) costs.push_back(static_cast<double>(random.between(0, 50)));
  return costs;
}

double leastOfAll(const Pbqp& problem, const std::vector<int>& sizes) {
  std::vector<int> choice(sizes.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    least = std::min(least, problem.cost(choice));
    std::size_t n = 0;
    while (n < sizes.size() && ++choice[n] == sizes[n]) choice[n++] = 0;
    if (n == sizes.size()) return least;
  }
}

struct Made {
  Pbqp problem;
  std::vector<int> sizes;
};

Made nodesOnly(Random& random, int count) {
  Made made;
  for (int n = 0; n < count; ++n) {
    made.sizes.push_back(static_cast<int>(random.between(1, 4)));
    made.problem.addNode(randomCosts(random, static_cast<std::size_t>(made.sizes.back())));
  }
  return made;
}

void join(Made& made, Random& random, int a, int b) {
  made.problem.addEdge(a, b, randomCosts(random, static_cast<std::size_t>(made.sizes[a] * made.sizes[b])));
}

TEST(Pbqp, TreesAndLadderRungsAreSolvedExactly) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const int count = static_cast<int>(random.between(1, 8));
    Made made = nodesOnly(random, count);
    // A tree, and in every other round a residual connection around each second node.
    for (int n = 1; n < count; ++n)
      join(made, random, round % 2 == 0 ? static_cast<int>(random.between(0, n - 1)) : n - 1, n);
    for (int n = 2; round % 2 == 1 && n < count; n += 2) join(made, random, n, n - 2);
    const Pbqp::Solution solution = made.problem.solve();
    ASSERT_TRUE(solution.exact);
    ASSERT_EQ(solution.cost, leastOfAll(made.problem, made.sizes)) << "round " << round;
    ASSERT_EQ(solution.cost, made.problem.cost(solution.choice));
  }
}

TEST(Pbqp, DenseGraphsComeCloseToTheLeast) {
  Random random(2);
  double found = 0, least = 0;
  int heuristic = 0;
  for (int round = 0; round < 300; ++round) {
    const int count = static_cast<int>(random.between(4, 7));
    Made made = nodesOnly(random, count);
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < a; ++b) {
        if (random.chance(70)) join(made, random, a, b);
        if (random.chance(10)) join(made, random, b, a);  // a second edge, in the other direction
      }
    }
    const Pbqp::Solution solution = made.problem.solve();
    const double best = leastOfAll(made.problem, made.sizes);
    ASSERT_GE(solution.cost, best);
    if (solution.exact) {
      ASSERT_EQ(solution.cost, best);
    }
    heuristic += !solution.exact;
    found += solution.cost;
    least += best;
  }
  EXPECT_GT(heuristic, 50);
  EXPECT_LT(found, 1.05 * least);
}

TEST(Pbqp, TiesGoToTheFirst) {
  Pbqp problem;
  for (int n = 0; n < 3; ++n) problem.addNode({1, 1, 1});
  problem.addEdge(0, 1, std::vector<double>(9, 0));
  problem.addEdge(1, 2, std::vector<double>(9, 0));
  EXPECT_EQ(problem.solve().choice, (std::vector<int>{0, 0, 0}));
}

TEST(Pbqp, LongChainsWithBranchesAreSolvedExactly) {
  Random random(3);
  Pbqp problem;
  for (int n = 0; n < 50000; ++n) {
    problem.addNode(randomCosts(random, 6));
    if (n > 0) problem.addEdge(n - 1, n, randomCosts(random, 36));
    if (n > 3 && n % 4 == 0) problem.addEdge(n - 4, n, randomCosts(random, 36));
  }
  const Pbqp::Solution solution = problem.solve();
  EXPECT_TRUE(solution.exact);
  EXPECT_NEAR(problem.cost(solution.choice), solution.cost, 1e-9 * solution.cost);
}

}  // namespace
}  // namespace ipex_studio

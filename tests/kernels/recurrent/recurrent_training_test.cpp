// LSTM and GRU in training against FP64: odd sizes, sequences that end early, both directions, projections, every
// instruction set, and the same bits for any number of threads.
#include "kernels/recurrent/recurrent_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/recurrent/recurrent_training_ref.h"

namespace ipex_studio::kernel_test {
namespace {

using Floats = std::vector<float>;

struct Computed {
  Floats y, h, c, dgates, dhidden, dstates, dh, dc;
};

class Operands {
 public:
  explicit Operands(const RecurrentSequence& job, bool biased) {
    const std::int64_t gates = job.gates() * job.units, total = job.total(), batch = job.rows[0];
    const bool is_lstm = job.cell == RecurrentCell::kLstm;
    ref.w_hh = drawn(gates * job.states, 0.4);
    ref.w_hr = drawn(job.projected ? job.states * job.units : 0, 0.5);
    ref.hidden_bias = drawn(biased && !is_lstm ? job.units : 0, 0.5);
    ref.given = drawn(total * gates, 1.5);
    ref.h = drawn(batch * job.states, 1);
    ref.c = drawn(is_lstm ? batch * job.units : 0, 1);
    ref.dy = drawn(total * job.states, 1);
    ref.dh = drawn(batch * job.states, 1);
    ref.dc = drawn(is_lstm ? batch * job.units : 0, 1);
  }

  Computed compute(const RecurrentSequence& job) const {
    const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    const Floats w_hh = floats(ref.w_hh), w_hr = floats(ref.w_hr), bias = floats(ref.hidden_bias), dy = floats(ref.dy);
    Floats gates = floats(ref.given), kept(size(job.total() * job.units), NAN);
    Computed result;
    result.y.resize(size(job.total() * job.states), NAN);
    result.h = floats(ref.h);
    result.c = floats(ref.c);
    Floats before(result.y), outputs(kept);
    RecurrentForward forward;
    forward.w_hh = w_hh.data();
    forward.w_hr = w_hr.data();
    forward.hidden_bias = bias.empty() ? nullptr : bias.data();
    forward.gates = gates.data();
    forward.h = result.h.data();
    forward.c = result.c.data();
    forward.y = result.y.data();
    forward.before = before.data();
    forward.kept = kept.data();
    forward.outputs = outputs.data();
    recurrentForward(job, forward);
    result.dgates.resize(gates.size(), NAN);
    result.dhidden.resize(gates.size(), NAN);
    result.dstates.resize(result.y.size(), NAN);
    result.dh = floats(ref.dh);
    result.dc = floats(ref.dc);
    RecurrentBackward backward;
    backward.w_hh = w_hh.data();
    backward.w_hr = w_hr.data();
    backward.gates = gates.data();
    backward.before = before.data();
    backward.kept = kept.data();
    backward.dy = dy.data();
    backward.dh = result.dh.data();
    backward.dc = result.dc.data();
    backward.dgates = result.dgates.data();
    backward.dhidden = result.dhidden.data();
    backward.dstates = result.dstates.data();
    recurrentBackward(job, backward);
    before_ = before;
    outputs_ = outputs;
    return result;
  }

  // Σ of rows: gradientᵀ · values.
  static RecurrentNumbers product(const Floats& gradient, const Floats& values, std::int64_t rows) {
    const auto count = static_cast<std::size_t>(rows);
    const std::size_t high = gradient.size() / count, wide = values.size() / count;
    RecurrentNumbers result(high * wide);
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t i = 0; i < high; ++i) {
        for (std::size_t j = 0; j < wide; ++j)
          result[i * wide + j] += static_cast<double>(gradient[row * high + i]) * values[row * wide + j];
      }
    }
    return result;
  }

  const Floats& before() const { return before_; }
  const Floats& outputs() const { return outputs_; }

  RecurrentOperandsRef ref;

 private:
  static Floats floats(const RecurrentNumbers& numbers) { return {numbers.begin(), numbers.end()}; }

  RecurrentNumbers drawn(std::int64_t count, double scale) {
    std::normal_distribution<float> normal;
    RecurrentNumbers numbers(static_cast<std::size_t>(count));
    for (double& number : numbers) number = static_cast<float>(scale * normal(random_));
    return numbers;
  }

  std::mt19937 random_{7};
  mutable Floats before_, outputs_;
};

template <class Numbers>
void expectClose(const Numbers& numbers, const RecurrentNumbers& right, const char* what) {
  ASSERT_EQ(numbers.size(), right.size()) << what;
  double largest = 1;
  for (const double number : right) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < right.size(); ++i) ASSERT_NEAR(numbers[i], right[i], 1e-5 * largest) << what << ' ' << i;
}

RecurrentSequence sequenceOf(RecurrentCell cell, std::int64_t units, std::vector<std::int64_t> rows) {
  RecurrentSequence job;
  job.cell = cell;
  job.units = job.states = units;
  job.rows = std::move(rows);
  return job;
}

void check(const RecurrentSequence& job, bool biased) {
  const Operands operands(job, biased);
  const RecurrentResultsRef right = refRecurrentTraining(job, operands.ref);
  const Computed got = operands.compute(job);
  const bool is_lstm = job.cell == RecurrentCell::kLstm;
  expectClose(got.y, right.y, "y");
  expectClose(got.h, right.h, "h");
  expectClose(got.c, right.c, "c");
  expectClose(got.dgates, right.dgiven, "gradient of gates");
  expectClose(got.dh, right.dh, "gradient of h");
  expectClose(got.dc, right.dc, "gradient of c");
  const Floats& hidden = is_lstm ? got.dgates : got.dhidden;
  expectClose(Operands::product(hidden, operands.before(), job.total()), right.dw_hh, "gradient of weights");
  if (job.projected)
    expectClose(Operands::product(got.dstates, operands.outputs(), job.total()), right.dw_hr, "of the projection");
  RecurrentSequence shared = job;
  shared.threads = 2;
  const Computed two = operands.compute(shared);
  EXPECT_EQ(two.y, got.y);
  EXPECT_EQ(two.dgates, got.dgates);
  EXPECT_EQ(two.dh, got.dh);
}

TEST(RecurrentTraining, IsRightForAllSizes) {
  for (const RecurrentCell cell : {RecurrentCell::kLstm, RecurrentCell::kGru}) {
    for (const std::int64_t units : {1, 3, 16, 17, 33, 100, 129}) {
      for (const auto& rows : {std::vector<std::int64_t>{1}, {2, 2, 2}, {7, 7, 4, 3, 1}, {13, 5}}) {
        for (const bool reverse : {false, true}) {
          for (const char* isa : {"", "avx2", "sse4"}) {
            SCOPED_TRACE(testing::Message() << "cell " << static_cast<int>(cell) << " units " << units
                                            << " rows of step 0 " << rows[0] << " reverse " << reverse << ' ' << isa);
            RecurrentSequence job = sequenceOf(cell, units, rows);
            job.reverse = reverse;
            job.isa = isa;
            check(job, units % 2 == 1);
          }
        }
      }
    }
  }
}

TEST(RecurrentTraining, ProjectsUnits) {
  for (const auto& [units, states] : {std::pair<int, int>{3, 1}, {17, 5}, {33, 17}, {100, 64}, {129, 3}}) {
    for (const bool reverse : {false, true}) {
      for (const char* isa : {"", "avx2", "sse4"}) {
        SCOPED_TRACE(testing::Message() << units << " units, " << states << " states " << reverse << ' ' << isa);
        RecurrentSequence job = sequenceOf(RecurrentCell::kLstm, units, {7, 6, 1, 1});
        job.states = states;
        job.projected = true;
        job.reverse = reverse;
        job.isa = isa;
        check(job, true);
      }
    }
  }
}

TEST(RecurrentTraining, LargeSumsSaturate) {
  for (const RecurrentCell cell : {RecurrentCell::kLstm, RecurrentCell::kGru}) {
    RecurrentSequence job = sequenceOf(cell, 5, {3, 3});
    Operands operands(job, true);
    for (double& number : operands.ref.given) number *= 1e4;
    const RecurrentResultsRef right = refRecurrentTraining(job, operands.ref);
    const Computed got = operands.compute(job);
    expectClose(got.y, right.y, "y");
    expectClose(got.dgates, right.dgiven, "gradient of gates");
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test

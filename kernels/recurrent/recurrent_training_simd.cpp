// Backpropagation through time (Werbos 1990) beside the forward steps that keep what it needs. Weights change with
// every training step, so they are packed anew in each call; then a step reads a block of them once for all its rows.
#define HWY_TARGET_INCLUDE "kernels/recurrent/recurrent_training_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/vector_math-inl.h"
#include "kernels/recurrent/recurrent_sums-inl.h"
#include "kernels/recurrent/recurrent_training.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Calls run(rows, row) with the number of rows that registers hold, as a constant, until all are done.
template <int kVectors, class Run>
HWY_INLINE void forEachRows(std::int64_t rows, const Run& run) {
  std::int64_t row = 0;
#if HWY_TARGET <= HWY_AVX3
  constexpr int kMost = 24 / kVectors < 6 ? 24 / kVectors : 6;
  for (; row + kMost <= rows; row += kMost) run(std::integral_constant<int, kMost>(), row);
#endif
  constexpr int kSome = kVectors < 4 ? 3 : 2;
  for (; row + kSome <= rows; row += kSome) run(std::integral_constant<int, kSome>(), row);
  for (; row < rows; ++row) run(std::integral_constant<int, 1>(), row);
}

// Computes units [unit, unit + lanes) of one step; `at` holds the operands from the step's first row on.
template <int kGates>
HWY_INLINE void trainBlock(const RecurrentSequence& job, const RecurrentForward& at, const float* weights,
                           std::int64_t rows, std::int64_t unit) {
  const F32 d;
  const std::int64_t units = job.units, count = std::min(static_cast<std::int64_t>(hn::Lanes(d)), units - unit);
  float* const results = job.projected ? at.outputs : at.y;
  forEachRows<kGates>(rows, [&](auto row_count, std::int64_t row) HWY_ATTR {
    constexpr int kRows = decltype(row_count)::value;
    VF sum[kRows][kGates];
    sumProducts<kGates, kRows, kRows == 1 ? 2 : 1>(weights, job.states, at.before + row * job.states, job.states, sum);
    for (int r = 0; r < kRows; ++r) {
      float* const gates = at.gates + (row + r) * kGates * units + unit;
      float* const kept = at.kept + (row + r) * units + unit;
      float* const result = results + (row + r) * units + unit;
      VF gate[kGates];
      for (int g = 0; g < kGates; ++g) gate[g] = loadFirst(gates + g * units, count);
      if constexpr (kGates == 4) {
        for (int g = 0; g < kGates; ++g) gate[g] = hn::Add(gate[g], sum[r][g]);
        for (const int g : {0, 1, 3}) gate[g] = sigmoidV(d, gate[g]);
        gate[2] = tanhV(d, gate[2]);
        float* const c = at.c + (row + r) * units + unit;
        const VF last = loadFirst(c, count);
        const VF state = hn::MulAdd(gate[1], last, hn::Mul(gate[0], gate[2]));
        storeFirst(last, kept, count);
        storeFirst(state, c, count);
        storeFirst(hn::Mul(gate[3], tanhV(d, state)), result, count);
      } else {
        const VF hidden =
            at.hidden_bias != nullptr ? hn::Add(sum[r][2], loadFirst(at.hidden_bias + unit, count)) : sum[r][2];
        for (const int g : {0, 1}) gate[g] = sigmoidV(d, hn::Add(gate[g], sum[r][g]));
        gate[2] = tanhV(d, hn::MulAdd(gate[0], hidden, gate[2]));
        const VF last = loadFirst(at.before + (row + r) * job.states + unit, count);
        storeFirst(hidden, kept, count);
        storeFirst(hn::MulAdd(gate[1], last, hn::NegMulAdd(gate[1], gate[2], gate[2])), result, count);
      }
      for (int g = 0; g < kGates; ++g) storeFirst(gate[g], gates + g * units, count);
    }
  });
}

void trainUnits(const RecurrentSequence& job, const RecurrentForward& at, const float* weights, std::int64_t rows,
                std::int64_t unit) {
  if (job.cell == RecurrentCell::kLstm) {
    trainBlock<4>(job, at, weights, rows, unit);
  } else {
    trainBlock<3>(job, at, weights, rows, unit);
  }
}

// to[r][column …] = from[r] · weights, or is increased by it, for a panel of kVectors vectors, of which `columns`
// numbers are there.
template <int kVectors>
HWY_INLINE void multiplyColumns(const float* weights, std::int64_t depth, const float* from, std::int64_t rows,
                                float* to, std::int64_t to_stride, std::int64_t columns, bool add) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  forEachRows<kVectors>(rows, [&](auto row_count, std::int64_t row) HWY_ATTR {
    constexpr int kRows = decltype(row_count)::value;
    VF sum[kRows][kVectors];
    sumProducts<kVectors, kRows, kRows == 1 ? 2 : 1>(weights, depth, from + row * depth, depth, sum);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        float* const place = to + (row + r) * to_stride + v * lanes;
        const std::int64_t count = std::min(lanes, columns - v * lanes);
        storeFirst(add ? hn::Add(loadFirst(place, count), sum[r][v]) : sum[r][v], place, count);
      }
    }
  });
}

void multiplyPanel(int vectors, const float* weights, std::int64_t depth, const float* from, std::int64_t rows,
                   float* to, std::int64_t to_stride, std::int64_t columns, bool add) {
  switch (vectors) {
    case 1:
      return multiplyColumns<1>(weights, depth, from, rows, to, to_stride, columns, add);
    case 2:
      return multiplyColumns<2>(weights, depth, from, rows, to, to_stride, columns, add);
    case 3:
      return multiplyColumns<3>(weights, depth, from, rows, to, to_stride, columns, add);
    default:
      return multiplyColumns<4>(weights, depth, from, rows, to, to_stride, columns, add);
  }
}

// Gradients of one row's gates; `dh` is that of the units' results, and for GRU becomes the part that goes past the
// gates.
void gateGradients(const RecurrentSequence& job, const float* gates, const float* before, const float* kept, float* dh,
                   float* dc, float* dgates, float* dhidden) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f);
  const std::int64_t units = job.units;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto slope = [&](VF sigmoid) HWY_ATTR { return hn::NegMulAdd(sigmoid, sigmoid, sigmoid); };
  for (std::int64_t unit = 0; unit < units; unit += lanes) {
    const std::int64_t count = std::min(lanes, units - unit);
    const auto gate = [&](int g) HWY_ATTR { return loadFirst(gates + g * units + unit, count); };
    const auto give = [&](VF gradient, float* to, int g)
                          HWY_ATTR { storeFirst(gradient, to + g * units + unit, count); };
    const VF last = loadFirst(kept + unit, count), of_result = loadFirst(dh + unit, count);
    if (job.cell == RecurrentCell::kLstm) {
      const VF in = gate(0), forget = gate(1), fresh = gate(2), out = gate(3);
      const VF shown = tanhV(d, hn::MulAdd(forget, last, hn::Mul(in, fresh)));
      const VF of_state =
          hn::MulAdd(hn::Mul(of_result, out), hn::NegMulAdd(shown, shown, one), loadFirst(dc + unit, count));
      give(hn::Mul(hn::Mul(of_state, fresh), slope(in)), dgates, 0);
      give(hn::Mul(hn::Mul(of_state, last), slope(forget)), dgates, 1);
      give(hn::Mul(hn::Mul(of_state, in), hn::NegMulAdd(fresh, fresh, one)), dgates, 2);
      give(hn::Mul(hn::Mul(of_result, shown), slope(out)), dgates, 3);
      storeFirst(hn::Mul(of_state, forget), dc + unit, count);
    } else {
      const VF reset = gate(0), keep = gate(1), fresh = gate(2);
      const VF of_fresh = hn::Mul(hn::NegMulAdd(of_result, keep, of_result), hn::NegMulAdd(fresh, fresh, one));
      const VF of_reset = hn::Mul(hn::Mul(of_fresh, last), slope(reset));
      const VF of_keep = hn::Mul(hn::Mul(of_result, hn::Sub(loadFirst(before + unit, count), fresh)), slope(keep));
      for (float* const to : {dgates, dhidden}) {
        give(of_reset, to, 0);
        give(of_keep, to, 1);
      }
      give(of_fresh, dgates, 2);
      give(hn::Mul(of_fresh, reset), dhidden, 2);
      storeFirst(hn::Mul(of_result, keep), dh + unit, count);
    }
  }
}

std::int64_t lanesOfTraining() { return static_cast<std::int64_t>(hn::Lanes(F32())); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstring>
#include <numeric>

#include "core/runtime/device.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(trainUnits);
HWY_EXPORT(multiplyPanel);
HWY_EXPORT(gateGradients);
HWY_EXPORT(lanesOfTraining);

std::int64_t roundUp(std::int64_t count, std::int64_t lanes) { return (count + lanes - 1) / lanes * lanes; }

// Weights that rows of `depth` numbers are multiplied by: [panel][k][vector][lane], with columns beyond the last zero.
class PackedWeights {
 public:
  PackedWeights(std::int64_t depth, std::int64_t columns, std::int64_t lanes)
      : depth_(depth),
        columns_(columns),
        lanes_(lanes),
        memory_(static_cast<std::size_t>(depth * roundUp(columns, lanes)) * sizeof(float)) {}

  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t panels() const { return (columns_ + kVectors * lanes_ - 1) / (kVectors * lanes_); }
  std::int64_t firstColumn(std::int64_t panel) const { return panel * kVectors * lanes_; }
  int vectors(std::int64_t panel) const {
    return static_cast<int>(std::min(kVectors, roundUp(columns_ - firstColumn(panel), lanes_) / lanes_));
  }
  const float* panel(std::int64_t panel) const { return data() + firstColumn(panel) * depth_; }

  // Weights w[k · depth_stride + column · column_stride].
  void pack(const float* w, std::int64_t depth_stride, std::int64_t column_stride, std::int32_t threads) {
    parallelFor(panels(), grainFor(depth_ * kVectors * lanes_), threads,
                [&](std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t panel = begin; panel < end; ++panel)
                    packPanel(w, depth_stride, column_stride, panel);
                });
  }

 private:
  static constexpr std::int64_t kVectors = 4;

  float* data() const { return static_cast<float*>(memory_.data()); }

  void packPanel(const float* w, std::int64_t depth_stride, std::int64_t column_stride, std::int64_t panel) {
    const std::int64_t first = firstColumn(panel), width = vectors(panel) * lanes_;
    const std::int64_t there = std::min(width, columns_ - first);
    float* const to = data() + first * depth_;
    constexpr std::int64_t kTile = 16;  // numbers that a cache line holds, where a column's stand side by side
    for (std::int64_t tile = 0; tile < depth_; tile += kTile) {
      const std::int64_t end = std::min(depth_, tile + kTile);
      for (std::int64_t column = 0; column < width; ++column) {
        const float* const from = w + (first + column) * column_stride;
        for (std::int64_t k = tile; k < end; ++k)
          to[k * width + column] = column < there ? from[k * depth_stride] : 0.0f;
      }
    }
  }

  std::int64_t depth_, columns_, lanes_;
  Buffer memory_;
};

// The weights of gates as [block][k][gate][lane]: a block's units are the lanes.
Buffer packGates(const RecurrentSequence& job, const float* w, std::int64_t lanes) {
  const std::int64_t gates = job.gates(), blocks = roundUp(job.units, lanes) / lanes, depth = job.states;
  Buffer packed(static_cast<std::size_t>(blocks * lanes * gates * depth) * sizeof(float));
  parallelFor(blocks, grainFor(depth * gates * lanes), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t block = begin; block < end; ++block) {
      float* const to = static_cast<float*>(packed.data()) + block * lanes * gates * depth;
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          const std::int64_t unit = block * lanes + lane;
          const float* const from = w + (gate * job.units + unit) * depth;
          for (std::int64_t k = 0; k < depth; ++k)
            to[(k * gates + gate) * lanes + lane] = unit < job.units ? from[k] : 0.0f;
        }
      }
    }
  });
  return packed;
}

// The steps of a sequence in the order in which states pass through them, each with its first row.
struct Step {
  std::int64_t rows, first;
};

std::vector<Step> stepsOf(const RecurrentSequence& job) {
  std::vector<Step> steps;
  std::int64_t first = 0;
  for (const std::int64_t rows : job.rows) {
    steps.push_back({rows, first});
    first += rows;
  }
  if (job.reverse) std::reverse(steps.begin(), steps.end());
  return steps;
}

void copyFloats(const float* from, std::int64_t count, float* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

using MultiplyPanel = void (*)(int, const float*, std::int64_t, const float*, std::int64_t, float*, std::int64_t,
                               std::int64_t, bool);

void multiplyRows(const RecurrentSequence& job, MultiplyPanel multiply, const PackedWeights& weights, const float* from,
                  std::int64_t rows, float* to, bool add) {
  parallelFor(weights.panels(), grainFor(rows * weights.depth() * 4), job.threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t panel = begin; panel < end; ++panel) {
                  const std::int64_t column = weights.firstColumn(panel);
                  multiply(weights.vectors(panel), weights.panel(panel), weights.depth(), from, rows, to + column,
                           weights.columns(), weights.columns() - column, add);
                }
              });
}

}  // namespace

std::int64_t RecurrentSequence::total() const { return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}); }

void recurrentForward(const RecurrentSequence& job, const RecurrentForward& operands) {
  const std::int64_t lanes = IPEX_SELECT_TARGET(lanesOfTraining, job.isa)(), gates = job.gates();
  const auto train = IPEX_SELECT_TARGET(trainUnits, job.isa);
  const auto multiply = IPEX_SELECT_TARGET(multiplyPanel, job.isa);
  const Buffer packed = packGates(job, operands.w_hh, lanes);
  PackedWeights projection(job.projected ? job.units : 0, job.states, lanes);
  if (job.projected) projection.pack(operands.w_hr, 1, job.units, job.threads);
  for (const Step step : stepsOf(job)) {
    RecurrentForward at = operands;
    at.gates += step.first * gates * job.units;
    at.y += step.first * job.states;
    at.before += step.first * job.states;
    at.kept += step.first * job.units;
    if (job.projected) at.outputs += step.first * job.units;
    copyFloats(operands.h, step.rows * job.states, at.before);
    parallelFor(roundUp(job.units, lanes) / lanes, grainFor(step.rows * gates * job.states), job.threads,
                [&](std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t unit = begin * lanes; unit < end * lanes; unit += lanes)
                    train(job, at, static_cast<const float*>(packed.data()) + unit * gates * job.states, step.rows,
                          unit);
                });
    if (job.projected) multiplyRows(job, multiply, projection, at.outputs, step.rows, at.y, false);
    copyFloats(at.y, step.rows * job.states, operands.h);
  }
}

void recurrentBackward(const RecurrentSequence& job, const RecurrentBackward& operands) {
  const std::int64_t lanes = IPEX_SELECT_TARGET(lanesOfTraining, job.isa)(), gates = job.gates();
  const auto multiply = IPEX_SELECT_TARGET(multiplyPanel, job.isa);
  const auto differentiate = IPEX_SELECT_TARGET(gateGradients, job.isa);
  const bool is_lstm = job.cell == RecurrentCell::kLstm;
  PackedWeights weights(gates * job.units, job.states, lanes);
  weights.pack(operands.w_hh, job.states, 1, job.threads);
  PackedWeights projection(job.projected ? job.states : 0, job.units, lanes);
  if (job.projected) projection.pack(operands.w_hr, job.units, 1, job.threads);
  const Buffer outputs(job.projected ? static_cast<std::size_t>(job.rows[0] * job.units) * sizeof(float) : 0);
  std::vector<Step> steps = stepsOf(job);
  std::reverse(steps.begin(), steps.end());
  for (const Step step : steps) {
    const float* const dy = operands.dy + step.first * job.states;
    for (std::int64_t i = 0; i < step.rows * job.states; ++i) operands.dh[i] += dy[i];
    float* of_results = operands.dh;
    if (job.projected) {
      of_results = static_cast<float*>(outputs.data());
      float* const dstates = operands.dstates + step.first * job.states;
      copyFloats(operands.dh, step.rows * job.states, dstates);
      multiplyRows(job, multiply, projection, dstates, step.rows, of_results, false);
    }
    float* const dgates = operands.dgates + step.first * gates * job.units;
    float* const dhidden = is_lstm ? dgates : operands.dhidden + step.first * gates * job.units;
    constexpr std::int64_t kOps = 32;  // of each unit
    parallelFor(step.rows, grainFor(kOps * job.units), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t place = step.first + row, width = gates * job.units;
        differentiate(job, operands.gates + place * width, operands.before + place * job.states,
                      operands.kept + place * job.units, of_results + row * job.units,
                      is_lstm ? operands.dc + row * job.units : nullptr, dgates + row * width, dhidden + row * width);
      }
    });
    multiplyRows(job, multiply, weights, dhidden, step.rows, operands.dh, !is_lstm);
  }
}

}  // namespace ipex_studio

#endif  // HWY_ONCE

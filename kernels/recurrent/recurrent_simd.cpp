// The recurrent half of LSTM (Hochreiter & Schmidhuber 1997, with forget gates) and GRU (Cho et al., arXiv:1406.1078,
// the form in which the reset gate scales the product); a matrix product before it computes what depends on the inputs
// alone. A projection of the units (Sak et al., arXiv:1402.1128) follows each step. Hidden units are the lanes of
// vectors. The weights of one block of units stand in the order in which they are read, all gates of a unit together,
// so that a step goes through them once for up to four rows, from the second-level cache where they fit, and the gates
// never leave registers.
//
// Declines: dtype, post-ops, empty, weights (not constant).
#define HWY_TARGET_INCLUDE "kernels/recurrent/recurrent_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/vector_math-inl.h"
#include "kernels/recurrent/recurrent_job.h"
#include "kernels/recurrent/recurrent_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Computes units [unit, unit + lanes) of kRows rows in one step.
template <int kGates, int kRows, int kSplit>
HWY_INLINE void advanceRows(const RecurrentJob& job, const RecurrentOperands& at, std::int64_t step,
                            const float* before, std::int64_t before_row, std::int64_t row, std::int64_t unit) {
  const F32 d;
  const float* h = before + row * before_row;
  VF sum[kRows][kGates];
  sumProducts<kGates, kRows, kSplit>(at.weights + unit * job.states * kGates, job.states, h, before_row, sum);
  const std::int64_t count = std::min(job.lanes, job.units - unit);
  for (int r = 0; r < kRows; ++r) {
    const float* gates = at.gates + step * job.gates_step + (row + r) * job.gates_row + unit;
    float* y = at.y + step * job.y_step + (row + r) * job.y_row + unit;
    VF hidden[kGates], given[kGates];
    for (int g = 0; g < kGates; ++g) {
      hidden[g] = sum[r][g];
      given[g] = loadFirst(gates + g * job.units, count);
    }
    if constexpr (kGates == 4) {
      float* c = at.c + (row + r) * job.units + unit;
      const VF in = sigmoidV(d, hn::Add(given[0], hidden[0])), forget = sigmoidV(d, hn::Add(given[1], hidden[1]));
      const VF fresh = tanhV(d, hn::Add(given[2], hidden[2])), out = sigmoidV(d, hn::Add(given[3], hidden[3]));
      const VF state = hn::MulAdd(forget, loadFirst(c, count), hn::Mul(in, fresh));
      storeFirst(state, c, count);
      storeFirst(hn::Mul(out, tanhV(d, state)), y, count);
    } else {
      const VF bias = at.hidden_bias != nullptr ? loadFirst(at.hidden_bias + unit, count) : hn::Zero(d);
      const VF reset = sigmoidV(d, hn::Add(given[0], hidden[0])), keep = sigmoidV(d, hn::Add(given[1], hidden[1]));
      const VF fresh = tanhV(d, hn::MulAdd(reset, hn::Add(hidden[2], bias), given[2]));
      const VF last = loadFirst(h + r * before_row + unit, count);
      storeFirst(hn::MulAdd(keep, last, hn::NegMulAdd(keep, fresh, fresh)), y, count);
    }
  }
}

template <int kGates>
void advanceBlocks(const RecurrentJob& job, const RecurrentOperands& at, std::int64_t step, const float* before,
                   std::int64_t before_row, std::int64_t begin, std::int64_t end) {
  for (std::int64_t block = begin; block < end; ++block) {
    const std::int64_t unit = block * job.lanes;
    std::int64_t row = 0;
#if HWY_TARGET <= HWY_AVX3
    for (; row + 4 <= job.rows; row += 4) advanceRows<kGates, 4, 1>(job, at, step, before, before_row, row, unit);
#endif
    for (; row + 2 <= job.rows; row += 2) advanceRows<kGates, 2, 1>(job, at, step, before, before_row, row, unit);
    for (; row < job.rows; ++row) advanceRows<kGates, 1, 2>(job, at, step, before, before_row, row, unit);
  }
}

// Computes blocks [begin, end) of units in one step; `before` holds the hidden state before it.
void advance(const RecurrentJob& job, const RecurrentOperands& at, std::int64_t step, const float* before,
             std::int64_t before_row, std::int64_t begin, std::int64_t end) {
  if (job.cell == RecurrentCell::kLstm) {
    advanceBlocks<4>(job, at, step, before, before_row, begin, end);
  } else {
    advanceBlocks<3>(job, at, step, before, before_row, begin, end);
  }
}

// Computes blocks [begin, end) of the states that all units of a step, [rows, units], are projected to.
void project(const RecurrentJob& job, const RecurrentOperands& at, const float* outputs, float* states,
             std::int64_t states_row, std::int64_t begin, std::int64_t end) {
  const F32 d;
  for (std::int64_t block = begin; block < end; ++block) {
    const float* weights = at.projection + block * job.units * job.lanes;
    const std::int64_t first = block * job.lanes, count = std::min(job.lanes, job.states - first);
    for (std::int64_t row = 0; row < job.rows; ++row) {
      const float* from = outputs + row * job.units;
      VF sum[2] = {hn::Zero(d), hn::Zero(d)};
      std::int64_t unit = 0;
      for (; unit + 2 <= job.units; unit += 2) {
        for (int s = 0; s < 2; ++s)
          sum[s] = hn::MulAdd(hn::Set(d, from[unit + s]), hn::Load(d, weights + (unit + s) * job.lanes), sum[s]);
      }
      if (unit < job.units)
        sum[0] = hn::MulAdd(hn::Set(d, from[unit]), hn::Load(d, weights + unit * job.lanes), sum[0]);
      storeFirst(hn::Add(sum[0], sum[1]), states + row * states_row + first, count);
    }
  }
}

std::int64_t unitsOfBlock() { return static_cast<std::int64_t>(hn::Lanes(F32())); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <fmt/format.h>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/common/recurrent_operands.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(advance);
HWY_EXPORT(project);
HWY_EXPORT(unitsOfBlock);

using Advance = void (*)(const RecurrentJob&, const RecurrentOperands&, std::int64_t, const float*, std::int64_t,
                         std::int64_t, std::int64_t);
using Project = void (*)(const RecurrentJob&, const RecurrentOperands&, const float*, float*, std::int64_t,
                         std::int64_t, std::int64_t);

std::int64_t blocksOf(std::int64_t count, std::int64_t lanes) { return (count + lanes - 1) / lanes; }

class RecurrentOp final : public PreparedOp {
 public:
  RecurrentJob job;
  Advance advance_blocks = nullptr;
  Project project_blocks = nullptr;  // null: the units' results are the hidden state
  WeightCache::Packed weights, projection;
  std::int64_t state_step = 0, state_row = 0;  // floats of the hidden state in the result
  std::int64_t grain = 1, project_grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    RecurrentOperands at;
    at.gates = static_cast<const float*>(from[0]);
    at.weights = static_cast<const float*>(weights->data());
    at.h = static_cast<const float*>(from[2]);
    at.hidden_bias = static_cast<const float*>(from[4]);
    float* const states = static_cast<float*>(to[0]);
    at.y = states;
    if (project_blocks != nullptr) {
      at.y = static_cast<float*>(scratch);
      at.projection = static_cast<const float*>(projection->data());
    }
    if (job.cell == RecurrentCell::kLstm) {
      at.c = static_cast<float*>(to[1]);
      std::memcpy(at.c, from[3], static_cast<std::size_t>(job.rows * job.units) * sizeof(float));
    }
    const float* before = at.h;
    std::int64_t before_row = job.states;
    for (std::int64_t s = 0; s < job.steps; ++s) {
      const std::int64_t step = job.reverse ? job.steps - 1 - s : s;
      parallelFor(blocksOf(job.units, job.lanes), grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
        advance_blocks(job, at, step, before, before_row, begin, end);
      });
      float* const now = states + step * state_step;
      if (project_blocks != nullptr) {
        parallelFor(blocksOf(job.states, job.lanes), project_grain, threads,
                    [&](std::int64_t begin, std::int64_t end, int) {
                      project_blocks(job, at, at.y, now, state_row, begin, end);
                    });
      }
      before = now;
      before_row = state_row;
    }
  }
};

void packRecurrent(const RecurrentJob& job, std::int64_t gates, const TensorDesc& desc, const float* w, void* packed) {
  float* to = static_cast<float*>(packed);
  for (std::int64_t block = 0; block < blocksOf(job.units, job.lanes); ++block) {
    for (std::int64_t k = 0; k < job.states; ++k) {
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        for (std::int64_t lane = 0; lane < job.lanes; ++lane) {
          const std::int64_t unit = block * job.lanes + lane;
          *to++ = unit < job.units ? w[(gate * job.units + unit) * desc.strides[0] + k * desc.strides[1]] : 0.0f;
        }
      }
    }
  }
}

// The rows of w behind those of the gates, as [block][unit][lane].
void packProjection(const RecurrentJob& job, std::int64_t gates, const TensorDesc& desc, const float* w, void* packed) {
  float* to = static_cast<float*>(packed);
  for (std::int64_t block = 0; block < blocksOf(job.states, job.lanes); ++block) {
    for (std::int64_t unit = 0; unit < job.units; ++unit) {
      for (std::int64_t lane = 0; lane < job.lanes; ++lane) {
        const std::int64_t state = block * job.lanes + lane;
        *to++ = state < job.states ? w[(gates * job.units + unit) * desc.strides[0] + state * desc.strides[1]] : 0.0f;
      }
    }
  }
}

class RecurrentSimd final : public Kernel {
 public:
  const char* name() const override { return "recurrent_simd"; }

  Verdict supports(const PrepareArgs& args) const override { return supportsRecurrence(args); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<RecurrentOp>();
    op->dst = args.dst;
    for (const TensorDesc& src : args.src) op->src.push_back(src.absent() ? src : contiguousDesc(src.dtype, src.dims));
    op->src[1] = args.src[1];
    op->packed = {false, true, false, false, false};
    describe(args, op.get());
    const RecurrentJob& job = op->job;
    op->advance_blocks = IPEX_SELECT_TARGET(advance, args.target.isa);
    op->threads = args.target.threads;
    const std::int64_t gates = job.cell == RecurrentCell::kLstm ? 4 : 3, products = job.rows * job.units * gates;
    op->grain = grainFor(products);  // a block's vectors
    op->flops = 2 * job.steps * products * job.states;
    const auto* w = static_cast<const float*>(args.constant[1]);
    const auto pack = [&](const char* what, std::int64_t floats, auto write) {
      return args.weights->getOrPack(w,
                                     fmt::format("{} {} {} strides {} lanes {}", what, gates, args.src[1].dims.str(),
                                                 args.src[1].strides.str(), job.lanes),
                                     static_cast<std::size_t>(floats) * sizeof(float),
                                     [&](void* packed) { write(job, gates, args.src[1], w, packed); });
    };
    op->weights = pack("recurrent", blocksOf(job.units, job.lanes) * job.states * gates * job.lanes, packRecurrent);
    if (args.spec.intOr("projected", 0) == 0) return op;
    op->project_blocks = IPEX_SELECT_TARGET(project, args.target.isa);
    op->project_grain = grainFor(job.rows * job.units);
    op->flops += 2 * job.steps * job.rows * job.units * job.states;
    op->scratch_bytes = static_cast<std::size_t>(job.rows * job.units) * sizeof(float);
    op->projection = pack("projection", blocksOf(job.states, job.lanes) * job.units * job.lanes, packProjection);
    return op;
  }

 private:
  static void describe(const PrepareArgs& args, RecurrentOp* op) {
    const int time = static_cast<int>(args.spec.intOr("time_axis", 0)), batch = 1 - time;
    const TensorDesc &y = op->dst[0], &gates = op->src[0];
    RecurrentJob& job = op->job;
    job.cell = args.spec.stringOr("cell", "") == "lstm" ? RecurrentCell::kLstm : RecurrentCell::kGru;
    job.steps = y.dims[time];
    job.rows = y.dims[batch];
    job.states = y.dims[2];
    job.units = gates.dims[2] / (job.cell == RecurrentCell::kLstm ? 4 : 3);
    job.reverse = args.spec.intOr("reverse", 0) != 0;
    job.gates_step = gates.strides[time];
    job.gates_row = gates.strides[batch];
    op->state_step = y.strides[time];
    op->state_row = y.strides[batch];
    const bool projected = args.spec.intOr("projected", 0) != 0;
    job.y_step = projected ? 0 : op->state_step;
    job.y_row = projected ? job.units : op->state_row;
    job.lanes = IPEX_SELECT_TARGET(unitsOfBlock, args.target.isa)();
  }
};

}  // namespace

std::unique_ptr<Kernel> makeRecurrentSimd() { return std::make_unique<RecurrentSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

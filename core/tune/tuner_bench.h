// Runs the candidates of one step against each other. Private to the tuner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/tune/tuner_candidates.h"
#include "core/tune/tuner_clock.h"

namespace ipex_studio {

struct BenchLimits {
  int least_rounds = 3;
  int most_rounds = 10;
  std::int64_t budget_ns = 100'000'000;  // for all candidates together; least_rounds are run in any case
  std::int64_t deadline_ns = 0;          // on the clock of budgets; no round begins after it except the first
  bool cold_weights = true;              // weights leave the caches before each run
  bool drops_slower = true;              // clearly slower candidates stop early
  TuneClock clock;
};

// The operands of a step: values drawn once, then converted to the layouts that candidates read.
class BenchData {
 public:
  BenchData(const PrepareArgs& args, const KernelList& kernels);
  // Source `s` in `layout`; a constant has its own values.
  const void* source(std::size_t s, const TensorDesc& layout);
  // The values of a tensor in row-major order.
  std::vector<float> rowMajor(const TensorDesc& layout, const void* data) const;
  const PrepareArgs& args() const { return args_; }
  // The memory number `place` of a candidate, zeros at first. All candidates that want as many bytes there share it:
  // one runs at a time and leaves nothing that the next needs.
  void* workspace(std::size_t place, std::size_t bytes);

 private:
  void convert(const TensorDesc& from, const void* src, const TensorDesc& to, void* dst) const;

  const PrepareArgs& args_;
  const KernelList& kernels_;
  std::map<std::pair<std::size_t, std::string>, Buffer> buffers_;
  std::map<std::pair<std::size_t, std::size_t>, Buffer> workspaces_;
};

// Fills elapsed_ns (the least of all rounds), max_error (against the first candidate) and reason ("inexact") of every
// candidate's record. Candidates run interleaved.
void measureCandidates(std::vector<Candidate>& candidates, BenchData& data, double tolerance,
                       const BenchLimits& limits);

// max |Δ| / max |reference| of results of this type. NaN and infinity equal themselves and differ infinitely from
// anything else. One step of rounding is no difference where results are rounded to integers or to floats of two bytes:
// a sum that falls on the other side of the middle between two of them is as good.
double relativeError(const std::vector<float>& result, const std::vector<float>& reference, DType type);

}  // namespace ipex_studio

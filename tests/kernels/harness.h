// Runs one case on one kernel: fills sources, lays them out as the prepared operation wants, executes between canaries
// and reads the results back as dense row-major doubles.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

using Values = std::vector<double>;  // dense, row-major

enum class Layout { kPlain, kChannelsLast, kBlocked16, kBlocked8, kGaps };
const char* layoutText(Layout layout);

// Inputs of a case with the reference's result; made once per case.
struct Problem {
  OpSpec spec;
  std::vector<TensorDesc> src;  // row-major
  std::vector<Values> values;
  std::vector<TensorDesc> dst;
  std::vector<Values> expected;
};
Problem makeProblem(const Case& test, bool with_answer = true);

// A tensor in memory of exactly its size, between canaries.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes);
  void* data() { return bytes_.data() + kGuard; }
  bool intact() const;

 private:
  static constexpr std::size_t kGuard = 64;
  std::vector<unsigned char> bytes_;
};

void writeTensor(const TensorDesc& desc, const Values& values, void* data);
Values readTensor(const TensorDesc& desc, const void* data);
// True if the padded channels of a blocked tensor are zero.
bool paddingIsZero(const TensorDesc& desc, const void* data);

struct Conditions {
  Layout layout = Layout::kPlain;
  std::int32_t threads = 1;
  std::string isa = "avx512_core";
  int alias_src = -1;  // dst[0] lies in this source's memory if the operation allows it
};

struct Outcome {
  bool declined = false;
  std::string reason;
  bool aliased = false;       // alias_src was applied
  bool needs_finite = false;  // PreparedOp::needs_finite
  std::string problem;        // the fault; empty if there is none
  double error = 0;           // max|result - expected| / max|expected|
};

// Makes the arguments of a kernel: the case's sources in `layout` if their rank allows it, and everything else.
PrepareArgs makeArgs(const Case& test, const Problem& problem, const Conditions& conditions, WeightCache* cache,
                     std::vector<std::unique_ptr<GuardedBytes>>* constants);

Outcome runCase(const Kernel& kernel, const Case& test, const Problem& problem, const Conditions& conditions);

// The error that a kernel may have in a case: its tolerance, twice that for an algorithm that rounds more than sums of
// products do (winograd_test.cpp bounds by how much).
double toleranceOf(const Kernel& kernel, const Case& test);

}  // namespace ipex_studio::kernel_test

// Speed of the cases marked for it: --gtest_also_run_disabled_tests --gtest_filter=*Bench*. One line per kernel, layout
// and number of threads; times are medians of warm runs on operands in the layouts that the operation asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "harness.h"
#include "kernels/kernel_list.h"
#include "kernels/parallel.h"

namespace ipex_studio::kernel_test {
namespace {

double medianSeconds(const PreparedOp& op, ExecState* state, const void* const* src, void* const* dst, void* scratch) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  const auto begin = Clock::now();
  const auto elapsed = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  while (elapsed(begin) < 0.1 || samples.size() < 5) {
    const auto start = Clock::now();
    op.execute(state, src, dst, scratch);
    samples.push_back(elapsed(start));
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void bench(const Kernel& kernel, const Case& test, const Problem& problem, const Conditions& conditions) {
  WeightCache cache;
  std::vector<std::unique_ptr<Buffer>> constants;
  const PrepareArgs args = makeArgs(test, problem, conditions, &cache, &constants);
  std::string reason;
  const Verdict verdict = kernel.supports(args);
  const auto op = verdict.ok ? kernel.prepare(args, &reason) : nullptr;
  if (!op) return;
  std::vector<AlignedBuffer> memory;
  std::vector<const void*> src;
  std::vector<void*> dst;
  double bytes = 0;
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    memory.emplace_back(args.src[s].absent() ? 0 : op->src[s].bytes());
    if (!args.src[s].absent()) writeTensor(op->src[s], problem.values[s], memory.back().data());
    src.push_back(op->packed[s] ? nullptr : memory.back().data());
    bytes += static_cast<double>(memory.back().bytes());
  }
  for (const TensorDesc& desc : op->dst) {
    memory.emplace_back(desc.bytes());
    std::memset(memory.back().data(), 0, desc.bytes());
    dst.push_back(memory.back().data());
    bytes += static_cast<double>(memory.back().bytes());
  }
  if (op->in_place_src >= 0) dst[0] = const_cast<void*>(src[op->in_place_src]);
  const AlignedBuffer scratch(op->scratch_bytes);
  const auto state = op->newState();
  const ThreadCountScope threads(conditions.threads);
  const double seconds = medianSeconds(*op, state.get(), src.data(), dst.data(), scratch.data());
  std::printf("%-20s %-24s t%d %-12s > %-8s %9.1f us %8.1f GFLOP/s %7.1f GB/s  %s\n", kernel.name(),
              op->implementation.c_str(), conditions.threads, layoutText(conditions.layout),
              op->dst[0].layoutName().c_str(), seconds * 1e6, op->flops / seconds * 1e-9, bytes / seconds * 1e-9,
              test.spec.c_str());
}

TEST(KernelBench, DISABLED_Bench) {
  const auto list = makeKernelList();
  for (const auto* cases : {&convolutionCases(), &matrixCases(), &pointwiseCases(), &normCases(), &attentionCases(), &bf16Cases(), &movementCases()}) {
    for (const Case& test : *cases) {
      if (!test.bench) continue;
      const Problem problem = makeProblem(test);
      const auto& candidates = list->candidates(problem.spec.kind);
      for (const Kernel* kernel : candidates) {
        if (kernel == candidates.back()) break;
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
          for (const int threads : {1, 2})
            bench(*kernel, test, problem, Conditions{layout, threads, "avx512_core", -1});
        }
      }
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test

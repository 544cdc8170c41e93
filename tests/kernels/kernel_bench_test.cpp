// Speed of the cases marked for it, in one command:
//   kernel_tests --gtest_also_run_disabled_tests --gtest_filter=KernelBench.DISABLED_Layers   (network layers), or _All
// Per case and number of threads one line for each kernel and layout that it works in: time (the fastest of runs that take
// turns, on operands in the layouts that the operation asked for), speed, share of the FMA peak measured here, and how many
// times as fast as the library's best.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "fma_peak.h"
#include "harness.h"
#include "kernels/kernel_list.h"
#include "kernels/parallel.h"

namespace ipex_studio::kernel_test {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

// One prepared operation with memory of its own.
struct Contender {
  std::string kernel, layouts;
  WeightCache cache;
  std::vector<std::unique_ptr<Buffer>> constants;
  std::unique_ptr<PreparedOp> op;
  std::unique_ptr<ExecState> state;
  std::vector<AlignedBuffer> memory;
  std::vector<const void*> src;
  std::vector<void*> dst;
  AlignedBuffer scratch;
  double bytes = 0, seconds = 1e9;

  void run() {
    const auto start = Clock::now();
    op->execute(state.get(), src.data(), dst.data(), scratch.data());
    seconds = std::min(seconds, secondsSince(start));
  }
};

std::unique_ptr<Contender> prepareContender(const Kernel& kernel, const Case& test, const Problem& problem,
                                            const Conditions& conditions) {
  auto made = std::make_unique<Contender>();
  const PrepareArgs args = makeArgs(test, problem, conditions, &made->cache, &made->constants);
  std::string reason;
  if (kernel.supports(args).ok) made->op = kernel.prepare(args, &reason);
  if (!made->op) return nullptr;
  const PreparedOp& op = *made->op;
  made->kernel = kernel.name();
  made->layouts = op.src[0].layoutName() + " > " + op.dst[0].layoutName();
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    made->memory.emplace_back(args.src[s].absent() ? 0 : op.src[s].bytes());
    if (!args.src[s].absent()) writeTensor(op.src[s], problem.values[s], made->memory.back().data());
    made->src.push_back(op.packed[s] ? nullptr : made->memory.back().data());
    made->bytes += static_cast<double>(made->memory.back().bytes());
  }
  for (const TensorDesc& desc : op.dst) {
    made->memory.emplace_back(desc.bytes());
    std::memset(made->memory.back().data(), 0, desc.bytes());
    made->dst.push_back(made->memory.back().data());
    made->bytes += static_cast<double>(made->memory.back().bytes());
  }
  if (op.in_place_src >= 0) made->dst[0] = const_cast<void*>(made->src[op.in_place_src]);
  made->scratch = AlignedBuffer(op.scratch_bytes);
  made->state = op.newState();
  return made;
}

std::string shapesOf(const Problem& problem) {
  std::string text;
  for (const TensorDesc& src : problem.src) {
    if (!src.absent()) text += (text.empty() ? "" : ", ") + src.dims.str();
  }
  return text;
}

void benchCase(const KernelList& list, const Case& test, int threads, double peak) {
  const Problem problem = makeProblem(test);
  const auto& candidates = list.candidates(problem.spec.kind);
  std::vector<std::unique_ptr<Contender>> contenders;
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
      auto made = prepareContender(*candidates[k], test, problem, Conditions{layout, threads, "avx512_core", -1});
      const bool known = made && std::any_of(contenders.begin(), contenders.end(), [&](const auto& other) {
                           return other->kernel == made->kernel && other->layouts == made->layouts;
                         });
      if (made && !known) contenders.push_back(std::move(made));
    }
  }
  const ThreadCountScope scope(threads);
  const auto begin = Clock::now();
  for (int round = 0; round < 5 || secondsSince(begin) < 0.2; ++round) {
    for (const auto& contender : contenders) contender->run();
  }
  double library = 1e9;
  for (const auto& contender : contenders) {
    if (contender->kernel.find("_onednn") != std::string::npos) library = std::min(library, contender->seconds);
  }
  std::sort(contenders.begin(), contenders.end(), [](const auto& a, const auto& b) { return a->seconds < b->seconds; });
  std::printf("%s  [%s]  threads %d\n", test.spec.c_str(), shapesOf(problem).c_str(), threads);
  for (const auto& c : contenders) {
    const double speed = static_cast<double>(c->op->flops) / c->seconds;
    std::printf("  %-28s %-24s %-20s %9.1f us %7.1f GFLOP/s %5.1f %% %7.1f GB/s", c->kernel.c_str(),
                c->op->implementation.c_str(), c->layouts.c_str(), c->seconds * 1e6, speed * 1e-9,
                100 * speed / (peak * threads), c->bytes / c->seconds * 1e-9);
    std::printf(library < 1e9 ? " %6.2f\n" : "\n", library / c->seconds);
  }
}

void bench(const std::vector<const std::vector<Case>*>& tables) {
  const auto list = makeKernelList();
  const double peak = fmaPeak();
  std::printf("FMA peak of one core: %.1f GFLOP/s\n", peak * 1e-9);
  for (const auto* table : tables) {
    for (const Case& test : *table) {
      for (const int threads : {1, 2}) {
        if (test.bench) benchCase(*list, test, threads, peak);
      }
    }
  }
}

TEST(KernelBench, DISABLED_Layers) { bench({&layerCases()}); }

TEST(KernelBench, DISABLED_All) {
  bench({&layerCases(), &convolutionCases(), &matrixCases(), &pointwiseCases(), &normCases(), &attentionCases(),
         &bf16Cases(), &movementCases()});
}

}  // namespace
}  // namespace ipex_studio::kernel_test

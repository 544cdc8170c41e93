// Speed of the cases marked for it, in one command:
//   kernel_tests --gtest_also_run_disabled_tests --gtest_filter=KernelBench.DISABLED_Layers
// (network layers), or _All, or _Int8 (the same layers in u8 and s8, against the library's FP32). IPEX_BENCH=softmax
// leaves the cases whose text, or a kernel that takes them, has this in its name.
//
// Prints one line per case, number of threads, kernel and layout: time (the fastest of interleaved runs, on operands in
// the layouts that the operation asked for), speed, share of the FMA peak measured here, the speed-up over the
// library's best, and the time over that of the first of the kernel list in its first layout: the median over rounds,
// with its 95 % interval.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/fma_peak.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

// One prepared operation with its own memory.
struct Contender {
  std::string kernel, layouts;
  DType dtype = DType::kF32;  // of the first source
  WeightCache cache;
  std::vector<std::unique_ptr<GuardedBytes>> constants;
  std::unique_ptr<PreparedOp> op;
  std::unique_ptr<ExecState> state;
  std::vector<Buffer> memory;
  std::vector<const void*> src;
  std::vector<void*> dst;
  Buffer scratch;
  double bytes = 0, seconds = 1e9;
  std::vector<double> rounds;  // seconds of each

  void run() {
    const auto start = Clock::now();
    op->execute(state.get(), src.data(), dst.data(), scratch.data());
    rounds.push_back(secondsSince(start));
    seconds = std::min(seconds, rounds.back());
  }
};

// The time of a contender over that of the first, as "1.05 [1.03, 1.08]". The interval of the median lies between order
// statistics: it asks nothing of how times are distributed.
std::string ratioText(const Contender& contender, const Contender& first) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < first.rounds.size(); ++r) ratios.push_back(contender.rounds[r] / first.rounds[r]);
  std::sort(ratios.begin(), ratios.end());
  const double half = 0.98 * std::sqrt(static_cast<double>(ratios.size()));
  const auto middle = static_cast<double>(ratios.size() - 1) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(middle - half)));
  const auto high = std::min(ratios.size() - 1, static_cast<std::size_t>(std::ceil(middle + half)));
  char text[64];
  std::snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", ratios[ratios.size() / 2], ratios[low], ratios[high]);
  return text;
}

std::unique_ptr<Contender> prepareContender(const Kernel& kernel, const Case& test, const Problem& problem,
                                            const Conditions& conditions) {
  auto made = std::make_unique<Contender>();
  const PrepareArgs args = makeArgs(test, problem, conditions, &made->cache, &made->constants);
  std::string reason;
  if (kernel.supports(args).ok) made->op = kernel.prepare(args, &reason);
  if (!made->op) return nullptr;
  const PreparedOp& op = *made->op;
  made->kernel = kernel.name();
  made->dtype = args.src[0].dtype;
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
  made->scratch = Buffer(op.scratch_bytes);
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

using Contenders = std::vector<std::unique_ptr<Contender>>;

void addContenders(const KernelList& list, const Case& test, const Problem& problem, int threads, bool library_only,
                   Contenders* contenders) {
  static const std::string isa = machineFacts().isa;
  const auto& candidates = list.candidates(problem.spec.kind, DeviceKind::kCpu);
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    if (library_only && std::string(candidates[k]->name()).find("_onednn") == std::string::npos) continue;
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
      auto made = prepareContender(*candidates[k], test, problem, Conditions{layout, threads, isa, -1});
      const bool known =
          made && std::any_of(contenders->begin(), contenders->end(), [&](const auto& other) {
            return other->kernel == made->kernel && other->layouts == made->layouts && other->dtype == made->dtype;
          });
      if (made && !known) contenders->push_back(std::move(made));
    }
  }
}

void race(const Problem& problem, const std::string& title, int threads, double peak, Contenders* contenders) {
  const ThreadCountScope scope(threads);
  const auto begin = Clock::now();
  for (int round = 0; round < 5 || secondsSince(begin) < 0.2; ++round) {
    for (const auto& contender : *contenders) contender->run();
  }
  double library = 1e9;
  for (const auto& contender : *contenders) {
    const bool floats = contender->dtype == DType::kF32 || problem.src[0].dtype == contender->dtype;
    if (floats && contender->kernel.find("_onednn") != std::string::npos)
      library = std::min(library, contender->seconds);
  }
  if (contenders->empty()) return;
  const Contender& first = *contenders->front();
  std::sort(contenders->begin(), contenders->end(),
            [](const auto& a, const auto& b) { return a->seconds < b->seconds; });
  std::printf("%s  [%s]  threads %d\n", title.c_str(), shapesOf(problem).c_str(), threads);
  for (const auto& c : *contenders) {
    const double speed = static_cast<double>(c->op->flops) / c->seconds;
    std::printf("  %-4s %-28s %-24s %-20s %9.1f us %7.1f GFLOP/s %5.1f %% %7.1f GB/s", dtypeName(c->dtype),
                c->kernel.c_str(), c->op->implementation.c_str(), c->layouts.c_str(), c->seconds * 1e6, speed * 1e-9,
                100 * speed / (peak * threads), c->bytes / c->seconds * 1e-9);
    if (library < 1e9) std::printf(" %6.2f", library / c->seconds);
    std::printf("  %s\n", ratioText(*c, first).c_str());
  }
}

// True if IPEX_BENCH asks for a case: by a part of its text, or of the name of a kernel that takes it.
bool isWanted(const Problem& problem, const Contenders& contenders) {
  const char* part = std::getenv("IPEX_BENCH");
  if (part == nullptr || problem.spec.text().find(part) != std::string::npos) return true;
  return std::any_of(contenders.begin(), contenders.end(),
                     [&](const auto& contender) { return contender->kernel.find(part) != std::string::npos; });
}

void benchCase(const KernelList& list, const Case& test, int threads, double peak) {
  const Problem problem = makeProblem(test, false);
  Contenders contenders;
  addContenders(list, test, problem, threads, false, &contenders);
  if (isWanted(problem, contenders)) race(problem, test.spec, threads, peak, &contenders);
}

// Turns a layer in FP32 into one of integers: scales and bias first, requantized at the end.
Case integersOf(const Case& test) {
  OpSpec spec = parseOpSpec(test.spec);
  Case integers = test;
  const bool image = spec.kind == OpKind::kConvolution;
  const std::int64_t columns = test.src[1].dims[0];
  const Dims channels = image ? Dims{columns, 1, 1} : Dims{columns};
  std::vector<PostOp> chain{binaryPostOp(PostOpKind::kMul, 0), binaryPostOp(PostOpKind::kAdd, 1)};
  for (PostOp op : spec.post_ops) {
    if (isBinary(op.kind)) op.operand += 2;
    if (op.kind == PostOpKind::kAdd) op.alpha = 3;
    chain.push_back(op);
  }
  chain.push_back(unaryPostOp(PostOpKind::kLinear, 0.05, 0));
  spec.post_ops = chain;
  spec.attributes["result"] = std::string("u8");
  integers.spec = spec.text();
  integers.src[0] = Source::u8(test.src[0].dims);
  integers.src[1] = Source::s8Weight(test.src[1].dims);
  integers.src[2] = Source::none();
  std::vector<Source> operands{Source::scales(channels), Source::weight(channels)};
  if (test.src.size() > 3) {
    operands.push_back(Source::u8(test.src[3].dims));
    operands.back().dies = test.src[3].dies;
  }
  integers.src.resize(3);
  integers.src.insert(integers.src.end(), operands.begin(), operands.end());
  return integers;
}

void benchIntegers(const KernelList& list, const Case& test, int threads, double peak) {
  const Case integers = integersOf(test);
  const Problem floats = makeProblem(test, false), problem = makeProblem(integers, false);
  Contenders contenders;
  addContenders(list, test, floats, threads, true, &contenders);
  addContenders(list, integers, problem, threads, false, &contenders);
  if (isWanted(problem, contenders)) race(floats, integers.spec, threads, peak, &contenders);
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

TEST(KernelBench, DISABLED_Int8) {
  const auto list = makeKernelList();
  const double peak = fmaPeak();
  for (const Case& test : layerCases()) {
    for (const int threads : {1, 2}) benchIntegers(*list, test, threads, peak);
  }
}

TEST(KernelBench, DISABLED_All) {
#define IPEX_TABLE(name, cases) &cases(),
  bench({&layerCases(), IPEX_CASE_LISTS(IPEX_TABLE)});
#undef IPEX_TABLE
}

}  // namespace
}  // namespace ipex_studio::kernel_test

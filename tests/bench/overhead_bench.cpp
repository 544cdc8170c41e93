// Measures the cost of our code around each step of a warm plan: steps that do nothing, and a small oneDNN reorder
// beside the bare primitive. Prints ns per step and asserts none.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

constexpr int kSteps = 1000, kRounds = 200;

// CPU time of this thread in ns, which excludes other work on the machine.
std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}

// The least time of many rounds, per step.
double leastPerStep(const std::function<void()>& round) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int r = 0; r < kRounds; ++r) {
    const std::int64_t begin = now();
    round();
    least = std::min(least, now() - begin);
  }
  return static_cast<double>(least) / kSteps;
}

class Nothing final : public PreparedOp {
 public:
  void execute(ExecState*, const void* const*, void* const*, void*) const override {}
};

class NothingKernel final : public Kernel {
 public:
  const char* name() const override { return "nothing"; }
  Verdict supports(const PrepareArgs&) const override { return Verdict::yes(); }
  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<Nothing>();
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    return op;
  }
};

class NothingKernels final : public KernelList {
 public:
  const std::vector<const Kernel*>& candidates(OpKind, DeviceKind) const override { return list_; }

 private:
  NothingKernel kernel_;
  std::vector<const Kernel*> list_{&kernel_};
};

double stepsThatDoNothing(int inputs_read) {
  PlanSpec spec;
  spec.inputs = {{false, DType::kF32, 4}};
  std::int32_t value = 0;
  for (int n = 0; n < kSteps; ++n) {
    PlanNode node;
    node.op = parseOpSpec("pointwise{}|add(0)");
    node.src = {value, n < inputs_read ? 0 : value};
    node.dst = {++value};
    spec.nodes.push_back(node);
  }
  spec.outputs = {value};
  PlanRequest request;
  request.tensor_inputs = {contiguousDesc(DType::kF32, Dims{1, 16, 4, 4})};
  request.int_inputs = {0};
  const NothingKernels kernels;
  WeightCache weights;
  const auto plan = Plan::compile(spec, request, kernels, weights);
  Plan::Instance instance(*plan);
  Buffer in(request.tensor_inputs[0].bytes()), out(plan->outputs()[0].bytes());
  const void* from = in.data();
  void* to = out.data();
  return leastPerStep([&] { instance.run(&from, &to); });
}

struct Pair {
  double prepared = 0, bare = 0;
};

Pair reorders() {
  const Dims dims{1, 16, 4, 4};
  PrepareArgs args;
  args.spec.kind = OpKind::kReorder;
  args.src = {contiguousDesc(DType::kF32, dims)};
  args.dst = {channelsLastDesc(DType::kF32, dims)};
  args.constant = {nullptr};
  args.src_dies = {false};
  std::string reason;
  std::unique_ptr<PreparedOp> op;
  const auto kernels = makeKernelList();
  for (const Kernel* kernel : kernels->candidates(OpKind::kReorder, DeviceKind::kCpu)) {
    if (std::string(kernel->name()) == "reorder_onednn") op = kernel->prepare(args, &reason);
  }
  Buffer in(args.src[0].bytes()), out(args.dst[0].bytes());
  const std::unique_ptr<ExecState> state = op->newState();
  const void* from = in.data();
  void* to = out.data();
  Pair pair;
  pair.prepared = leastPerStep([&] {
    for (int s = 0; s < kSteps; ++s) op->execute(state.get(), &from, &to, nullptr);
  });
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  onednn::Md src, dst;
  onednn::toMd(args.src[0], &src);
  onednn::toMd(args.dst[0], &dst);
  const dnnl::primitive primitive(onednn::reorderPd(engine, src, dst, onednn::attributes({})).get());
  dnnl::stream stream(engine);
  const dnnl::memory src_memory(src, engine, in.data()), dst_memory(dst, engine, out.data());
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, src_memory.get()}, {DNNL_ARG_TO, dst_memory.get()}};
  pair.bare = leastPerStep([&] {
    for (int s = 0; s < kSteps; ++s) dnnl_primitive_execute(primitive.get(), stream.get(), 2, arguments);
  });
  return pair;
}

}  // namespace
}  // namespace ipex_studio

int main() {
  using namespace ipex_studio;
  fmt::print("a step that does nothing:             {:8.1f} ns\n", stepsThatDoNothing(1));
  fmt::print("the same, reading a plan's input:     {:8.1f} ns\n", stepsThatDoNothing(kSteps));
  const Pair pair = reorders();
  fmt::print("a small oneDNN reorder as prepared:   {:8.1f} ns\n", pair.prepared);
  fmt::print("the bare primitive:                   {:8.1f} ns\n", pair.bare);
  return 0;
}

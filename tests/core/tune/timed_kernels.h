// Kernels of given speed and exactness, on a clock that only they move.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/op/low_precision_floats.h"
#include "tests/core/plan/all_kernels.h"

namespace ipex_studio::testing {

inline std::int64_t fake_now_ns = 0;

// Computes the reference's numbers in a given time.
class TimedOp final : public PreparedOp {
 public:
  TimedOp(std::unique_ptr<PreparedOp> inner, std::int64_t cost_ns, float error, int disturbed_run)
      : inner_(std::move(inner)), cost_ns_(cost_ns), error_(error), disturbed_run_(disturbed_run) {
    src = inner_->src;
    dst = inner_->dst;
    packed = inner_->packed;
    scratch_bytes = inner_->scratch_bytes;
  }
  std::unique_ptr<ExecState> newState() const override { return inner_->newState(); }
  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    inner_->execute(state, from, to, scratch);
    if (error_ != 0 && dst[0].dtype == DType::kF32) *static_cast<float*>(to[0]) += error_;
    if (isLowPrecisionFloat(dst[0].dtype)) moveBySteps(static_cast<std::uint16_t*>(to[0]));
    fake_now_ns += runs_++ == disturbed_run_ ? 100 * cost_ns_ : cost_ns_;
  }

 private:
  // Moves each number to the next float `error` times.
  void moveBySteps(std::uint16_t* bits) const {
    for (std::int64_t i = 0; i < dst[0].dims.count(); ++i)
      bits[i] = static_cast<std::uint16_t>(bits[i] + static_cast<int>(error_));
  }

  std::unique_ptr<PreparedOp> inner_;
  std::int64_t cost_ns_;
  float error_;
  int disturbed_run_;
  mutable int runs_ = 0;
};

struct FakeKernel final : Kernel {
  const void* only_wrong_on_ = nullptr;                // null: wrong on any weights
  int disturbed_run_ = -1;                             // run of each operation that takes 100 times as long
  std::map<std::int64_t, std::int64_t> cost_of_rows_;  // by rows of the result, if the cost depends on them
  FakeKernel(std::string name, const Kernel* inner, std::int64_t cost_ns, std::string layout, bool measured,
             float error = 0, bool post_ops = true)
      : name_(std::move(name)),
        inner_(inner),
        cost_ns_(cost_ns),
        layout_(std::move(layout)),
        measured_(measured),
        error_(error),
        post_ops_(post_ops) {}
  const char* name() const override { return name_.c_str(); }
  bool onlyWhenMeasured() const override { return measured_; }
  Verdict supports(const PrepareArgs& args) const override {
    return post_ops_ || args.spec.post_ops.empty() ? inner_->supports(args) : Verdict::no("post-ops");
  }
  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    PrepareArgs wanted = args;
    const auto turned = [&](TensorDesc& desc) {
      desc = desc.absent() || desc.dims.rank != 4 ? desc : *descInLayout(desc);
    };
    if (!layout_.empty()) {
      turned(wanted.src[0]);
      turned(wanted.dst[0]);
      for (std::size_t s = 3; s < wanted.src.size(); ++s) turned(wanted.src[s]);
    }
    auto op = inner_->prepare(wanted, reason);
    const bool wrong = only_wrong_on_ == nullptr || (args.constant.size() > 1 && args.constant[1] == only_wrong_on_);
    const auto of_rows = cost_of_rows_.find(args.dst[0].dims[0]);
    const std::int64_t cost_ns = of_rows == cost_of_rows_.end() ? cost_ns_ : of_rows->second;
    return op ? std::make_unique<TimedOp>(std::move(op), cost_ns, wrong ? error_ : 0, disturbed_run_) : nullptr;
  }

 private:
  std::optional<TensorDesc> descInLayout(const TensorDesc& desc) const {
    return layout_ == "channels-last" ? channelsLastDesc(desc.dtype, desc.dims) : contiguousDesc(desc.dtype, desc.dims);
  }

  std::string name_;
  const Kernel* inner_;
  std::int64_t cost_ns_;
  std::string layout_;
  bool measured_;
  float error_;
  bool post_ops_;
};

class FakeKernels final : public KernelList {
 public:
  void add(OpKind kind, std::unique_ptr<FakeKernel> kernel) {
    own_[kind].push_back(kernel.get());
    kept_.push_back(std::move(kernel));
  }
  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override {
    const auto found = own_.find(kind);
    return found == own_.end() ? kernels().candidates(kind, device) : found->second;
  }
  static const Kernel* reference(OpKind kind) { return kernels().candidates(kind, DeviceKind::kCpu).back(); }

 private:
  std::map<OpKind, std::vector<const Kernel*>> own_;
  std::vector<std::unique_ptr<FakeKernel>> kept_;
};

}  // namespace ipex_studio::testing

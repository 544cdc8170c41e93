// ipex_studio::rnnt_loss: the loss of RNN transducers with its gradient, by kernels/training.
//
//   rnnt_loss(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, bool
//   fused_log_softmax) -> Tensor
//
// logits: [B, T, U + 1, V]; targets: [B, U], logit_lengths and target_lengths: [B], int32 or int64. blank < 0 counts
// from the end of V. clamp > 0 bounds the gradient before it is multiplied by that of the result. Without
// fused_log_softmax, logits are logarithms of probabilities. Result: [B], -ln of the probability of each sample's
// targets; float64 for itself, else float32. BF16 is read as it is; other halves become float32. Throws c10::IndexError
// for a target or length that does not fit, c10::Error for other sizes and types.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/second_derivative.h"
#include "kernels/torch/layers/plain_floats.h"
#include "kernels/training/rnnt_loss.h"

namespace ipex_studio {
namespace {

constexpr char kRnntLoss[] = "rnnt_loss";

at::Tensor wholeNumbers(const char* name, const at::Tensor& tensor, at::IntArrayRef sizes) {
  TORCH_CHECK(tensor.device().is_cpu() && (tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt),
              "rnnt_loss: ", name, " are not whole numbers of 32 or 64 bits on the CPU");
  TORCH_CHECK(tensor.sizes() == sizes, "rnnt_loss: ", name, " have the sizes ", tensor.sizes(), " instead of ", sizes);
  return tensor.detach().to(at::kLong).contiguous();
}

void checkNumbers(const char* name, const at::Tensor& tensor, std::int64_t least, std::int64_t most) {
  const auto* const numbers = tensor.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    TORCH_CHECK_INDEX(numbers[i] >= least && numbers[i] <= most, "rnnt_loss: ", name, "[", i, "] is ", numbers[i],
                      ", which is not from ", least, " to ", most);
  }
}

// The operands of a loss, checked.
struct RnntOperands {
  at::Tensor logits, targets, frames, labels;
  RnntLossJob job;
};

// Targets beyond a sample's length are not read.
void checkTargets(const RnntOperands& operands) {
  const RnntLossJob& job = operands.job;
  for (std::int64_t sample = 0; sample < job.samples; ++sample) {
    for (std::int64_t u = 0; u < job.labels_of[sample]; ++u) {
      const std::int64_t target = job.targets[sample * job.labels + u];
      TORCH_CHECK_INDEX(target >= 0 && target < job.classes, "rnnt_loss: targets[", sample, "][", u, "] is ", target,
                        ", which is none of ", job.classes, " classes");
    }
  }
}

RnntOperands operandsOf(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& logit_lengths,
                        const at::Tensor& target_lengths, std::int64_t blank, double clamp, bool fused_log_softmax) {
  TORCH_CHECK(logits.device().is_cpu() && logits.layout() == at::kStrided && at::isFloatingType(logits.scalar_type()),
              "rnnt_loss: logits are not dense floats on the CPU");
  TORCH_CHECK(logits.dim() == 4 && logits.size(1) > 0 && logits.size(2) > 0 && logits.size(3) > 0,
              "rnnt_loss: logits have the sizes ", logits.sizes(), " instead of samples, frames, labels + 1, classes");
  RnntOperands operands;
  RnntLossJob& job = operands.job;
  job.samples = logits.size(0), job.frames = logits.size(1), job.labels = logits.size(2) - 1,
  job.classes = logits.size(3);
  job.blank = blank < 0 ? blank + job.classes : blank;
  TORCH_CHECK_INDEX(job.blank >= 0 && job.blank < job.classes, "rnnt_loss: the blank ", blank, " is none of ",
                    job.classes, " classes");
  job.are_logarithms = !fused_log_softmax;
  job.clamp = clamp;
  job.threads = at::get_num_threads();
  const bool kept = isBf16(logits) || logits.scalar_type() == at::kDouble;
  operands.logits = (kept ? logits : logits.to(at::kFloat)).detach().contiguous().resolve_neg();
  operands.targets = wholeNumbers("targets", targets, {job.samples, job.labels});
  operands.frames = wholeNumbers("logit_lengths", logit_lengths, {job.samples});
  operands.labels = wholeNumbers("target_lengths", target_lengths, {job.samples});
  checkNumbers("logit_lengths", operands.frames, 1, job.frames);
  checkNumbers("target_lengths", operands.labels, 0, job.labels);
  job.targets = operands.targets.data_ptr<std::int64_t>();
  job.frames_of = operands.frames.data_ptr<std::int64_t>();
  job.labels_of = operands.labels.data_ptr<std::int64_t>();
  checkTargets(operands);
  return operands;
}

// Calls fn with the logits' type in memory.
template <typename Fn>
void forLogits(const at::Tensor& logits, const Fn& fn) {
  if (isBf16(logits)) return fn(bf16Of(logits));
  if (logits.scalar_type() == at::kDouble) return fn(logits.data_ptr<double>());
  fn(logits.data_ptr<float>());
}

template <typename T>
RnntNode<RnntSum<T>>* nodesIn(const at::Tensor& tensor) {
  return reinterpret_cast<RnntNode<RnntSum<T>>*>(tensor.data_ptr());
}

// The costs, and the nodes of all lattices.
std::pair<at::Tensor, at::Tensor> costsOf(const RnntOperands& operands) {
  const at::Tensor& logits = operands.logits;
  const at::TensorOptions options =
      logits.options().dtype(logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  at::Tensor costs = at::empty({logits.size(0)}, options);
  at::Tensor nodes = at::empty({logits.size(0), logits.size(1), logits.size(2), 3}, options);
  forLogits(logits, [&](auto* values) {
    using T = std::remove_pointer_t<decltype(values)>;
    rnntLoss<T>(operands.job, values, costs.data_ptr<RnntSum<T>>(), nodesIn<T>(nodes));
  });
  return {costs, nodes};
}

at::Tensor rnntLossOnCpu(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& logit_lengths,
                         const at::Tensor& target_lengths, std::int64_t blank, double clamp, bool fused_log_softmax) {
  RnntOperands operands = operandsOf(logits, targets, logit_lengths, target_lengths, blank, clamp, fused_log_softmax);
  operands.job.needs_gradient = false;
  return costsOf(operands).first;
}

at::Tensor rnntLossOnMeta(const at::Tensor& logits, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                          std::int64_t, double, bool) {
  return at::empty({logits.size(0)},
                   logits.options().dtype(logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RnntLoss : public torch::autograd::Function<RnntLoss> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits, const at::Tensor& targets,
                            const at::Tensor& logit_lengths, const at::Tensor& target_lengths, std::int64_t blank,
                            double clamp, bool fused_log_softmax) {
    at::AutoDispatchBelowADInplaceOrView below;
    const RnntOperands operands =
        operandsOf(logits, targets, logit_lengths, target_lengths, blank, clamp, fused_log_softmax);
    auto [costs, nodes] = costsOf(operands);
    context->save_for_backward({logits, operands.targets, operands.frames, operands.labels, nodes});
    context->saved_data["blank"] = blank;
    context->saved_data["clamp"] = clamp;
    context->saved_data["fused_log_softmax"] = fused_log_softmax;
    return costs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kRnntLoss);
    const variable_list saved = context->get_saved_variables();
    const RnntOperands operands =
        operandsOf(saved[0], saved[1], saved[2], saved[3], context->saved_data["blank"].toInt(),
                   context->saved_data["clamp"].toDouble(), context->saved_data["fused_log_softmax"].toBool());
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor out = at::empty(operands.logits.sizes(), operands.logits.options());
    forLogits(out, [&](auto* to) {
      using T = std::remove_pointer_t<decltype(to)>;
      rnntLossGradient<T>(operands.job, static_cast<const T*>(operands.logits.data_ptr()), nodesIn<T>(saved[4]),
                          gradient.data_ptr<RnntSum<T>>(), to);
    });
    return {out.to(saved[0].scalar_type()), {}, {}, {}, {}, {}, {}};
  }
};

at::Tensor rnntLossWithGradient(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& logit_lengths,
                                const at::Tensor& target_lengths, std::int64_t blank, double clamp,
                                bool fused_log_softmax) {
  return RnntLoss::apply(logits, targets, logit_lengths, target_lengths, blank, clamp, fused_log_softmax);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "rnnt_loss(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
      "bool fused_log_softmax) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("rnnt_loss", rnntLossOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("rnnt_loss", rnntLossOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("rnnt_loss", rnntLossWithGradient); }

}  // namespace ipex_studio

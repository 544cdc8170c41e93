// Shares the heads of attention among threads. Forward, FP32 is the kernel of plans, prepared for the call.
#include "kernels/attention/flash_attention.h"

#include <vector>

#include "core/runtime/device.h"
#include "core/runtime/machine_facts.h"
#include "kernels/attention/attention_op.h"

namespace ipex_studio {

std::unique_ptr<Kernel> makeAttentionSimd();

namespace {

TensorDesc headsDesc(const Dims& dims, const HeadStrides& strides, std::int64_t group, std::int64_t column) {
  TensorDesc desc = contiguousDesc(DType::kF32, dims);
  desc.strides = Dims{strides.text, strides.head * group, strides.head, strides.row, column};
  return desc;
}

PrepareArgs argsOf(const FlashJob& job, std::int32_t threads) {
  const std::int64_t g = job.group;
  PrepareArgs args;
  args.spec.kind = OpKind::kAttention;
  args.spec.attributes = {{"scale", job.scale}, {"causal", std::int64_t{job.causal ? 1 : 0}}};
  const HeadStrides &k = job.k, &v = job.v;
  args.src = {headsDesc({job.texts, job.key_heads, g, job.queries, job.depth}, job.q, g, 1),
              headsDesc({job.texts, job.key_heads, 1, job.keys, job.depth}, k, 1, 1),
              headsDesc({job.texts, job.key_heads, 1, job.keys, job.width}, v, 1, 1), TensorDesc()};
  if (job.has_mask) {
    args.src[3] = headsDesc({job.texts, job.key_heads, g, job.queries, job.keys}, job.mask, g, job.mask_column);
  }
  args.constant.assign(args.src.size(), nullptr);
  args.dst = {contiguousDesc(DType::kF32, {job.texts, job.key_heads, g, job.queries, job.width}),
              contiguousDesc(DType::kF32, {job.texts, job.key_heads, g, job.queries, 1})};
  args.target.isa = machineFacts().isa;
  args.target.threads = threads;
  return args;
}

// Operands of text `text` and query head `head`.
template <typename T>
FlashOperands<T> operandsAt(const FlashJob& job, FlashOperands<T> from, std::int64_t text, std::int64_t head) {
  const std::int64_t key_head = head / job.group;
  from.q += text * job.q.text + head * job.q.head;
  from.k += text * job.k.text + key_head * job.k.head;
  from.v += text * job.v.text + key_head * job.v.head;
  if (job.has_mask) from.mask += text * job.mask.text + head * job.mask.head;
  return from;
}

template <typename T>
HeadGradient<T> headAt(const FlashJob& job, const HeadGradient<T>& all, std::int64_t item) {
  const std::int64_t head = item * job.group, rows = head * job.queries;
  HeadGradient<T> at = all;
  at.from = operandsAt(job, all.from, item / job.key_heads, head % job.queryHeads());
  at.y += rows * job.width;
  at.of_y += rows * job.width;
  at.logarithms += rows;
  at.to.q += rows * job.depth;
  at.to.k += item * job.keys * job.depth;
  at.to.v += item * job.keys * job.width;
  return at;
}

}  // namespace

template <>
void attend<float>(const FlashJob& job, const FlashOperands<float>& from, float* y, float* logarithms,
                   std::int32_t threads) {
  static const std::unique_ptr<Kernel> kernel = makeAttentionSimd();
  std::string reason;
  const std::unique_ptr<PreparedOp> op = kernel->prepare(argsOf(job, threads), &reason);
  const Buffer scratch(op->scratch_bytes);
  const void* const src[] = {from.q, from.k, from.v, from.mask};
  void* const dst[] = {y, logarithms};
  op->execute(nullptr, src, dst, scratch.data());
}

template <>
void attend<double>(const FlashJob& job, const FlashOperands<double>& from, double* y, double* logarithms,
                    std::int32_t threads) {
  const std::int64_t heads = job.queryHeads();
  parallelFor(job.texts * heads, 1, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) {
      attendHeadRef(job, operandsAt(job, from, item / heads, item % heads), y + item * job.queries * job.width,
                    logarithms + item * job.queries);
    }
  });
}

template <>
void attendGradient<float>(const FlashJob& job, const FlashOperands<float>& from, const float* y,
                           const float* logarithms, const float* of_y, const FlashGradients<float>& to,
                           std::int32_t threads) {
  static const HeadGradientSimd simd = headGradientSimd(machineFacts().isa);
  const std::int64_t floats = simd.scratch_floats(job);
  const Buffer scratch(static_cast<std::size_t>(floats * threads) * sizeof(float));
  const HeadGradient<float> all{from, y, logarithms, of_y, to};
  parallelFor(job.texts * job.key_heads, 1, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t item = begin; item < end; ++item)
      simd.run(job, headAt(job, all, item), static_cast<float*>(scratch.data()) + thread * floats);
  });
}

template <>
void attendGradient<double>(const FlashJob& job, const FlashOperands<double>& from, const double* y,
                            const double* logarithms, const double* of_y, const FlashGradients<double>& to,
                            std::int32_t threads) {
  const HeadGradient<double> all{from, y, logarithms, of_y, to};
  parallelFor(job.texts * job.key_heads, 1, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) headGradientRef(job, headAt(job, all, item));
  });
}

}  // namespace ipex_studio

// ipex_studio::flash_attention: softmax(scale · q·kᵀ + mask) · v with gradients, in memory linear in the numbers of
// queries and keys (kernels/attention/flash_attention.h).
//
//   flash_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float? scale) -> Tensor
//
// query: [B, H, S, D], key: [B, Hk, K, D], value: [B, Hk, K, W], of one type, where Hk divides H: query head h reads
// key head h / (H / Hk). mask: broadcast to [B, H, S, K]; booleans say which scores count, floats are added. causal:
// query i sees keys up to i. scale: 1 / √D by default. Result: [B, H, S, W]; queries whose scores are all -inf give 0.
// Floats; float64 is computed in itself, others in float32 and rounded once. Where the mask has a gradient, operators
// of PyTorch compute, in memory of the size S · K. The bits are the same for any number of threads.
#include "kernels/attention/flash_attention.h"

#include <cmath>

#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {
namespace {

constexpr char kFlashAttention[] = "flash_attention";

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct FlashOptions {
  bool causal = false;
  double scale = 1;
};

FlashOptions flashOptions(const at::Tensor& query, bool causal, c10::optional<double> scale) {
  return {causal, scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, query.size(-1)))))};
}

void checkFlash(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Optional& mask) {
  const auto given = [&] { return c10::str(query.sizes(), ", ", key.sizes(), ", ", value.sizes()); };
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, kFlashAttention,
              ": query, key and value have four axes, not ", given());
  TORCH_CHECK(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(), kFlashAttention,
              ": query, key and value are of one type");
  TORCH_CHECK(query.size(0) == key.size(0) && query.size(0) == value.size(0) && key.size(1) == value.size(1) &&
                  key.size(2) == value.size(2) && query.size(3) == key.size(3) && key.size(1) > 0 &&
                  query.size(1) % key.size(1) == 0,
              kFlashAttention,
              ": query [B, H, S, D], key [B, Hk, K, D] and value [B, Hk, K, W], where Hk divides H, "
              "are not ",
              given());
  if (!mask.has_value() || !mask->defined()) return;
  TORCH_CHECK(mask->scalar_type() == at::kBool || mask->is_floating_point(), kFlashAttention,
              ": a mask is of booleans or floats, not ", mask->scalar_type());
  const std::int64_t sizes[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
  bool fits = mask->dim() <= 4;
  for (std::int64_t axis = 1; fits && axis <= mask->dim(); ++axis)
    fits = mask->size(-axis) == 1 || mask->size(-axis) == sizes[4 - axis];
  TORCH_CHECK(fits, kFlashAttention, ": the mask ", mask->sizes(), " does not spread to ", at::IntArrayRef(sizes));
}

// The mask to be added, in the type of the scores and spread to their sizes without a copy.
at::Tensor addedMask(const Optional& mask, at::ScalarType type, const at::Tensor& query, const at::Tensor& key) {
  if (!mask.has_value() || !mask->defined()) return {};
  at::Tensor added = *mask;
  if (added.scalar_type() == at::kBool) {
    added = at::zeros(added.sizes(), query.options().dtype(type))
                .masked_fill_(added.logical_not(), -std::numeric_limits<double>::infinity());
  }
  return added.to(type).expand({query.size(0), query.size(1), query.size(2), key.size(2)});
}

at::Tensor denseHeads(const at::Tensor& heads) {
  const at::Tensor detached = heads.detach();
  return detached.size(3) <= 1 || detached.stride(3) == 1 ? detached : detached.contiguous();
}

HeadStrides headStrides(const at::Tensor& heads) { return {heads.stride(0), heads.stride(1), heads.stride(2)}; }

// Operands of one floating type. The mask is undefined, or as addedMask() gives it.
struct FlashTensors {
  at::Tensor q, k, v, mask;
  FlashJob job;

  FlashTensors(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& added,
               const FlashOptions& options)
      : q(denseHeads(query)), k(denseHeads(key)), v(denseHeads(value)), mask(added) {
    job.texts = q.size(0);
    job.key_heads = k.size(1);
    job.group = q.size(1) / k.size(1);
    job.queries = q.size(2);
    job.keys = k.size(2);
    job.depth = q.size(3);
    job.width = v.size(3);
    job.q = headStrides(q);
    job.k = headStrides(k);
    job.v = headStrides(v);
    job.causal = options.causal;
    job.scale = options.scale;
    if (!mask.defined()) return;
    job.has_mask = true;
    job.mask = headStrides(mask);
    job.mask_column = mask.stride(3);
  }

  bool empty() const { return q.numel() == 0 || k.numel() == 0 || v.numel() == 0; }

  template <typename T>
  FlashOperands<T> operands() const {
    return {q.data_ptr<T>(), k.data_ptr<T>(), v.data_ptr<T>(), dataOrNull<T>(mask)};
  }
};

// y and the logarithms.
std::pair<at::Tensor, at::Tensor> attended(const FlashTensors& from) {
  const FlashJob& job = from.job;
  const at::Tensor y = at::empty({job.texts, job.queryHeads(), job.queries, job.width}, from.q.options());
  const at::Tensor logarithms = at::empty({job.texts, job.queryHeads(), job.queries}, from.q.options());
  if (from.empty()) return {y.zero_(), logarithms.zero_()};
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), kFlashAttention, [&] {
    attend<scalar_t>(job, from.operands<scalar_t>(), y.data_ptr<scalar_t>(), logarithms.data_ptr<scalar_t>(),
                     at::get_num_threads());
  });
  return {y, logarithms};
}

class FlashAttention : public torch::autograd::Function<FlashAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const Optional& given_mask, bool causal, double scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor mask = given_mask.value_or(at::Tensor());
    const auto [y, logarithms] = attended({query, key, value, mask, {causal, scale}});
    context->save_for_backward({query, key, value, mask, y.detach(), logarithms});
    context->saved_data["causal"] = causal;
    context->saved_data["scale"] = scale;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kFlashAttention);
    const variable_list saved = context->get_saved_variables();
    const FlashTensors from(saved[0], saved[1], saved[2], saved[3],
                            {context->saved_data["causal"].toBool(), context->saved_data["scale"].toDouble()});
    const auto empty = [](const at::Tensor& like) { return at::empty(like.sizes(), like.options()); };
    const at::Tensor of_q = empty(from.q), of_k = empty(from.k), of_v = empty(from.v);
    if (from.empty()) return {of_q.zero_(), of_k.zero_(), of_v.zero_(), {}, {}, {}};
    const at::Tensor of_y = gradients[0].contiguous();
    AT_DISPATCH_FLOATING_TYPES(of_y.scalar_type(), kFlashAttention, [&] {
      attendGradient<scalar_t>(from.job, from.operands<scalar_t>(), saved[4].data_ptr<scalar_t>(),
                               saved[5].data_ptr<scalar_t>(), of_y.data_ptr<scalar_t>(),
                               {of_q.data_ptr<scalar_t>(), of_k.data_ptr<scalar_t>(), of_v.data_ptr<scalar_t>()},
                               at::get_num_threads());
    });
    return {of_q, of_k, of_v, {}, {}, {}};
  }
};

// With a gradient for the mask, too.
at::Tensor byStockAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& mask, const FlashOptions& options) {
  const std::int64_t group = query.size(1) / key.size(1);
  const at::Tensor k = key.repeat_interleave(group, 1), v = value.repeat_interleave(group, 1);
  at::Tensor scores = at::matmul(query, k.transpose(2, 3)) * options.scale + mask;
  if (options.causal) {
    const at::Tensor later = at::ones({query.size(2), key.size(2)}, at::kBool).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor none = (scores == -std::numeric_limits<double>::infinity()).all(-1, true);
  return at::matmul(at::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0), v);
}

at::Tensor flashOnCpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Optional& mask,
                      bool causal, c10::optional<double> scale) {
  const at::ScalarType type = languageType(kFlashAttention, query);
  checkFlash(query, key, value, mask);
  return attended({query.to(type), key.to(type), value.to(type), addedMask(mask, type, query, key),
                   flashOptions(query, causal, scale)})
      .first.to(query.scalar_type());
}

at::Tensor flashWithGradient(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const Optional& mask, bool causal, c10::optional<double> scale) {
  static const auto op = operatorNamed<decltype(flashOnCpu)>("ipex_studio::flash_attention");
  if (!needsGradient(query, key, value, mask)) return callBelowAutograd(op, query, key, value, mask, causal, scale);
  const at::ScalarType type = languageType(kFlashAttention, query);
  checkFlash(query, key, value, mask);
  const FlashOptions options = flashOptions(query, causal, scale);
  const at::Tensor q = query.to(type), k = key.to(type), v = value.to(type);
  const at::Tensor added = addedMask(mask, type, query, key);
  const at::Tensor y = added.defined() && added.requires_grad()
                           ? byStockAttention(q, k, v, added, options)
                           : FlashAttention::apply(q, k, v, Optional(added), options.causal, options.scale);
  return y.to(query.scalar_type());
}

at::Tensor flashOnMeta(const at::Tensor& query, const at::Tensor&, const at::Tensor& value, const Optional&, bool,
                       c10::optional<double>) {
  return at::empty({query.size(0), query.size(1), query.size(2), value.size(3)}, query.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("flash_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float? scale) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("flash_attention", flashOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("flash_attention", flashOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("flash_attention", flashWithGradient); }

}  // namespace ipex_studio

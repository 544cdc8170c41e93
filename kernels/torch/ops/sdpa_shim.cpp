// aten::scaled_dot_product_attention for libtorch before 2.0, so that files written by PyTorch 2.x load.
//
//   softmax(q·kᵀ·scale + mask) · v     (PyTorch 2.x documentation of torch.nn.functional.scaled_dot_product_attention;
//                                           enable_gqa since 2.5: heads share keys and values in groups)
#include <cmath>

#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/torch_compat.h"

#if IPEX_NEEDS_SDPA_SHIM

namespace ipex_studio {
namespace {

at::Tensor additiveMask(const at::Tensor& mask, at::ScalarType dtype) {
  if (mask.scalar_type() != at::kBool) return mask;
  const at::Tensor zeros = at::zeros({}, at::TensorOptions().dtype(dtype));
  return at::where(mask, zeros, at::full_like(zeros, -std::numeric_limits<double>::infinity()));
}

at::Tensor scaledDotProductAttention(const at::Tensor& query, const at::Tensor& given_key,
                                     const at::Tensor& given_value, const c10::optional<at::Tensor>& mask,
                                     double dropout, bool is_causal, c10::optional<double> scale, bool in_groups) {
  TORCH_CHECK(dropout == 0.0, "scaled_dot_product_attention: dropout is for training; export the model in eval mode.");
  at::Tensor key = given_key, value = given_value;
  if (in_groups) {
    key = key.repeat_interleave(query.size(-3) / key.size(-3), -3);
    value = value.repeat_interleave(query.size(-3) / value.size(-3), -3);
  }
  const double factor = scale ? *scale : 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)).mul(factor);
  if (is_causal) {
    const at::Tensor lower = at::ones({query.size(-2), key.size(-2)}, at::TensorOptions().dtype(at::kBool)).tril();
    scores = scores + additiveMask(lower, scores.scalar_type());
  }
  if (mask && mask->defined()) scores = scores + additiveMask(*mask, scores.scalar_type());
  return at::matmul(at::softmax(scores, -1), value);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(aten, m) {
  m.def(
      "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0.0, "
      "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      scaledDotProductAttention);
}

}  // namespace ipex_studio

#endif

// ipex_studio::rotary_embedding: heads rotated by angles of their positions, with their gradient, the rotation back
// (kernels/pointwise/rotary.h).
//
//   rotary_embedding(Tensor x, Tensor sin, Tensor cos, Tensor? positions, int rotary_dim, bool interleaved) -> Tensor
//
// x: [B, S, H, D] or [tokens, H, D], floats; float64 is computed in itself, others in float32. sin, cos: [P, columns],
// of which the first rotary_dim / 2 columns are read. positions: int64 or int32, a row of the tables for each token, in
// the order of x; [S] for all texts; one number: that of the first token of each text; None: 0, 1, … of each text
// (all tokens are one text where x has three axes). interleaved: values 2i and 2i + 1 are a pair, otherwise i and
// i + rotary_dim / 2. Result: as x, dense. Tables have no gradient. Throws c10::IndexError that names place and value
// of a position that is in no row.
#include "kernels/pointwise/rotary.h"

#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {
namespace {

constexpr char kRotary[] = "rotary_embedding";

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sizes of x as texts of tokens.
struct Texts {
  std::int64_t texts = 1, tokens = 0;  // tokens: of one text

  explicit Texts(const at::Tensor& x) {
    if (x.dim() == 4) texts = x.size(0);
    tokens = x.size(-3);
  }
};

// [texts · tokens], dense int64, all in the tables.
at::Tensor positionsOf(const at::Tensor& x, const Optional& given, std::int64_t rows) {
  const Texts of_x(x);
  at::Tensor positions;
  if (!given.has_value() || !given->defined() || given->numel() == 1) {
    positions = at::arange(of_x.tokens, at::kLong);
    if (given.has_value() && given->defined()) positions = positions + given->to(at::kLong).reshape({1});
  } else {
    positions = given->to(at::kLong).reshape({-1});
  }
  if (positions.numel() == of_x.tokens) positions = positions.repeat({of_x.texts});
  TORCH_CHECK(positions.numel() == of_x.texts * of_x.tokens, kRotary, ": there are ", positions.numel(),
              " positions for ", of_x.texts, " texts of ", of_x.tokens, " tokens");
  positions = positions.contiguous();
  const std::int64_t* const p = positions.data_ptr<std::int64_t>();
  for (std::int64_t t = 0; t < positions.numel(); ++t) {
    TORCH_CHECK_INDEX(p[t] >= 0 && p[t] < rows, kRotary, ": the position of token ", t, " is ", p[t],
                      ", and the tables have ", rows, " rows");
  }
  return positions;
}

void checkRotary(const at::Tensor& x, const at::Tensor& sines, const at::Tensor& cosines, std::int64_t rotated) {
  TORCH_CHECK(x.dim() == 3 || x.dim() == 4, kRotary,
              ": x is [texts, tokens, heads, width] or [tokens, heads, width], "
              "not ",
              x.sizes());
  TORCH_CHECK(rotated >= 0 && rotated % 2 == 0 && rotated <= x.size(-1), kRotary, ": rotary_dim ", rotated,
              " is no even number up to the width of a head, ", x.size(-1));
  TORCH_CHECK(sines.dim() == 2 && sines.sizes() == cosines.sizes() && 2 * sines.size(1) >= rotated, kRotary,
              ": sin and cos are tables of at least ", rotated / 2, " columns, not ", sines.sizes(), " and ",
              cosines.sizes());
}

// The tensor itself where its tokens lie a fixed distance apart, as parts of a product do; otherwise a copy.
at::Tensor regularTokens(const at::Tensor& x) {
  const at::Tensor tokens = x.detach();
  const bool one_text = x.dim() == 3 || x.size(0) == 1 || x.stride(0) == x.size(1) * x.stride(1);
  return one_text && x.stride(-1) == 1 ? tokens : tokens.contiguous();
}

// The operands have one type. positions: checked.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& sines, const at::Tensor& cosines, const at::Tensor& positions,
                   std::int64_t count, bool interleaved, bool back) {
  const at::Tensor tokens = regularTokens(x), sine = denseValues(sines), cosine = denseValues(cosines);
  at::Tensor y = at::empty(tokens.sizes(), tokens.options());
  if (y.numel() == 0) return y;
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), kRotary, [&] {
    RotaryJob<scalar_t> job;
    job.heads = tokens.size(-2);
    job.width = tokens.size(-1);
    job.tokens = tokens.numel() / (job.heads * job.width);
    job.rotated = count;
    job.interleaved = interleaved;
    job.back = back;
    job.sines = sine.data_ptr<scalar_t>();
    job.cosines = cosine.data_ptr<scalar_t>();
    job.table_stride = sine.size(1);
    job.token_stride = tokens.stride(-3);
    job.head_stride = tokens.stride(-2);
    job.positions = positions.data_ptr<std::int64_t>();
    rotateHeads<scalar_t>(job, tokens.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), at::get_num_threads());
  });
  return y;
}

at::Tensor rotaryOnCpu(const at::Tensor& x, const at::Tensor& sines, const at::Tensor& cosines,
                       const Optional& positions, std::int64_t count, bool interleaved) {
  const at::ScalarType type = languageType(kRotary, x);
  checkRotary(x, sines, cosines, count);
  return rotated(x.to(type), sines.to(type), cosines.to(type), positionsOf(x, positions, sines.size(0)), count,
                 interleaved, false)
      .to(x.scalar_type());
}

class RotaryEmbedding : public torch::autograd::Function<RotaryEmbedding> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& sines,
                            const at::Tensor& cosines, const at::Tensor& positions, std::int64_t count,
                            bool interleaved) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({sines, cosines, positions});
    context->saved_data["count"] = count;
    context->saved_data["interleaved"] = interleaved;
    return rotated(x, sines, cosines, positions, count, interleaved, false);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kRotary);
    const variable_list saved = context->get_saved_variables();
    return {rotated(gradients[0], saved[0], saved[1], saved[2], context->saved_data["count"].toInt(),
                    context->saved_data["interleaved"].toBool(), true),
            {},
            {},
            {},
            {},
            {}};
  }
};

at::Tensor rotaryWithGradient(const at::Tensor& x, const at::Tensor& sines, const at::Tensor& cosines,
                              const Optional& positions, std::int64_t count, bool interleaved) {
  static const auto op = operatorNamed<decltype(rotaryOnCpu)>("ipex_studio::rotary_embedding");
  if (!needsGradient(x)) return callBelowAutograd(op, x, sines, cosines, positions, count, interleaved);
  const at::ScalarType type = languageType(kRotary, x);
  checkRotary(x, sines, cosines, count);
  return RotaryEmbedding::apply(x.to(type), sines.detach().to(type), cosines.detach().to(type),
                                positionsOf(x, positions, sines.size(0)), count, interleaved)
      .to(x.scalar_type());
}

at::Tensor rotaryOnMeta(const at::Tensor& x, const at::Tensor&, const at::Tensor&, const Optional&, std::int64_t,
                        bool) {
  return at::empty(x.sizes(), x.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "rotary_embedding(Tensor x, Tensor sin, Tensor cos, Tensor? positions, int rotary_dim, bool interleaved) -> "
      "Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("rotary_embedding", rotaryOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("rotary_embedding", rotaryOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("rotary_embedding", rotaryWithGradient); }

}  // namespace ipex_studio

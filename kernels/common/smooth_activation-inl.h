// smooth_activation.h, vector-wise, once per Highway target.
#if defined(IPEX_KERNELS_SMOOTH_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_SMOOTH_ACTIVATION_INL_H
#undef IPEX_KERNELS_SMOOTH_ACTIVATION_INL_H
#else
#define IPEX_KERNELS_SMOOTH_ACTIVATION_INL_H
#endif

#include "kernels/common/simd-inl.h"
#include "kernels/common/smooth_activation.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The coefficients of one power, by piece.
class PieceCoefficients {
 public:
  using Indices = hn::Vec<hn::RebindToSigned<F32>>;

  explicit HWY_INLINE PieceCoefficients(const std::array<float, SmoothActivation::kPieces>& values)
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
      : lower_(hn::Load(F32(), values.data())), upper_(hn::Load(F32(), values.data() + 16)) {
  }
  // The instruction looks at the lowest five bits of an index alone.
  HWY_INLINE VF at(Indices pieces) const { return VF{_mm512_permutex2var_ps(lower_.raw, pieces.raw, upper_.raw)}; }

 private:
  VF lower_, upper_;
#else
      : values_(values.data()) {
  }
  HWY_INLINE VF at(Indices pieces) const {
    const hn::RebindToSigned<F32> words;
    return hn::GatherIndex(F32(), values_, hn::And(pieces, hn::Set(words, SmoothActivation::kPieces - 1)));
  }

 private:
  const float* values_;
#endif
};

class SmoothActivationV {
 public:
  explicit HWY_INLINE SmoothActivationV(const SmoothActivation& activation)
      : constant_(activation.coefficients[0]),
        linear_(activation.coefficients[1]),
        square_(activation.coefficients[2]),
        cube_(activation.coefficients[3]) {}

  HWY_INLINE VF operator()(VF x) const {
    const F32 d;
    const hn::RebindToSigned<F32> words;
    // Min and Max return their second argument when one is NaN: it stays.
    const VF distance = hn::Min(hn::Set(d, SmoothActivation::kFar), hn::Abs(x));
    const auto bits = hn::BitCast(words, hn::Max(hn::Set(d, SmoothActivation::kNear), distance));
    const auto piece = hn::ShiftRight<SmoothActivation::kShift>(bits);
    VF p = hn::MulAdd(cube_.at(piece), distance, square_.at(piece));
    p = hn::MulAdd(p, distance, linear_.at(piece));
    p = hn::MulAdd(p, distance, constant_.at(piece));
    return hn::Add(p, hn::Max(hn::Zero(d), x));
  }

 private:
  PieceCoefficients constant_, linear_, square_, cube_;
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

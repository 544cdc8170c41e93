// The shape rules of products of pairs of features and of their gradients.
#include "core/op/shape_rules.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxFeatures = 1 << 12;

// Number of pairs among `features` that the attributes ask for; -1 where they are wrong.
std::int64_t pairCount(const OpSpec& spec, std::int64_t features) {
  const std::string triangle = spec.stringOr("triangle", "");
  if (triangle != "lower" && triangle != "upper") return -1;
  return spec.intOr("diagonal", 0) != 0 ? features * (features + 1) / 2 : features * (features - 1) / 2;
}

// Stores samples, features and width of the operands from `first` on, and the width of a result; false where they do
// not fit each other.
bool readFeatures(const OpSpec& spec, const std::vector<TensorDesc>& src, std::size_t first, Dims* features,
                  std::int64_t* result_width) {
  if (src.size() <= first || src[first].dims.rank < 2) return false;
  const Dims& x0 = src[first].dims;
  *features = Dims{x0[0], 0, x0[x0.rank - 1]};
  for (std::size_t s = first; s < src.size(); ++s) {
    const Dims& x = src[s].dims;
    const bool fits = (x.rank == 2 || x.rank == 3) && x[0] == x0[0] && x[x.rank - 1] == (*features)[2] &&
                      src[s].dtype == src[first].dtype;
    if (!fits) return false;
    (*features)[1] += x.rank == 2 ? 1 : x[1];
    if ((*features)[1] > kMaxFeatures) return false;
  }
  const bool dense = spec.intOr("dense", 0) != 0;
  *result_width = pairCount(spec, (*features)[1]) + (dense ? (*features)[2] : 0);
  if (spec.intOr("features", (*features)[1]) != (*features)[1]) return false;
  return pairCount(spec, (*features)[1]) >= 0 && (!dense || x0.rank == 2);
}

}  // namespace

Verdict inferInteraction(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  Dims features;
  std::int64_t width = 0;
  if (!readFeatures(spec, src, 0, &features, &width)) return Verdict::no("features or attributes are wrong");
  return addResult(src[0].dtype, Dims{features[0], width}, dst);
}

Verdict inferInteractionBackward(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  Dims features;
  std::int64_t width = 0;
  if (!readFeatures(spec, src, 1, &features, &width)) return Verdict::no("features or attributes are wrong");
  const bool fits = src[0].dtype == src[1].dtype && src[0].dims == Dims{features[0], width};
  return fits ? addResult(src[1].dtype, features, dst) : Verdict::no("the gradient has other sizes");
}

}  // namespace ipex_studio

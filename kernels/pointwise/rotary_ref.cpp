// Rotary embedding by its definition: x·cos + r(x)·sin, where r turns each pair (a, b) into (-b, a).
#include "kernels/common/reference.h"

namespace ipex_studio {

void refRotary(const RefCall& call) {
  const RefTensor &x = call.src[0], &cosines = call.src[1], &sines = call.src[2], &y = call.dst[0];
  const int last = x.dims.rank - 1;
  const std::int64_t rotated = call.spec.intOr("rotated", x.dims[last]), pairs = rotated / 2;
  const bool interleaved = call.spec.intOr("interleaved", 0) != 0, half = call.spec.intOr("half", 0) != 0;
  forEachIndex(x.dims, [&](const Dims& at) {
    const std::int64_t i = at[last];
    if (i >= rotated) {
      y(at) = x(at);
      return;
    }
    const bool first = interleaved ? i % 2 == 0 : i < pairs;
    const std::int64_t pair = interleaved ? i / 2 : i % pairs;
    Dims partner = at, angle = at;
    partner[last] = interleaved ? i + (first ? 1 : -1) : i + (first ? pairs : -pairs);
    angle[last] = half ? pair : i;
    const double turned = first ? -x(partner) : x(partner);
    y(at) = x(at) * cosines(broadcastIndex(angle, cosines.dims)) + turned * sines(broadcastIndex(angle, sines.dims));
  });
}

}  // namespace ipex_studio

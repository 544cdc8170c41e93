// Walks through the lattices of RNN transducers.
#include "kernels/training/rnnt_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/training/rnnt_rows.h"

namespace ipex_studio {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kOpsPerClass = 8;  // scalar operations of an exponential in vectors, about

template <typename T>
T numberOf(T value) {
  return value;
}
float numberOf(Bf16 value) { return bf16ToFloat(value.bits); }

void storeNumber(double value, double* to) { *to = value; }
void storeNumber(float value, float* to) { *to = value; }
void storeNumber(float value, Bf16* to) { to->bits = floatToBf16(value); }

// ln(e^a + e^b). NaN stays.
double addLogarithms(double a, double b) {
  const bool first = a >= b;
  const double most = first ? a : b, least = first ? b : a;
  return most == kImpossible ? least : most + std::log1p(std::exp(least - most));
}

// Calls fn(node, label) for all nodes, shared among threads; label: the class of the next label, -1 where there is
// none. Beyond a sample's lengths fn is given label -2.
constexpr std::int64_t kNoLabel = -1, kBeyond = -2;
template <typename Fn>
void forNodes(const RnntLossJob& job, const Fn& fn) {
  const std::int64_t width = job.labels + 1, nodes = job.samples * job.frames * width;
  parallelFor(nodes, grainFor(kOpsPerClass * job.classes), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t node = begin; node < end; ++node) {
      const std::int64_t u = node % width, t = node / width % job.frames, sample = node / width / job.frames;
      const std::int64_t labels = job.labels_of[sample];
      if (t >= job.frames_of[sample] || u > labels) {
        fn(node, sample, kBeyond);
      } else {
        fn(node, sample, u < labels ? job.targets[sample * job.labels + u] : kNoLabel);
      }
    }
  });
}

// One sample's lattice. On the way in, `blank` and `label` of its nodes are logarithms of probabilities.
template <typename S>
class Lattice {
 public:
  Lattice(const RnntLossJob& job, std::int64_t sample, RnntNode<S>* nodes)
      : width_(job.labels + 1),
        frames_(job.frames_of[sample]),
        labels_(job.labels_of[sample]),
        nodes_(nodes + sample * job.frames * width_),
        before_(static_cast<std::size_t>(frames_ * (labels_ + 1))) {}

  // ln of the probability of all paths.
  double walkForward() {
    for (std::int64_t t = 0; t < frames_; ++t) {
      for (std::int64_t u = 0; u <= labels_; ++u) {
        const double heard = t > 0 ? before(t - 1, u) + node(t - 1, u).blank : kImpossible;
        const double said = u > 0 ? before(t, u - 1) + node(t, u - 1).label : kImpossible;
        before(t, u) = t + u == 0 ? 0.0 : addLogarithms(heard, said);
      }
    }
    total_ = before(frames_ - 1, labels_) + node(frames_ - 1, labels_).blank;
    return total_;
  }

  // Puts derivatives of the cost in the places of the logarithms, from the end of the lattice.
  void walkBack() {
    std::vector<double> behind(static_cast<std::size_t>(labels_ + 2), kImpossible);  // of the next frame, then of this
    behind[static_cast<std::size_t>(labels_)] = 0.0;
    for (std::int64_t t = frames_ - 1; t >= 0; --t) {
      behind[static_cast<std::size_t>(labels_ + 1)] = kImpossible;
      for (std::int64_t u = labels_; u >= 0; --u) {
        double& here = behind[static_cast<std::size_t>(u)];
        RnntNode<S>& place = node(t, u);
        const double heard = place.blank + here;
        const double said = u < labels_ ? place.label + behind[static_cast<std::size_t>(u + 1)] : kImpossible;
        const double reached = before(t, u) - total_;
        place.blank = static_cast<S>(-std::exp(reached + heard));
        place.label = u < labels_ ? static_cast<S>(-std::exp(reached + said)) : S(0);
        here = addLogarithms(heard, said);
      }
    }
  }

 private:
  RnntNode<S>& node(std::int64_t t, std::int64_t u) { return nodes_[t * width_ + u]; }
  double& before(std::int64_t t, std::int64_t u) { return before_[static_cast<std::size_t>(t * (labels_ + 1) + u)]; }

  const std::int64_t width_, frames_, labels_;
  RnntNode<S>* const nodes_;
  std::vector<double> before_;  // ln of the probability of all paths to a node
  double total_ = kImpossible;
};

}  // namespace

template <typename T>
void rnntLoss(const RnntLossJob& job, const T* logits, RnntSum<T>* costs, RnntNode<RnntSum<T>>* nodes) {
  using S = RnntSum<T>;
  const RnntRowKernels<T> rows = rnntRowKernels<T>(job.isa);
  forNodes(job, [&](std::int64_t node, std::int64_t, std::int64_t label) {
    if (label == kBeyond) return;
    const T* const row = logits + node * job.classes;
    const S normalizer = job.are_logarithms ? S(0) : rows.normalizer(row, job.classes);
    nodes[node] = {normalizer, numberOf(row[job.blank]) - normalizer,
                   label == kNoLabel ? S(0) : numberOf(row[label]) - normalizer};
  });
  parallelFor(job.samples, 1, job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      Lattice<S> lattice(job, sample, nodes);
      costs[sample] = static_cast<S>(-lattice.walkForward());
      if (job.needs_gradient) lattice.walkBack();
    }
  });
}

template <typename T>
void rnntLossGradient(const RnntLossJob& job, const T* logits, const RnntNode<RnntSum<T>>* nodes,
                      const RnntSum<T>* gradient, T* out) {
  using S = RnntSum<T>;
  const RnntRowKernels<T> rows = rnntRowKernels<T>(job.isa);
  const S clamp = job.clamp > 0 ? static_cast<S>(job.clamp) : std::numeric_limits<S>::infinity();
  forNodes(job, [&](std::int64_t node, std::int64_t sample, std::int64_t label) {
    const T* const row = logits + node * job.classes;
    T* const to = out + node * job.classes;
    if (label == kBeyond || job.are_logarithms) std::fill_n(to, job.classes, T{});
    if (label == kBeyond) return;
    const RnntNode<S>& place = nodes[node];
    const S occupancy = job.are_logarithms ? S(0) : -(place.blank + place.label);
    if (!job.are_logarithms)
      rows.gradient(row, job.classes, {place.normalizer, occupancy, clamp, gradient[sample]}, to);
    for (const std::int64_t taken : {job.blank, label}) {
      if (taken == kNoLabel) continue;
      const S softmax = job.are_logarithms ? S(0) : std::exp(numberOf(row[taken]) - place.normalizer);
      const S own = (taken == job.blank ? place.blank : S(0)) + (taken == label ? place.label : S(0));
      storeNumber(std::clamp(softmax * occupancy + own, -clamp, clamp) * gradient[sample], to + taken);
    }
  });
}

#define IPEX_RNNT_LOSS(T)                                                                      \
  template void rnntLoss<T>(const RnntLossJob&, const T*, RnntSum<T>*, RnntNode<RnntSum<T>>*); \
  template void rnntLossGradient<T>(const RnntLossJob&, const T*, const RnntNode<RnntSum<T>>*, const RnntSum<T>*, T*);
IPEX_RNNT_LOSS(float)
IPEX_RNNT_LOSS(Bf16)
IPEX_RNNT_LOSS(double)
#undef IPEX_RNNT_LOSS

}  // namespace ipex_studio

// Loss of RNN transducers with its gradient (Graves, "Sequence Transduction with Recurrent Neural Networks", 2012).
//
// A node (t, u) of a sample's lattice stands for t frames heard and u labels said: a blank leads to (t + 1, u), the
// next label to (t, u + 1), with probabilities by the softmax of the node's logits. The cost of a sample is -ln of the
// probability of all paths to its end. Sums over the lattice are formed in double precision; samples and nodes are
// shared among threads, and the bits are the same for any number of them.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/common/bf16.h"

namespace ipex_studio {

// Sizes, targets and options. Nodes lie as [samples][frames][labels + 1], logits as [nodes][classes].
struct RnntLossJob {
  std::int64_t samples = 0, frames = 0, labels = 0, classes = 0;
  std::int64_t blank = 0;                   // its class
  const std::int64_t* targets = nullptr;    // [samples][labels]: classes
  const std::int64_t* frames_of = nullptr;  // [samples]: 1 to `frames`
  const std::int64_t* labels_of = nullptr;  // [samples]: 0 to `labels`
  bool are_logarithms = false;              // logits are logarithms of probabilities: there is no softmax
  double clamp = 0;                         // bound of the gradients' magnitude; none if not positive
  bool needs_gradient = true;
  std::int32_t threads = 1;
  std::string isa;  // a machine_facts tier that instructions stay within; empty: what this machine has
};

// In what T's sums are formed: double for itself, the plain version; float for float and Bf16.
template <typename T>
using RnntSum = std::conditional_t<std::is_same_v<T, double>, double, float>;

// What the loss leaves of a node for the gradient: logits less `normalizer` are logarithms of probabilities, and
// `blank` and `label` the derivatives of the cost by those of the blank and of the next label (0 where there is none).
template <typename S>
struct RnntNode {
  S normalizer, blank, label;
};

// Writes the costs [samples], and the nodes within each sample's lengths; of the others nothing is written. An
// impossible target costs infinity, and its gradient is NaN. T: float, Bf16 or double.
template <typename T>
void rnntLoss(const RnntLossJob& job, const T* logits, RnntSum<T>* costs, RnntNode<RnntSum<T>>* nodes);

// out = d Σ gradient[sample] · cost[sample] / d logits, where a sample's own part is clamped first; 0 beyond lengths.
template <typename T>
void rnntLossGradient(const RnntLossJob& job, const T* logits, const RnntNode<RnntSum<T>>* nodes,
                      const RnntSum<T>* gradient, T* out);

}  // namespace ipex_studio

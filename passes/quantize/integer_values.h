// Values that were quantized tensors and are plain integers now, with scale and zero point. Private to
// canonicalize-quantized.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/rewriter.h"
#include "core/quantization/observer.h"

namespace ipex_studio {

class IntegerValues {
 public:
  void add(torch::jit::Value* value, const AffineParameters& affine);
  // Nodes that know that they read integers.
  void addReader(const torch::jit::Node* node) { readers_.insert(node); }

  // Null: no integers.
  const AffineParameters* affineOf(const torch::jit::Value* value) const;
  bool readBy(const torch::jit::Node* node) const;

  // Readers that do not know get back the tensors that they expect.
  void returnToQuantized(Rewriter& rewriter) const;

 private:
  std::unordered_map<const torch::jit::Value*, AffineParameters> affine_;
  std::vector<torch::jit::Value*> order_;
  std::unordered_set<const torch::jit::Node*> readers_;
};

}  // namespace ipex_studio

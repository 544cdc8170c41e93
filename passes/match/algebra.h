// Products and sums read through chains of nodes, so that a formula matches in all orders of its operands.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"

namespace ipex_studio {

// coefficient · factors[0] · factors[1] · …
struct Product {
  double coefficient = 1;
  std::vector<torch::jit::Value*> factors;
  std::vector<torch::jit::Node*> nodes;  // what was read through, outermost first

  bool has(const torch::jit::Value* value) const;
  // The one factor beside `value` (which must be there exactly once); null when there is not exactly one.
  torch::jit::Value* otherThan(const torch::jit::Value* value) const;
};

// scale · value + offset, or null value for a constant.
struct Affine {
  double scale = 1;
  double offset = 0;
  torch::jit::Value* value = nullptr;
  std::vector<torch::jit::Node*> nodes;
};

// Reads `value` through mul, div by a number, neg, and pow with 2 or 3. Nodes behind the first are read through only
// where nothing else reads them and they stand in the same block; others are factors as they are.
Product readProduct(torch::jit::Value* value);

// Reads `value` through add, sub, rsub, mul, div with a number and neg, as far as nothing else reads the nodes. The
// first node must be such a node, else scale 1 and offset 0 of the value itself.
Affine readAffine(torch::jit::Value* value);

// The two sides of a sum of two tensors, each with its factor; nullopt when `value` is none.
struct Sum {
  torch::jit::Value* left = nullptr;
  torch::jit::Value* right = nullptr;
  double right_factor = 1;
  torch::jit::Node* node = nullptr;
};
std::optional<Sum> readSum(torch::jit::Value* value);

// True if the two are equal within the error of a constant written with five digits.
bool isAbout(double value, double expected);

// The nodes of a match may be replaced: all but the root are read inside the match alone and stand in its block.
bool onlyReadInside(const std::vector<torch::jit::Node*>& nodes, const torch::jit::Node* root);

}  // namespace ipex_studio

// Parts of written-out normalizations, read from a graph: what canonicalize-layer-norm and fuse-rms-norm share.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/pass.h"
#include "passes/match/algebra.h"

namespace ipex_studio {

// mean(source, axes, keepdim=True).
struct Mean {
  torch::jit::Value* source = nullptr;
  std::vector<std::int64_t> axes;  // as written
};
std::optional<Mean> readMean(torch::jit::Value* value);

// sqrt(variance + eps), or its inverse: rsqrt, or reciprocal of the root.
struct Deviation {
  torch::jit::Value* variance = nullptr;
  double eps = 0;
};
// Appends the nodes that it read through to `nodes`, also if it returns nullopt.
std::optional<Deviation> readDeviation(torch::jit::Value* value, bool inverse, std::vector<torch::jit::Node*>* nodes);

// True if `value` is x·x; appends the nodes that compute it to `nodes`.
bool isSquareOf(torch::jit::Value* value, const torch::jit::Value* x, std::vector<torch::jit::Node*>* nodes);

// The only reader of `*last`, when it is `kind` (aten::mul, or aten::add with the factor 1) with a constant tensor:
// takes it into `nodes` and `last`, and returns the constant.
std::optional<at::Tensor> takeAffine(const char* kind, torch::jit::Node** last, std::vector<torch::jit::Node*>* nodes);

// True if the axes are the last ones of a tensor of this rank.
bool areTrailing(std::vector<std::int64_t> axes, std::size_t rank);

// Trims gamma or beta to the normalized sizes; false if it has other sizes. `rank` is that of the normalized tensor.
bool trimAffine(std::optional<at::Tensor>* tensor, const std::vector<std::int64_t>& sizes, std::size_t rank);

}  // namespace ipex_studio

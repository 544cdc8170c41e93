// See denormals.h.
#include "core/model/denormals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>

#include "core/model/node_runner.h"
#include "core/model/place_origins.h"
#include "core/model/run_mode.h"
#include "core/record/slow_reasons.h"

namespace ipex_studio {
namespace {

constexpr double kManyDenormals = 1e-3;

// The share of the numbers that are denormal.
double denormalShare(const torch::jit::IValue& value) {
  if (!value.isTensor()) return 0;
  const at::Tensor& tensor = value.toTensor();
  const bool floats =
      tensor.defined() && !tensor.is_nested() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
  if (!floats || tensor.numel() == 0) return 0;
  const at::Tensor size = tensor.detach().abs();
  const at::Tensor found = size.lt(FLT_MIN).logical_and(size.ne(0));
  return static_cast<double>(found.sum().item<std::int64_t>()) / static_cast<double>(tensor.numel());
}

}  // namespace

std::optional<Remark> denormalsRemark(torch::jit::Module& module, const Inputs& inputs,
                                      const std::vector<Origin>& origins) {
  const RunMode mode(module);
  const auto graph = module.get_method("forward").graph();
  const PlaceOrigins places(*graph, origins);
  Remark remark{kLoadedModel, RemarkKind::kMissed, kDenormalsReason, "", {}};
  std::int64_t count = 0;
  double most = 0;
  const NodeRunner* running = nullptr;
  NodeRunner runner(*graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t) {
    double share = 0;
    for (const torch::jit::Value* output : node->outputs())
      share = std::max(share, denormalShare(running->valueOf(output)));
    if (share < kManyDenormals) return;
    ++count;
    most = std::max(most, share);
    const std::vector<OriginId> ids = places.of(node);
    remark.origins.insert(remark.origins.end(), ids.begin(), ids.end());
  });
  running = &runner;
  runner.run(copiedArguments(module, module, inputs));
  if (count == 0) return std::nullopt;
  std::sort(remark.origins.begin(), remark.origins.end());
  remark.origins.erase(std::unique(remark.origins.begin(), remark.origins.end()), remark.origins.end());
  remark.text = fmt::format(
      "{} operation{} give{} denormal numbers (below 1e-38), up to {:.0f} % of a result, which processors compute very "
      "slowly. Call torch.set_flush_denormal(True), or keep values from decaying.",
      count, count == 1 ? "" : "s", count == 1 ? "s" : "", 100 * most);
  return remark;
}

}  // namespace ipex_studio

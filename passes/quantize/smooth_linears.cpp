#include "passes/quantize/smooth_linears.h"

#include <algorithm>
#include <unordered_map>

namespace ipex_studio {

using torch::jit::Value;

void smoothLinears(std::vector<QuantizedOp>* work, double alpha) {
  if (alpha <= 0) return;
  std::unordered_map<const Value*, std::vector<QuantizedOp*>> readers;
  std::unordered_map<const Value*, bool> integers;
  for (QuantizedOp& quantized : *work) {
    integers[quantized.quantizable.node->output()] = quantized.forms.out;
    if (quantized.quantizable.op.spec.kind == OpKind::kLinear)
      readers[quantized.quantizable.activations[0]].push_back(&quantized);
  }
  for (auto& [value, linears] : readers) {
    const RecipeValue* seen = linears[0]->input;
    const auto written = integers.find(value);
    if (seen == nullptr || seen->channel_absmax.empty() || (written != integers.end() && written->second)) continue;
    std::vector<at::Tensor> weights;
    for (const QuantizedOp* linear : linears) weights.push_back(*constantTensor(linear->quantizable.op.src[1].value));
    const std::vector<double> factors = smoothingFactors(seen->channel_absmax, weights, alpha);
    if (factors.empty()) continue;
    double largest = 0;
    for (std::size_t c = 0; c < factors.size(); ++c) largest = std::max(largest, seen->channel_absmax[c] / factors[c]);
    const AffineParameters affine =
        affineParameters({seen->least < 0 ? -largest : 0, seen->greatest > 0 ? largest : 0});
    for (QuantizedOp* linear : linears) {
      linear->smoothing = factors;
      linear->activations[0] = affine;
    }
  }
}

}  // namespace ipex_studio

// See batch_sizes.h.
#include "core/verify/batch_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/model/module_state.h"
#include "core/model/run_mode.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

// Kernels of libtorch sum in another order for another batch size.
constexpr double kBatchRelative = 1e-3, kBatchAbsolute = 1e-6;

bool isMadeTensor(const InputSpec& spec) { return !spec.fixed && spec.value.empty(); }

// The inputs that an axis of the batch goes through.
struct BatchAxis {
  std::size_t axis = 0;
  std::int64_t size = 1;
  std::vector<bool> scaled;  // by input
  bool any() const { return std::count(scaled.begin(), scaled.end(), true) > 0; }
};

BatchAxis axisOf(const std::vector<InputSpec>& specs, std::size_t axis) {
  BatchAxis found{axis, 0, {}};
  for (const InputSpec& spec : specs) {
    const bool has = isMadeTensor(spec) && spec.sizes.size() > axis;
    if (has && found.size == 0) found.size = spec.sizes[axis].first;
    found.scaled.push_back(has && spec.sizes[axis].first == found.size);
  }
  return found;
}

std::vector<InputSpec> scaledSpecs(std::vector<InputSpec> specs, const BatchAxis& batch, std::int64_t size) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (batch.scaled[i]) specs[i].sizes[batch.axis] = {size, size};
  }
  return specs;
}

// The arguments of one sample of a batch.
Inputs sampleOf(const Inputs& inputs, const BatchAxis& batch, std::int64_t sample) {
  Inputs one = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (batch.scaled[i])
      one[i] = inputs[i].toTensor().narrow(static_cast<std::int64_t>(batch.axis), sample, 1).contiguous();
  }
  return one;
}

void collectTensors(const torch::jit::IValue& value, std::vector<at::Tensor>* tensors) {
  mapTensors(value, [&](const at::Tensor& tensor) {
    tensors->push_back(tensor);
    return tensor;
  });
}

std::vector<at::Tensor> run(torch::jit::Module& module, const Inputs& inputs) {
  std::vector<at::Tensor> tensors;
  collectTensors(module.forward(inputs), &tensors);
  return tensors;
}

bool agree(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (a.numel() == 0) return true;
  if (!a.is_floating_point()) return at::equal(a, b);
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  const double scale = y.abs().max().item<double>();
  return at::allclose(x, y, kBatchRelative, kBatchRelative * scale + kBatchAbsolute, /*equal_nan=*/true);
}

// Why the results of the batch are not those of its samples; empty if they are.
std::string whyNotIndependent(torch::jit::Module& module, const Inputs& inputs, const BatchAxis& batch,
                              std::int64_t size) {
  const std::vector<at::Tensor> all = run(module, inputs);
  if (all.empty()) return "the model returns no tensor";
  const auto axis = static_cast<std::int64_t>(batch.axis);
  for (const at::Tensor& tensor : all) {
    if (tensor.dim() <= axis || tensor.size(axis) != size) return "its results do not grow with the batch";
  }
  for (const std::int64_t sample : {std::int64_t{0}, size - 1}) {
    const std::vector<at::Tensor> one = run(module, sampleOf(inputs, batch, sample));
    if (one.size() != all.size()) return "it returns other results for a sample alone";
    for (std::size_t t = 0; t < all.size(); ++t) {
      if (one[t].dim() != all[t].dim() || !agree(all[t].narrow(axis, sample, 1), one[t]))
        return "a sample's result depends on the others in the batch";
    }
  }
  return "";
}

BatchSize trySize(const torch::jit::Module& original, const std::vector<InputSpec>& specs, const BatchAxis& batch,
                  std::int64_t size, std::uint64_t seed) {
  BatchSize tried{size, scaledSpecs(specs, batch, size), ""};
  const Inputs inputs = makeInputs(tried.specs, seed);
  torch::jit::Module module = copyModule(original);
  const RunMode mode(module);
  try {
    tried.problem = whyNotIndependent(module, inputs, batch, size);
    // One sample alone shows nothing: those of the given inputs have to be independent.
    if (size == 1 && batch.size > 1 && tried.problem.empty())
      tried.problem = whyNotIndependent(module, makeInputs(specs, seed), batch, batch.size);
  } catch (const std::exception& problem) {
    tried.problem = fmt::format("the model does not take it ({})", shortMessage(problem));
  }
  return tried;
}

std::size_t taken(const BatchSizes& sizes) {
  return static_cast<std::size_t>(std::count_if(sizes.sizes.begin(), sizes.sizes.end(),
                                                [](const BatchSize& size) { return size.problem.empty(); }));
}

}  // namespace

std::int64_t givenBatch(const std::vector<InputSpec>& specs) {
  return std::max<std::int64_t>(1, axisOf(specs, 0).size);
}

BatchSizes findBatchSizes(const torch::jit::Module& module, const std::vector<InputSpec>& specs,
                          const std::vector<std::int64_t>& sizes, std::uint64_t seed) {
  BatchSizes best;
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    const BatchAxis batch = axisOf(specs, axis);
    if (!batch.any() || batch.size < 1) continue;
    BatchSizes found{batch.size, {}};
    for (const std::int64_t size : sizes) {
      found.sizes.push_back(size == batch.size ? BatchSize{size, specs, ""}
                                               : trySize(module, specs, batch, size, seed));
    }
    const bool grows = std::any_of(found.sizes.begin(), found.sizes.end(), [&](const BatchSize& size) {
      return size.problem.empty() && size.size > 1 && size.size != batch.size;
    });
    if (best.sizes.empty() || (grows && taken(found) > taken(best))) best = std::move(found);
    if (grows) break;
  }
  if (!best.sizes.empty()) return best;
  for (const std::int64_t size : sizes)
    best.sizes.push_back({size, specs, size == 1 ? "" : "no input that is made up has an axis for a batch"});
  return best;
}

}  // namespace ipex_studio

// Runs plan specs node by node, with or without noise, and compares results.
#include "tests/core/plan/plan_interpreter.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/op/shape_inference.h"

namespace ipex_studio::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor densely(const Tensor& source, const TensorDesc& view, std::int64_t offset) {
  Tensor result{contiguousDesc(view.dtype, view.dims), {}, {}};
  const std::int64_t count = view.dims.count();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = offset;
    for (int axis = view.dims.rank - 1; axis >= 0; --axis) {
      at += rest % view.dims[axis] * view.strides[axis];
      rest /= view.dims[axis];
    }
    if (view.dtype == DType::kS64) {
      result.ids.push_back(source.ids[static_cast<std::size_t>(at)]);
    } else {
      result.values.push_back(source.values[static_cast<std::size_t>(at)]);
    }
  }
  return result;
}

std::vector<Tensor> runReference(const OpSpec& op, const std::vector<const Tensor*>& src,
                                 const std::vector<TensorDesc>& dst, const KernelList& kernels) {
  PrepareArgs args;
  args.spec = op;
  args.dst = dst;
  std::vector<const void*> from;
  for (const Tensor* tensor : src) {
    args.src.push_back(tensor ? tensor->desc : TensorDesc());
    args.constant.push_back(nullptr);
    args.src_dies.push_back(false);
    from.push_back(tensor ? tensor->data() : nullptr);
  }
  std::string reason;
  const auto prepared = kernels.candidates(op.kind, DeviceKind::kCpu).back()->prepare(args, &reason);
  std::vector<Tensor> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : dst) {
    results.push_back({desc, {}, {}});
    const auto count = static_cast<std::size_t>(desc.dims.count());
    desc.dtype == DType::kS64 ? results.back().ids.resize(count) : results.back().values.resize(count);
  }
  for (Tensor& result : results)
    to.push_back(result.desc.dtype == DType::kS64 ? static_cast<void*>(result.ids.data()) : result.values.data());
  Buffer scratch(prepared->scratch_bytes);
  const auto state = prepared->newState();
  prepared->execute(state.get(), from.data(), to.data(), scratch.data());
  return results;
}

void addNoise(double relative, Random& random, std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  for (float& value : values) value += static_cast<float>(relative * random.real() / 4) * largest;
}

double largestDistance(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
    if (!std::isnan(a[i]) && a[i] != b[i]) worst = std::max<double>(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

}  // namespace

std::optional<std::vector<Tensor>> interpret(const PlanSpec& spec, const std::vector<Tensor>& inputs,
                                             const std::vector<std::int64_t>& ints,
                                             const std::vector<Tensor>& constants, const KernelList& kernels,
                                             const Noise& noise) {
  Random random(noise.seed);
  std::map<std::int32_t, Tensor> tensors;
  std::map<std::int32_t, std::int64_t> numbers;
  std::int32_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    numbers[next] = ints[i];
    tensors[next++] = inputs[i];
  }
  for (const Tensor& constant : constants) tensors[next++] = constant;
  for (const PlanNode& node : spec.nodes) {
    if (node.is_int) {
      numbers[node.dst[0]] = tensors.at(node.src[0]).desc.dims[static_cast<int>(node.literal)];
      continue;
    }
    OpSpec op = node.op;
    for (const AttrRef& ref : node.refs)
      std::get<Ints>(op.attributes.at(ref.attribute))[static_cast<std::size_t>(ref.index)] = numbers.at(ref.value);
    std::vector<const Tensor*> src;
    std::vector<TensorDesc> descs, dst;
    for (std::int32_t number : node.src) {
      src.push_back(number < 0 ? nullptr : &tensors.at(number));
      descs.push_back(src.back() ? src.back()->desc : TensorDesc());
    }
    if (!inferShapes(op, descs, &dst).ok) return std::nullopt;
    if (isView(op.kind)) {
      TensorDesc view;
      std::int64_t offset = 0;
      viewOf(op, descs[0], dst[0], &view, &offset);
      Tensor dense = densely(*src[0], view, offset);
      tensors[node.dst[0]] = std::move(dense);
      continue;
    }
    std::vector<Tensor> results = runReference(op, src, dst, kernels);
    for (std::size_t d = 0; d < results.size(); ++d) {
      if (noise.relative > 0) addNoise(noise.relative, random, results[d].values);
      tensors[node.dst[d]] = std::move(results[d]);
    }
  }
  std::vector<Tensor> outputs;
  for (std::int32_t output : spec.outputs) outputs.push_back(tensors.at(output));
  return outputs;
}

PlanRequest requestFor(const RandomPlan& plan, const std::vector<Tensor>& inputs, bool channels_last, int threads) {
  PlanRequest request;
  for (const Tensor& input : inputs) {
    const bool turned = channels_last && input.desc.dims.rank == 4;
    request.tensor_inputs.push_back(turned ? channelsLastDesc(input.desc.dtype, input.desc.dims) : input.desc);
  }
  request.int_inputs = plan.ints;
  for (const Tensor& constant : plan.constants) request.constants.push_back(constant.data());
  request.target.threads = threads;
  return request;
}

std::string difference(const std::vector<std::vector<float>>& actual, const std::vector<Tensor>& expected) {
  if (actual.size() != expected.size()) return "another number of results";
  for (std::size_t o = 0; o < actual.size(); ++o) {
    if (actual[o].size() != expected[o].values.size()) return "output " + std::to_string(o) + " has another size";
    double scale = 1e-3, worst = 0;
    for (std::size_t i = 0; i < actual[o].size(); ++i) {
      const double reference = expected[o].values[i];
      if (std::isnan(actual[o][i]) != std::isnan(reference))
        return "output " + std::to_string(o) + " has NaN at " + std::to_string(i);
      if (std::isnan(reference)) continue;
      scale = std::max(scale, std::abs(reference));
      worst = std::max(worst, std::abs(actual[o][i] - reference));
    }
    if (worst > 2e-4 * scale)
      return "output " + std::to_string(o) + " is off by " + std::to_string(worst) + " of " + std::to_string(scale);
  }
  return {};
}

bool withinRounding(const RandomPlan& plan, const std::vector<Tensor>& inputs, const KernelList& kernels,
                    const std::vector<std::vector<float>>& actual, const std::vector<Tensor>& expected) {
  constexpr double kRounding = 1.0 / (1 << 20), kSlack = 8;
  std::vector<double> moved(expected.size(), 0);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto noisy = interpret(plan.spec, inputs, plan.ints, plan.constants, kernels, {kRounding, seed});
    for (std::size_t o = 0; o < expected.size(); ++o)
      moved[o] = std::max(moved[o], largestDistance((*noisy)[o].values, expected[o].values));
  }
  if (actual.size() != expected.size()) return false;
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const bool same_size = actual[o].size() == expected[o].values.size();
    if (!same_size || std::isinf(moved[o]) || !(largestDistance(actual[o], expected[o].values) <= kSlack * moved[o]))
      return false;
  }
  return true;
}

std::vector<std::vector<float>> runOnce(Plan::Instance& instance, const Plan& plan, const std::vector<Tensor>& inputs) {
  std::vector<const void*> from;
  for (const Tensor& input : inputs) from.push_back(input.data());
  std::vector<std::vector<float>> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan.outputs())
    results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
  for (auto& result : results) to.push_back(result.data());
  instance.run(from.data(), to.data());
  return results;
}

}  // namespace ipex_studio::testing

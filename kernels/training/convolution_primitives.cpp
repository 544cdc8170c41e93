// Weights change at each step, so they are brought into the library's order, and gradients out of it, at each call.
#include "kernels/training/convolution_primitives.h"

#include <unordered_map>

#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"
#include "kernels/training/working_memory.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

constexpr std::size_t kAlignment = 64;

std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Md imageMd(std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return Md({images, channels, height, width}, dnnl::memory::data_type::f32,
            Ints{height * width * channels, 1, width * channels, channels});
}

// The order of the parameter.
Md parameterMd(const ConvolutionProblem& p) {
  const std::int64_t c = p.groupChannels(), row = p.kernel[1] * c, output = p.kernel[0] * row;
  if (p.groups == 1) {
    return Md({p.outputs, c, p.kernel[0], p.kernel[1]}, dnnl::memory::data_type::f32, Ints{output, 1, row, c});
  }
  const std::int64_t outputs = p.outputs / p.groups;
  return Md({p.groups, outputs, c, p.kernel[0], p.kernel[1]}, dnnl::memory::data_type::f32,
            Ints{outputs * output, output, 1, row, c});
}

ConvolutionGeometry geometryOf(const ConvolutionProblem& p) {
  const auto list = [](const ConvolutionProblem::Pair& pair) { return Ints(pair.begin(), pair.end()); };
  const Ints dilation{p.dilation[0] - 1, p.dilation[1] - 1};
  return {list(p.stride), dilation, list(p.padding), list(p.padding)};
}

}  // namespace

struct ConvolutionPrimitives::Parts {
  // A primitive, and the way of weights into or out of the order that it has them in; empty if that is the parameter's.
  struct Prepared {
    Pd pd, reorder;
    dnnl::primitive primitive, reorder_primitive;
    std::string implementation;

    std::size_t weightBytes(const Md& weights) const {
      return onednn::isEmpty(reorder) ? 0 : padded(weights.get_size());
    }
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Md src, dst, parameter, bias;
  Prepared passes[kPasses], biased;
  std::int32_t threads = 1;

  void prepare(const Pd& pd, bool gradient, Prepared* pass) const {
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return;
    const Md weights = weightsOf(pd, gradient);
    if (!(weights == parameter)) {
      const auto& [from, to] = gradient ? std::tie(weights, parameter) : std::tie(parameter, weights);
      pass->reorder = onednn::reorderPd(engine, from, to, dnnl::primitive_attr());
      if (onednn::isEmpty(pass->reorder)) return;
      pass->reorder_primitive = dnnl::primitive(pass->reorder.get());
    }
    pass->pd = pd;
    pass->primitive = dnnl::primitive(pd.get());
    pass->implementation = pd.impl_info_str();
  }

  static Md weightsOf(const Pd& pd, bool gradient) {
    return pd.query_md(dnnl::query::exec_arg_md, gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
  }

  using Arguments = std::unordered_map<int, dnnl::memory>;

  dnnl::memory at(const Md& md, const void* place) const { return {md, engine, const_cast<void*>(place)}; }

  // Runs a pass whose weights or their gradient are at `place`. `arguments`: all others.
  void run(const Prepared& pass, bool gradient, const void* place, Arguments arguments) const {
    const ThreadCountScope scope(threads);
    const Md weights = weightsOf(pass.pd, gradient), scratchpad = pass.pd.scratchpad_desc();
    const std::size_t weight_bytes = pass.weightBytes(weights);
    char* const memory = workingMemory(weight_bytes + scratchpad.get_size());
    const dnnl::memory given = at(parameter, place), wanted = at(weights, weight_bytes ? memory : place);
    dnnl::stream stream(engine);
    const auto reorder = [&](const dnnl::memory& from, const dnnl::memory& to) {
      if (weight_bytes) pass.reorder_primitive.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    };
    arguments.insert({gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, wanted});
    arguments.insert({DNNL_ARG_SCRATCHPAD, at(scratchpad, memory + weight_bytes)});
    if (!gradient) reorder(given, wanted);
    pass.primitive.execute(stream, arguments);
    if (gradient) reorder(wanted, given);
    stream.wait();
  }
};

ConvolutionPrimitives::ConvolutionPrimitives(const ConvolutionProblem& p) {
  auto parts = std::make_unique<Parts>();
  parts->threads = p.threads;
  const ThreadCountScope scope(p.threads);
  parts->src = imageMd(p.images, p.channels, p.size[0], p.size[1]);
  parts->dst = imageMd(p.images, p.outputs, p.out(0), p.out(1));
  parts->parameter = parameterMd(p);
  parts->bias = Md({p.outputs}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  const Md any(onednn::mdDims(parts->parameter), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  const dnnl::primitive_attr attributes = onednn::attributes({});
  const auto pds = [&](const Md& bias) {
    return onednn::convolutionTrainingPds(parts->engine, parts->src, any, bias, parts->dst, geometryOf(p), attributes);
  };
  const onednn::ConvolutionPds plain = pds(Md());
  parts->prepare(plain.forward, false, &parts->passes[kForward]);
  parts->prepare(plain.source, false, &parts->passes[kSource]);
  parts->prepare(plain.weights, true, &parts->passes[kWeights]);
  parts->prepare(pds(parts->bias).forward, false, &parts->biased);
  if (parts->biased.implementation.empty()) parts->passes[kForward].implementation.clear();
  parts_ = std::move(parts);
}

ConvolutionPrimitives::~ConvolutionPrimitives() = default;

const char* ConvolutionPrimitives::implementation(Pass pass) const {
  return parts_->passes[pass].implementation.c_str();
}

void ConvolutionPrimitives::forward(const float* x, const float* w, const float* bias, float* y) const {
  Parts::Arguments arguments{{DNNL_ARG_SRC, parts_->at(parts_->src, x)}, {DNNL_ARG_DST, parts_->at(parts_->dst, y)}};
  if (bias != nullptr) arguments.insert({DNNL_ARG_BIAS, parts_->at(parts_->bias, bias)});
  parts_->run(bias != nullptr ? parts_->biased : parts_->passes[kForward], false, w, std::move(arguments));
}

void ConvolutionPrimitives::sourceGradient(const float* w, const float* dy, float* dx) const {
  parts_->run(parts_->passes[kSource], false, w,
              {{DNNL_ARG_DIFF_DST, parts_->at(parts_->dst, dy)}, {DNNL_ARG_DIFF_SRC, parts_->at(parts_->src, dx)}});
}

void ConvolutionPrimitives::weightGradient(const float* x, const float* dy, float* dw) const {
  parts_->run(parts_->passes[kWeights], true, dw,
              {{DNNL_ARG_SRC, parts_->at(parts_->src, x)}, {DNNL_ARG_DIFF_DST, parts_->at(parts_->dst, dy)}});
}

}  // namespace ipex_studio

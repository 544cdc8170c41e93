// Weights change at each step, so they are brought into the library's order, and gradients out of it, at each call.
// Images go the same way where the library's kernels are so much faster in its own order that it pays: on one core of
// Zen 4 with AVX2 alone 64 to 64 channels of 56 x 56 take 36.7 instead of 44.0 ms forward and backward, 16 to 16 of
// 112 x 112 5.3 instead of 4.7.
#include "kernels/training/convolution_primitives.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"
#include "kernels/training/working_memory.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;
using Type = dnnl::memory::data_type;

constexpr std::size_t kAlignment = 64;

std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A tensor with channels behind its other axes. `outer`: the one or two axes that stand before channels in sizes;
// `inner`: those that stand behind them.
Md channelsLastMd(Ints outer, std::int64_t channels, const Ints& inner, Type type) {
  Ints sizes = outer, strides(outer.size() + 1 + inner.size());
  sizes.push_back(channels);
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  std::int64_t stride = channels;
  strides[outer.size()] = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (axis == outer.size()) continue;
    strides[axis] = stride;
    stride *= sizes[axis];
  }
  return Md(sizes, type, strides);
}

// The numbers of all axes, those of depth first.
Ints axesOf(const ConvolutionProblem& p, std::int64_t depth, const ConvolutionProblem::Pair& pair) {
  return p.volume ? Ints{depth, pair[0], pair[1]} : Ints{pair[0], pair[1]};
}

// The order of the parameter.
Md parameterMd(const ConvolutionProblem& p) {
  const Ints outer = p.groups == 1 ? Ints{p.outputs} : Ints{p.groups, p.outputs / p.groups};
  return channelsLastMd(outer, p.groupChannels(), axesOf(p, p.depth.kernel, p.kernel), Type::f32);
}

ConvolutionGeometry geometryOf(const ConvolutionProblem& p) {
  const Ints padding = axesOf(p, p.depth.padding, p.padding);
  return {axesOf(p, p.depth.stride, p.stride), axesOf(p, p.depth.dilation - 1, {p.dilation[0] - 1, p.dilation[1] - 1}),
          padding, padding};
}

// True if the library's kernels for its own order save more time than the images' way there and back takes. `here`: the
// forward pass with channels last, which AVX-512 computes as fast.
bool paysInOwnOrder(const ConvolutionProblem& p, const Pd& here) {
  constexpr std::int64_t kMinChannels = 32;
  if (onednn::isEmpty(here) || p.groups > 1 || p.taps() == 1) return false;
  const bool wide = std::string(here.impl_info_str()).find("avx512") != std::string::npos;
  return !wide && std::min(p.channels, p.outputs) >= kMinChannels;
}

}  // namespace

struct ConvolutionPrimitives::Parts {
  // An operand or the result of a primitive, with the way into or out of the order that this has it in.
  struct Operand {
    int argument = 0;
    bool result = false;
    Md given, wanted;
    Pd reorder;  // empty: none is needed
    dnnl::primitive reorder_primitive;

    std::size_t bytes() const { return onednn::isEmpty(reorder) ? 0 : padded(wanted.get_size()); }
  };

  struct Prepared {
    Pd pd;
    dnnl::primitive primitive;
    std::string implementation;
    std::array<Operand, 3> operands;  // image, weights, result of the forward pass, or their gradients
  };

  using Places = std::array<const void*, 3>;

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::array<Md, 3> given;  // image, parameter, result
  Md bias;
  Prepared passes[kPasses], biased;
  std::int32_t threads = 1;

  void prepare(const Pd& pd, Pass kind, Prepared* pass) const {
    static constexpr int kArguments[kPasses][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                                   {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                                   {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    static constexpr std::size_t kResults[kPasses] = {2, 0, 1};
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return;
    for (std::size_t o = 0; o < given.size(); ++o) {
      Operand& operand = pass->operands[o];
      operand = {kArguments[kind][o], o == kResults[kind], given[o], {}, {}, {}};
      operand.wanted = pd.query_md(dnnl::query::exec_arg_md, operand.argument);
      if (operand.wanted == operand.given) continue;
      const auto& [from, to] =
          operand.result ? std::tie(operand.wanted, operand.given) : std::tie(operand.given, operand.wanted);
      operand.reorder = onednn::reorderPd(engine, from, to, dnnl::primitive_attr());
      if (onednn::isEmpty(operand.reorder)) return;
      operand.reorder_primitive = dnnl::primitive(operand.reorder.get());
    }
    pass->pd = pd;
    pass->primitive = dnnl::primitive(pd.get());
    pass->implementation = pd.impl_info_str();
  }

  dnnl::memory at(const Md& md, const void* place) const { return {md, engine, const_cast<void*>(place)}; }

  void run(const Prepared& pass, const Places& places, const float* bias_place) const {
    const ThreadCountScope scope(threads);
    const Md scratchpad = pass.pd.scratchpad_desc();
    std::size_t bytes = 0;
    for (const Operand& operand : pass.operands) bytes += operand.bytes();
    char* memory = workingMemory(bytes + scratchpad.get_size());
    dnnl::stream stream(engine);
    std::unordered_map<int, dnnl::memory> arguments;
    const auto reorder = [&](const Operand& operand, const dnnl::memory& from, const dnnl::memory& to) {
      operand.reorder_primitive.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    };
    for (std::size_t o = 0; o < places.size(); ++o) {
      const Operand& operand = pass.operands[o];
      const std::size_t own = operand.bytes();
      const dnnl::memory wanted = at(operand.wanted, own ? memory : places[o]);
      if (own && !operand.result) reorder(operand, at(operand.given, places[o]), wanted);
      arguments.insert({operand.argument, wanted});
      memory += own;
    }
    if (bias_place != nullptr) arguments.insert({DNNL_ARG_BIAS, at(bias, bias_place)});
    arguments.insert({DNNL_ARG_SCRATCHPAD, at(scratchpad, memory)});
    pass.primitive.execute(stream, arguments);
    for (std::size_t o = 0; o < places.size(); ++o) {
      const Operand& operand = pass.operands[o];
      if (operand.result && operand.bytes())
        reorder(operand, arguments[operand.argument], at(operand.given, places[o]));
    }
    stream.wait();
  }
};

ConvolutionPrimitives::ConvolutionPrimitives(const ConvolutionProblem& p) {
  auto parts = std::make_unique<Parts>();
  parts->threads = p.threads;
  const ThreadCountScope scope(p.threads);
  const Type type = p.bf16 ? Type::bf16 : Type::f32;
  parts->given = {channelsLastMd({p.images}, p.channels, axesOf(p, p.depth.size, p.size), type), parameterMd(p),
                  channelsLastMd({p.images}, p.outputs, axesOf(p, p.depth.out(), {p.out(0), p.out(1)}), type)};
  parts->bias = Md({p.outputs}, Type::f32, dnnl::memory::format_tag::a);
  const auto anyOf = [](const Md& md, Type of) { return Md(onednn::mdDims(md), of, dnnl::memory::format_tag::any); };
  const dnnl::primitive_attr attributes = onednn::attributes({});
  std::array<Md, 3> wanted{parts->given[0], anyOf(parts->given[1], type), parts->given[2]};
  const Md weight_gradient = anyOf(parts->given[1], Type::f32);
  const auto pds = [&](const Md& bias) {
    return onednn::convolutionTrainingPds(parts->engine, wanted[0], wanted[1], weight_gradient, bias, wanted[2],
                                          geometryOf(p), attributes);
  };
  onednn::ConvolutionPds plain = pds(Md());
  if (paysInOwnOrder(p, plain.forward)) {
    for (Md& md : wanted) md = anyOf(md, type);
    plain = pds(Md());
  }
  parts->prepare(plain.forward, kForward, &parts->passes[kForward]);
  parts->prepare(plain.source, kSource, &parts->passes[kSource]);
  parts->prepare(plain.weights, kWeights, &parts->passes[kWeights]);
  parts->prepare(pds(parts->bias).forward, kForward, &parts->biased);
  if (parts->biased.implementation.empty()) parts->passes[kForward].implementation.clear();
  parts_ = std::move(parts);
}

ConvolutionPrimitives::~ConvolutionPrimitives() = default;

const char* ConvolutionPrimitives::implementation(Pass pass) const {
  return parts_->passes[pass].implementation.c_str();
}

void ConvolutionPrimitives::forward(const void* x, const float* w, const float* bias, void* y) const {
  parts_->run(bias != nullptr ? parts_->biased : parts_->passes[kForward], {x, w, y}, bias);
}

void ConvolutionPrimitives::sourceGradient(const float* w, const void* dy, void* dx) const {
  parts_->run(parts_->passes[kSource], {dx, w, dy}, nullptr);
}

void ConvolutionPrimitives::weightGradient(const void* x, const void* dy, float* dw) const {
  parts_->run(parts_->passes[kWeights], {x, dw, dy}, nullptr);
}

}  // namespace ipex_studio

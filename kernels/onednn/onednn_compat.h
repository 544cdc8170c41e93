// The only place that knows how oneDNN 2.6 and 3.x differ: creation of primitive descriptors, what a memory descriptor
// looks like inside, the arguments of element-wise post-operations, scales and zero points of products of integers.
//
// Every …Pd function returns an empty descriptor when the library has no implementation or refuses the problem.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/common/convolution_geometry.h"

namespace ipex_studio::onednn {

using Md = dnnl::memory::desc;
using Pd = dnnl::primitive_desc_base;
static_assert(std::is_same_v<Ints, dnnl::memory::dims>);

#if DNNL_VERSION_MAJOR >= 3
inline std::string mdRest(const Md&) { return {}; }  // 3.x knows no other layouts
inline Ints mdDims(const Md& md) { return md.get_dims(); }
inline Ints mdStrides(const Md& md) { return md.get_strides(); }
inline bool mdIsBlocked(const Md& md) { return md.get_format_kind() == dnnl::memory::format_kind::blocked; }
inline Ints mdInnerBlocks(const Md& md) { return md.get_inner_blks(); }
inline Ints mdInnerAxes(const Md& md) { return md.get_inner_idxs(); }
inline dnnl::memory::data_type mdType(const Md& md) { return md.get_data_type(); }
#else
// Text of further properties that distinguish layouts: sizes of Winograd's tiles and blocks, sums kept behind the
// weights.
inline std::string mdRest(const Md& md) {
  std::string rest;
  const dnnl_memory_extra_desc_t& extra = md.data.extra;
  if (extra.flags != 0) {
    rest += fmt::format(" extra{} {} {} {}", extra.flags, extra.compensation_mask, extra.scale_adjust,
                        extra.asymm_compensation_mask);
  }
  if (md.data.format_kind == dnnl_format_kind_wino) {
    const dnnl_wino_desc_t& wino = md.data.format_desc.wino_desc;
    rest += fmt::format(" wino{} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(wino.wino_format), wino.r, wino.alpha,
                        wino.ic, wino.oc, wino.ic_block, wino.oc_block, wino.ic2_block, wino.oc2_block, wino.adj_scale,
                        wino.size);
  }
  return rest;
}
inline Ints mdDims(const Md& md) { return md.dims(); }
inline Ints mdStrides(const Md& md) {
  const auto& strides = md.data.format_desc.blocking.strides;
  return Ints(strides, strides + md.data.ndims);
}
inline bool mdIsBlocked(const Md& md) { return md.data.format_kind == dnnl_blocked; }
inline Ints mdInnerBlocks(const Md& md) {
  const auto& blocking = md.data.format_desc.blocking;
  return Ints(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
}
inline Ints mdInnerAxes(const Md& md) {
  const auto& blocking = md.data.format_desc.blocking;
  return Ints(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
}
inline dnnl::memory::data_type mdType(const Md& md) { return md.data_type(); }
#endif

inline void appendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, alpha, beta);
#else
  ops.append_eltwise(1.0f, algorithm, alpha, beta);
#endif
}

struct Eltwise {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
};
inline Eltwise eltwiseAt(const dnnl::post_ops& ops, int index) {
  Eltwise read;
#if DNNL_VERSION_MAJOR >= 3
  ops.get_params_eltwise(index, read.algorithm, read.alpha, read.beta);
#else
  float scale = 1;
  ops.get_params_eltwise(index, scale, read.algorithm, read.alpha, read.beta);
#endif
  return read;
}

// True if generated code adds products of bytes in 32 bits; without VNNI it adds pairs in 16 bits, saturated.
inline bool hasVnni() {
  const auto has = [isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

// A product of integers is y = (Σ (x - src_zero)·w) · scale[channel] + offset[channel]. 2.6 keeps the numbers in the
// attributes and adds the bias before it scales; 3.x wants both as arguments of each execution and scales first.
struct ProductScales {
  std::vector<float> scale;  // one for all channels or one for each
  std::vector<float> offset;
  std::int32_t src_zero = 0, weight_zero = 0;
};
#if DNNL_VERSION_MAJOR >= 3
constexpr bool kScalesAreArguments = true;
constexpr int kScalesArgument = DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS;
#else
constexpr bool kScalesAreArguments = false;
constexpr int kScalesArgument = 0;
#endif

// Sets scales and zero points. `dst_mask`, `weights_mask`: the axes of the result and of the weights along which
// channels lie.
inline void setScales(const ProductScales& product, int dst_mask, int weights_mask, dnnl::primitive_attr* attr) {
  const bool single = product.scale.size() == 1;
#if DNNL_VERSION_MAJOR >= 3
  static_cast<void>(dst_mask);
  attr->set_scales_mask(DNNL_ARG_WEIGHTS, single ? 0 : weights_mask);
  if (product.src_zero != 0) attr->set_zero_points_mask(DNNL_ARG_SRC, 0);
  if (product.weight_zero != 0) attr->set_zero_points_mask(DNNL_ARG_WEIGHTS, 0);
#else
  static_cast<void>(weights_mask);
  attr->set_output_scales(single ? 0 : dst_mask, product.scale);
  if (product.src_zero != 0) attr->set_zero_points(DNNL_ARG_SRC, 0, {product.src_zero});
  if (product.weight_zero != 0) attr->set_zero_points(DNNL_ARG_WEIGHTS, 0, {product.weight_zero});
#endif
}

// Stores the bias in the form that the library expects; empty if there is none. False if it cannot be expressed.
inline bool biasOf(const ProductScales& product, std::vector<float>* bias) {
  bias->clear();
  bool any = false;
  for (const float offset : product.offset) any |= offset != 0;
  if (!any) return true;
  for (std::size_t c = 0; c < product.offset.size(); ++c) {
    const float scale = kScalesAreArguments ? 1.0f : product.scale[product.scale.size() == 1 ? 0 : c];
    constexpr float kTiny = 1e-25f;
    if (!(scale > kTiny) && !(scale < -kTiny)) return false;
    bias->push_back(product.offset[c] / scale);
  }
  return true;
}

// x · clip(x + 3, 0, 6) / 6; 2.6 has the constants built in, 3.x takes them.
inline void appendHardSwish(dnnl::post_ops& ops) {
  appendEltwise(ops, dnnl::algorithm::eltwise_hardswish, 1.0f / 6, 0.5f);
}

namespace detail {

// Runs `make`, turns every refusal of the library into an empty descriptor.
template <typename Make>
Pd orEmpty(const Make& make) {
  try {
    return make();
  } catch (const dnnl::error&) {
    return Pd();
  }
}

constexpr bool kAllowEmpty = true;

}  // namespace detail

// The descriptor of a convolution; `bias` may be a zero descriptor. Winograd: 2.6 has it for AVX-512 and chooses it by
// itself from batch 4 on; 3.2 and later do not have it.
inline Pd convolutionPd(const dnnl::engine& engine, const Md& src, const Md& weights, const Md& bias, const Md& dst,
                        const ConvolutionGeometry& g, const dnnl::primitive_attr& attr,
                        dnnl::algorithm algorithm = dnnl::algorithm::convolution_auto) {
  using Op = dnnl::convolution_forward;
  return detail::orEmpty([&]() -> Pd {
    const auto prop = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    return Op::primitive_desc(engine, prop, algorithm, src, weights, bias, dst, g.stride, g.dilation, g.padding_begin,
                              g.padding_end, attr, detail::kAllowEmpty);
#else
    const Op::desc desc(prop, algorithm, src, weights, bias, dst, g.stride, g.dilation, g.padding_begin, g.padding_end);
    return Op::primitive_desc(desc, attr, engine, detail::kAllowEmpty);
#endif
  });
}

// The descriptors of a convolution in training; one that the library lacks is empty. Directly computed. The gradient of
// weights, `weight_gradient`, may be of a wider type than they are.
struct ConvolutionPds {
  Pd forward, source, weights;
};

inline ConvolutionPds convolutionTrainingPds(const dnnl::engine& engine, const Md& src, const Md& weights,
                                             const Md& weight_gradient, const Md& bias, const Md& dst,
                                             const ConvolutionGeometry& g, const dnnl::primitive_attr& attr) {
  using Forward = dnnl::convolution_forward;
  using Source = dnnl::convolution_backward_data;
  using Weights = dnnl::convolution_backward_weights;
  const auto prop = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  ConvolutionPds pds;
  try {
#if DNNL_VERSION_MAJOR >= 3
    const Forward::primitive_desc hint(engine, prop, algorithm, src, weights, bias, dst, g.stride, g.dilation,
                                       g.padding_begin, g.padding_end, attr);
    pds.source = detail::orEmpty([&]() -> Pd {
      return Source::primitive_desc(engine, algorithm, src, weights, dst, g.stride, g.dilation, g.padding_begin,
                                    g.padding_end, hint, attr, detail::kAllowEmpty);
    });
    pds.weights = detail::orEmpty([&]() -> Pd {
      return Weights::primitive_desc(engine, algorithm, src, weight_gradient, dst, g.stride, g.dilation,
                                     g.padding_begin, g.padding_end, hint, attr, detail::kAllowEmpty);
    });
#else
    const Forward::primitive_desc hint(
        Forward::desc(prop, algorithm, src, weights, bias, dst, g.stride, g.dilation, g.padding_begin, g.padding_end),
        attr, engine);
    pds.source = detail::orEmpty([&]() -> Pd {
      return Source::primitive_desc(
          Source::desc(algorithm, src, weights, dst, g.stride, g.dilation, g.padding_begin, g.padding_end), attr,
          engine, hint, detail::kAllowEmpty);
    });
    pds.weights = detail::orEmpty([&]() -> Pd {
      return Weights::primitive_desc(
          Weights::desc(algorithm, src, weight_gradient, dst, g.stride, g.dilation, g.padding_begin, g.padding_end),
          attr, engine, hint, detail::kAllowEmpty);
    });
#endif
    pds.forward = hint;
  } catch (const dnnl::error&) {
    return {};
  }
  return pds;
}

inline Pd deconvolutionPd(const dnnl::engine& engine, const Md& src, const Md& weights, const Md& bias, const Md& dst,
                          const ConvolutionGeometry& g, const dnnl::primitive_attr& attr) {
  using Op = dnnl::deconvolution_forward;
  return detail::orEmpty([&]() -> Pd {
    const auto prop = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::deconvolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    return Op::primitive_desc(engine, prop, algorithm, src, weights, bias, dst, g.stride, g.dilation, g.padding_begin,
                              g.padding_end, attr, detail::kAllowEmpty);
#else
    const Op::desc desc(prop, algorithm, src, weights, bias, dst, g.stride, g.dilation, g.padding_begin, g.padding_end);
    return Op::primitive_desc(desc, attr, engine, detail::kAllowEmpty);
#endif
  });
}

inline Pd matmulPd(const dnnl::engine& engine, const Md& src, const Md& weights, const Md& bias, const Md& dst,
                   const dnnl::primitive_attr& attr) {
  using Op = dnnl::matmul;
  return detail::orEmpty([&]() -> Pd {
#if DNNL_VERSION_MAJOR >= 3
    return Op::primitive_desc(engine, src, weights, bias, dst, attr, detail::kAllowEmpty);
#else
    return Op::primitive_desc(Op::desc(src, weights, bias, dst), attr, engine, detail::kAllowEmpty);
#endif
  });
}

// The descriptor of x·wᵀ + b with rows of x side by side; one of the descriptors of src and weights may leave its
// layout to the library.
inline Pd innerProductPd(const dnnl::engine& engine, const Md& src, const Md& weights, const Md& bias, const Md& dst,
                         const dnnl::primitive_attr& attr) {
  using Op = dnnl::inner_product_forward;
  return detail::orEmpty([&]() -> Pd {
    const auto prop = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    return Op::primitive_desc(engine, prop, src, weights, bias, dst, attr, detail::kAllowEmpty);
#else
    return Op::primitive_desc(Op::desc(prop, src, weights, bias, dst), attr, engine, detail::kAllowEmpty);
#endif
  });
}

// The descriptors of a linear layer in training; one that the library lacks is empty. The gradients of weights and bias
// may be of wider types than those are.
struct LinearPds {
  Pd forward, source, weights;
};

inline LinearPds linearTrainingPds(const dnnl::engine& engine, const Md& src, const Md& weights,
                                   const Md& weight_gradient, const Md& bias, const Md& dst,
                                   const dnnl::primitive_attr& attr) {
  using Forward = dnnl::inner_product_forward;
  using Source = dnnl::inner_product_backward_data;
  using Weights = dnnl::inner_product_backward_weights;
  const auto prop = dnnl::prop_kind::forward_training;
  LinearPds pds;
  try {
#if DNNL_VERSION_MAJOR >= 3
    const Forward::primitive_desc hint(engine, prop, src, weights, bias, dst, attr);
    pds.source = detail::orEmpty(
        [&]() -> Pd { return Source::primitive_desc(engine, src, weights, dst, hint, attr, detail::kAllowEmpty); });
    pds.weights = detail::orEmpty([&]() -> Pd {
      return Weights::primitive_desc(engine, src, weight_gradient, bias, dst, hint, attr, detail::kAllowEmpty);
    });
#else
    const Forward::primitive_desc hint(Forward::desc(prop, src, weights, bias, dst), attr, engine);
    pds.source = detail::orEmpty([&]() -> Pd {
      return Source::primitive_desc(Source::desc(src, weights, dst), attr, engine, hint, detail::kAllowEmpty);
    });
    pds.weights = detail::orEmpty([&]() -> Pd {
      return Weights::primitive_desc(Weights::desc(src, weight_gradient, bias, dst), attr, engine, hint,
                                     detail::kAllowEmpty);
    });
#endif
    pds.forward = hint;
  } catch (const dnnl::error&) {
    return {};
  }
  return pds;
}

// The descriptor of a pooling; dilation as oneDNN counts: 0 is dense.
inline Pd poolingPd(const dnnl::engine& engine, dnnl::algorithm algorithm, const Md& src, const Md& dst,
                    const Ints& kernel, const ConvolutionGeometry& g, const dnnl::primitive_attr& attr) {
  return detail::orEmpty([&]() -> Pd {
    const auto prop = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::pooling_forward::primitive_desc(engine, prop, algorithm, src, dst, g.stride, kernel, g.dilation,
                                                 g.padding_begin, g.padding_end, attr, detail::kAllowEmpty);
#else
    bool dilated = false;
    for (const auto d : g.dilation) dilated |= d != 0;
    if (dilated) {
      using Op = dnnl::pooling_v2_forward;
      return Op::primitive_desc(
          Op::desc(prop, algorithm, src, dst, g.stride, kernel, g.dilation, g.padding_begin, g.padding_end), attr,
          engine, detail::kAllowEmpty);
    }
    using Op = dnnl::pooling_forward;
    return Op::primitive_desc(Op::desc(prop, algorithm, src, dst, g.stride, kernel, g.padding_begin, g.padding_end),
                              attr, engine, detail::kAllowEmpty);
#endif
  });
}

inline Pd reorderPd(const dnnl::engine& engine, const Md& src, const Md& dst, const dnnl::primitive_attr& attr) {
  return detail::orEmpty(
      [&]() -> Pd { return dnnl::reorder::primitive_desc(engine, src, engine, dst, attr, detail::kAllowEmpty); });
}

inline bool isEmpty(const Pd& pd) { return pd.get(true) == nullptr; }

}  // namespace ipex_studio::onednn

// Shared by all oneDNN-backed kernels: descriptors to and from oneDNN (onednn_descriptors.cpp), post-operations as
// primitive attributes (onednn_post_ops.cpp), packed constants, and the PreparedOp that runs one primitive after
// reorders of operands that are not constant (onednn_op.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/onednn/onednn_compat.h"

namespace ipex_studio {

namespace onednn {

// --- descriptors ---------------------------------------------------------------------------------------------------

bool typeToOnednn(DType dtype, dnnl::memory::data_type* type);

// The descriptor of a strided or dense channel-blocked tensor. False for what oneDNN cannot say: unknown dtype, stride
// 0 on a dimension over 1, blocked tensors with gaps, rank 0.
bool toMd(const TensorDesc& desc, Md* md);

// True if oneDNN computes products of these types: FP32 throughout; BF16 or FP16 operands and a result of their type or
// FP32, all with sums in FP32 (for FP16 from 3.x on, and only if the CPU has it; else there is no primitive); u8 or s8
// by s8 with sums in 32 bits and a result of 8 bits, FP32 or BF16.
bool isProduct(DType a, DType b, DType dst);

// Stores `md` as a TensorDesc. False if its layout is none that a TensorDesc describes (double blocks of weights,
// opaque formats).
bool fromMd(const Md& md, TensorDesc* desc);

// A descriptor that leaves the layout to the library.
Md anyMd(const Dims& dims, DType dtype);

// The descriptor of a dense row-major tensor.
Md plainMd(const Dims& dims, DType dtype);

// Text that names a layout in keys of packed weights: equal texts mean equal bytes.
std::string describe(const Md& md);

// Dims with ones in front up to `rank`.
Dims rankAligned(const Dims& dims, int rank);

// Dims right-aligned to `rank` with ones in front, strides likewise.
TensorDesc alignedTo(const TensorDesc& desc, int rank);

// --- post-operations -----------------------------------------------------------------------------------------------

// The operand of one binary post-operation.
struct PostOperand {
  int index = 0;           // position in the primitive's post-op list
  int src = 0;             // index in PrepareArgs::src
  bool broadcast = false;  // smaller than dst
};

struct PostOps {
  dnnl::post_ops list;
  std::vector<PostOperand> operands;
  int in_place_src = -1;  // the summand that dst accumulates into; -1: none
  bool integers = false;  // a product of integers, with these numbers
  ProductScales product;
  std::vector<float> bias;
};

// Translates spec.post_ops for a result of dims `dst` (its rank as the primitive sees it). Post operand k is
// args.src[first_operand + k], seen with dims operandDims[k] (aligned to dst's rank). allow_sum: turn the first add of
// a dying same-size operand into accumulation into dst. Full-size operands get layout `any` (the primitive's dst
// layout) unless dst_layout is given.
struct PostOpRequest {
  const std::vector<PostOp>* post_ops = nullptr;
  Dims dst;
  DType dst_type = DType::kF32;
  std::vector<Dims> operand_dims;
  std::vector<DType> operand_types;
  std::vector<bool> operand_dies;
  int first_operand = 0;
  bool allow_sum = false;
  const Md* dst_layout = nullptr;
};
Verdict translatePostOps(const PostOpRequest& request, PostOps* result);

// The request of a kernel whose primitive sees the result with its own dims.
PostOpRequest requestFor(const PrepareArgs& args, int first_operand);

// Post-operations of a product: those of integers are folded first (requantization.h); channels lie along
// `channel_axis` of args.dst. `request` may see operands with other dims. Declines: post-ops, inexact (weights of more
// than 7 bits, or signed sources, where the library would saturate sums).
Verdict translateProduct(const PrepareArgs& args, PostOpRequest request, int channel_axis, PostOps* result);

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops);
// Attributes with the post-operations, scales and zero points of a product; masks as in setScales.
dnnl::primitive_attr attributes(const PostOps& post_ops, int dst_mask, int weights_mask);

// --- the operation -------------------------------------------------------------------------------------------------

// True for the library's slow reference implementations, which kernels decline to use.
bool isReference(const Pd& pd);

class OnednnOp final : public PreparedOp {
 public:
  OnednnOp(const dnnl::engine& engine, const Pd& pd);

  // Binds an argument of the primitive to operand `index`.
  void bindSrc(int argument, int index, const Md& md);
  void bindDst(int argument, int index, const Md& md);
  // Binds weights: packed now (through the cache) when `constant`, else reordered into scratch at each execution.
  void bindWeights(int argument, int index, const Md& given, const Md& wanted, const void* constant,
                   WeightCache* cache);
  // Binds values that the operation keeps.
  void bindValues(int argument, const Md& md, const void* values);
  // Binds scales and zero points if this version of the library takes them as arguments.
  void bindScales(const ProductScales& product);
  // Places the library's scratchpad; call last.
  void finish();

  std::unique_ptr<ExecState> newState() const override;
  void execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const override;
  MemoryRange firstReads(std::int32_t thread) const override;

 private:
  enum class From { kSrc, kDst, kPacked, kScratch };
  struct Binding {
    int argument;
    From from;
    std::int64_t index;  // operand, or byte offset in scratch
    Md md;
  };
  struct Stage {  // reorder of operand `src` into scratch before the primitive runs
    dnnl::primitive primitive;
    int src;
    std::int64_t offset;
    Md from, to;
  };
  friend class OnednnState;

  dnnl::engine engine_;
  Pd pd_;
  dnnl::primitive primitive_;
  std::vector<Binding> bindings_;
  std::vector<Stage> stages_;
  std::vector<WeightCache::Packed> packed_buffers_;
};

// Binds the operands of `post_ops` and records layouts and in_place_src; `pd` tells the layouts it chose.
// Returns false when a chosen layout cannot be said as a TensorDesc.
bool bindPostOperands(const Pd& pd, const PostOps& post_ops, const PrepareArgs& args, const TensorDesc& dst_layout,
                      OnednnOp* op);

}  // namespace onednn
}  // namespace ipex_studio

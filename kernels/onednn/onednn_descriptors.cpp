// Descriptions of tensors to and from those of oneDNN (onednn_op.h).
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/op/low_precision_floats.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

Ints toInts(const Dims& dims) { return Ints(dims.d.begin(), dims.d.begin() + dims.rank); }

Tag blockedTag(int rank, int block) {
  static const Tag kTags8[] = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
  static const Tag kTags16[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
  if (rank < 3 || rank > 5) return Tag::undef;
  if (block == 8) return kTags8[rank - 3];
  return block == 16 ? kTags16[rank - 3] : Tag::undef;
}

bool fromType(dnnl::memory::data_type type, DType* dtype) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case Type::f32:
      *dtype = DType::kF32;
      return true;
    case Type::bf16:
      *dtype = DType::kBf16;
      return true;
    case Type::f16:
      *dtype = DType::kF16;
      return true;
    case Type::s8:
      *dtype = DType::kS8;
      return true;
    case Type::u8:
      *dtype = DType::kU8;
      return true;
    case Type::s32:
      *dtype = DType::kS32;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool typeToOnednn(DType dtype, dnnl::memory::data_type* type) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::kF32:
      *type = Type::f32;
      return true;
    case DType::kBf16:
      *type = Type::bf16;
      return true;
    case DType::kF16:
      *type = Type::f16;
      return true;
    case DType::kS8:
      *type = Type::s8;
      return true;
    case DType::kU8:
      *type = Type::u8;
      return true;
    case DType::kS32:
      *type = Type::s32;
      return true;
    default:
      return false;
  }
}

bool toMd(const TensorDesc& desc, Md* md) {
  dnnl::memory::data_type type;
  if (desc.dims.rank == 0 || !typeToOnednn(desc.dtype, &type)) return false;
  if (desc.block > 0) {
    const Tag tag = blockedTag(desc.dims.rank, desc.block);
    if (tag == Tag::undef || !desc.sameLayout(blockedDesc(desc.dtype, desc.dims, desc.block))) return false;
    *md = Md(toInts(desc.dims), type, tag);
    return true;
  }
  Ints strides = toInts(desc.strides);
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    if (desc.dims[axis] > 1 && strides[axis] <= 0) return false;
    if (desc.dims[axis] == 1 && strides[axis] <= 0) strides[axis] = 1;
  }
  try {
    *md = Md(toInts(desc.dims), type, strides);
  } catch (const dnnl::error&) {
    return false;  // rows overlap, as in a slice with a step
  }
  return true;
}

bool isProduct(DType a, DType b, DType dst) {
  const bool bytes = (a == DType::kU8 || a == DType::kS8) && b == DType::kS8;
  if (bytes) return dst == DType::kU8 || dst == DType::kS8 || dst == DType::kF32 || dst == DType::kBf16;
  if (a != b) return false;
  return a == DType::kF32 ? dst == a : isLowPrecisionFloat(a) && (dst == a || dst == DType::kF32);
}

bool fromMd(const Md& md, TensorDesc* desc) {
  if (!mdIsBlocked(md)) return false;
  const Ints dims = mdDims(md);
  if (dims.empty() || dims.size() > kMaxRank) return false;
  DType dtype;
  if (!fromType(mdType(md), &dtype)) return false;
  const Ints blocks = mdInnerBlocks(md);
  if (blocks.size() > 1 || (blocks.size() == 1 && mdInnerAxes(md)[0] != 1)) return false;
  TensorDesc read;
  read.dtype = dtype;
  read.dims = Dims(std::vector<std::int64_t>(dims.begin(), dims.end()));
  const Ints strides = mdStrides(md);
  read.strides = Dims(std::vector<std::int64_t>(strides.begin(), strides.end()));
  read.block = blocks.empty() ? 0 : static_cast<std::int32_t>(blocks[0]);
  *desc = read;
  return true;
}

Md anyMd(const Dims& dims, DType dtype) {
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  typeToOnednn(dtype, &type);
  return Md(toInts(dims), type, Tag::any);
}

Md plainMd(const Dims& dims, DType dtype) {
  Md md;
  IPEX_CHECK(toMd(contiguousDesc(dtype, dims), &md), "dtype unknown to oneDNN");
  return md;
}

std::string describe(const Md& md) {
  std::string text = fmt::format("onednn {} t{} d{} s{} b{} a{} size{}", DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR,
                                 static_cast<int>(mdType(md)), fmt::join(mdDims(md), "x"),
                                 mdIsBlocked(md) ? fmt::format("{}", fmt::join(mdStrides(md), "x")) : "opaque",
                                 fmt::join(mdInnerBlocks(md), "x"), fmt::join(mdInnerAxes(md), "x"), md.get_size());
  return text + mdRest(md);
}

Dims rankAligned(const Dims& dims, int rank) {
  Dims aligned;
  aligned.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    const int from = axis - (rank - dims.rank);
    aligned[axis] = from < 0 ? 1 : dims[from];
  }
  return aligned;
}

TensorDesc alignedTo(const TensorDesc& desc, int rank) {
  TensorDesc aligned = desc;
  aligned.dims = rankAligned(desc.dims, rank);
  aligned.strides = rankAligned(desc.strides, rank);
  return aligned;
}

}  // namespace ipex_studio::onednn

// Names of dtypes, and the layout properties of tensor descriptions.
#include "core/op/tensor_view.h"

#include "core/base/error.h"

namespace ipex_studio {
namespace {

struct DTypeRow {
  DType dtype;
  const char* name;
  std::size_t bytes;
};
constexpr DTypeRow kDTypes[] = {{DType::kNone, "none", 0}, {DType::kF32, "f32", 4}, {DType::kF64, "f64", 8},
                                {DType::kBf16, "bf16", 2}, {DType::kF16, "f16", 2}, {DType::kS8, "s8", 1},
                                {DType::kU8, "u8", 1},     {DType::kS32, "s32", 4}, {DType::kS64, "s64", 8},
                                {DType::kBool, "bool", 1}};

TensorDesc denseDesc(DType dtype, const Dims& dims, const std::vector<int>& outer_to_inner) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = dims;
  desc.strides.rank = dims.rank;
  std::int64_t stride = 1;
  for (auto axis = outer_to_inner.rbegin(); axis != outer_to_inner.rend(); ++axis) {
    desc.strides[*axis] = stride;
    stride *= dims[*axis];
  }
  return desc;
}

std::vector<int> channelsLastOrder(int rank) {
  std::vector<int> order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

bool stridesMatch(const TensorDesc& a, const TensorDesc& b) {
  for (int axis = 0; axis < a.dims.rank; ++axis) {
    if (a.dims[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace

std::size_t elementBytes(DType dtype) { return kDTypes[static_cast<int>(dtype)].bytes; }
const char* dtypeName(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

DType dtypeFromName(const std::string& name) {
  for (const DTypeRow& row : kDTypes) {
    if (name == row.name) return row.dtype;
  }
  return DType::kNone;
}

Dims::Dims(std::initializer_list<std::int64_t> values) : Dims(std::vector<std::int64_t>(values)) {}

Dims::Dims(const std::vector<std::int64_t>& values) : rank(static_cast<std::int32_t>(values.size())) {
  IPEX_CHECK(values.size() <= kMaxRank, "more dimensions than kMaxRank");
  for (int axis = 0; axis < rank; ++axis) d[axis] = values[axis];
}

bool Dims::operator==(const Dims& other) const {
  if (rank != other.rank) return false;
  for (int axis = 0; axis < rank; ++axis) {
    if (d[axis] != other.d[axis]) return false;
  }
  return true;
}

std::int64_t Dims::count() const {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank; ++axis) product *= d[axis];
  return product;
}

std::vector<std::int64_t> Dims::toVector() const { return {d.begin(), d.begin() + rank}; }

std::string Dims::str() const {
  if (rank == 0) return "scalar";
  std::string text = std::to_string(d[0]);
  for (int axis = 1; axis < rank; ++axis) text += "x" + std::to_string(d[axis]);
  return text;
}

bool TensorDesc::sameLayout(const TensorDesc& other) const {
  return dims.rank == other.dims.rank && block == other.block && stridesMatch(*this, other);
}

bool TensorDesc::isContiguous() const { return block == 0 && stridesMatch(*this, contiguousDesc(dtype, dims)); }

bool TensorDesc::isChannelsLast() const {
  return block == 0 && dims.rank >= 3 && stridesMatch(*this, channelsLastDesc(dtype, dims));
}

std::size_t TensorDesc::bytes() const {
  std::int64_t last = 0;
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (dims[axis] == 0) return 0;
    const std::int64_t extent = block > 0 && axis == 1 ? (dims[axis] + block - 1) / block : dims[axis];
    last += (extent - 1) * strides[axis];
  }
  return static_cast<std::size_t>(last + (block > 0 ? block : 1)) * elementBytes(dtype);
}

std::int64_t TensorDesc::rowBytes() const { return strides[0] * static_cast<std::int64_t>(elementBytes(dtype)); }

std::string TensorDesc::layoutName() const {
  static const char* const kAxes[] = {"", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"};
  static const char* const kPlain[] = {"", "a", "ab", "ncw", "nchw", "ncdhw"};
  static const char* const kLast[] = {"", "", "", "nwc", "nhwc", "ndhwc"};
  static const char* const kSpatial[] = {"", "", "", "w", "hw", "dhw"};
  if (absent()) return "none";
  if (block > 0 && dims.rank >= 3 && dims.rank <= 5) {
    return std::string("nC") + kSpatial[dims.rank] + std::to_string(block) + "c";
  }
  if (isContiguous()) return dims.rank <= 5 ? (dims.rank == 3 ? "abc" : kPlain[dims.rank]) : kAxes[dims.rank];
  if (dims.rank >= 3 && dims.rank <= 5 && isChannelsLast()) return kLast[dims.rank];
  return "strided";
}

std::string TensorDesc::str() const { return std::string(dtypeName(dtype)) + " " + dims.str() + " " + layoutName(); }

bool TensorDesc::operator==(const TensorDesc& other) const {
  return dtype == other.dtype && dims == other.dims && device == other.device && sameLayout(other);
}

TensorDesc contiguousDesc(DType dtype, const Dims& dims) {
  std::vector<int> order;
  for (int axis = 0; axis < dims.rank; ++axis) order.push_back(axis);
  return denseDesc(dtype, dims, order);
}

TensorDesc channelsLastDesc(DType dtype, const Dims& dims) {
  IPEX_CHECK(dims.rank >= 3, "channels-last needs a spatial dimension");
  return denseDesc(dtype, dims, channelsLastOrder(dims.rank));
}

TensorDesc blockedDesc(DType dtype, const Dims& dims, std::int32_t block) {
  IPEX_CHECK(dims.rank >= 3 && block > 0, "channel-blocked layouts need a spatial dimension");
  Dims outer = dims;
  outer[1] = (dims[1] + block - 1) / block;
  TensorDesc desc = contiguousDesc(dtype, outer);
  desc.dims = dims;
  for (int axis = 0; axis < dims.rank; ++axis) desc.strides[axis] *= block;
  desc.block = block;
  return desc;
}

}  // namespace ipex_studio

// The reference kernel of each kind: reads operands of any layout as doubles, calls the kind's plain version, applies
// the post-operations and writes the results.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "kernels/common/bf16.h"
#include "kernels/common/f16.h"
#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

std::int64_t elementOffset(const TensorDesc& desc, const Dims& at) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    const bool blocked = desc.block > 0 && axis == 1;
    offset += (blocked ? at[axis] / desc.block : at[axis]) * desc.strides[axis];
    if (blocked) offset += at[axis] % desc.block;
  }
  return offset;
}

double load(DType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF64:
      return static_cast<const double*>(data)[i];
    case DType::kBf16:
      return bf16ToFloat(static_cast<const std::uint16_t*>(data)[i]);
    case DType::kF16:
      return f16ToFloat(static_cast<const std::uint16_t*>(data)[i]);
    case DType::kS8:
      return static_cast<const std::int8_t*>(data)[i];
    case DType::kU8:
      return static_cast<const std::uint8_t*>(data)[i];
    case DType::kS32:
      return static_cast<const std::int32_t*>(data)[i];
    case DType::kS64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
    case DType::kBool:
      return static_cast<const std::uint8_t*>(data)[i] != 0;
    default:
      return 0;
  }
}

void store(DType dtype, void* data, std::int64_t i, double value) {
  switch (dtype) {
    case DType::kF32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case DType::kF64:
      static_cast<double*>(data)[i] = value;
      break;
    case DType::kBf16:
      static_cast<std::uint16_t*>(data)[i] = floatToBf16(static_cast<float>(value));
      break;
    case DType::kF16:
      static_cast<std::uint16_t*>(data)[i] = floatToF16(static_cast<float>(value));
      break;
    case DType::kS8:
      static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(value);
      break;
    case DType::kU8:
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(value);
      break;
    case DType::kS32:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
      break;
    case DType::kS64:
      static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(value);
      break;
    case DType::kBool:
      static_cast<std::uint8_t*>(data)[i] = value != 0;
      break;
    default:
      break;
  }
}

void readAll(const TensorDesc& desc, const void* data, double* out) {
  forEachIndex(desc.dims, [&](const Dims& at) { *out++ = load(desc.dtype, data, elementOffset(desc, at)); });
}

// Rounds as result=u8|s8 asks: to nearest even, saturated; NaN becomes the lowest number.
double roundedTo(DType dtype, double value) {
  const double low = dtype == DType::kU8 ? 0 : -128, high = dtype == DType::kU8 ? 255 : 127;
  return value > low ? std::min(high, std::nearbyint(value)) : low;
}

void writeAll(const TensorDesc& desc, const double* values, void* data) {
  if (desc.block > 0 && desc.dims[1] % desc.block != 0) std::memset(data, 0, desc.bytes());
  forEachIndex(desc.dims, [&](const Dims& at) { store(desc.dtype, data, elementOffset(desc, at), *values++); });
}

void applyPostOps(const OpSpec& spec, int base, const std::vector<RefTensor>& src, const RefTensor& dst) {
  if (spec.post_ops.empty()) return;
  forEachIndex(dst.dims, [&](const Dims& at) {
    double& value = dst(at);
    for (const PostOp& op : spec.post_ops) {
      double operand = 0;
      if (isBinary(op.kind)) {
        const RefTensor& tensor = src[base + op.operand];
        operand = tensor(broadcastIndex(at, tensor.dims));
      }
      value = refPostOp(op, value, operand);
    }
  });
}

class ReferenceOp final : public PreparedOp {
 public:
  OpSpec spec;
  RefFunction function = nullptr;

  void execute(ExecState*, const void* const* sources, void* const* results, void* scratch) const override {
    double* free = static_cast<double*>(scratch);
    const auto place = [&](const TensorDesc& desc) {
      RefTensor tensor{desc.dims, free};
      free += desc.dims.count();
      return tensor;
    };
    std::vector<RefTensor> from, to;
    for (std::size_t s = 0; s < src.size(); ++s) {
      from.push_back(src[s].absent() ? RefTensor() : place(src[s]));
      if (!src[s].absent()) readAll(src[s], sources[s], from[s].data);
    }
    for (const TensorDesc& desc : dst) to.push_back(place(desc));
    function({spec, from, to});
    const int base = baseSourceCount(spec.kind);
    if (base >= 0) applyPostOps(spec, base, from, to[0]);
    for (std::size_t d = 0; d < dst.size(); ++d) {
      const DType dtype = dst[d].dtype;
      const bool rounds =
          (dtype == DType::kU8 || dtype == DType::kS8) && spec.kind != OpKind::kCast && spec.kind != OpKind::kReorder;
      for (std::int64_t i = 0; rounds && i < to[d].dims.count(); ++i) to[d].data[i] = roundedTo(dtype, to[d].data[i]);
      writeAll(dst[d], to[d].data, results[d]);
    }
  }
};

class ReferenceKernel final : public Kernel {
 public:
  ReferenceKernel(OpKind kind, RefFunction function)
      : name_(std::string(opKindName(kind)) + "_ref"), function_(function) {}

  const char* name() const override { return name_.c_str(); }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& dst : args.dst) {
      if (dst.absent()) return Verdict::no("dtype");
    }
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ReferenceOp>();
    op->spec = args.spec;
    op->function = function_;
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    std::int64_t elements = 0;
    for (const TensorDesc& src : args.src) elements += src.absent() ? 0 : src.dims.count();
    for (const TensorDesc& dst : args.dst) elements += dst.dims.count();
    op->scratch_bytes = elements * sizeof(double);
    return op;
  }

 private:
  std::string name_;
  RefFunction function_;
};

}  // namespace

std::unique_ptr<Kernel> makeReference(OpKind kind, RefFunction function) {
  return std::make_unique<ReferenceKernel>(kind, function);
}

}  // namespace ipex_studio

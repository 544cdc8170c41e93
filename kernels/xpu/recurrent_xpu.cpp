// The recurrent half of LSTM and GRU on an OpenCL device (recurrent.cl), with projections. Work items that share
// nothing take their rows through all steps in one launch; where few rows have many units, and on GPUs, each step is a
// launch, so that all of the device computes it.
//
// Declines: dtype, post-ops, empty, weights (not constant), size.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/common/recurrent_operands.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kBlock = 16;    // units side by side in packed weights
constexpr std::int64_t kItemRows = 4;  // that share what an item reads of the weights
// Products of a step from which on a launch costs less than what several units of a device gain.
constexpr std::int64_t kLargeStep = std::int64_t{1} << 20;

struct RecurrentShape {
  std::int32_t steps = 0, rows = 0, units = 0, states = 0;
  std::int32_t gates_step = 0, gates_row = 0, y_step = 0, y_row = 0;
  std::int32_t out_step = 0, out_row = 0, reverse = 0, projection = 0;

  bool isProjected() const { return projection > 0; }
  std::int64_t gatesProducts() const { return std::int64_t{rows} * units * states; }
};

std::int64_t blocksOf(std::int64_t count) { return (count + kBlock - 1) / kBlock; }

enum Parts : cl_int { kUnits = 1, kProjection = 2 };

class RecurrentDeviceOp final : public DeviceOp {
 public:
  RecurrentDeviceOp(OpenClDevice& device, const RecurrentShape& shape, bool is_lstm)
      : DeviceOp(device, "recurrent", "recurrent", {device.usesTiles() ? 32u : 1u, 1, 1}),
        shape_(shape),
        is_lstm_(is_lstm) {
    const std::int64_t groups = (shape.rows + kItemRows - 1) / kItemRows;
    const bool is_shared = device.usesTiles() || (groups < device.units() && device.units() > 1 &&
                                                  shape.gatesProducts() * (is_lstm ? 4 : 3) >= kLargeStep);
    launches_of_step_ = !is_shared ? 0 : shape.isProjected() ? 2 : 1;
    item_units_ = device.usesTiles() ? 1 : kBlock;
    if (!is_shared) {
      item_units_ = narrowed(blocksOf(std::max(shape.units, shape.states)) * kBlock);
      addItems(1, groups);
    }
    for (std::int32_t launch = 0; launch < shape.steps * launches_of_step_; ++launch)
      addItems(((launch % launches_of_step_ == 0 ? shape.units : shape.states) + item_units_ - 1) / item_units_,
               groups);
  }
  WeightCache::Packed weights;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    const void* const* const src = launch.src;
    void* const y = launch.dst[0];
    kernel.pointer(src[0]);
    kernel.pointer(weights->data());
    kernel.pointer(src[2]);
    kernel.pointer(is_lstm_ ? src[3] : src[2]);
    kernel.pointer(hasBias() ? src[4] : src[2]);
    kernel.pointer(y);
    kernel.pointer(shape_.isProjected() ? launch.scratch : y);
    kernel.pointer(is_lstm_ ? launch.dst[1] : y);
    kernel.value(shape_);
    const auto index = static_cast<cl_int>(launch.index);
    const cl_int both = shape_.isProjected() ? kUnits | kProjection : kUnits;
    kernel.value(launches_of_step_ == 0 ? cl_int{0} : index / launches_of_step_);
    kernel.value(launches_of_step_ == 0 ? shape_.steps : cl_int{1});
    kernel.value(launches_of_step_ == 0 ? both : index % launches_of_step_ == 0 ? cl_int{kUnits} : cl_int{kProjection});
    kernel.value(item_units_);
    kernel.value(static_cast<cl_int>(kItemRows));
    kernel.value(static_cast<cl_int>(is_lstm_));
    kernel.value(static_cast<cl_int>(hasBias()));
  }

 private:
  bool hasBias() const { return !src[4].absent(); }

  RecurrentShape shape_;
  bool is_lstm_;
  cl_int launches_of_step_ = 0;  // 0: one launch for all steps
  cl_int item_units_ = 1;
};

// Columns of `units` units, `depth` rows each, as [block][row][gate][unit of the block], with zeros behind the last
// unit.
void packColumns(const TensorDesc& desc, const float* w, std::int64_t gates, std::int64_t units, std::int64_t depth,
                 std::int64_t unit_stride, std::int64_t depth_stride, float* to) {
  for (std::int64_t block = 0; block < blocksOf(units); ++block) {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        for (std::int64_t unit = block * kBlock; unit < (block + 1) * kBlock; ++unit)
          *to++ = unit < units ? w[gate * units * desc.strides[0] + unit * unit_stride + k * depth_stride] : 0.0f;
      }
    }
  }
}

class RecurrentXpu final : public Kernel {
 public:
  const char* name() const override { return "recurrent_xpu"; }

  Verdict supports(const PrepareArgs& args) const override { return supportsRecurrence(args); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc gates = contiguousDesc(DType::kF32, args.src[0].dims);
    const TensorDesc y = contiguousDesc(DType::kF32, args.dst[0].dims);
    if (!fitsDevice(gates) || !fitsDevice(args.src[1])) {
      *reason = "size";
      return nullptr;
    }
    const bool is_lstm = args.spec.stringOr("cell", "") == "lstm";
    const RecurrentShape shape = describe(args, gates, y, is_lstm ? 4 : 3);
    auto op = std::make_unique<RecurrentDeviceOp>(openClDevice(args), shape, is_lstm);
    for (const TensorDesc& src : args.src) op->src.push_back(src.absent() ? src : contiguousDesc(src.dtype, src.dims));
    op->src[1] = args.src[1];
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(dst.dtype, dst.dims));
    op->packed = {false, true, false, false, false};
    op->weights = packWeights(args, shape, is_lstm ? 4 : 3);
    op->flops = 2 * shape.steps * shape.gatesProducts() * (is_lstm ? 4 : 3);
    if (!shape.isProjected()) return op;
    op->flops += 2 * shape.steps * shape.gatesProducts();
    op->scratch_bytes = static_cast<std::size_t>(std::int64_t{shape.rows} * shape.units) * sizeof(float);
    return op;
  }

 private:
  static RecurrentShape describe(const PrepareArgs& args, const TensorDesc& gates, const TensorDesc& y,
                                 std::int64_t gate_count) {
    const int time = static_cast<int>(args.spec.intOr("time_axis", 0)), batch = 1 - time;
    RecurrentShape shape;
    shape.steps = narrowed(y.dims[time]);
    shape.rows = narrowed(y.dims[batch]);
    shape.states = narrowed(y.dims[2]);
    shape.units = narrowed(gates.dims[2] / gate_count);
    shape.reverse = args.spec.intOr("reverse", 0) != 0 ? 1 : 0;
    shape.gates_step = narrowed(gates.strides[time]);
    shape.gates_row = narrowed(gates.strides[batch]);
    shape.y_step = shape.out_step = narrowed(y.strides[time]);
    shape.y_row = shape.out_row = narrowed(y.strides[batch]);
    if (args.spec.intOr("projected", 0) == 0) return shape;
    shape.out_step = 0;
    shape.out_row = shape.units;
    shape.projection = narrowed(blocksOf(shape.units) * kBlock * gate_count * shape.states);
    return shape;
  }

  static WeightCache::Packed packWeights(const PrepareArgs& args, const RecurrentShape& shape, std::int64_t gates) {
    const TensorDesc& desc = args.src[1];
    const auto* w = static_cast<const float*>(args.constant[1]);
    const std::int64_t of_gates = blocksOf(shape.units) * kBlock * gates * shape.states;
    const std::int64_t of_projection = shape.isProjected() ? blocksOf(shape.states) * kBlock * shape.units : 0;
    const std::size_t bytes = static_cast<std::size_t>(of_gates + of_projection) * sizeof(float);
    const std::string form = fmt::format("recurrent_xpu {} {} strides {}", gates, desc.dims.str(), desc.strides.str());
    const WeightCache::Packed host = args.weights->getOrPack(w, form, bytes, [&](void* packed) {
      auto* const to = static_cast<float*>(packed);
      packColumns(desc, w, gates, shape.units, shape.states, desc.strides[0], desc.strides[1], to);
      if (of_projection > 0)
        packColumns(desc, w + gates * shape.units * desc.strides[0], 1, shape.states, shape.units, desc.strides[1],
                    desc.strides[0], to + of_gates);
    });
    return args.weights->copyTo(*args.target.device, host->data(), bytes);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeRecurrentXpu() { return std::make_unique<RecurrentXpu>(); }

}  // namespace ipex_studio

// Padding by a number, by reflection or by repeating the border; negative padding by a number cuts. Rows of the
// innermost dimension in memory are copied as wholes where they lie side by side.
//
// Declines: dtype, post-ops, empty, layout (channel-blocked).
#include <algorithm>
#include <cstring>

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

// The source of each position along one axis of the result.
struct PadAxis {
  std::int64_t size = 1;           // of the result
  std::vector<std::int64_t> from;  // element offset in the source; kOutside: the number
};
constexpr std::int64_t kOutside = -1;

class PadOp final : public PreparedOp {
 public:
  std::vector<PadAxis> outer;  // slowest first
  PadAxis inner;
  std::int64_t run_begin = 0, run_end = 0;  // positions of inner that lie side by side in the source
  std::int64_t rows = 1, grain = 1;
  float value = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(rows, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        writeRow(static_cast<const float*>(from[0]), static_cast<float*>(to[0]) + row * inner.size, row);
      }
    });
  }

 private:
  void writeRow(const float* src, float* dst, std::int64_t row) const {
    for (std::size_t axis = outer.size(); axis-- > 0;) {
      const std::int64_t offset = outer[axis].from[static_cast<std::size_t>(row % outer[axis].size)];
      row /= outer[axis].size;
      if (offset == kOutside) {
        std::fill(dst, dst + inner.size, value);
        return;
      }
      src += offset;
    }
    const auto element = [&](std::int64_t i) {
      const std::int64_t offset = inner.from[static_cast<std::size_t>(i)];
      dst[i] = offset == kOutside ? value : src[offset];
    };
    for (std::int64_t i = 0; i < run_begin; ++i) element(i);
    if (run_end > run_begin) {
      std::memcpy(dst + run_begin, src + inner.from[static_cast<std::size_t>(run_begin)],
                  static_cast<std::size_t>(run_end - run_begin) * sizeof(float));
    }
    for (std::int64_t i = run_end; i < inner.size; ++i) element(i);
  }
};

PadAxis axisOf(std::int64_t size, std::int64_t stride, std::int64_t begin, std::int64_t result,
               const std::string& mode) {
  PadAxis axis;
  axis.size = result;
  for (std::int64_t at = 0; at < result; ++at) {
    std::int64_t i = at - begin;
    const bool outside = i < 0 || i >= size;
    if (mode == "reflect") i = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    i = std::clamp<std::int64_t>(i, 0, size - 1);
    axis.from.push_back(outside && mode == "constant" ? kOutside : i * stride);
  }
  return axis;
}

class PadCopy final : public Kernel {
 public:
  const char* name() const override { return "pad_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    return args.src[0].block == 0 ? Verdict::yes() : Verdict::no("layout");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& x = args.src[0];
    auto op = std::make_unique<PadOp>();
    op->src = {x};
    op->dst = {x.isChannelsLast() ? channelsLastDesc(DType::kF32, args.dst[0].dims) : args.dst[0]};
    op->packed = {false};
    op->value = static_cast<float>(args.spec.floatOr("value", 0));
    op->threads = args.target.threads;
    const TensorDesc& y = op->dst[0];
    const std::vector<std::int64_t> begin = args.spec.ints("begin");
    const std::string mode = args.spec.stringOr("mode", "constant");
    std::vector<int> order;  // of axes, by strides of the result
    for (int axis = 0; axis < y.dims.rank; ++axis) order.push_back(axis);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return y.strides[a] > y.strides[b]; });
    for (const int axis : order) {
      op->outer.push_back(
          axisOf(x.dims[axis], x.strides[axis], begin[static_cast<std::size_t>(axis)], y.dims[axis], mode));
    }
    if (!op->outer.empty()) {
      const int last = order.back();
      const std::int64_t before = begin[static_cast<std::size_t>(last)];
      op->inner = std::move(op->outer.back());
      op->outer.pop_back();
      const bool side_by_side = x.strides[last] == 1;
      op->run_begin = side_by_side ? std::clamp<std::int64_t>(before, 0, op->inner.size) : 0;
      op->run_end = side_by_side ? std::clamp<std::int64_t>(before + x.dims[last], op->run_begin, op->inner.size) : 0;
    } else {
      op->inner = {1, {0}};
    }
    for (const PadAxis& axis : op->outer) op->rows *= axis.size;
    op->grain = grainFor(op->inner.size / 4 + 4);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePadCopy() { return std::make_unique<PadCopy>(); }

}  // namespace ipex_studio

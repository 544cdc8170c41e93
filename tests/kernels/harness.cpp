// Values, layouts, canaries and comparison of one case.
#include "tests/kernels/harness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

#include "core/base/error.h"
#include "core/op/prepare.h"
#include "core/op/shape_inference.h"
#include "kernels/common/bf16.h"
#include "kernels/common/f16.h"
#include "kernels/common/parallel.h"
#include "kernels/kernel_list.h"

namespace ipex_studio::kernel_test {
namespace {

// The places of a tensor's elements in memory, in row-major order of their coordinates.
class Places {
 public:
  explicit Places(const TensorDesc& desc) : desc_(desc) {
    for (int axis = 0; axis < desc_.dims.rank; ++axis) {
      step_[axis] = desc_.block > 0 && axis == 1 ? 0 : desc_.strides[axis];
    }
  }

  std::int64_t next() {
    const std::int64_t block = desc_.block;
    const std::int64_t place = plain_ + (block > 0 ? at_[1] / block * desc_.strides[1] + at_[1] % block : 0);
    for (int axis = desc_.dims.rank - 1; axis >= 0; --axis) {
      plain_ += step_[axis];
      if (++at_[axis] < desc_.dims[axis]) break;
      plain_ -= step_[axis] * desc_.dims[axis];
      at_[axis] = 0;
    }
    return place;
  }

 private:
  const TensorDesc& desc_;
  std::array<std::int64_t, kMaxRank> at_{}, step_{};
  std::int64_t plain_ = 0;  // the offset by all axes that are not divided into blocks
};

Values fill(const Source& source, std::mt19937* random) {
  Values values(source.dims.count());
  std::normal_distribution<float> normal;
  switch (source.fill) {
    case Fill::kNormal:
      for (double& v : values) v = normal(*random);
      break;
    case Fill::kPositive:
      for (double& v : values) v = 0.25f + std::fabs(normal(*random));
      break;
    case Fill::kIndex:
      for (double& v : values) v = static_cast<double>((*random)() % source.limit);
      break;
    case Fill::kBytes:
      for (double& v : values) v = static_cast<double>((*random)() % 256) - (source.dtype == DType::kS8 ? 128 : 0);
      break;
    case Fill::kExtreme: {
      double low = source.dtype == DType::kS8 ? -128 : 0, high = source.dtype == DType::kS8 ? 127 : 255;
      if (source.limit > 0) low = -static_cast<double>(source.limit);
      if (source.limit > 0) high = static_cast<double>(source.limit);
      // Long runs, so that products of neighbours do not cancel.
      double now = high;
      for (double& v : values) v = now = (*random)() % 64 == 0 ? (now == high ? low : high) : now;
      break;
    }
    case Fill::kSmall:
      for (double& v : values) v = 0.001 + 0.0001 * static_cast<double>((*random)() % 64);
      break;
    case Fill::kRows: {
      constexpr std::size_t kParameters = 2 * sizeof(float);
      const auto row = static_cast<std::size_t>(source.dims[1]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>((*random)() % 256);
        if (i % row + kParameters != row) continue;
        const float parameters[2] = {0.001f * static_cast<float>(1 + (*random)() % 64), normal(*random)};
        unsigned char bytes[kParameters];
        std::memcpy(bytes, parameters, kParameters);
        for (const unsigned char byte : bytes) values[i++] = byte;
        --i;
      }
      break;
    }
    case Fill::kOffsets:
      for (double& v : values) v = static_cast<double>((*random)() % (source.limit + 1));
      std::sort(values.begin(), values.end());
      if (!values.empty()) values[0] = 0;
      break;
  }
  return values;
}

// Makes every stride a little larger than dense; the innermost stays 1.
TensorDesc withGaps(const TensorDesc& desc) {
  TensorDesc gaps = desc;
  std::int64_t stride = 1;
  for (int axis = desc.dims.rank - 1; axis >= 0; --axis) {
    gaps.strides[axis] = stride;
    stride *= desc.dims[axis] + (axis > 0 ? 1 : 0);
  }
  return gaps;
}

TensorDesc laidOut(const TensorDesc& desc, Layout layout, int result_rank) {
  const bool image = desc.dims.rank >= 3 && desc.dims.rank <= 5 && desc.dims.rank == result_rank;
  switch (layout) {
    case Layout::kChannelsLast:
      return image ? channelsLastDesc(desc.dtype, desc.dims) : desc;
    case Layout::kBlocked16:
      return image ? blockedDesc(desc.dtype, desc.dims, 16) : desc;
    case Layout::kBlocked8:
      return image ? blockedDesc(desc.dtype, desc.dims, 8) : desc;
    case Layout::kGaps:
      return withGaps(desc);
    default:
      return desc;
  }
}

const Kernel& referenceOf(OpKind kind) {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  return *list->candidates(kind, DeviceKind::kCpu).back();
}

}  // namespace

const char* layoutText(Layout layout) {
  static const char* const kNames[] = {"plain", "channels_last", "blocked16", "blocked8", "gaps"};
  return kNames[static_cast<int>(layout)];
}

GuardedBytes::GuardedBytes(std::size_t bytes) : bytes_(bytes + 2 * kGuard, 0xA5) {}

bool GuardedBytes::intact() const {
  const auto untouched = [](unsigned char byte) { return byte == 0xA5; };
  return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, untouched) &&
         std::all_of(bytes_.end() - kGuard, bytes_.end(), untouched);
}

void writeTensor(const TensorDesc& desc, const Values& values, void* data) {
  if (desc.block > 0) std::memset(data, 0, desc.bytes());
  const auto write = [&](auto* to, const auto& converted) {
    Places places(desc);
    for (const double value : values) to[places.next()] = converted(value);
  };
  const auto cast = [&](auto* to) {
    write(to, [](double value) { return static_cast<std::remove_pointer_t<decltype(to)>>(value); });
  };
  switch (desc.dtype) {
    case DType::kF32:
      return cast(static_cast<float*>(data));
    case DType::kS64:
      return cast(static_cast<std::int64_t*>(data));
    case DType::kS32:
      return cast(static_cast<std::int32_t*>(data));
    case DType::kBool:
      return write(static_cast<std::uint8_t*>(data), [](double value) { return value != 0; });
    case DType::kU8:
      return cast(static_cast<std::uint8_t*>(data));
    case DType::kS8:
      return cast(static_cast<std::int8_t*>(data));
    case DType::kBf16:
      return write(static_cast<std::uint16_t*>(data),
                   [](double value) { return floatToBf16(static_cast<float>(value)); });
    case DType::kF16:
      return write(static_cast<std::uint16_t*>(data),
                   [](double value) { return floatToF16(static_cast<float>(value)); });
    default:
      IPEX_CHECK(false, "dtype without test support");
  }
}

Values readTensor(const TensorDesc& desc, const void* data) {
  Values values(desc.dims.count());
  const auto read = [&](const auto* from, const auto& converted) {
    Places places(desc);
    for (double& value : values) value = converted(from[places.next()]);
  };
  const auto cast = [&](const auto* from) { read(from, [](auto value) { return static_cast<double>(value); }); };
  switch (desc.dtype) {
    case DType::kF32:
      cast(static_cast<const float*>(data));
      break;
    case DType::kS64:
      cast(static_cast<const std::int64_t*>(data));
      break;
    case DType::kS32:
      cast(static_cast<const std::int32_t*>(data));
      break;
    case DType::kBool:
    case DType::kU8:
      cast(static_cast<const std::uint8_t*>(data));
      break;
    case DType::kS8:
      cast(static_cast<const std::int8_t*>(data));
      break;
    case DType::kBf16:
      read(static_cast<const std::uint16_t*>(data), bf16ToFloat);
      break;
    case DType::kF16:
      read(static_cast<const std::uint16_t*>(data), f16ToFloat);
      break;
    default:
      IPEX_CHECK(false, "dtype without test support");
  }
  return values;
}

bool paddingIsZero(const TensorDesc& desc, const void* data) {
  if (desc.block == 0 || desc.dims[1] % desc.block == 0 || desc.dims.count() == 0) return true;
  TensorDesc filled = desc;
  filled.dims[1] = (desc.dims[1] + desc.block - 1) / desc.block * desc.block;
  const Values all = readTensor(filled, data);
  const std::int64_t pixels = filled.dims.count() / (filled.dims[0] * filled.dims[1]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<std::int64_t>(i) / pixels % filled.dims[1] >= desc.dims[1] && all[i] != 0) return false;
  }
  return true;
}

Problem makeProblem(const Case& test, bool with_answer) {
  Problem problem;
  problem.spec = parseOpSpec(test.spec);
  std::mt19937 random(7);
  for (const Source& source : test.src) {
    problem.src.push_back(source.absent ? TensorDesc() : contiguousDesc(source.dtype, source.dims));
    problem.values.push_back(source.absent ? Values() : fill(source, &random));
  }
  const Verdict verdict = inferShapes(problem.spec, problem.src, &problem.dst);
  IPEX_CHECK(verdict.ok, test.spec + ": " + verdict.reason);
  if (!with_answer) return problem;
  const Outcome outcome = runCase(referenceOf(problem.spec.kind), test, problem, Conditions());
  IPEX_CHECK(!outcome.declined, test.spec + ": the reference declines: " + outcome.reason);
  return problem;
}

PrepareArgs makeArgs(const Case& test, const Problem& problem, const Conditions& conditions, WeightCache* cache,
                     std::vector<std::unique_ptr<GuardedBytes>>* constants) {
  PrepareArgs args;
  args.spec = problem.spec;
  args.dst = problem.dst;
  args.target.threads = conditions.threads;
  args.target.isa = conditions.isa;
  args.weights = cache;
  for (std::size_t s = 0; s < problem.src.size(); ++s) {
    const Source& source = test.src[s];
    TensorDesc desc = problem.src[s];
    if (!source.absent && !source.constant) desc = laidOut(desc, conditions.layout, problem.dst[0].dims.rank);
    args.src.push_back(desc);
    args.src_dies.push_back(source.dies);
    args.constant.push_back(nullptr);
    if (!source.constant) continue;
    constants->push_back(std::make_unique<GuardedBytes>(desc.bytes()));
    writeTensor(desc, problem.values[s], constants->back()->data());
    args.constant.back() = constants->back()->data();
  }
  return args;
}

Outcome runCase(const Kernel& kernel, const Case& test, const Problem& problem, const Conditions& conditions) {
  Outcome outcome;
  WeightCache cache;
  std::vector<std::unique_ptr<GuardedBytes>> constants;
  const PrepareArgs args = makeArgs(test, problem, conditions, &cache, &constants);
  const std::shared_ptr<const PreparedOp> op = prepareBy(kernel, args, &outcome.reason);
  if (!op) {
    outcome.declined = true;
    if (outcome.reason.empty()) outcome.problem = "declined without a reason";
    return outcome;
  }
  outcome.needs_finite = op->needs_finite;

  std::vector<std::unique_ptr<GuardedBytes>> src, dst;
  std::vector<const void*> src_data;
  std::vector<void*> dst_data;
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    src.push_back(args.src[s].absent() ? nullptr : std::make_unique<GuardedBytes>(op->src[s].bytes()));
    if (src[s]) writeTensor(op->src[s], problem.values[s], src[s]->data());
    src_data.push_back(src[s] && !op->packed[s] ? src[s]->data() : nullptr);
  }
  for (const TensorDesc& desc : op->dst) {
    dst.push_back(std::make_unique<GuardedBytes>(desc.bytes()));
    dst_data.push_back(dst.back()->data());
  }
  int shared = op->in_place_src;
  if (shared >= 0 && !args.src_dies[shared]) outcome.problem = "in-place source does not die";
  if (shared < 0 && conditions.alias_src >= 0 && op->may_alias &&
      op->src[conditions.alias_src].dims == op->dst[0].dims && op->src[conditions.alias_src].sameLayout(op->dst[0])) {
    shared = conditions.alias_src;
    outcome.aliased = true;
  }
  if (shared >= 0) dst_data[0] = src[shared]->data();

  GuardedBytes scratch(op->scratch_bytes + 64);
  void* aligned = scratch.data();
  std::size_t room = op->scratch_bytes + 64;
  std::align(64, op->scratch_bytes, aligned, room);
  const std::unique_ptr<ExecState> state = op->newState();
  const ThreadCountScope threads(conditions.threads);
  // Runs twice, since nothing may depend on leftovers of the first run, unless the operation overwrites its own source.
  for (int run = 0; run < (shared >= 0 ? 1 : 2); ++run) {
    op->execute(state.get(), src_data.data(), dst_data.data(), op->scratch_bytes > 0 ? aligned : nullptr);
  }

  for (const auto& buffer : src) {
    if (buffer && !buffer->intact()) outcome.problem = "wrote around a source";
  }
  if (!scratch.intact()) outcome.problem = "wrote around the scratch memory";
  const bool reference = problem.expected.empty();
  for (std::size_t d = 0; d < op->dst.size(); ++d) {
    if (!dst[d]->intact()) outcome.problem = "wrote around the result";
    if (op->dst[d].dims != problem.dst[d].dims) outcome.problem = "result has other dims";
    if (!paddingIsZero(op->dst[d], dst_data[d])) outcome.problem = "padded channels are not zero";
    const Values result = readTensor(op->dst[d], dst_data[d]);
    if (reference) {
      const_cast<Problem&>(problem).expected.push_back(result);
      continue;
    }
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      largest = std::max(largest, std::fabs(problem.expected[d][i]));
      const bool equal =
          result[i] == problem.expected[d][i] || (std::isnan(result[i]) && std::isnan(problem.expected[d][i]));
      const double difference = equal ? 0 : std::fabs(result[i] - problem.expected[d][i]);
      error = std::isnan(difference) ? HUGE_VAL : std::max(error, difference);
    }
    // Errors of bytes are measured against their range.
    const bool bytes = op->dst[d].dtype == DType::kU8 || op->dst[d].dtype == DType::kS8;
    if (bytes) largest = 255;
    outcome.error = std::max(outcome.error, largest > 0 ? error / largest : error);
  }
  return outcome;
}

double toleranceOf(const Kernel& kernel, const Case& test) {
  return std::string(kernel.name()) == "convolution_winograd_4x4" ? 2 * test.tolerance : test.tolerance;
}

}  // namespace ipex_studio::kernel_test

// Memory, inputs and rounds of a measurement of candidates, and the error of their results.
#include "core/tune/tuner_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "core/base/error.h"
#include "core/op/low_precision_floats.h"
#include "core/op/prepare.h"
#include "core/op/shape_rules.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kLine = 64;

std::string key(const TensorDesc& desc) {
  return fmt::format("{} {} {}", desc.dims.str(), desc.block, fmt::join(desc.strides.toVector(), ","));
}

// Evicts the bytes from all caches; elsewhere than on x86-64 by reading more than those hold.
void evict(const void* data, std::size_t bytes) {
#if defined(__x86_64__)
  const char* begin = static_cast<const char*>(data);
  for (std::size_t at = 0; at < bytes; at += kLine) _mm_clflush(begin + at);
  _mm_mfence();
#else
  static const std::vector<char> large(std::size_t{256} << 20, 1);
  volatile char sink = 0;
  for (std::size_t at = 0; at < large.size(); at += kLine) sink = sink + large[at];
#endif
}

void touch(const void* data, std::size_t bytes) {
  const volatile char* begin = static_cast<const volatile char*>(data);
  for (std::size_t at = 0; at < bytes; at += kLine) static_cast<void>(begin[at]);
}

// A candidate with its memory.
class CandidateRun {
 public:
  CandidateRun(const Candidate& candidate, BenchData& data) : candidate_(candidate), data_(data) {
    std::size_t scratch = 0;
    for (const CandidatePart& part : candidate.parts) scratch = std::max(scratch, part.op->scratch_bytes);
    scratch_ = own(scratch);
    for (const CandidatePart& part : candidate.parts) bind(part);
  }

  // Restores overwritten sources, warms what is read, and evicts weights if they are to be cold.
  void prepare(bool cold_weights) {
    for (const Restored& r : restored_) std::memcpy(r.to, r.from, r.bytes);
    for (const auto& [pointer, bytes] : warm_) touch(pointer, bytes);
    if (!cold_weights) return;
    candidate_.weights->forEach([](const Buffer& buffer) { evict(buffer.data(), buffer.bytes()); });
    for (const auto& [pointer, bytes] : constants_) evict(pointer, bytes);
  }

  void run() {
    for (Part& part : parts_) part.op->execute(part.state.get(), part.src.data(), part.dst.data(), scratch_);
  }

  std::vector<float> result() const {
    std::vector<float> values;
    const Part& last = parts_.back();
    for (std::size_t d = 0; d < last.dst.size(); ++d) {
      const std::vector<float> part = data_.rowMajor(last.op->dst[d], last.dst[d]);
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

 private:
  struct Part {
    const PreparedOp* op;
    std::unique_ptr<ExecState> state;
    std::vector<const void*> src;
    std::vector<void*> dst;
  };
  struct Restored {
    void* to;
    const void* from;
    std::size_t bytes;
  };

  void* own(std::size_t bytes) { return data_.workspace(owned_++, bytes); }

  void bind(const CandidatePart& given) {
    Part part{given.op.get(), given.op->newState(), {}, {}};
    const void* before = parts_.empty() ? nullptr : parts_.back().dst[0];
    for (std::size_t s = 0; s < given.src.size(); ++s) part.src.push_back(pointer(given, s, before));
    for (std::size_t d = 0; d < given.op->dst.size(); ++d) {
      const std::int32_t shared = d == 0 ? sharedSource(given) : -1;
      if (shared < 0) {
        part.dst.push_back(own(given.op->dst[d].bytes()));
        warm_.emplace_back(part.dst.back(), given.op->dst[d].bytes());
        continue;
      }
      const auto s = static_cast<std::size_t>(shared);
      if (given.src[s] < 0) {
        part.dst.push_back(const_cast<void*>(part.src[s]));  // the result of the part before, which is this run's own
        continue;
      }
      const std::size_t bytes = std::max(given.op->src[s].bytes(), given.op->dst[d].bytes());
      void* copy = own(bytes);
      restored_.push_back({copy, part.src[s], given.op->src[s].bytes()});
      part.src[s] = copy;
      part.dst.push_back(copy);
    }
    parts_.push_back(std::move(part));
  }

  const void* pointer(const CandidatePart& part, std::size_t s, const void* before) {
    if (part.src[s] < 0) return before;
    const PreparedOp& op = *part.op;
    const auto source = static_cast<std::size_t>(part.src[s]);
    if (data_.args().src[source].absent() || (s < op.packed.size() && op.packed[s])) return nullptr;
    const void* values = data_.source(source, op.src[s]);
    const auto bytes = op.src[s].bytes();
    if (data_.args().constant[source] != nullptr) {
      constants_.emplace_back(values, bytes);
    } else {
      warm_.emplace_back(values, bytes);
    }
    return values;
  }

  // The source that the result shares memory with, as in a plan; -1: none.
  std::int32_t sharedSource(const CandidatePart& part) const {
    const PreparedOp& op = *part.op;
    if (op.in_place_src >= 0 || !op.may_alias) return op.in_place_src;
    for (std::size_t s = 0; s < part.src.size(); ++s) {
      if (part.src_dies[s] && op.fitsInto(s)) return static_cast<std::int32_t>(s);
    }
    return -1;
  }

  const Candidate& candidate_;
  std::vector<Part> parts_;
  BenchData& data_;
  std::size_t owned_ = 0;
  void* scratch_ = nullptr;
  std::vector<Restored> restored_;
  std::vector<std::pair<const void*, std::size_t>> warm_, constants_;
};

}  // namespace

BenchData::BenchData(const PrepareArgs& args, const KernelList& kernels) : args_(args), kernels_(kernels) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-1, 1);
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    if (args.src[s].absent() || args.constant[s] != nullptr) continue;
    Buffer buffer(args.src[s].bytes());
    if (isFloatDtype(args.src[s].dtype)) {
      TensorDesc wide = args.src[s];
      wide.dtype = DType::kF32;
      Buffer drawn(wide.bytes());
      auto* floats = static_cast<float*>(drawn.data());
      for (std::size_t i = 0; i < wide.bytes() / sizeof(float); ++i) floats[i] = values(random);
      if (args.src[s].dtype == DType::kF32) {
        buffer = std::move(drawn);
      } else {
        convert(wide, drawn.data(), args.src[s], buffer.data());
      }
    } else {
      auto* bytes = static_cast<unsigned char*>(buffer.data());
      for (std::size_t i = 0; i < buffer.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random() % 256);
    }
    buffers_.emplace(std::make_pair(s, key(args.src[s])), std::move(buffer));
  }
}

const void* BenchData::source(std::size_t s, const TensorDesc& layout) {
  const TensorDesc& given = args_.src[s];
  const bool constant = args_.constant[s] != nullptr;
  if (constant && given.sameLayout(layout)) return args_.constant[s];
  const auto wanted = std::make_pair(s, key(layout));
  auto found = buffers_.find(wanted);
  if (found == buffers_.end()) {
    Buffer buffer(layout.bytes());
    convert(given, constant ? args_.constant[s] : buffers_.at({s, key(given)}).data(), layout, buffer.data());
    found = buffers_.emplace(wanted, std::move(buffer)).first;
  }
  return found->second.data();
}

void* BenchData::workspace(std::size_t place, std::size_t bytes) {
  Buffer& buffer = workspaces_[{place, bytes}];
  if (buffer.bytes() < bytes) {
    buffer = Buffer(bytes);
    std::memset(buffer.data(), 0, bytes);
  }
  return buffer.data();
}

std::vector<float> BenchData::rowMajor(const TensorDesc& layout, const void* data) const {
  std::vector<float> values(static_cast<std::size_t>(layout.dims.count()));
  const TensorDesc plain = contiguousDesc(layout.dtype, layout.dims);
  if (layout.dtype == DType::kF32) {
    convert(layout, data, plain, values.data());
    return values;
  }
  if (isLowPrecisionFloat(layout.dtype)) {
    Buffer row_major(plain.bytes());
    convert(layout, data, plain, row_major.data());
    convert(plain, row_major.data(), contiguousDesc(DType::kF32, layout.dims), values.data());
    return values;
  }
  std::vector<unsigned char> bytes(values.size());
  convert(layout, data, plain, bytes.data());
  const bool has_sign = layout.dtype == DType::kS8;
  std::transform(bytes.begin(), bytes.end(), values.begin(), [&](unsigned char byte) {
    return has_sign ? static_cast<float>(static_cast<signed char>(byte)) : static_cast<float>(byte);
  });
  return values;
}

void BenchData::convert(const TensorDesc& from, const void* src, const TensorDesc& to, void* dst) const {
  const PrepareArgs args = conversionArgs(from, to, args_.target);
  for (const Kernel* kernel : kernels_.candidates(OpKind::kReorder, args.target.device->id().kind)) {
    std::string reason;
    const auto op = kernel->onlyWhenMeasured() || !kernel->supports(args).ok ? nullptr : kernel->prepare(args, &reason);
    if (!op) continue;
    IPEX_CHECK(executeOnce(*op, &src, &dst), "any data can be converted");
    return;
  }
  throw Error(ExitCode::kFailure, fmt::format("No kernel converts {} to {}.", from.str(), to.str()));
}

namespace {

// Distance between a number of this type and the next; 0 for FP32.
double roundingStep(DType type, double value) {
  if (isInteger8(type)) return 1;
  if (!isLowPrecisionFloat(type)) return 0;
  const int bits = type == DType::kBf16 ? 7 : 10,
            least = type == DType::kBf16 ? -126 : -14;  // bits of the mantissa; least exponent
  return std::ldexp(1.0, std::max(std::ilogb(value), least) - bits);
}

}  // namespace

double relativeError(const std::vector<float>& result, const std::vector<float>& reference, DType type) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double a = result[i], b = reference[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(b));
    const double delta = std::abs(a - b);
    if (delta > roundingStep(type, std::max(std::abs(a), std::abs(b)))) difference = std::max(difference, delta);
  }
  return difference == 0 ? 0 : difference / std::max(largest, std::numeric_limits<double>::min());
}

void measureCandidates(std::vector<Candidate>& candidates, BenchData& data, double tolerance,
                       const BenchLimits& limits) {
  std::vector<std::unique_ptr<CandidateRun>> runs;
  std::vector<float> reference;
  for (Candidate& candidate : candidates) {
    runs.push_back(std::make_unique<CandidateRun>(candidate, data));
    runs.back()->prepare(false);
    runs.back()->run();  // also warms the code
    const std::vector<float> result = runs.back()->result();
    if (reference.empty()) reference = result;
    const double error = relativeError(result, reference, candidate.dst.dtype);
    // The store cannot write infinity as a number.
    candidate.record.max_error = std::min(error, 1e300);
    if (error > tolerance) candidate.record.reason = "inexact";
  }
  constexpr double kClearlySlower = 1.5, kSlower = 1.15;
  constexpr int kRunsToTell = 2;  // one may have been disturbed
  const std::int64_t begin = limits.clock.spent_ns();
  for (int round = 0; round < limits.most_rounds; ++round) {
    if (round >= limits.least_rounds && limits.clock.spent_ns() - begin > limits.budget_ns) break;
    if (round > 0 && limits.clock.spent_ns() > limits.deadline_ns) break;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Candidate& candidate : candidates) {
      if (candidate.record.reason.empty() && candidate.record.elapsed_ns > 0)
        least = std::min(least, candidate.record.elapsed_ns);
    }
    const bool drops = limits.drops_slower && round >= kRunsToTell;
    const double bound =
        drops ? static_cast<double>(least) * (round < limits.least_rounds ? kClearlySlower : kSlower) : 0;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      TuningCandidate& record = candidates[c].record;
      if (!record.reason.empty() || (bound > 0 && static_cast<double>(record.elapsed_ns) > bound)) continue;
      runs[c]->prepare(limits.cold_weights);
      const std::int64_t start = limits.clock.now_ns();
      runs[c]->run();
      const std::int64_t elapsed = std::max<std::int64_t>(1, limits.clock.now_ns() - start);
      record.elapsed_ns = record.elapsed_ns == 0 ? elapsed : std::min(record.elapsed_ns, elapsed);
    }
  }
}

}  // namespace ipex_studio

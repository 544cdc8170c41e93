// Values along an axis in order, all of them or the first k, with their places; equal values keep their order and NaN
// is greater than all numbers, so the order is one alone. Where ties are those of libtorch's topk or sort, a line that
// has equal values among its first k, or behind them one that equals the last, is ordered again as libtorch does it; a
// line of an unsorted topk is ordered so at once.
//
// A value becomes a 32-bit integer that orders as it does, and its place the lower half of a 64-bit key: no two keys
// are equal. Long lines are sorted by the digits of the upper half (LSD radix sort: Knuth, TAOCP 3, 5.2.5). Of a long
// line's first few, vectors are compared with the worst of the best so far, and only what is better is collected.
//
// Declines: dtype, post-ops.
#define HWY_TARGET_INCLUDE "kernels/reduce/sort_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "kernels/reduce/sort_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using S32 = hn::RebindToSigned<F32>;

// An integer that orders as the value: negative values have the bits below the sign inverted, and -0 equals 0.
HWY_INLINE std::int32_t orderOf(float value) {
  if (value != value) return 0x7FFFFFFF;
  std::int32_t bits;
  value += 0.0f;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

// The key of a value and its place: lines are sorted by ascending keys.
HWY_INLINE std::uint64_t keyOf(float value, std::int64_t place, bool descending) {
  const std::uint32_t order = static_cast<std::uint32_t>(orderOf(value)) ^ 0x80000000u;
  return static_cast<std::uint64_t>(descending ? ~order : order) << 32 | static_cast<std::uint32_t>(place);
}

// The result of orderOf that the upper half of a key was made from.
HWY_INLINE std::int32_t orderIn(std::uint64_t key, bool descending) {
  const std::uint32_t upper = static_cast<std::uint32_t>(key >> 32);
  return static_cast<std::int32_t>((descending ? ~upper : upper) ^ 0x80000000u);
}

// Radix sort by the upper halves of keys, a byte at a time; `spare` has room for as many keys. Returns the buffer that
// holds the result.
const std::uint64_t* radixSorted(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count) {
  std::uint32_t starts[4][256] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int digit = 0; digit < 4; ++digit) ++starts[digit][keys[i] >> (32 + 8 * digit) & 255];
  }
  for (int digit = 0; digit < 4; ++digit) {
    const int shift = 32 + 8 * digit;
    if (starts[digit][keys[0] >> shift & 255] == static_cast<std::uint32_t>(count)) continue;
    std::uint32_t before = 0;
    for (std::uint32_t& start : starts[digit]) {
      const std::uint32_t here = start;
      start = before;
      before += here;
    }
    for (std::int64_t i = 0; i < count; ++i) spare[starts[digit][keys[i] >> shift & 255]++] = keys[i];
    std::swap(keys, spare);
  }
  return keys;
}

const std::uint64_t* allSorted(const SortJob& job, const float* x, std::uint64_t* keys) {
  constexpr std::int64_t kRadix = 512;  // fewer keys are sorted by comparison
  for (std::int64_t i = 0; i < job.size; ++i) keys[i] = keyOf(x[i * job.inner], i, job.descending);
  if (job.size >= kRadix) return radixSorted(keys, keys + job.size, job.size);
  if (job.k < job.size) std::nth_element(keys, keys + job.k, keys + job.size);
  std::sort(keys, keys + job.k);
  return keys;
}

// The first k of a line of contiguous values, for 1 <= k and 4·k <= size; the line has several vectors.
const std::uint64_t* firstSorted(const SortJob& job, const float* x, std::uint64_t* keys) {
  const F32 d;
  const S32 di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t most = std::min(job.size - lanes, std::max<std::int64_t>(2 * job.k, job.k + 32));
  std::int64_t count = 0, i = 0;
  for (; count < most; ++i) keys[count++] = keyOf(x[i], i, job.descending);
  std::int32_t worst = 0;
  const auto keepBest = [&] {
    std::nth_element(keys, keys + job.k - 1, keys + count);
    count = job.k;
    worst = orderIn(keys[job.k - 1], job.descending);
  };
  keepBest();
  HWY_ALIGN std::int32_t better[hn::MaxLanes(d)];
  for (; i + lanes <= job.size; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    const auto bits = hn::BitCast(di, hn::Add(value, hn::Zero(d)));
    const auto turned = hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), hn::Set(di, 0x7FFFFFFF)));
    const auto order = hn::IfThenElse(hn::RebindMask(di, hn::IsNaN(value)), hn::Set(di, 0x7FFFFFFF), turned);
    // A value equal to the worst comes later in the line, so it stands behind it.
    const auto is_better = job.descending ? hn::Gt(order, hn::Set(di, worst)) : hn::Lt(order, hn::Set(di, worst));
    if (HWY_LIKELY(hn::AllFalse(di, is_better))) continue;
    const auto found = static_cast<std::int64_t>(hn::CompressStore(hn::Iota(di, 0), is_better, di, better));
    for (std::int64_t f = 0; f < found; ++f) keys[count++] = keyOf(x[i + better[f]], i + better[f], job.descending);
    if (count >= most) keepBest();
  }
  for (; i < job.size; ++i) keys[count++] = keyOf(x[i], i, job.descending);
  keepBest();
  std::sort(keys, keys + job.k);
  return keys;
}

// True if values among the first k are equal, or one behind them equals the last of them.
bool hasTies(const SortJob& job, const float* x, const std::uint64_t* order) {
  for (std::int64_t i = 1; i < job.k; ++i) {
    if (order[i] >> 32 == order[i - 1] >> 32) return true;
  }
  const float last = x[static_cast<std::int64_t>(static_cast<std::uint32_t>(order[job.k - 1])) * job.inner];
  std::int64_t equal = 0;
  if (last != last) {
    for (std::int64_t i = 0; i < job.size; ++i) equal += x[i * job.inner] != x[i * job.inner] ? 1 : 0;
  } else {
    for (std::int64_t i = 0; i < job.size; ++i) equal += x[i * job.inner] == last ? 1 : 0;
  }
  return equal > 1;
}

void storeAsLibtorch(const SortJob& job, const float* x, float* values, std::int64_t* places, Placed<float>* room) {
  for (std::int64_t i = 0; i < job.size; ++i) room[i] = {x[i * job.inner], i};
  orderAs(job.ties, room, job.size, job.k, job.descending);
  for (std::int64_t i = 0; i < job.k; ++i) {
    values[i * job.inner] = room[i].first;
    places[i * job.inner] = room[i].second;
  }
}

// Sorts lines [begin, end); `keys` has sortKeys() elements.
void runSort(const SortJob& job, const float* x, float* values, std::int64_t* places, std::uint64_t* keys,
             std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kLong = 96;
  const bool few = job.inner == 1 && job.size >= kLong && job.k > 0 && 4 * job.k <= job.size;
  for (std::int64_t line = begin; line < end; ++line) {
    const float* const from = x + line / job.inner * job.size * job.inner + line % job.inner;
    const std::int64_t to = line / job.inner * job.k * job.inner + line % job.inner;
    const auto storeItsOrder = [&] {
      storeAsLibtorch(job, from, values + to, places + to, reinterpret_cast<Placed<float>*>(keys));
    };
    if (job.ties == Ties::kAsUnsortedTopK) {
      storeItsOrder();
      continue;
    }
    const std::uint64_t* const order = few ? firstSorted(job, from, keys) : allSorted(job, from, keys);
    if (job.ties != Ties::kInOrder && hasTies(job, from, order)) {
      storeItsOrder();
      continue;
    }
    for (std::int64_t i = 0; i < job.k; ++i) {
      const std::int64_t place = static_cast<std::uint32_t>(order[i]);
      values[to + i * job.inner] = from[place * job.inner];
      places[to + i * job.inner] = place;
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runSort);

using SortRun = void (*)(const SortJob&, const float*, float*, std::int64_t*, std::uint64_t*, std::int64_t,
                         std::int64_t);

class SortOp final : public PreparedOp {
 public:
  SortJob job;
  SortRun run = nullptr;
  std::int64_t lines = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    parallelFor(lines, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      std::uint64_t* const keys = static_cast<std::uint64_t*>(scratch) + thread * sortKeys(job);
      run(job, static_cast<const float*>(from[0]), static_cast<float*>(to[0]), static_cast<std::int64_t*>(to[1]), keys,
          begin, end);
    });
  }
};

class SortSimd final : public Kernel {
 public:
  const char* name() const override { return "sort_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& x = args.src[0].dims;
    const LineWalk walk = linesAlong(args.spec, x);
    auto op = std::make_unique<SortOp>();
    op->src = {contiguousDesc(DType::kF32, x)};
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(dst.dtype, dst.dims));
    op->packed = {false};
    op->job.descending = args.spec.intOr("descending", 0) != 0;
    op->job.ties = tiesNamed(args.spec.stringOr("ties", ""));
    op->job.size = walk.size;
    op->job.inner = walk.inner;
    op->job.k = args.dst[0].dims[walk.axis];
    op->lines = op->job.k == 0 ? 0 : walk.lines;
    op->grain = grainFor(op->job.size * 8);
    op->run = IPEX_SELECT_TARGET(runSort, args.target.isa);
    op->threads = args.target.threads;
    op->scratch_bytes = static_cast<std::size_t>(args.target.threads * sortKeys(op->job)) * sizeof(std::uint64_t);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSortSimd() { return std::make_unique<SortSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE

// Extremes and order of s64 and s32 values along an axis; of equal ones the first comes first, or the one that
// libtorch's topk or sort takes.
//
// Declines: dtype, post-ops, empty (extremes).
#include <algorithm>
#include <numeric>

#include "core/op/kernel.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"
#include "kernels/reduce/topk_order.h"

namespace ipex_studio {
namespace {

template <typename T>
void integerExtreme(const LineWalk& walk, bool greatest, const T* x, T* values, std::int64_t* places,
                    std::int64_t begin, std::int64_t end) {
  for (std::int64_t line = begin; line < end; ++line) {
    const T* const from = x + walk.begin(line, walk.size);
    std::int64_t place = 0;
    for (std::int64_t i = 1; i < walk.size; ++i) {
      const T value = from[i * walk.inner], best = from[place * walk.inner];
      if (greatest ? value > best : value < best) place = i;
    }
    values[line] = from[place * walk.inner];
    places[line] = place;
  }
}

template <typename T>
void integerOrder(const LineWalk& walk, bool descending, std::int64_t k, const T* x, T* values, std::int64_t* places,
                  std::int64_t* room, std::int64_t begin, std::int64_t end) {
  for (std::int64_t line = begin; line < end; ++line) {
    const T* const from = x + walk.begin(line, walk.size);
    const auto isBefore = [&](std::int64_t a, std::int64_t b) {
      const T left = from[a * walk.inner], right = from[b * walk.inner];
      return left == right ? a < b : descending ? left > right : left < right;
    };
    std::iota(room, room + walk.size, 0);
    if (k < walk.size) std::nth_element(room, room + k, room + walk.size, isBefore);
    std::sort(room, room + k, isBefore);
    const std::int64_t to = walk.begin(line, k);
    for (std::int64_t i = 0; i < k; ++i) {
      values[to + i * walk.inner] = from[room[i] * walk.inner];
      places[to + i * walk.inner] = room[i];
    }
  }
}

template <typename T>
void orderAsLibtorch(const LineWalk& walk, Ties ties, bool descending, std::int64_t k, const T* x, T* values,
                     std::int64_t* places, Placed<std::int64_t>* room, std::int64_t begin, std::int64_t end) {
  for (std::int64_t line = begin; line < end; ++line) {
    const T* const from = x + walk.begin(line, walk.size);
    for (std::int64_t i = 0; i < walk.size; ++i) room[i] = {from[i * walk.inner], i};
    orderAs(ties, room, walk.size, k, descending);
    const std::int64_t to = walk.begin(line, k);
    for (std::int64_t i = 0; i < k; ++i) {
      values[to + i * walk.inner] = static_cast<T>(room[i].first);
      places[to + i * walk.inner] = room[i].second;
    }
  }
}

class IntegerOrderOp final : public PreparedOp {
 public:
  LineWalk walk;
  bool sorts = false, greatest = false;  // greatest (first)
  Ties ties = Ties::kInOrder;
  std::int64_t k = 0, lines = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    if (src[0].dtype == DType::kS64) {
      run<std::int64_t>(from, to, scratch);
    } else {
      run<std::int32_t>(from, to, scratch);
    }
  }

 private:
  template <typename T>
  void run(const void* const* from, void* const* to, void* scratch) const {
    const T* const x = static_cast<const T*>(from[0]);
    T* const values = static_cast<T*>(to[0]);
    std::int64_t* const places = static_cast<std::int64_t*>(to[1]);
    parallelFor(lines, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      if (ties != Ties::kInOrder) {
        orderAsLibtorch(walk, ties, greatest, k, x, values, places,
                        static_cast<Placed<std::int64_t>*>(scratch) + thread * walk.size, begin, end);
      } else if (sorts) {
        integerOrder(walk, greatest, k, x, values, places, static_cast<std::int64_t*>(scratch) + thread * walk.size,
                     begin, end);
      } else {
        integerExtreme(walk, greatest, x, values, places, begin, end);
      }
    });
  }
};

class IntegerSort final : public Kernel {
 public:
  explicit IntegerSort(bool sorts) : sorts_(sorts) {}

  const char* name() const override { return sorts_ ? "integer_sort" : "max_min_integer_sort"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kS64 && args.src[0].dtype != DType::kS32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return sorts_ || args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<IntegerOrderOp>();
    op->src = {contiguousDesc(args.src[0].dtype, args.src[0].dims)};
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(dst.dtype, dst.dims));
    op->packed = {false};
    op->walk = linesAlong(args.spec, args.src[0].dims);
    op->sorts = sorts_;
    op->greatest = sorts_ ? args.spec.intOr("descending", 0) != 0 : args.spec.stringOr("mode", "max") == "max";
    op->k = sorts_ ? args.dst[0].dims[op->walk.axis] : 1;
    op->lines = op->k == 0 ? 0 : op->walk.lines;
    op->grain = grainFor(op->walk.size * (sorts_ ? 16 : 1));
    op->threads = args.target.threads;
    if (sorts_) op->ties = tiesNamed(args.spec.stringOr("ties", ""));
    if (sorts_) {
      op->scratch_bytes = static_cast<std::size_t>(args.target.threads * op->walk.size) *
                          (op->ties != Ties::kInOrder ? sizeof(Placed<std::int64_t>) : sizeof(std::int64_t));
    }
    return op;
  }

 private:
  bool sorts_;
};

}  // namespace

std::unique_ptr<Kernel> makeMaxMinIntegers() { return std::make_unique<IntegerSort>(false); }
std::unique_ptr<Kernel> makeSortIntegers() { return std::make_unique<IntegerSort>(true); }

}  // namespace ipex_studio

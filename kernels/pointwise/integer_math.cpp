// Arithmetic on and comparisons of integers that broadcast, or of integers and a number: s64 results wrap around,
// comparisons are bool. Operands of other widths are upconverted a piece at a time, so that one loop per operation is
// enough. A division by zero fails the run.
//
// Declines: dtype, post-ops, layout.
#include <algorithm>
#include <functional>

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kIntegerPiece = 256;
constexpr char kDividedByZero[] = "an integer is divided by zero";

enum class IntegerOp {
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kTruncDiv,
  kMod,
  kRem,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kUnknown
};

IntegerOp integerOpOf(const std::string& name) {
  static const char* const kNames[] = {"add", "sub", "mul", "floordiv", "truncdiv", "mod", "rem", "min",
                                       "max", "eq",  "ne",  "lt",       "le",       "gt",  "ge"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return static_cast<IntegerOp>(found - std::begin(kNames));
}

template <typename T>
void widenIntegers(const void* from, std::int64_t at, std::int64_t stride, std::int64_t count, std::int64_t* to) {
  const T* const x = static_cast<const T*>(from) + at;
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int64_t>(x[i * stride]);
}

// Returns `count` integers: where they stand if they lie side by side in 64 bits, else read into `piece`.
const std::int64_t* readIntegers(DType dtype, const void* from, std::int64_t at, std::int64_t stride,
                                 std::int64_t count, std::int64_t* piece) {
  if (dtype == DType::kS64) {
    const std::int64_t* const x = static_cast<const std::int64_t*>(from) + at;
    if (stride == 1) return x;
    if (stride == 0) {
      std::fill(piece, piece + count, *x);
    } else {
      widenIntegers<std::int64_t>(from, at, stride, count, piece);
    }
  } else if (dtype == DType::kS32) {
    widenIntegers<std::int32_t>(from, at, stride, count, piece);
  } else {
    widenIntegers<std::uint8_t>(from, at, stride, count, piece);
  }
  return piece;
}

template <typename Fn>
void combined(const std::int64_t* a, const std::int64_t* b, std::int64_t count, std::int64_t* y, const Fn& fn) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = fn(a[i], b[i]);
}

template <typename Fn>
void wrapped(const std::int64_t* a, const std::int64_t* b, std::int64_t count, std::int64_t* y, const Fn& fn) {
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<std::int64_t>(fn(static_cast<std::uint64_t>(a[i]), static_cast<std::uint64_t>(b[i])));
  }
}

// Quotient or remainder; b is not zero. A divisor of -1 is handled apart: the lowest number has no negative.
std::int64_t divided(IntegerOp op, std::int64_t a, std::int64_t b) {
  const bool quotient = op == IntegerOp::kFloorDiv || op == IntegerOp::kTruncDiv;
  if (b == -1) return quotient ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : 0;
  const bool floors = op == IntegerOp::kFloorDiv || op == IntegerOp::kMod;
  const std::int64_t remainder = a % b;
  const bool adjust = floors && remainder != 0 && (remainder < 0) != (b < 0);
  return quotient ? a / b - (adjust ? 1 : 0) : remainder + (adjust ? b : 0);
}

void compute(IntegerOp op, const std::int64_t* a, const std::int64_t* b, std::int64_t count, std::int64_t* y) {
  switch (op) {
    case IntegerOp::kAdd:
      return wrapped(a, b, count, y, std::plus<std::uint64_t>());
    case IntegerOp::kSub:
      return wrapped(a, b, count, y, std::minus<std::uint64_t>());
    case IntegerOp::kMul:
      return wrapped(a, b, count, y, std::multiplies<std::uint64_t>());
    case IntegerOp::kMin:
      return combined(a, b, count, y, [](std::int64_t l, std::int64_t r) { return std::min(l, r); });
    case IntegerOp::kMax:
      return combined(a, b, count, y, [](std::int64_t l, std::int64_t r) { return std::max(l, r); });
    case IntegerOp::kEq:
      return combined(a, b, count, y, std::equal_to<std::int64_t>());
    case IntegerOp::kNe:
      return combined(a, b, count, y, std::not_equal_to<std::int64_t>());
    case IntegerOp::kLt:
      return combined(a, b, count, y, std::less<std::int64_t>());
    case IntegerOp::kLe:
      return combined(a, b, count, y, std::less_equal<std::int64_t>());
    case IntegerOp::kGt:
      return combined(a, b, count, y, std::greater<std::int64_t>());
    case IntegerOp::kGe:
      return combined(a, b, count, y, std::greater_equal<std::int64_t>());
    default:
      return combined(a, b, count, y, [op](std::int64_t l, std::int64_t r) { return r == 0 ? 0 : divided(op, l, r); });
  }
}

bool divides(IntegerOp op) { return op >= IntegerOp::kFloorDiv && op <= IntegerOp::kRem; }

class IntegerMathOp final : public PreparedOp {
 public:
  LoopNest nest;  // result, a, b
  IntegerOp op = IntegerOp::kUnknown;
  std::int64_t number = 0, grain = 1;  // number: in the place of an absent b
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    const int last = nest.loops() - 1;
    const std::int64_t inner = nest.size[static_cast<std::size_t>(last)];
    const std::int64_t rows = inner == 0 ? 0 : nest.count() / inner;
    parallelFor(rows, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t i = 0; i < inner; i += kIntegerPiece)
          piece(state, row, i, std::min(kIntegerPiece, inner - i), from, to);
      }
    });
  }

 private:
  void piece(ExecState* state, std::int64_t row, std::int64_t i, std::int64_t count, const void* const* from,
             void* const* to) const {
    const int last = nest.loops() - 1;
    std::int64_t a_piece[kIntegerPiece], b_piece[kIntegerPiece], y_piece[kIntegerPiece];
    const auto at = [&](int tensor) { return nest.offset(tensor, row, last) + i * strideOf(tensor); };
    const std::int64_t* const a = readIntegers(src[0].dtype, from[0], at(1), strideOf(1), count, a_piece);
    const std::int64_t* b = b_piece;
    if (src[1].absent()) {
      std::fill(b_piece, b_piece + count, number);
    } else {
      b = readIntegers(src[1].dtype, from[1], at(2), strideOf(2), count, b_piece);
    }
    if (divides(op) && std::find(b, b + count, 0) != b + count) state->fail(kDividedByZero);
    if (dst[0].dtype == DType::kS64) return compute(op, a, b, count, static_cast<std::int64_t*>(to[0]) + at(0));
    compute(op, a, b, count, y_piece);
    bool* const flags = static_cast<bool*>(to[0]) + at(0);
    for (std::int64_t e = 0; e < count; ++e) flags[e] = y_piece[e] != 0;
  }

  std::int64_t strideOf(int tensor) const { return nest.stride[static_cast<std::size_t>(tensor)].back(); }
};

class IntegerMath final : public Kernel {
 public:
  const char* name() const override { return "integer_math"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (integerOpOf(args.spec.stringOr("op", "")) == IntegerOp::kUnknown) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<IntegerMathOp>();
    for (const TensorDesc& src : args.src)
      op->src.push_back(src.block == 0 ? src : contiguousDesc(src.dtype, src.dims));
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed = {false, false};
    std::vector<TensorDesc> walked{op->dst[0], op->src[0]};
    if (!op->src[1].absent()) walked.push_back(op->src[1]);
    op->number = args.spec.intOr("value", 0);
    if (!makeLoopNest(walked, &op->nest)) {
      *reason = "layout";
      return nullptr;
    }
    op->op = integerOpOf(args.spec.stringOr("op", ""));
    op->grain = grainFor(2 * op->nest.size.back());
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeIntegerMath() { return std::make_unique<IntegerMath>(); }

}  // namespace ipex_studio

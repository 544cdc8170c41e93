// Extremes, order and running sums along an axis, and arithmetic on integers, as their definitions say. Integers are
// doubles here: exact up to 2^53.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/common/reference.h"
#include "kernels/reduce/topk_order.h"

namespace ipex_studio {
namespace {

// Calls fn(first, step, line) for each line of `dims` along `axis`: its first element, the distance of its elements,
// its number.
template <typename Fn>
void forEachLine(const Dims& dims, int axis, const Fn& fn) {
  std::int64_t step = 1, outer = 1;
  for (int a = axis + 1; a < dims.rank; ++a) step *= dims[a];
  for (int a = 0; a < axis; ++a) outer *= dims[a];
  for (std::int64_t line = 0; line < outer * step; ++line)
    fn(line / step * step * dims[axis] + line % step, step, line);
}

int axisOf(const RefCall& call) { return wrappedAxis(call.spec.intOr("axis", 0), call.src[0].dims.rank); }

// True if a is greater than b, where NaN is greater than all numbers.
bool isGreater(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

double floorDivided(double a, double b) { return std::floor(a / b); }

double integerMath(const std::string& op, double a, double b) {
  const bool divides = op == "floordiv" || op == "truncdiv" || op == "mod" || op == "rem";
  if (divides && b == 0) return 0;  // the kernel fails the run; a reference cannot
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "floordiv") return floorDivided(a, b);
  if (op == "truncdiv") return std::trunc(a / b);
  if (op == "mod") return a - floorDivided(a, b) * b;
  if (op == "rem") return std::fmod(a, b);
  if (op == "min") return std::min(a, b);
  if (op == "max") return std::max(a, b);
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  return op == "gt" ? a > b : a >= b;
}

}  // namespace

void refMaxMin(const RefCall& call) {
  const RefTensor& x = call.src[0];
  const int axis = axisOf(call);
  const std::int64_t size = x.dims[axis];
  const bool greatest = call.spec.stringOr("mode", "max") == "max";
  forEachLine(x.dims, axis, [&](std::int64_t first, std::int64_t step, std::int64_t line) {
    std::int64_t place = 0;
    for (std::int64_t i = 1; i < size; ++i) {
      const double value = x.data[first + i * step], best = x.data[first + place * step];
      if (std::isnan(best)) break;
      if (std::isnan(value) || (greatest ? value > best : value < best)) place = i;
    }
    call.dst[0].data[line] = x.data[first + place * step];
    call.dst[1].data[line] = static_cast<double>(place);
  });
}

void refSort(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int axis = axisOf(call);
  const bool descending = call.spec.intOr("descending", 0) != 0;
  const Ties ties = tiesNamed(call.spec.stringOr("ties", ""));
  std::vector<Placed<double>> pairs(ties != Ties::kInOrder ? static_cast<std::size_t>(x.dims[axis]) : 0);
  std::vector<std::int64_t> places(static_cast<std::size_t>(x.dims[axis]));
  forEachLine(x.dims, axis, [&](std::int64_t first, std::int64_t step, std::int64_t line) {
    const auto value = [&](std::int64_t place) { return x.data[first + place * step]; };
    std::iota(places.begin(), places.end(), 0);
    if (ties != Ties::kInOrder) {
      for (const std::int64_t place : places) pairs[static_cast<std::size_t>(place)] = {value(place), place};
      orderAs(ties, pairs.data(), x.dims[axis], y.dims[axis], descending);
      std::transform(pairs.begin(), pairs.end(), places.begin(), [](const auto& pair) { return pair.second; });
    } else {
      std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        return descending ? isGreater(value(a), value(b)) : isGreater(value(b), value(a));
      });
    }
    const std::int64_t to = line / step * step * y.dims[axis] + line % step;
    for (std::int64_t i = 0; i < y.dims[axis]; ++i) {
      const std::int64_t place = places[static_cast<std::size_t>(i)];
      y.data[to + i * step] = value(place);
      call.dst[1].data[to + i * step] = static_cast<double>(place);
    }
  });
}

void refCumulativeSum(const RefCall& call) {
  const RefTensor& x = call.src[0];
  forEachLine(x.dims, axisOf(call), [&](std::int64_t first, std::int64_t step, std::int64_t) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.dims[axisOf(call)]; ++i) {
      sum += x.data[first + i * step];
      call.dst[0].data[first + i * step] = sum;
    }
  });
}

void refIntegerMath(const RefCall& call) {
  const RefTensor &a = call.src[0], &b = call.src[1], &y = call.dst[0];
  const std::string op = call.spec.stringOr("op", "");
  const auto number = static_cast<double>(call.spec.intOr("value", 0));
  forEachIndex(y.dims, [&](const Dims& at) {
    y(at) = integerMath(op, a(broadcastIndex(at, a.dims)), b.data == nullptr ? number : b(broadcastIndex(at, b.dims)));
  });
}

}  // namespace ipex_studio

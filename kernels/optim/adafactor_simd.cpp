#define HWY_TARGET_INCLUDE "kernels/optim/adafactor_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/optim/adafactor.h"
#include "kernels/optim/squares-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Calls run(first element, how many) for the vectors of a row, the last one in part.
template <class Run>
HWY_INLINE void forEachVector(std::int64_t count, const Run& run) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t i = 0; i < count; i += lanes) run(i, std::min(lanes, count - i));
}

// sums += values².
void addSquares(const float* values, std::int64_t count, float* sums) {
  forEachVector(count, [&](std::int64_t i, std::int64_t part) HWY_ATTR {
    const VF value = loadFirst(values + i, part);
    storeFirst(hn::MulAdd(value, value, loadFirst(sums + i, part)), sums + i, part);
  });
}

// moments = moments + weight · (values² - moments), as lerp_ has it for weights of less than a half and of more.
void moveToSquares(const float* values, std::int64_t count, float weight, float* moments) {
  const F32 d;
  const VF w = hn::Set(d, weight), rest = hn::Set(d, 1 - weight);
  forEachVector(count, [&](std::int64_t i, std::int64_t part) HWY_ATTR {
    const VF value = loadFirst(values + i, part), moment = loadFirst(moments + i, part);
    const VF square = hn::Mul(value, value), step = hn::Sub(square, moment);
    const VF moved = weight < 0.5f ? hn::MulAdd(w, step, moment) : hn::NegMulAdd(step, rest, square);
    storeFirst(moved, moments + i, part);
  });
}

// The squares of updates, gradient / √max(factor · moments, least), summed up.
double updateSquares(const float* gradient, const float* moments, std::int64_t count, float factor, float least) {
  const F32 d;
  constexpr std::int64_t kBlock = 512;  // elements that are summed in single precision, vector by vector
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    VF part_sum = hn::Zero(d);
    forEachVector(std::min(kBlock, count - begin), [&](std::int64_t i, std::int64_t part) HWY_ATTR {
      const VF g = loadFirst(gradient + begin + i, part);
      const VF moment = hn::Mul(hn::Set(d, factor), loadFirst(moments + begin + i, part));
      part_sum = hn::Add(part_sum, hn::Div(hn::Mul(g, g), hn::Max(moment, hn::Set(d, least))));
    });
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, part_sum)));
  }
  return sum;
}

// parameter = parameter · decay - size · update.
void applyUpdate(const float* gradient, const float* moments, std::int64_t count, float factor, float least,
                 float decay, float size, float* parameter) {
  const F32 d;
  forEachVector(count, [&](std::int64_t i, std::int64_t part) HWY_ATTR {
    const VF moment = hn::Mul(hn::Set(d, factor), loadFirst(moments + i, part));
    const VF root = hn::Sqrt(hn::Max(moment, hn::Set(d, least)));
    const VF update = hn::Div(loadFirst(gradient + i, part), root);
    const VF decayed = hn::Mul(loadFirst(parameter + i, part), hn::Set(d, decay));
    storeFirst(hn::NegMulAdd(hn::Set(d, size), update, decayed), parameter + i, part);
  });
}

double sumOfSquares(const float* values, std::int64_t count) {
  return squaresOf(values, 1, static_cast<std::size_t>(count));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(addSquares);
HWY_EXPORT(moveToSquares);
HWY_EXPORT(updateSquares);
HWY_EXPORT(applyUpdate);
HWY_EXPORT(sumOfSquares);

using Number = std::size_t;

// Rows [begin, end) of one matrix, or elements [begin, end) of a vector.
struct AdafactorChunk {
  Number tensor = 0;
  std::int64_t matrix = 0, begin = 0, end = 0;
  Number column_sums = 0;  // place of this chunk's squares by column
};

class AdafactorPass {
 public:
  AdafactorPass(const AdafactorSettings& settings, const std::vector<AdafactorTensor>& tensors, std::int32_t threads,
                const std::string& isa)
      : settings_(settings), tensors_(tensors), threads_(threads), isa_(isa), sizes_(tensors.size()) {
    Number sums = 0;
    std::int64_t elements = 0;
    for (Number i = 0; i < tensors.size(); ++i) {
      const AdafactorTensor& tensor = tensors[i];
      elements += tensor.count();
      const std::int64_t all = tensor.isVector() ? tensor.columns : tensor.rows;
      // Enough rows for sums by column to be few beside the gradient.
      const std::int64_t least = tensor.isVector() ? kElements : std::max(kRows, kElements / tensor.columns);
      for (std::int64_t matrix = 0; matrix < tensor.matrices; ++matrix) {
        for (std::int64_t begin = 0; begin < all; begin += least) {
          chunks_.push_back({i, matrix, begin, std::min(all, begin + least), sums});
          if (!tensor.isVector()) sums += static_cast<Number>(tensor.columns);
        }
      }
    }
    column_sums_.resize(sums);
    squares_.resize(chunks_.size());
    grain_ = grainFor(kOps * elements / std::max<std::int64_t>(1, static_cast<std::int64_t>(chunks_.size())));
  }

  void run() {
    forEachChunk([this](const AdafactorChunk& chunk) { return measure(chunk); });
    for (Number i = 0; i < tensors_.size(); ++i) {
      const double size = std::sqrt(sumOf(i) / static_cast<double>(tensors_[i].count()));
      sizes_[i] = std::max(settings_.eps2, size) * adafactorScalars(settings_, tensors_[i].step).rho;
    }
    moveMoments();
    forEachChunk([this](const AdafactorChunk& chunk) { return squaresOfUpdates(chunk); });
    for (Number i = 0; i < tensors_.size(); ++i) {
      const double size = std::sqrt(sumOf(i) / static_cast<double>(tensors_[i].count()));
      sizes_[i] /= std::max(1.0, size / settings_.d);
      if (settings_.maximize) sizes_[i] = -sizes_[i];
    }
    forEachChunk([this](const AdafactorChunk& chunk) { return apply(chunk); });
  }

 private:
  static constexpr std::int64_t kElements = 4096, kRows = 32, kOps = 12;

  template <class Fn>
  void forEachChunk(const Fn& fn) {
    parallelFor(static_cast<std::int64_t>(chunks_.size()), grain_, threads_,
                [&](std::int64_t begin, std::int64_t end, int) {
                  for (auto at = static_cast<Number>(begin); at < static_cast<Number>(end); ++at)
                    squares_[at] = fn(chunks_[at]);
                });
  }

  // Calls fn(first element, how many, factor of moments, first moment) for the rows of a chunk.
  template <class Fn>
  void forEachRow(const AdafactorChunk& chunk, const Fn& fn) const {
    const AdafactorTensor& tensor = tensors_[chunk.tensor];
    if (tensor.isVector()) return fn(chunk.begin, chunk.end - chunk.begin, 1.0f, chunk.begin);
    for (std::int64_t row = chunk.begin; row < chunk.end; ++row) {
      const std::int64_t place = chunk.matrix * tensor.rows + row;
      const float factor =
          tensor.row_moments[place] * scales_[first_scale_[chunk.tensor] + static_cast<Number>(chunk.matrix)];
      fn(place * tensor.columns, tensor.columns, factor, chunk.matrix * tensor.columns);
    }
  }

  // Sums of squares of the parameter; moments of vectors and of rows, and the chunk's part of those of columns.
  double measure(const AdafactorChunk& chunk) {
    const AdafactorTensor& tensor = tensors_[chunk.tensor];
    const auto sum = IPEX_SELECT_TARGET(sumOfSquares, isa_);
    const auto weight = static_cast<float>(adafactorScalars(settings_, tensor.step).weight);
    if (tensor.isVector()) {
      const std::int64_t count = chunk.end - chunk.begin;
      IPEX_SELECT_TARGET(moveToSquares, isa_)
      (tensor.gradient + chunk.begin, count, weight, tensor.moments + chunk.begin);
      return sum(tensor.parameter + chunk.begin, count);
    }
    const auto add = IPEX_SELECT_TARGET(addSquares, isa_);
    float* const columns = column_sums_.data() + chunk.column_sums;
    std::fill_n(columns, tensor.columns, 0.0f);
    double squares = 0;
    for (std::int64_t row = chunk.begin; row < chunk.end; ++row) {
      const std::int64_t place = chunk.matrix * tensor.rows + row;
      const float* const gradient = tensor.gradient + place * tensor.columns;
      add(gradient, tensor.columns, columns);
      move(sum(gradient, tensor.columns) / static_cast<double>(tensor.columns), weight, &tensor.row_moments[place]);
      squares += sum(tensor.parameter + place * tensor.columns, tensor.columns);
    }
    return squares;
  }

  static void move(double mean, double weight, float* moment) {
    *moment = static_cast<float>(*moment + weight * (mean - *moment));
  }

  // Moments of columns, and what scales those of rows.
  void moveMoments() {
    first_scale_.resize(tensors_.size());
    std::vector<double> columns;
    Number at = 0;
    for (Number i = 0; i < tensors_.size(); ++i) {
      const AdafactorTensor& tensor = tensors_[i];
      first_scale_[i] = scales_.size();
      const double weight = adafactorScalars(settings_, tensor.step).weight;
      for (std::int64_t matrix = 0; matrix < tensor.matrices && !tensor.isVector(); ++matrix) {
        columns.assign(static_cast<Number>(tensor.columns), 0);
        for (; at < chunks_.size() && chunks_[at].tensor == i && chunks_[at].matrix == matrix; ++at) {
          for (Number column = 0; column < columns.size(); ++column)
            columns[column] += column_sums_[chunks_[at].column_sums + column];
        }
        for (Number column = 0; column < columns.size(); ++column)
          move(columns[column] / static_cast<double>(tensor.rows), weight,
               &tensor.moments[matrix * tensor.columns + static_cast<std::int64_t>(column)]);
        double mean = 0;
        for (std::int64_t row = 0; row < tensor.rows; ++row) mean += tensor.row_moments[matrix * tensor.rows + row];
        scales_.push_back(static_cast<float>(1 / std::max(settings_.eps1, mean / static_cast<double>(tensor.rows))));
      }
      while (at < chunks_.size() && chunks_[at].tensor == i) ++at;
    }
  }

  double squaresOfUpdates(const AdafactorChunk& chunk) const {
    const AdafactorTensor& tensor = tensors_[chunk.tensor];
    const auto squares = IPEX_SELECT_TARGET(updateSquares, isa_);
    double sum = 0;
    forEachRow(chunk, [&](std::int64_t first, std::int64_t count, float factor, std::int64_t moment) {
      sum += squares(tensor.gradient + first, tensor.moments + moment, count, factor, least());
    });
    return sum;
  }

  double apply(const AdafactorChunk& chunk) const {
    const AdafactorTensor& tensor = tensors_[chunk.tensor];
    const auto update = IPEX_SELECT_TARGET(applyUpdate, isa_);
    const auto decay = static_cast<float>(1 - settings_.lr * settings_.weight_decay);
    forEachRow(chunk, [&](std::int64_t first, std::int64_t count, float factor, std::int64_t moment) {
      update(tensor.gradient + first, tensor.moments + moment, count, factor, least(), decay,
             static_cast<float>(sizes_[chunk.tensor]), tensor.parameter + first);
    });
    return 0;
  }

  float least() const { return static_cast<float>(settings_.eps1 * settings_.eps1); }

  // The sum of what the last pass gave for the chunks of a tensor, in their order.
  double sumOf(Number tensor) const {
    const auto before = [](const AdafactorChunk& chunk, Number number) { return chunk.tensor < number; };
    const auto first = std::lower_bound(chunks_.begin(), chunks_.end(), tensor, before) - chunks_.begin();
    double sum = 0;
    for (auto at = static_cast<Number>(first); at < chunks_.size() && chunks_[at].tensor == tensor; ++at)
      sum += squares_[at];
    return sum;
  }

  const AdafactorSettings& settings_;
  const std::vector<AdafactorTensor>& tensors_;
  std::int32_t threads_;
  const std::string& isa_;
  std::vector<AdafactorChunk> chunks_;
  std::vector<float> column_sums_;
  std::vector<double> squares_;      // of each chunk
  std::vector<double> sizes_;        // of each tensor's step
  std::vector<float> scales_;        // of each matrix' row moments
  std::vector<Number> first_scale_;  // of each tensor
  std::int64_t grain_ = 1;
};

}  // namespace

AdafactorScalars adafactorScalars(const AdafactorSettings& settings, std::int64_t step) {
  const auto number = static_cast<double>(step);
  return {std::pow(number, settings.beta2_decay), std::min(settings.lr, 1 / std::sqrt(number))};
}

void adafactorStep(const AdafactorSettings& settings, const std::vector<AdafactorTensor>& tensors, std::int32_t threads,
                   const std::string& isa) {
  AdafactorPass(settings, tensors, threads, isa).run();
}

}  // namespace ipex_studio

#endif  // HWY_ONCE

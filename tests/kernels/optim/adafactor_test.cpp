// Adafactor against FP64: vectors, matrices and stacks of them in odd sizes, every setting, every instruction set, and
// the same bits for any number of threads.
#include "kernels/optim/adafactor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/optim/adafactor_ref.h"

namespace ipex_studio::kernel_test {
namespace {

using Floats = std::vector<float>;

struct Parameter {
  Floats parameter, gradient, row_moments, moments;
  std::int64_t matrices, rows, columns;

  AdafactorTensor tensor(std::int64_t step) {
    AdafactorTensor tensor;
    tensor.parameter = parameter.data();
    tensor.gradient = gradient.data();
    tensor.row_moments = row_moments.empty() ? nullptr : row_moments.data();
    tensor.moments = moments.data();
    tensor.matrices = matrices;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.step = step;
    return tensor;
  }

  AdafactorNumbers numbers() const {
    const auto wide = [](const Floats& floats) { return std::vector<double>(floats.begin(), floats.end()); };
    return {wide(parameter), wide(gradient), wide(row_moments), wide(moments), matrices, rows, columns, 1};
  }
};

std::vector<Parameter> parametersOf(std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<Parameter> all;
  for (const std::array<std::int64_t, 3>& sizes : {std::array<std::int64_t, 3>{0, 1, 1},
                                                   {0, 1, 17},
                                                   {0, 1, 9000},
                                                   {1, 1, 1},
                                                   {1, 3, 1},
                                                   {1, 1, 33},
                                                   {1, 33, 17},
                                                   {1, 100, 129},
                                                   {1, 300, 31},
                                                   {6, 3, 3},
                                                   {5, 70, 5}}) {
    Parameter one{{}, {}, {}, {}, std::max<std::int64_t>(1, sizes[0]), sizes[1], sizes[2]};
    one.parameter.resize(static_cast<std::size_t>(one.matrices * one.rows * one.columns));
    for (float& value : one.parameter) value = normal(*random);
    one.gradient.resize(one.parameter.size());
    if (sizes[0] > 0) one.row_moments.resize(static_cast<std::size_t>(one.matrices * one.rows));
    one.moments.resize(static_cast<std::size_t>(one.matrices * one.columns));
    all.push_back(one);
  }
  return all;
}

void expectNear(const Floats& values, const std::vector<double>& right, double least) {
  ASSERT_EQ(values.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i)
    ASSERT_NEAR(values[i], right[i], 2e-6 * std::max(least, std::abs(right[i]))) << i;
}

TEST(Adafactor, IsRightForAllSizesAndSettings) {
  AdafactorSettings plain, other;
  plain.eps1 = other.eps1 = 1.1920929e-7;
  other.lr = 0.03;
  other.beta2_decay = -0.5;
  other.eps2 = 2;
  other.d = 0.5;
  other.weight_decay = 0.1;
  other.maximize = true;
  for (const AdafactorSettings& settings : {plain, other}) {
    for (const char* isa : {"", "avx2", "sse4"}) {
      for (const std::int32_t threads : {1, 2}) {
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        std::vector<Parameter> parameters = parametersOf(&random);
        std::vector<AdafactorNumbers> right;
        for (const Parameter& parameter : parameters) right.push_back(parameter.numbers());
        for (std::int64_t step = 1; step <= 3; ++step) {
          std::vector<AdafactorTensor> tensors;
          for (std::size_t i = 0; i < parameters.size(); ++i) {
            for (float& value : parameters[i].gradient) value = step == 2 ? 0 : normal(random);
            right[i].gradient.assign(parameters[i].gradient.begin(), parameters[i].gradient.end());
            right[i].step = step;
            refAdafactorStep(settings, &right[i]);
            tensors.push_back(parameters[i].tensor(step));
          }
          adafactorStep(settings, tensors, threads, isa);
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          SCOPED_TRACE(testing::Message() << "parameter " << i << ' ' << isa << " threads " << threads);
          expectNear(parameters[i].parameter, right[i].parameter, 1);
          expectNear(parameters[i].moments, right[i].moments, 1e-3);
          expectNear(parameters[i].row_moments, right[i].row_moments, 1e-3);
        }
      }
    }
  }
}

TEST(Adafactor, AnyNumberOfThreadsGivesTheSameBits) {
  std::vector<Floats> results;
  for (const std::int32_t threads : {1, 2, 4}) {
    std::mt19937 random(4);
    std::vector<Parameter> parameters = parametersOf(&random);
    std::vector<AdafactorTensor> tensors;
    for (Parameter& parameter : parameters) {
      parameter.gradient = parameter.parameter;
      tensors.push_back(parameter.tensor(1));
    }
    adafactorStep({}, tensors, threads);
    Floats all;
    for (const Parameter& parameter : parameters)
      all.insert(all.end(), parameter.parameter.begin(), parameter.parameter.end());
    results.push_back(all);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace ipex_studio::kernel_test

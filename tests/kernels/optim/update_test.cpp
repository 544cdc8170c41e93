// Optimizer steps against their plain form in double precision: every optimizer with every setting, odd sizes, places
// in memory that are not aligned, instruction sets, numbers of threads.
#include "kernels/optim/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/base/error.h"
#include "kernels/common/bf16.h"
#include "kernels/common/f16.h"
#include "kernels/optim/update_ref.h"

namespace ipex_studio::kernel_test {
namespace {

struct OptimizerCase {
  const char* name;
  std::vector<double> settings;
};

std::ostream& operator<<(std::ostream& out, const OptimizerCase& test) {
  out << test.name;
  for (const double setting : test.settings) out << ' ' << setting;
  return out;
}

// Settings that single precision holds exactly, with all that is computed from them at once, so that roundings of
// settings do not count: kMost is 1 - 2^-10, as a second moment is kept.
constexpr double kLr = 1. / 128, kFirst = 0.875, kMost = 1 - 1. / 1024, kEps = 1. / (1 << 26), kDecay = 1. / 16;

// In the order of kernels/optim/optimizer.h.
const std::vector<OptimizerCase>& optimizerCases() {
  static const std::vector<OptimizerCase> cases = {
      {"sgd", {kLr, 0, 0, 0, 0, 0}},
      {"sgd", {kLr, 0, 0, 0, kDecay, 1}},
      {"sgd", {kLr, kFirst, 0, 0, kDecay, 0}},
      {"sgd", {kLr, kFirst, 0.25, 0, 0, 0}},
      {"sgd", {kLr, kFirst, 0, 1, kDecay, 0}},
      {"adam", {kLr, kFirst, kMost, kEps, 0, 0, 0}},
      {"adam", {kLr, kFirst, kMost, kEps, kDecay, 0, 1}},
      {"adam", {kLr, 0.25, kFirst, kEps, kDecay, 1, 0}},
      {"adamw", {kLr, kFirst, kMost, kEps, kDecay, 0, 0}},
      {"adamw", {kLr, kFirst, kMost, kEps, kDecay, 1, 1}},
      {"adagrad", {kLr, 0, 0, kEps, 0}},
      {"adagrad", {kLr, 0.125, kDecay, kEps, 1}},
      {"rmsprop", {kLr, kMost, kEps, 0, 0, 0, 0}},
      {"rmsprop", {kLr, kMost, kEps, kDecay, kFirst, 0, 1}},
      {"rmsprop", {kLr, kFirst, 1. / 1024, 0, 0, 1, 0}},
      {"rmsprop", {kLr, kFirst, 1. / 1024, kDecay, kFirst, 1, 0}},
      {"nadam", {kLr, kFirst, kMost, kEps, 0, 1. / 256, 0, 0}},
      {"nadam", {kLr, kFirst, kMost, kEps, kDecay, 1. / 256, 0, 1}},
      {"nadam", {kLr, kFirst, kMost, kEps, kDecay, 1. / 256, 1, 0}},
      {"radam", {kLr, kFirst, kMost, kEps, 0, 0, 0}},
      {"radam", {kLr, kFirst, kFirst, kEps, kDecay, 0, 1}},
      {"radam", {kLr, kFirst, kFirst, kEps, kDecay, 1, 0}},
      {"adamax", {kLr, kFirst, kMost, kEps, 0, 0}},
      {"adamax", {kLr, kFirst, kMost, kEps, kDecay, 1}},
      {"lion", {kLr, kFirst, kMost, 0, 0}},
      {"lion", {kLr, kFirst, kMost, kDecay, 1}},
      {"lamb", {kLr, kFirst, kMost, kEps, 0, 1, 1, 1, 1, 0}},
      {"lamb", {kLr, kFirst, kMost, kEps, kDecay, 1, 1, 1, 1, 1}},
      {"lamb", {kLr, kFirst, kMost, kEps, 0, 0, 0, 0, 0, 0}},
      {"lamb", {kLr, kFirst, kMost, kEps, kDecay, 1, 0, 0, 0, 0}},
      {"lars", {kLr, 0, 1. / 1024, kDecay, 0, 1, 0}},
      {"lars", {kLr, kFirst, 1. / 1024, kDecay, kEps, 1, 0}},
      {"lars", {kLr, kFirst, 1. / 1024, kDecay, 0, 0, 1}},
  };
  return cases;
}

constexpr std::int64_t kSizes[] = {1, 3, 17, 31, 33, 100, 5000};

// Parameters of several sizes, each in a block of memory of its own that begins `offset` elements after an aligned
// address, and the same in double precision.
class Parameters {
 public:
  Parameters(const OptimizerCase& test, std::size_t offset,
             std::vector<std::int64_t> sizes = {std::begin(kSizes), std::end(kSizes)})
      : optimizer_(optimizerFromName(test.name)), states_(stateCount(optimizer_, test.settings.data())) {
    for (const std::int64_t size : sizes) addTensor(static_cast<std::size_t>(size), offset);
  }

  void setGradients(double scale = 1) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      float* gradient = gradientOf(i);
      for (std::int64_t k = 0; k < tensors[i].count; ++k) {
        gradient[k] = normal(random_) * static_cast<float>(scale);
        reference[i].gradient[static_cast<std::size_t>(k)] = double{gradient[k]};
      }
    }
  }

  float* gradientOf(std::size_t tensor) { return memory_[tensor].data() + memory_[tensor].size() / kLines + offset_; }

  void setStep(std::int64_t step) {
    for (OptimizerTensor& tensor : tensors) tensor.step = step;
    for (ReferenceTensor& tensor : reference) tensor.step = step;
  }

  // The largest difference of parameters or of a state, in parts of the largest of its kind.
  double error() const {
    double worst = 0;
    for (int kind = -1; kind < states_; ++kind) {
      worst = std::max(worst, errorOfKind(kind, [](double difference, double* most) {
                         *most = std::max(*most, std::fabs(difference));
                       }));
    }
    return worst;
  }

  // The length of the difference of all parameters, in parts of their length: rounding errors go both ways.
  double errorOfParameters() const {
    return std::sqrt(errorOfKind(-1, [](double difference, double* sum) { *sum += difference * difference; }));
  }

  std::vector<float> everything() const {
    std::vector<float> all;
    for (const std::vector<float>& memory : memory_) all.insert(all.end(), memory.begin(), memory.end());
    return all;
  }

  std::vector<OptimizerTensor> tensors;
  std::vector<ReferenceTensor> reference;

 private:
  static constexpr std::size_t kLines = 5;  // parameter, gradient, states

  void addTensor(std::size_t size, std::size_t offset) {
    offset_ = offset;
    const std::size_t line = size + offset + 7;
    memory_.emplace_back(kLines * line, -77.f);  // the rest must stay as it is
    std::normal_distribution<float> normal;
    float* start = memory_.back().data() + offset;
    OptimizerTensor tensor;
    ReferenceTensor exact;
    tensor.parameter = start;
    tensor.gradient = start + line;
    for (std::size_t k = 0; k < size; ++k) start[k] = normal(random_);
    exact.parameter.assign(start, start + size);
    exact.gradient.resize(size);
    for (int j = 0; j < states_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const bool number = isScalarState(optimizer_, j);
      tensor.states[at] = start + (at + 2) * line;
      std::fill_n(tensor.states[at], number ? 1 : size, number ? 1.f : 0.f);
      exact.states[at].assign(number ? 1 : size, number ? 1 : 0);
    }
    tensor.count = static_cast<std::int64_t>(size);
    tensors.push_back(tensor);
    reference.push_back(std::move(exact));
  }

  // Of parameters (kind -1) or a state: `add` sums up differences and values, whose quotient counts.
  template <typename Add>
  double errorOfKind(int kind, const Add& add) const {
    double difference = 0, most = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto at = static_cast<std::size_t>(std::max(kind, 0));
      const float* values = kind < 0 ? tensors[i].parameter : tensors[i].states[at];
      const std::vector<double>& exact = kind < 0 ? reference[i].parameter : reference[i].states[at];
      for (std::size_t k = 0; k < exact.size(); ++k) {
        add(double{values[k]} - exact[k], &difference);
        add(exact[k], &most);
      }
    }
    return difference / std::max(most, 1e-30);
  }

  Optimizer optimizer_;
  int states_;
  std::size_t offset_ = 0;
  std::mt19937 random_{17};
  std::vector<std::vector<float>> memory_;
};

// Steps both. Returns the greater of the errors after each.
double errorOfSteps(const OptimizerCase& test, Parameters& parameters, int steps, const UpdateOptions& options) {
  double worst = 0;
  for (int step = 1; step <= steps; ++step) {
    parameters.setStep(step);
    parameters.setGradients();
    const Optimizer optimizer = optimizerFromName(test.name);
    updateParameters(optimizer, {test.settings}, parameters.tensors, options);
    updateParametersRef(optimizer, {test.settings}, &parameters.reference, options);
    worst = std::max(worst, parameters.error());
  }
  return worst;
}

class OptimizerRules : public testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerRules, AgreeWithDoublePrecision) {
  for (const char* isa : {"", "avx2", "sse41"}) {
    for (const std::size_t offset : {0, 1, 3}) {
      for (const bool fast : {false, true}) {
        for (const Formulas formulas : {Formulas::kTorch1, Formulas::kTorch2}) {
          Parameters parameters(GetParam(), offset);
          UpdateOptions options;
          options.isa = isa;
          options.fast = fast;
          options.formulas = formulas;
          EXPECT_LT(errorOfSteps(GetParam(), parameters, 7, options), 1e-6) << isa << offset << fast;
        }
      }
    }
  }
}

TEST_P(OptimizerRules, ChangeNothingBesideTheirTensors) {
  Parameters parameters(GetParam(), 1, {33});
  const std::vector<float> before = parameters.everything();
  parameters.setGradients();
  updateParameters(optimizerFromName(GetParam().name), {GetParam().settings}, parameters.tensors, UpdateOptions());
  const std::vector<float> after = parameters.everything();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i] == -77.f && after[i] != -77.f) {
      const float* place = parameters.tensors[0].parameter - 1;
      const std::size_t line = i / 41, column = i % 41;
      EXPECT_TRUE(place && line < 5 && column >= 1 && column < 34) << i;
    }
  }
}

TEST_P(OptimizerRules, GiveTheSameBitsOnAnyNumberOfThreads) {
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    Parameters parameters(GetParam(), 0, {5, 20000, 1, 70001, 300});
    UpdateOptions options;
    options.threads = threads;
    options.max_norm = 1;
    for (int step = 1; step <= 3; ++step) {
      parameters.setStep(step);
      parameters.setGradients();
      updateParameters(optimizerFromName(GetParam().name), {GetParam().settings}, parameters.tensors, options);
    }
    const std::vector<float> all = parameters.everything();
    if (first.empty()) first = all;
    EXPECT_EQ(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)), 0) << threads;
  }
}

// Lion takes signs, which a rounding error may turn: one of 5,000 parameters then differs by two steps. The for-loops
// of PyTorch round decoupled decay by itself, and so exact updates, whose errors are a third greater for that.
TEST_P(OptimizerRules, StayWithinAMillionthForAThousandSteps) {
  for (const bool fast : {false, true}) {
    Parameters parameters(GetParam(), 0);
    UpdateOptions options;
    options.fast = fast;
    errorOfSteps(GetParam(), parameters, 1000, options);
    const double limit = GetParam().name == std::string("lion") ? 3e-4 : fast ? 1e-6 : 1.4e-6;
    EXPECT_LT(parameters.errorOfParameters(), limit) << fast;
  }
}

TEST_P(OptimizerRules, ScaleAndClipGradientsFirst) {
  Parameters parameters(GetParam(), 0);
  UpdateOptions options;
  options.gradient_scale = 1.0 / 1024;
  options.max_norm = 0.5;
  EXPECT_LT(errorOfSteps(GetParam(), parameters, 5, options), 2e-6);
}

TEST_P(OptimizerRules, KeepEverythingWhenAGradientIsInfinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Parameters parameters(GetParam(), 0);
    parameters.setGradients();
    parameters.gradientOf(6)[4711] = bad;
    const std::vector<float> before = parameters.everything();
    UpdateOptions options;
    options.skip_infinite = true;
    EXPECT_FALSE(std::isfinite(
        updateParameters(optimizerFromName(GetParam().name), {GetParam().settings}, parameters.tensors, options)));
    const std::vector<float> after = parameters.everything();
    EXPECT_EQ(std::memcmp(before.data(), after.data(), after.size() * sizeof(float)), 0);
  }
}

// One parameter in a form, with a gradient in BF16 or FP16, after three steps: its numbers, and what lies in `half`.
struct FormRun {
  std::vector<float> numbers;
  std::vector<std::uint16_t> halves;
};

std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

FormRun runForm(const OptimizerCase& test, ParameterForm form, DType gradient_dtype, const std::string& isa) {
  const bool split = form == ParameterForm::kSplit || form == ParameterForm::kSplitRounded;
  const std::uint32_t carry = form == ParameterForm::kSplitRounded ? 0x8000u : 0u;
  constexpr std::size_t kCount = 1003;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  FormRun run{std::vector<float>(kCount), std::vector<std::uint16_t>(kCount)};
  std::vector<std::uint16_t> lower(kCount), gradient(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    run.numbers[i] = normal(random);
    if (split) run.halves[i] = static_cast<std::uint16_t>((bitsOf(run.numbers[i]) + carry) >> 16u);
    if (split) lower[i] = static_cast<std::uint16_t>(bitsOf(run.numbers[i]));
  }
  std::vector<std::vector<float>> states(kMaxStates, std::vector<float>(kCount));
  states[2][0] = isScalarState(optimizerFromName(test.name), 2) ? 1.f : 0.f;
  OptimizerTensor tensor;
  if (!split) tensor.parameter = run.numbers.data();
  tensor.half = run.halves.data();
  tensor.lower = lower.data();
  tensor.form = form;
  tensor.gradient = gradient.data();
  tensor.gradient_dtype = gradient_dtype;
  for (std::size_t j = 0; j < kMaxStates; ++j) tensor.states[j] = states[j].data();
  tensor.count = kCount;
  UpdateOptions options;
  options.isa = isa;
  for (tensor.step = 1; tensor.step <= 3; ++tensor.step) {
    for (std::uint16_t& value : gradient) {
      const float exact = std::round(8 * normal(random)) / 8;  // held by both
      value = gradient_dtype == DType::kBf16 ? floatToBf16(exact) : floatToF16(exact);
    }
    updateParameters(optimizerFromName(test.name), {test.settings}, {tensor}, options);
  }
  for (std::size_t i = 0; split && i < kCount; ++i) {
    const std::uint32_t low = carry != 0 ? static_cast<std::uint32_t>(static_cast<std::int16_t>(lower[i])) : lower[i];
    const std::uint32_t bits = (std::uint32_t{run.halves[i]} << 16u) + low;
    std::memcpy(&run.numbers[i], &bits, sizeof(bits));
  }
  return run;
}

TEST_P(OptimizerRules, HaveTheSameBitsInEveryForm) {
  for (const char* isa : {"", "avx2", "sse41"}) {
    const FormRun single = runForm(GetParam(), ParameterForm::kSingle, DType::kBf16, isa);
    for (const DType gradient : {DType::kBf16, DType::kF16}) {
      for (const ParameterForm form :
           {ParameterForm::kSplit, ParameterForm::kSplitRounded, ParameterForm::kBf16Copy, ParameterForm::kF16Copy}) {
        const FormRun run = runForm(GetParam(), form, gradient, isa);
        for (std::size_t i = 0; i < run.numbers.size(); ++i) {
          const float number = single.numbers[i];
          ASSERT_EQ(bitsOf(run.numbers[i]), bitsOf(number)) << isa << static_cast<int>(form) << ' ' << i;
          const std::uint16_t half = form == ParameterForm::kBf16Copy  ? floatToBf16(number)
                                     : form == ParameterForm::kF16Copy ? floatToF16(number)
                                     : form == ParameterForm::kSplit
                                         ? static_cast<std::uint16_t>(bitsOf(number) >> 16u)
                                         : static_cast<std::uint16_t>((bitsOf(number) + 0x8000u) >> 16u);
          ASSERT_EQ(run.halves[i], half) << isa << static_cast<int>(form) << ' ' << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerRules, testing::ValuesIn(optimizerCases()));

TEST(Optimizers, CountLargeGradientsAsFinite) {
  const OptimizerCase sgd{"sgd", {0.1, 0, 0, 0, 0, 0}};
  Parameters parameters(sgd, 0);
  parameters.setGradients(3e37);
  UpdateOptions options;
  options.skip_infinite = true;
  EXPECT_TRUE(std::isfinite(updateParameters(Optimizer::kSgd, {sgd.settings}, parameters.tensors, options)));
}

TEST(Optimizers, StepGroupsWithTheirOwnSettings) {
  const OptimizerCase one{"sgd", {0.1, 0, 0, 0, 0, 0}};
  Parameters parameters(one, 0, {3, 3});
  parameters.tensors[1].group = parameters.reference[1].group = 1;
  parameters.setGradients();
  const std::vector<std::vector<double>> settings = {{0.1, 0, 0, 0, 0, 0}, {0.5, 0, 0, 0, 0.25, 0}};
  updateParameters(Optimizer::kSgd, settings, parameters.tensors, UpdateOptions());
  updateParametersRef(Optimizer::kSgd, settings, &parameters.reference, UpdateOptions());
  EXPECT_LT(parameters.error(), 1e-6);
}

TEST(Optimizers, AreKnownByName) {
  EXPECT_STREQ(optimizerName(optimizerFromName("adamw")), "adamw");
  try {
    optimizerFromName("adan");
    ADD_FAILURE() << "found";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("There is no optimizer \"adan\"; give one of sgd, adam"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test

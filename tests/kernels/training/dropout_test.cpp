// Dropout by a counter: the words of Philox, what is kept and by which factor, and the same bits for any instruction
// set and number of threads.
#include "kernels/training/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/training/philox.h"

namespace ipex_studio::kernel_test {
namespace {

using Values = std::vector<float>;

Values droppedOf(const DropoutJob& job) {
  Values x(static_cast<std::size_t>(job.count)), y(x.size(), NAN);
  std::iota(x.begin(), x.end(), 1.0f);
  dropElements(job, x.data(), y.data());
  return y;
}

DropoutJob jobOf(std::int64_t count, double p = 0.3) {
  DropoutJob job;
  job.seed = 0x0123456789abcdefu;
  job.p = p;
  job.count = count;
  return job;
}

// The known answer of the authors' library, Random123.
TEST(Dropout, WordsAreThoseOfPhilox) {
  std::uint32_t words[4];
  philoxWords(0, 0, words);
  EXPECT_EQ(words[0], 0x6627e8d5u);
  EXPECT_EQ(words[1], 0xe169c58du);
  EXPECT_EQ(words[2], 0xbc57ac4cu);
  EXPECT_EQ(words[3], 0x9b00dbd8u);
}

TEST(Dropout, KeepsElementsByTheirWords) {
  for (const char* isa : {"", "avx2", "sse4"}) {
    for (const std::int64_t count : {1, 3, 4, 31, 33, 255, 257, 5000}) {
      DropoutJob job = jobOf(count);
      job.isa = isa;
      const Values y = droppedOf(job);
      for (std::size_t i = 0; i < y.size(); ++i) {
        std::uint32_t words[4];
        philoxWords(job.seed, i / 4, words);
        const bool kept = words[i % 4] >= 0.3 * 4294967296.0;
        ASSERT_EQ(y[i], kept ? static_cast<float>(i + 1) * static_cast<float>(1 / 0.7) : 0.0f) << isa << " " << i;
      }
    }
  }
}

TEST(Dropout, TheShareIsTheOneAskedFor) {
  for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    const Values y = droppedOf(jobOf(100'000, p));
    double zeros = 0;
    for (const float value : y) zeros += value == 0 ? 1 : 0;
    EXPECT_NEAR(zeros / 1e5, p, 0.006) << p;
  }
}

TEST(Dropout, DoesNotDependOnThreads) {
  DropoutJob job = jobOf(200'001);
  const Values one = droppedOf(job);
  for (const std::int32_t threads : {2, 5}) {
    job.threads = threads;
    EXPECT_EQ(droppedOf(job), one) << threads;
  }
}

TEST(Dropout, NotANumberStaysEverywhere) {
  const Values x(1000, NAN);
  Values y(x.size());
  dropElements(jobOf(1000, 0.5), x.data(), y.data());
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace ipex_studio::kernel_test

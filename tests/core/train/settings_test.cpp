// --loss, --optimizer and --schedule: what they mean, and one sentence where they mean nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/train/loss.h"
#include "core/train/schedule.h"
#include "core/train/training_optimizer.h"

namespace ipex_studio {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ExitCode::kUsage) << text;
    EXPECT_THAT(text, EndsWith("."));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  }
  return "nothing was thrown";
}

std::string badSchedule(const std::string& text) {
  return refusal([&] { Schedule(text, 10, 10); });
}
std::string badOptimizer(const std::string& text) {
  return refusal([&] { TrainingOptimizer(text, {}); });
}

TEST(Schedules, Shapes) {
  EXPECT_EQ(Schedule("constant", 10, 3).factor(17), 1);
  const Schedule step("step:every=2,gamma=0.5", 10, 8);
  EXPECT_EQ(step.factor(19), 1);
  EXPECT_EQ(step.factor(20), 0.5);
  EXPECT_EQ(step.factor(60), 0.125);
  const Schedule multistep("multistep:at=1/3,gamma=0.1", 10, 8);
  EXPECT_EQ(multistep.factor(9), 1);
  EXPECT_DOUBLE_EQ(multistep.factor(10), 0.1);
  EXPECT_DOUBLE_EQ(multistep.factor(30), 0.01);
  const Schedule cosine("cosine:end=0.2", 10, 10);
  EXPECT_DOUBLE_EQ(cosine.factor(0), 1);
  EXPECT_DOUBLE_EQ(cosine.factor(50), 0.6);
  EXPECT_NEAR(cosine.factor(100), 0.2, 1e-12);
  const Schedule linear("linear", 10, 10);
  EXPECT_DOUBLE_EQ(linear.factor(25), 0.75);
}

TEST(Schedules, WarmUpRisesToTheWholeRate) {
  const Schedule cosine("cosine:warmup=10", 10, 10);
  EXPECT_DOUBLE_EQ(cosine.factor(0), 0.1);
  EXPECT_DOUBLE_EQ(cosine.factor(9), 1);
  EXPECT_DOUBLE_EQ(cosine.factor(10), 1);
  EXPECT_DOUBLE_EQ(cosine.factor(55), 0.5);
}

// The rates of torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10) in PyTorch 1.13.
TEST(Schedules, OneCycleIsThatOfTorch) {
  const double expected[] = {0.04,
                             0.52,
                             1.0,
                             0.9504846320134738,
                             0.8117456539497631,
                             0.6112620219362893,
                             0.38874197806371076,
                             0.18825834605023695,
                             0.04951936798652637,
                             4e-06};
  const Schedule cycle("one_cycle", 5, 2);
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(cycle.factor(i), expected[i], 1e-6) << i;
}

TEST(Settings, WhatIsWrongIsOneSentence) {
  EXPECT_THAT(badSchedule("sawtooth"), HasSubstr("--schedule sawtooth: there is no such schedule; use constant, step"));
  EXPECT_THAT(badSchedule("step:every=0"), HasSubstr("every is a number from 1 to"));
  EXPECT_THAT(badSchedule("step:every=1.5"), HasSubstr("every is a whole number"));
  EXPECT_THAT(badSchedule("multistep"), HasSubstr("as at=30/60"));
  EXPECT_THAT(badSchedule("multistep:at=3/x"), HasSubstr("with slashes between"));
  EXPECT_THAT(badSchedule("one_cycle:warm=1"), HasSubstr("one_cycle has no setting warm; it has warmup, start, end"));
  EXPECT_THAT(badSchedule("step:gamma=0.1,gamma=0.2"), HasSubstr("gamma is set twice"));
  EXPECT_THAT(badOptimizer("sgdd:lr=1"), HasSubstr("there is no such optimizer; use sgd, adam"));
  EXPECT_THAT(badOptimizer("sgd:lr=fast"), HasSubstr("lr is a number from 0 to"));
  EXPECT_THAT(badOptimizer("sgd:lr=nan"), HasSubstr("lr is a number from 0 to"));
  EXPECT_THAT(badOptimizer("sgd:nesterov"), HasSubstr("nesterov needs a momentum"));
  EXPECT_THAT(badOptimizer("sgd:=3"), HasSubstr("settings such as lr=0.01"));
  EXPECT_THAT(badOptimizer("adam:amsgrad=perhaps"), HasSubstr("amsgrad is true or false"));
  EXPECT_THAT(refusal([] { Loss("mae"); }), HasSubstr("there is no such loss; use cross_entropy, nll"));
  EXPECT_THAT(refusal([] { Loss("mse:beta=1"); }), HasSubstr("mse has no settings"));
  EXPECT_THAT(refusal([] { Loss("cross_entropy:smoothing=2"); }), HasSubstr("smoothing is a number from 0 to 1"));
}

TEST(Losses, SayWhatFitsThem) {
  const Loss classes("cross_entropy"), distance("mse");
  const at::Tensor scores = at::rand({4, 10}), labels = at::tensor({1, 2, 3, 4}, at::kLong);
  EXPECT_NO_THROW(classes.check(scores, labels));
  EXPECT_NO_THROW(classes.check(at::rand({2, 3, 5, 5}), at::zeros({2, 5, 5}, at::kLong)));
  EXPECT_NO_THROW(classes.check(scores, at::full({4}, -100, at::kLong)));
  EXPECT_THAT(refusal([&] {
                classes.check(at::rand({4, 3}), labels);
              }),
              HasSubstr("A label of the data is 4, but the model knows 3 classes, 0 to 2."));
  EXPECT_THAT(refusal([&] {
                classes.check(scores, at::tensor({1, -2, 3, 4}, at::kLong));
              }),
              HasSubstr("label of the data is -2"));
  EXPECT_THAT(refusal([&] { classes.checkLabels(scores, {0, 9, 10}); }), HasSubstr("is 10, but"));
  EXPECT_THAT(refusal([&] { classes.check(at::rand({4}), labels); }),
              HasSubstr("takes results of N x classes and a label for each"));
  EXPECT_THAT(refusal([&] { classes.check(scores, {}); }), HasSubstr("and the data no targets"));
  EXPECT_THAT(
      refusal([&] { distance.check(scores, labels); }),
      HasSubstr("takes targets of the results' sizes; this model gives Float 4 x 10 and the data targets of 4"));
  EXPECT_THAT(refusal([&] { distance.check(labels, labels); }), HasSubstr("takes results that are floats"));
}

}  // namespace
}  // namespace ipex_studio

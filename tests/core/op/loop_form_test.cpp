// Forms of loops as numbers in graphs, which may come from anywhere.
#include <gtest/gtest.h>

#include "core/op/loop_form.h"

namespace ipex_studio {
namespace {

LoopForm someForm() {
  LoopForm form;
  form.carried = {1, 0};
  form.fills = {{1, 2, -3, LoopForm::Fill::Type::kLong}};
  form.slices = {{2, 1, 5, -1}};
  form.inputs = {
      {LoopForm::Input::Kind::kSlice, 0}, {LoopForm::Input::Kind::kCarried, 1}, {LoopForm::Input::Kind::kTensor, 3}};
  form.joined = {{LoopForm::Joined::Kind::kWrite, {LoopForm::Source::Kind::kCarried, 1}, 0, {3, 2, 0, 1}},
                 {LoopForm::Joined::Kind::kCat, {LoopForm::Source::Kind::kOutput, 1}, 2, {}}};
  return form;
}

TEST(LoopForm, NumbersGiveTheSameForm) {
  const std::vector<std::int64_t> numbers = someForm().numbers();
  const auto read = LoopForm::fromNumbers(numbers.data(), numbers.size(), 3, 2, 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->numbers(), numbers);
}

TEST(LoopForm, RefusesWhatNamesNothing) {
  const std::vector<std::int64_t> numbers = someForm().numbers();
  EXPECT_FALSE(LoopForm::fromNumbers(numbers.data(), numbers.size(), 2, 2, 2)) << "a tensor that is not there";
  EXPECT_FALSE(LoopForm::fromNumbers(numbers.data(), numbers.size(), 3, 1, 2)) << "an output that is not there";
  EXPECT_FALSE(LoopForm::fromNumbers(numbers.data(), numbers.size(), 3, 2, 1)) << "a size that is not there";
  for (std::size_t count = 0; count < numbers.size(); ++count)
    EXPECT_FALSE(LoopForm::fromNumbers(numbers.data(), count, 3, 2, 2)) << count;
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    for (const std::int64_t number : {std::int64_t{-7}, std::int64_t{1} << 40, std::int64_t{INT64_MIN}}) {
      std::vector<std::int64_t> other = numbers;
      other[place] = number;
      const auto read = LoopForm::fromNumbers(other.data(), other.size(), 3, 2, 2);
      // An axis, which the run checks.
      EXPECT_TRUE(!read || read->numbers() == other) << place;
    }
  }
}

}  // namespace
}  // namespace ipex_studio

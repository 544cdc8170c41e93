// Results whose sizes depend on the data: operators of ours between regions, with the numbers of libtorch's.
#include <gtest/gtest.h>

#include "core/lower/data_choices.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

int choicesIn(const Module& module) {
  int count = 0;
  for (const torch::jit::Node* node : module.get_method("forward").graph()->nodes())
    count += isDataChoice(node) ? 1 : 0;
  return count;
}

struct Choice {
  const char* name;
  const char* text;  // of x [n, 8, 5]
};
void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.text; }

class DataChoices : public ::testing::TestWithParam<Choice> {};

TEST_P(DataChoices, GiveTheSameNumbers) {
  const Module module =
      scriptModule("def forward(self, x):\n    x = torch.tanh(x) - 0.1\n    y = " + std::string(GetParam().text) +
                   "\n    return torch.sqrt(y.abs() * 2.0)\n");
  OptimizedModel result = expectSame(module, {{at::randn({2, 8, 5})},
                                              {at::randn({3, 8, 5})},
                                              {at::full({1, 8, 5}, -9.0)},
                                              {at::full({2, 8, 5}, 9.0)},
                                              {at::zeros({0, 8, 5})}});
  EXPECT_EQ(choicesIn(result.module), 1) << result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(result.coverage.nodes, 1);
}

const Choice kChoices[] = {
    {"elements", "x[x > 0.0]"},
    {"rows", "x[x.sum([1, 2]) > 0.0]"},
    {"planes", "x[x.sum([2]) > 0.0]"},
    {"columns", "x[:, :, x.sum([0, 1]) > 0.0]"},
    {"pairs_of_axes", "x[:, x.sum([0]) > 0.0]"},
    {"selected", "torch.masked_select(x, x > 0.2)"},
    {"selected_integers", "torch.masked_select(torch.argmax(x, 1), torch.argmin(x, 1) > 3).to(6)"},
    {"indices", "torch.nonzero(x > 0.0).to(6)"},
    {"indices_of_numbers", "torch.argwhere(torch.relu(x)).to(6)"},
    {"indices_of_integers", "torch.nonzero(torch.argmax(x, 1)).to(6)"},
    {"lines_of_indices", "torch.exp(x)[torch.where(x[:, 0, 0] > 0.0)[0]]"},
    {"values", "torch._unique2(torch.argmax(x, 1), True, False, False)[0].to(6)"},
    {"places_of_values", "torch._unique2(torch.argmax(x, 1) * 1000003, True, True, True)[1].to(6)"},
    {"counts_of_values", "torch._unique2(torch.argmax(x, 1), True, True, True)[2].to(6)"},
};

INSTANTIATE_TEST_SUITE_P(Operators, DataChoices, ::testing::ValuesIn(kChoices),
                         [](const auto& info) { return info.param.name; });

TEST(DataChoices, DecideWhetherABatchIsPacked) {
  const Module module = scriptModule(R"(
def forward(self, x, hidden):
    kept = torch.logical_not(hidden > 0.5)
    if torch._nested_tensor_from_mask_left_aligned(x, kept):
        return torch.exp(x) * 2.0
    return torch.tanh(x) + 1.0
)");
  const at::Tensor x = at::randn({2, 3, 5});
  const auto hidden = [](const std::vector<float>& values) { return at::tensor(values).view({2, 3}); };
  OptimizedModel result = expectSame(module, {{x, hidden({0, 0, 1, 0, 1, 1})},
                                              {x, hidden({0, 0, 1, 0, 1, 0})},
                                              {x, hidden({1, 0, 0, 0, 0, 0})},
                                              {x, hidden({0, 0, 0, 0, 0, 0})},
                                              {x, hidden({1, 1, 1, 1, 1, 1})},
                                              {x, hidden({0, 0, 0, 0, 0, 1}).t().contiguous().view({2, 3}).flip(1)},
                                              {at::randn({2, 1, 5}), at::zeros({2, 1})}});
  EXPECT_EQ(choicesIn(result.module), 1) << result.module.get_method("forward").graph()->toString(false);
}

// Masks that do not have the sizes of what they choose from are refused at every call, as the index operators do.
TEST(DataChoices, RefuseMasksOfOtherSizes) {
  const char* const lines[] = {"y = x[mask] * 2.0", "y = torch.relu(x[mask].matmul(torch.ones([5, 5])))",
                               "y = x + 1.0\n    y[mask] = x[mask].matmul(torch.ones([5, 5]))",
                               "y = x + 1.0\n    y[mask] = y[mask] * 2.0", "y = x + 1.0\n    y[mask] = 3.0"};
  const auto mask = [](const std::vector<std::int64_t>& sizes) { return at::ones(sizes, at::kBool); };
  for (const char* line : lines) {
    Module module = scriptModule("def forward(self, x, mask):\n    x = torch.tanh(x) - 0.1\n    " + std::string(line) +
                                 "\n    return torch.exp(y)\n");
    const auto refuse = [&](OptimizedModel& result, const at::Tensor& x,
                            const std::vector<std::vector<std::int64_t>>& all) {
      for (const auto& sizes : all) {
        EXPECT_ANY_THROW(call(module, {x, mask(sizes)})) << line;
        EXPECT_ANY_THROW(call(result.module, {x, mask(sizes)})) << line << " " << at::IntArrayRef(sizes);
      }
    };
    const at::Tensor rows = at::randn({6, 5}), planes = at::randn({3, 4, 5});
    OptimizedModel one = expectSame(module, {{rows, mask({6})}, {at::randn({7, 5}), mask({7})}});
    refuse(one, rows, {{5}, {1}, {7}});
    refuse(one, at::randn({9, 5}), {{6}, {1}});
    OptimizedModel two = expectSame(module, {{planes, mask({3, 4})}, {at::randn({2, 7, 5}), mask({2, 7})}});
    refuse(two, planes, {{4, 3}, {2, 6}, {1, 12}, {1, 4}, {3, 1}, {1, 1}});
  }
}

}  // namespace
}  // namespace ipex_studio

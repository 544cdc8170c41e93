// Operators that read the order of a tensor in memory give the same as in eager, whatever passes and plans do before
// them.
#include <gtest/gtest.h>

#include "core/model/copy_value.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

struct Model {
  const char* name;
  const char* body;  // of x [4, 6], in statements
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.body; }

class Strides : public ::testing::TestWithParam<Model> {};

// x as it is, transposed, with gaps, and with elements that lie in memory once for all rows.
std::vector<Inputs> layouts() {
  return {{at::randn({4, 6})},
          {at::randn({6, 4}).t()},
          {at::randn({4, 12}).slice(1, 1, 12, 2)},
          {at::randn({8, 9}).slice(0, 2, 6).slice(1, 2, 8)},
          {at::randn({1, 6}).expand({4, 6})}};
}

TEST_P(Strides, AreThoseOfEager) {
  const Module module = scriptModule("def forward(self, x):\n" + std::string(GetParam().body));
  for (const Inputs& inputs : layouts()) expectSame(module, {inputs});
}

const Model kModels[] = {
    {"of_an_input", "    return x.as_strided([2, 2], [1, 2], 1)\n"},
    {"of_a_copy", "    return torch.as_strided_copy(x, [2, 3], [2, 1])\n"},
    {"scattered", "    return torch.as_strided_scatter(x, x[:2, :2] * 2.0, [2, 2], [2, 1])\n"},
    {"of_a_chain", "    return torch.exp(torch.relu(x).neg()).as_strided([3, 3], [1, 3]) * 2.0\n"},
    {"of_a_view", "    return (x * 2.0).t().as_strided([3, 3], [1, 3])\n"},
    {"of_a_part", "    return torch.relu(x)[1].as_strided([2, 2], [1, 6]) + 1.0\n"},
    {"of_a_clone", "    return x.clone().as_strided([2, 2], [1, 2], 0)\n"},
    {"of_a_contiguous_copy", "    return x.t().contiguous().as_strided([4, 5], [5, 1], 0)\n"},
    {"of_what_changes_nothing", "    return (x * 1.0 + 0.0).as_strided([2, 2], [1, 2], 0)\n"},
    {"asked_for", "    y = torch.relu(x.t() + 1.0)\n    if y.is_contiguous():\n        return y\n    return y * 3.0\n"},
    {"as_numbers", "    y = torch.relu(x.t() + 1.0)\n    return y * float(y.stride(0))\n"},
};

INSTANTIATE_TEST_SUITE_P(Models, Strides, ::testing::ValuesIn(kModels),
                         [](const auto& info) { return info.param.name; });

TEST(CopyWithStrides, KeepsGapsOverlapsAndOffsets) {
  for (const Inputs& inputs : layouts()) {
    const at::Tensor x = inputs[0].toTensor();
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const at::Tensor copy = copyWithStrides(x, dtype);
      EXPECT_EQ(copy.strides(), x.strides());
      EXPECT_EQ(copy.storage_offset(), x.storage_offset());
      EXPECT_EQ(copy.scalar_type(), dtype);
      EXPECT_TRUE(copy.equal(x.to(dtype)));
      EXPECT_FALSE(copy.is_alias_of(x));
    }
  }
}

}  // namespace
}  // namespace ipex_studio

// What an execution of gather_scatter keeps for the next one: edges that change, in both types of their ends, and ends
// that are in no row.
#include <gtest/gtest.h>

#include <cmath>

#include "core/op/kernel.h"
#include "kernels/kernel_list.h"

namespace ipex_studio {
namespace {

// y[to] += x[from] over four edges between three rows of one number, executed again and again with one state.
template <typename Index>
class FourEdges {
 public:
  FourEdges() {
    const DType type = sizeof(Index) == 8 ? DType::kS64 : DType::kS32;
    PrepareArgs args;
    args.spec = parseOpSpec("gather_scatter{reduction=add,wrap=1}");
    const TensorDesc rows = contiguousDesc(DType::kF32, Dims{3, 1}), ends = contiguousDesc(type, Dims{4});
    args.src = {rows, ends, rows, ends, TensorDesc()};
    args.constant.assign(5, nullptr);
    args.src_dies.assign(5, false);
    args.dst = {rows};
    args.target.threads = 2;
    std::string reason;
    op_ = list_->candidates(OpKind::kGatherScatter, DeviceKind::kCpu)[0]->prepare(args, &reason);
    state_ = op_->newState();
  }

  std::vector<float> operator()(const std::vector<Index>& from, const std::vector<Index>& to) {
    const std::vector<float> x{1, 10, 100};
    std::vector<float> y(3, 7);
    const void* const src[] = {nullptr, to.data(), x.data(), from.data(), nullptr};
    void* const dst[] = {y.data()};
    op_->execute(state_.get(), src, dst, nullptr);
    return y;
  }

  bool failed() { return state_->takeFailure() != nullptr; }

 private:
  std::unique_ptr<KernelList> list_ = makeKernelList();
  std::unique_ptr<PreparedOp> op_;
  std::unique_ptr<ExecState> state_;
};

template <typename Index>
void expectRightAfterEachChange() {
  using Rows = std::vector<float>;
  FourEdges<Index> sums;
  EXPECT_EQ(sums({0, 1, 2, 1}, {0, 0, 2, 2}), (Rows{11, 0, 110}));
  EXPECT_EQ(sums({0, 1, 2, 1}, {0, 0, 2, 2}), (Rows{11, 0, 110}));
  EXPECT_EQ(sums({0, 1, 2, 1}, {0, 1, 2, 2}), (Rows{1, 10, 110}));
  EXPECT_EQ(sums({2, 1, 2, -1}, {0, 1, 2, 2}), (Rows{100, 10, 200}));
  EXPECT_FALSE(sums.failed());
  for (const std::vector<Index>& to : {std::vector<Index>{0, 3, 2, 2}, std::vector<Index>{0, -1, 2, 2}}) {
    for (int time = 0; time < 2; ++time) {
      EXPECT_TRUE(std::isnan(sums({2, 1, 2, -1}, to)[0]));
      EXPECT_TRUE(sums.failed());
    }
  }
  EXPECT_EQ(sums({2, 1, 2, -1}, {0, 1, 2, 2}), (Rows{100, 10, 200}));
  sums({2, 1, 3, -1}, {0, 1, 2, 2});
  EXPECT_TRUE(sums.failed());
  sums({2, 1, 2, -4}, {0, 1, 2, 2});
  EXPECT_TRUE(sums.failed());
}

TEST(GatherScatter, FollowsEdgesThatChange) {
  expectRightAfterEachChange<std::int64_t>();
  expectRightAfterEachChange<std::int32_t>();
}

}  // namespace
}  // namespace ipex_studio

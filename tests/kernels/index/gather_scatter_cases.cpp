// Cases of sums, means and extremes over the edges of graphs.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& gatherScatterCases() {
  using S = Source;
  const char* const rows = "gather_scatter_rows";
  const auto edges = [](std::int64_t count, std::int64_t nodes, DType dtype = DType::kS64) {
    return S::ids({count}, nodes, dtype);
  };
  const char* const add = "gather_scatter{reduction=add}";
  static const std::vector<Case> cases = {
      {add, {S::of({5, 17}), edges(40, 5), S::of({7, 17}), edges(40, 7), S::none()}, rows},
      {add, {S::of({5, 33}), edges(40, 5, DType::kS32), S::of({7, 33}), edges(40, 7), S::of({40, 1})}, rows},
      {add, {S::of({9, 3, 5}), edges(64, 9), S::of({6, 3, 5}), edges(64, 6, DType::kS32), S::of({64, 3, 1})}, rows},
      {add, {S::of({9, 129}), edges(30, 4), S::of({30, 129}), S::none(), S::of({30, 129})}, rows},
      {add, {S::of({4}), edges(30, 4), S::of({6}), edges(30, 6), S::of({30})}, rows},
      {add, {S::of({3, 8}), edges(0, 3), S::of({6, 8}), edges(0, 6), S::none()}, rows},
      {"gather_scatter{reduction=mean}",
       {S::of({50, 100}), edges(99, 20), S::of({9, 100}), edges(99, 9), S::none()},
       rows},
      {"gather_scatter{reduction=max}", {S::of({30, 4}), edges(99, 20), S::of({99, 4}), S::none(), S::none()}, rows},
      {"gather_scatter{rank=2,reduction=min,wrap=1}",
       {S::of({30, 65}), edges(99, 20), S::of({9, 65}), edges(99, 9), S::of({99, 1})},
       rows},
      {add,
       {S::of({2708, 16}), edges(13264, 2708), S::of({2708, 16}), edges(13264, 2708), S::of({13264, 1})},
       rows,
       4e-6,
       true},
      {add,
       {S::of({20000, 64}), edges(200000, 20000), S::of({20000, 64}), edges(200000, 20000), S::of({200000, 1})},
       rows,
       4e-6,
       true},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test

// Maxima with indices, sorts, cumulative sums, lookups of elements, integer arithmetic and sampled images: every axis,
// lines longer and shorter than vectors, many equal values.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

Source few(Dims dims, std::int64_t different) { return {dims, DType::kF32, Fill::kIndex, different}; }
Source integers(Dims dims, DType dtype, std::int64_t limit) { return {dims, dtype, Fill::kIndex, limit}; }

}  // namespace

const std::vector<Case>& orderCases() {
  const auto of = [](Dims dims) { return Source::of(dims); };
  const auto ids = [](Dims dims, std::int64_t limit) { return Source::ids(dims, limit); };
  static const std::vector<Case> cases = {
      {"max_min{axis=1,mode=max}", {of({3, 400})}, "max_min_simd"},
      {"max_min{axis=-1,keepdim=1,mode=min}", {few({7, 100}, 5)}, "max_min_simd"},
      {"max_min{axis=1,mode=max}", {few({83, 20}, 4)}, "max_min_simd"},
      {"max_min{axis=1,mode=min}", {few({2, 21, 9, 17}, 6)}, "max_min_simd"},
      {"max_min{axis=0,keepdim=1,mode=max}", {of({5, 131})}, "max_min_simd"},
      {"max_min{axis=0,mode=min}", {few({1, 3}, 3)}, "max_min_simd"},
      {"max_min{axis=0,mode=max}", {integers({50}, DType::kS64, 7)}, "max_min_integer_sort"},
      {"max_min{axis=1,mode=min}", {integers({3, 9, 4}, DType::kS32, 7)}, "max_min_integer_sort"},
      {"max_min{axis=1,mode=max}", {of({1, 21, 256, 256})}, "max_min_simd", 2e-6, true},
      {"max_min{axis=-1,mode=max}", {of({8400, 80})}, "max_min_simd", 2e-6, true},

      {"sort{axis=1,descending=1}", {of({3, 40})}, "sort_simd"},
      {"sort{axis=0}", {few({700, 3}, 50)}, "sort_simd"},
      {"sort{axis=-1,descending=1}", {few({2, 1500}, 9)}, "sort_simd"},
      {"sort{axis=-1,descending=1,k=5}", {of({2, 2000})}, "sort_simd"},
      {"sort{axis=-1,k=100}", {few({2, 3001}, 40)}, "sort_simd"},
      {"sort{axis=1,descending=1,k=3}", {few({2, 9, 5}, 4)}, "sort_simd"},
      {"sort{axis=0,descending=1,k=300}", {of({513})}, "sort_simd"},
      {"sort{axis=0,k=0}", {of({5})}, "sort_simd"},
      {"sort{axis=-1,descending=1,k=3,ties=topk}", {few({4, 300}, 5)}, "sort_simd"},
      {"sort{axis=1,k=4,ties=topk}", {few({2, 9, 5}, 4)}, "sort_simd"},
      {"sort{axis=0,descending=1,k=20,ties=topk}", {few({700, 3}, 50)}, "sort_simd"},
      {"sort{axis=-1,k=30,ties=topk}", {few({3, 30}, 7)}, "sort_simd"},
      {"sort{axis=0,k=0,ties=topk}", {of({5})}, "sort_simd"},
      {"sort{axis=-1,descending=1,k=1,ties=topk}", {integers({3, 100}, DType::kS64, 4)}, "integer_sort"},
      {"sort{axis=0,k=4,ties=topk}", {integers({30, 3}, DType::kS32, 9)}, "integer_sort"},
      {"sort{axis=1,descending=1}", {integers({3, 60}, DType::kS64, 20)}, "integer_sort"},
      {"sort{axis=0,k=4}", {integers({30, 3}, DType::kS32, 9)}, "integer_sort"},
      {"sort{axis=-1,descending=1,k=16}", {few({5, 96}, 30)}, "sort_simd"},
      {"sort{axis=-1,descending=1,k=16}", {of({512, 256})}, "sort_simd", 2e-6, true},
      {"sort{axis=-1,descending=1,k=100}", {of({1, 8400})}, "sort_simd", 2e-6, true},
      {"sort{axis=-1,descending=1}", {of({1, 32000})}, "sort_simd", 2e-6, true},

      {"cumulative_sum{axis=1}", {of({3, 50})}, "cumulative_sum"},
      {"cumulative_sum{axis=1}", {of({3, 50})}, "cumulative_sum_simd"},
      {"cumulative_sum{axis=-1}", {Source::dying({2, 5, 131})}, "cumulative_sum_simd"},
      {"cumulative_sum{axis=1}", {of({2, 17, 1})}, "cumulative_sum_simd"},
      {"cumulative_sum{axis=0}", {of({16})}, "cumulative_sum_simd"},
      {"cumulative_sum{axis=-1}", {of({2, 3, 4, 40})}, "cumulative_sum_simd"},
      {"cumulative_sum{axis=0}", {of({1})}, "cumulative_sum"},
      {"cumulative_sum{axis=-1}", {of({9, 15})}, "cumulative_sum"},
      {"cumulative_sum{axis=-1}", {of({1, 32000})}, "cumulative_sum_simd", 2e-6, true},
      {"cumulative_sum{axis=-1}", {of({512, 256})}, "cumulative_sum_simd", 2e-6, true},
      {"cumulative_sum{axis=-1}", {of({8400, 17})}, "cumulative_sum_simd", 2e-6, true},
      {"cumulative_sum{axis=0}", {Source::dying({50, 131})}, "cumulative_sum"},
      {"cumulative_sum{axis=1}", {integers({2, 30, 3}, DType::kS64, 100)}, "cumulative_sum"},

      {"gather_elements{axis=1}", {of({3, 20}), ids({3, 5}, 20)}, "gather_elements_copy"},
      {"gather_elements{axis=0}", {of({9, 4, 5}), ids({2, 3, 5}, 9)}, "gather_elements_copy"},
      {"gather_elements{axis=1}",
       {integers({2, 8, 1}, DType::kS64, 50), Source::ids({2, 8, 1}, 8, DType::kS32)},
       "gather_elements_copy"},
      {"gather_elements{axis=2}", {integers({2, 3, 8}, DType::kBool, 2), ids({2, 3, 4}, 8)}, "gather_elements_copy"},
      {"scatter_elements{axis=1}", {of({3, 20}), ids({3, 5}, 20), of({3, 5})}, "scatter_elements_copy"},
      {"scatter_elements{axis=0}", {Source::dying({4, 6}), ids({3, 5}, 4), of({3, 5})}, "scatter_elements_copy"},
      {"scatter_elements{axis=1,reduction=add}", {of({3, 20}), ids({3, 50}, 20), of({3, 50})}, "scatter_elements_copy"},
      {"scatter_elements{axis=0,reduction=add}",
       {Source::dying({9, 17}), ids({40}, 9), of({40, 17})},
       "scatter_elements_copy"},
      {"scatter_elements{axis=1,reduction=add}",
       {of({2, 5, 3}), Source::ids({8}, 5, DType::kS32), of({2, 8, 3})},
       "scatter_elements_copy"},
      {"scatter_elements{axis=1}",
       {integers({2, 9, 3}, DType::kS64, 50), ids({4}, 9), integers({2, 4, 3}, DType::kS64, 50)},
       "scatter_elements_copy"},
      {"gather{axis=1}", {of({2, 9, 3}), ids({4, 5}, 9)}, "gather_copy"},
      {"gather{axis=0,wrap=1}", {of({6, 3}), ids({}, 6)}, "gather_copy"},

      {"integer_math{op=add}", {integers({3, 40}, DType::kS64, 1000), integers({40}, DType::kS64, 9)}, "integer_math"},
      {"integer_math{op=sub}", {integers({3, 1}, DType::kS64, 9), integers({1, 600}, DType::kS32, 9)}, "integer_math"},
      {"integer_math{op=mul}", {integers({5}, DType::kBool, 2), integers({5}, DType::kU8, 200)}, "integer_math"},
      {"integer_math{op=floordiv}",
       {integers({2, 90}, DType::kS64, 1000), Source{Dims{90}, DType::kS64, Fill::kExtreme, 7}},
       "integer_math"},
      {"integer_math{op=truncdiv}",
       {Source{Dims{90}, DType::kS64, Fill::kExtreme, 100}, Source{Dims{90}, DType::kS64, Fill::kExtreme, 7}},
       "integer_math"},
      {"integer_math{op=mod}",
       {Source{Dims{300}, DType::kS64, Fill::kExtreme, 100}, Source{Dims{300}, DType::kS64, Fill::kExtreme, 7}},
       "integer_math"},
      {"integer_math{op=rem}",
       {Source{Dims{300}, DType::kS64, Fill::kExtreme, 100}, Source{Dims{300}, DType::kS64, Fill::kExtreme, 7}},
       "integer_math"},
      {"integer_math{op=mod,value=-7}", {integers({7, 30}, DType::kS64, 100), Source::none()}, "integer_math"},
      {"integer_math{op=max}", {integers({7, 3}, DType::kS64, 9), integers({}, DType::kS64, 9)}, "integer_math"},
      {"integer_math{op=le}", {integers({7, 3}, DType::kS64, 3), integers({7, 1}, DType::kS64, 3)}, "integer_math"},
      {"integer_math{op=ne}", {integers({300}, DType::kS32, 2), integers({300}, DType::kS64, 2)}, "integer_math"},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test

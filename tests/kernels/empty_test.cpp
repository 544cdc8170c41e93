// Sources without elements: every case of the table again with sizes of 0, one size at a time, on every kernel.
#include <gtest/gtest.h>

#include <set>

#include "core/op/shape_inference.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

bool isInferred(const Case& test) {
  std::vector<TensorDesc> src, dst;
  for (const Source& source : test.src)
    src.push_back(source.absent ? TensorDesc() : contiguousDesc(source.dtype, source.dims));
  return inferShapes(parseOpSpec(test.spec), src, &dst).ok;
}

// True if ids would look into a table that has become empty, which a kernel reports.
bool looksIntoNothing(const Case& test) {
  bool ids = false, empty = false;
  for (const Source& source : test.src) {
    const bool looks_up = source.fill == Fill::kIndex || source.fill == Fill::kOffsets;
    ids = ids || (looks_up && source.dims.count() > 0);
    empty = empty || (!source.absent && source.dims.count() == 0);
  }
  return ids && empty;
}

// The case with 0 in the place of this size: in one source, and wherever it stands, as sizes that belong together are
// mostly equal.
std::vector<Case> emptied(const Case& test) {
  std::vector<Case> cases;
  std::set<std::int64_t> sizes;
  for (std::size_t s = 0; s < test.src.size(); ++s) {
    for (int axis = 0; axis < test.src[s].dims.rank; ++axis) {
      sizes.insert(test.src[s].dims[axis]);
      cases.push_back(test);
      cases.back().src[s].dims[axis] = 0;
    }
  }
  for (const std::int64_t size : sizes) {
    cases.push_back(test);
    for (Source& source : cases.back().src) {
      for (int axis = 0; axis < source.dims.rank; ++axis)
        source.dims[axis] = source.dims[axis] == size ? 0 : source.dims[axis];
    }
  }
  return cases;
}

std::string sizesText(const Case& test) {
  std::string text = test.spec;
  for (const Source& source : test.src)
    text += source.absent ? " -" : " " + contiguousDesc(source.dtype, source.dims).str();
  return text;
}

class EmptyCases : public testing::TestWithParam<Case> {};

TEST_P(EmptyCases, AgreeWithReference) {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  if (GetParam().bench) return;  // large, and of the same specifications as small ones
  for (const Case& test : emptied(GetParam())) {
    if (!isInferred(test) || looksIntoNothing(test)) continue;
    SCOPED_TRACE(sizesText(test));
    const Problem problem = makeProblem(test);
    for (const Kernel* kernel : list->candidates(problem.spec.kind, DeviceKind::kCpu)) {
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16, Layout::kGaps}) {
        const Outcome outcome = runCase(*kernel, test, problem, Conditions{layout, 2, "avx512_core", -1});
        EXPECT_EQ(outcome.problem, "") << kernel->name();
        EXPECT_LE(outcome.error, toleranceOf(*kernel, test)) << kernel->name();
      }
    }
  }
}

std::string emptyName(const testing::TestParamInfo<Case>& info) {
  return info.param.spec.substr(0, info.param.spec.find('{')) + "_" + std::to_string(info.index);
}

#define IPEX_TEST(name, cases) INSTANTIATE_TEST_SUITE_P(name, EmptyCases, testing::ValuesIn(cases()), emptyName);
IPEX_CASE_LISTS(IPEX_TEST)
#undef IPEX_TEST

}  // namespace
}  // namespace ipex_studio::kernel_test

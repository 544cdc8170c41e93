// Gathers, scatters, sums and maxima of random ranks, sizes and axes: on every kernel that takes them, on one and two
// threads, against the reference; and indices that are expanded, as views are, against the same ones written out.
#include <gtest/gtest.h>

#include <random>

#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

const KernelList& kernels() {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  return *list;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool coin() { return between(0, 1) == 1; }
  // Sizes of which some are one, some fill a vector and some do not.
  Dims dims(int rank) {
    Dims drawn;
    drawn.rank = rank;
    for (int a = 0; a < rank; ++a) {
      constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 16, 17, 40};
      drawn[a] = kSizes[between(0, 6)];
    }
    return drawn;
  }

 private:
  std::mt19937 random_;
};

void expectLikeReference(const Case& test) {
  const Problem problem = makeProblem(test);
  const auto& candidates = kernels().candidates(problem.spec.kind, DeviceKind::kCpu);
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kGaps}) {
      for (const std::int32_t threads : {1, 2}) {
        const Outcome outcome = runCase(*candidates[k], test, problem, {layout, threads, "avx512_core", -1});
        EXPECT_EQ(outcome.problem, "") << test.spec << " " << candidates[k]->name();
        EXPECT_LE(outcome.error, test.tolerance)
            << test.spec << " " << problem.src[0].str() << " " << candidates[k]->name() << " " << layoutText(layout);
      }
    }
  }
}

std::string attribute(const char* name, std::int64_t value) { return std::string(name) + "=" + std::to_string(value); }

// An index tensor no larger than `x` except along the axis, with ids that are valid there.
Source drawIndex(Draw& draw, const Dims& x, int axis) {
  Dims index = x;
  for (int a = 0; a < x.rank; ++a) {
    if (a == axis || draw.coin()) index[a] = a == axis ? draw.between(1, 40) : draw.between(1, x[a]);
  }
  return Source::ids(index, x[axis], draw.coin() ? DType::kS64 : DType::kS32);
}

TEST(RandomIndex, Elements) {
  Draw draw(11);
  for (int round = 0; round < 60; ++round) {
    const Dims x = draw.dims(static_cast<int>(draw.between(1, 4)));
    const int axis = static_cast<int>(draw.between(0, x.rank - 1));
    const Source index = drawIndex(draw, x, axis);
    const DType dtypes[] = {DType::kF32, DType::kS64, DType::kBool, DType::kBf16};
    const DType dtype = dtypes[draw.between(0, 3)];
    const auto values = [&](const Dims& dims) {
      return dtype == DType::kF32 || dtype == DType::kBf16 ? Source{dims, dtype} : Source{dims, dtype, Fill::kIndex, 2};
    };
    Source base = values(x);
    base.dies = draw.coin();
    expectLikeReference({"gather_elements{" + attribute("axis", axis) + "}", {values(x), index}});
    expectLikeReference({"scatter_elements{" + attribute("axis", axis) + "}", {base, index, values(index.dims)}});
    base = Source::of(x);
    base.dies = draw.coin();
    expectLikeReference(
        {"scatter_elements{" + attribute("axis", axis) + ",reduction=add}", {base, index, Source::of(index.dims)}});
    const char* const reductions[] = {"add", "mul", "max", "min"};
    const std::string reduction = reductions[draw.between(0, 3)], own = draw.coin() ? ",exclude_self=1" : "";
    expectLikeReference({"scatter_elements{" + attribute("axis", axis) + own + ",reduction=" + reduction + "}",
                         {base, index, Source::of(index.dims)}});
  }
}

TEST(RandomIndex, Rows) {
  Draw draw(12);
  for (int round = 0; round < 60; ++round) {
    const Dims x = draw.dims(static_cast<int>(draw.between(1, 4)));
    const int axis = static_cast<int>(draw.between(0, x.rank - 1));
    const Dims picked = draw.coin() ? Dims{draw.between(0, 40)} : Dims{3, draw.between(1, 9)};
    const Source index = Source::ids(picked, x[axis], draw.coin() ? DType::kS64 : DType::kS32);
    if (x.rank + picked.rank - 1 <= kMaxRank)
      expectLikeReference({"gather{" + attribute("axis", axis) + ",wrap=1}", {Source::of(x), index}});
    Dims updates = x;
    updates[axis] = draw.between(1, 30);
    expectLikeReference({"scatter_elements{" + attribute("axis", axis) + ",reduction=add}",
                         {Source::of(x), Source::ids(Dims{updates[axis]}, x[axis]), Source::of(updates)}});
  }
}

TEST(RandomIndex, Reductions) {
  Draw draw(13);
  for (int round = 0; round < 80; ++round) {
    const Dims x = draw.dims(static_cast<int>(draw.between(1, 4)));
    std::string axes;
    const int first = static_cast<int>(draw.between(0, x.rank - 1));
    for (int a = 0; a < x.rank; ++a) {
      if (a == first || draw.between(0, 3) == 0) axes += (axes.empty() ? "" : ",") + std::to_string(a);
    }
    const char* const modes[] = {"sum", "mean", "max", "min"};
    expectLikeReference({"reduce{axes=[" + axes + "]," + attribute("keepdim", draw.between(0, 1)) +
                             ",mode=" + modes[draw.between(0, 3)] + "}",
                         {Source::of(x)},
                         "",
                         2e-5});
    expectLikeReference({"max_min{" + attribute("axis", first) + ",mode=" + (draw.coin() ? "max" : "min") + "}",
                         {Source{x, DType::kF32, Fill::kIndex, 6}}});
  }
}

// The first kernel that takes `spec` on sources with an index in layout `index`, run on `threads` threads.
std::vector<float> runWithIndex(const std::string& spec, const TensorDesc& index, const std::vector<std::int64_t>& ids,
                                const TensorDesc& x, const TensorDesc& updates, std::int32_t threads) {
  PrepareArgs args;
  args.spec = parseOpSpec(spec);
  const bool scatters = args.spec.kind == OpKind::kScatterElements;
  args.src = {x, index};
  if (scatters) args.src.push_back(updates);
  args.constant.assign(args.src.size(), nullptr);
  args.src_dies.assign(args.src.size(), false);
  args.dst = {scatters ? x : contiguousDesc(DType::kF32, index.dims)};
  args.target.threads = threads;
  std::string reason;
  for (const Kernel* kernel : kernels().candidates(args.spec.kind, DeviceKind::kCpu)) {
    if (!kernel->supports(args).ok) continue;
    const auto op = kernel->prepare(args, &reason);
    EXPECT_EQ(op->src[1].strides, index.strides) << "the index is copied";
    std::vector<float> table(static_cast<std::size_t>(x.dims.count())), more(1000000), result(1000000);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    for (std::size_t i = 0; i < more.size(); ++i) more[i] = static_cast<float>(i % 97);
    const void* const from[] = {table.data(), ids.data(), more.data()};
    void* const to[] = {result.data()};
    const auto state = op->newState();
    op->execute(state.get(), from, to, nullptr);
    EXPECT_EQ(state->takeFailure(), nullptr);
    result.resize(static_cast<std::size_t>(args.dst[0].dims.count()));
    return result;
  }
  ADD_FAILURE() << spec << ": no kernel";
  return {};
}

TEST(RandomIndex, ExpandedIndices) {
  Draw draw(14);
  for (int round = 0; round < 60; ++round) {
    const Dims x = draw.dims(static_cast<int>(draw.between(2, 4)));
    const int axis = static_cast<int>(draw.between(0, x.rank - 1));
    TensorDesc plain = contiguousDesc(DType::kS64, x);
    plain.dims[axis] = draw.between(1, 30);
    TensorDesc expanded = plain = contiguousDesc(DType::kS64, plain.dims);
    for (int a = 0; a < x.rank; ++a) {
      if (a != axis && draw.coin()) expanded.strides[a] = 0;
    }
    std::int64_t stride = 1;
    for (int a = x.rank - 1; a >= 0; --a) {
      if (expanded.strides[a] == 0) continue;
      expanded.strides[a] = stride;
      stride *= expanded.dims[a];
    }
    std::vector<std::int64_t> ids(static_cast<std::size_t>(stride)),
        written(static_cast<std::size_t>(plain.dims.count()));
    for (std::int64_t& id : ids) id = draw.between(0, x[axis] - 1);
    for (std::size_t i = 0; i < written.size(); ++i) {
      std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
      for (int a = x.rank - 1; a >= 0; --a) {
        at += rest % plain.dims[a] * expanded.strides[a];
        rest /= plain.dims[a];
      }
      written[i] = ids[static_cast<std::size_t>(at)];
    }
    const TensorDesc table = contiguousDesc(DType::kF32, x), updates = contiguousDesc(DType::kF32, plain.dims);
    for (const char* kind : {"gather_elements{", "scatter_elements{", "scatter_elements{reduction=add,",
                             "scatter_elements{exclude_self=1,reduction=max,"}) {
      const std::string spec = kind + attribute("axis", axis) + "}";
      const std::vector<float> expected = runWithIndex(spec, plain, written, table, updates, 1);
      for (const std::int32_t threads : {1, 2})
        EXPECT_EQ(runWithIndex(spec, expanded, ids, table, updates, threads), expected) << spec << " " << x.str();
    }
  }
}

// Sums that begin from an expanded scalar, which nobody writes out.
TEST(RandomIndex, SumsBeginFromAnExpandedScalar) {
  TensorDesc base = contiguousDesc(DType::kF32, {5, 3});
  base.strides = Dims{0, 0};
  for (const char* spec : {"scatter_elements{axis=0,reduction=add}", "scatter_elements{axis=0}"}) {
    PrepareArgs args;
    args.spec = parseOpSpec(spec);
    args.src = {base, contiguousDesc(DType::kS64, {2}), contiguousDesc(DType::kF32, {2, 3})};
    args.constant.assign(3, nullptr);
    args.src_dies = {true, false, false};
    args.dst = {contiguousDesc(DType::kF32, base.dims)};
    std::unique_ptr<PreparedOp> op;
    std::string reason;
    for (const Kernel* kernel : kernels().candidates(args.spec.kind, DeviceKind::kCpu)) {
      if (!op && kernel->supports(args).ok) op = kernel->prepare(args, &reason);
    }
    ASSERT_TRUE(op);
    EXPECT_EQ(op->src[0].strides, base.strides) << "the scalar is written out";
    EXPECT_EQ(op->in_place_src, -1);
    const float scalar = 10, updates[] = {1, 2, 3, 4, 5, 6};
    const std::int64_t ids[] = {4, 1};
    std::vector<float> result(15);
    const void* const from[] = {&scalar, ids, updates};
    void* const to[] = {result.data()};
    op->execute(op->newState().get(), from, to, nullptr);
    const float more = args.spec.stringOr("reduction", "").empty() ? 0 : 10;
    EXPECT_EQ(result, (std::vector<float>{10, 10, 10, 4 + more, 5 + more, 6 + more, 10, 10, 10, 10, 10, 10, 1 + more,
                                          2 + more, 3 + more}));
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test

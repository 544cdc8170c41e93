// Views against brute force: every element of a view is the element that the operation's definition names.
#include "core/op/shape_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::Random;

std::int64_t offsetOf(const TensorDesc& desc, const Ints& at) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    const bool blocked = desc.block > 0 && axis == 1;
    offset += (blocked ? at[axis] / desc.block : at[axis]) * desc.strides[axis] + (blocked ? at[axis] % desc.block : 0);
  }
  return offset;
}

// All indices of `dims` in row-major order.
std::vector<Ints> indices(const Dims& dims) {
  std::vector<Ints> all;
  for (std::int64_t i = 0; i < dims.count(); ++i) {
    Ints at(static_cast<std::size_t>(dims.rank));
    std::int64_t rest = i;
    for (int axis = dims.rank - 1; axis >= 0; --axis) {
      at[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    all.push_back(at);
  }
  return all;
}

// The source index of each element of the result, in row-major order.
std::vector<Ints> sourceIndices(const OpSpec& spec, const Dims& x, const Dims& y) {
  std::vector<Ints> from;
  const std::vector<Ints> row_major = indices(x);
  std::size_t position = 0;
  for (Ints at : indices(y)) {
    const auto axis = static_cast<std::size_t>(spec.intOr("axis", 0));
    switch (spec.kind) {
      case OpKind::kPermute: {
        Ints source(at.size());
        const Ints order = spec.ints("order");
        for (std::size_t a = 0; a < at.size(); ++a)
          source[static_cast<std::size_t>((order[a] + x.rank) % x.rank)] = at[a];
        from.push_back(source);
        break;
      }
      case OpKind::kSlice:
        at[axis] = spec.intOr("begin", 0) + at[axis] * spec.intOr("step", 1);
        from.push_back(at);
        break;
      case OpKind::kSelect: {
        const std::int64_t index = spec.intOr("index", 0);
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis),
                  index < 0 ? index + x[static_cast<int>(axis)] : index);
        from.push_back(at);
        break;
      }
      case OpKind::kExpand: {
        Ints source(at.end() - x.rank, at.end());
        for (int a = 0; a < x.rank; ++a) source[a] = x[a] == 1 ? 0 : source[a];
        from.push_back(source);
        break;
      }
      default:
        from.push_back(row_major[position++]);  // reshape, squeeze, unsqueeze keep the order
    }
  }
  return from;
}

TensorDesc randomSource(Random& random) {
  Dims dims;
  dims.rank = static_cast<std::int32_t>(random.between(0, 5));
  for (int axis = 0; axis < dims.rank; ++axis) dims[axis] = random.chance(30) ? 1 : random.between(1, 4);
  if (dims.rank > 0 && random.chance(5)) dims[static_cast<int>(random.between(0, dims.rank - 1))] = 0;
  TensorDesc desc = contiguousDesc(DType::kF32, dims);
  if (random.chance(60)) {
    std::vector<int> order(static_cast<std::size_t>(dims.rank));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      if (random.chance(50)) std::swap(order[i - 1], order[random.index(i)]);
    }
    std::int64_t stride = random.chance(30) ? 2 : 1;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      desc.strides[*axis] = random.chance(10) ? 0 : stride;
      stride *= std::max<std::int64_t>(dims[*axis], 1) + (random.chance(15) ? 1 : 0);
    }
  }
  return desc;
}

Ints factors(std::int64_t count, Random& random) {
  Ints shape;
  while (shape.size() < 6 && (count > 1 || random.chance(30))) {
    std::int64_t factor = random.between(1, std::min<std::int64_t>(count, 6));
    while (count % factor != 0) --factor;
    shape.push_back(factor);
    count /= factor;
  }
  if (count > 1) shape.push_back(count);
  return shape;
}

OpSpec randomView(const Dims& x, Random& random) {
  OpSpec spec;
  spec.kind =
      static_cast<OpKind>(random.between(static_cast<int>(OpKind::kReshape), static_cast<int>(OpKind::kSqueeze)));
  if (x.rank == 0 && (spec.kind == OpKind::kSlice || spec.kind == OpKind::kSelect)) spec.kind = OpKind::kUnsqueeze;
  const std::int64_t axis = x.rank == 0 ? 0 : random.between(0, x.rank - 1);
  const std::int64_t size = x.rank == 0 ? 1 : x[static_cast<int>(axis)];
  switch (spec.kind) {
    case OpKind::kReshape: {
      Ints shape = x.count() == 0 ? x.toVector() : factors(x.count(), random);
      if (!shape.empty() && x.count() > 0 && random.chance(30)) shape[random.index(shape.size())] = -1;
      spec.attributes["shape"] = shape;
      break;
    }
    case OpKind::kPermute: {
      Ints order(static_cast<std::size_t>(x.rank));
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.index(i)]);
      for (std::int64_t& entry : order) entry -= random.chance(30) ? x.rank : 0;
      spec.attributes["order"] = order;
      break;
    }
    case OpKind::kSlice: {
      const std::int64_t begin = random.between(0, size);
      spec.attributes["axis"] = axis;
      spec.attributes["begin"] = begin;
      spec.attributes["end"] =
          random.chance(20) ? std::numeric_limits<std::int64_t>::max() : random.between(begin, size);
      spec.attributes["step"] = random.chance(10) ? std::numeric_limits<std::int64_t>::max() : random.between(1, 3);
      break;
    }
    case OpKind::kSelect:
      spec.attributes["axis"] = axis;
      spec.attributes["index"] = random.between(-size, std::max<std::int64_t>(size - 1, 0));
      break;
    case OpKind::kExpand: {
      Ints shape = x.toVector();
      for (std::int64_t& entry : shape) entry = entry == 1 ? random.between(1, 3) : random.chance(50) ? -1 : entry;
      if (random.chance(40)) shape.insert(shape.begin(), random.between(1, 3));
      spec.attributes["shape"] = shape;
      break;
    }
    case OpKind::kUnsqueeze:
      spec.attributes["axis"] = random.between(-x.rank - 1, x.rank);
      break;
    default:
      if (random.chance(50)) spec.attributes["axes"] = x.rank == 0 ? Ints{} : Ints{axis};
  }
  return spec;
}

// True if memory can be walked in this order with constant strides.
bool hasStrides(const std::vector<std::int64_t>& offsets, const Dims& dims) {
  if (offsets.empty()) return true;
  const TensorDesc dense = contiguousDesc(DType::kF32, dims);
  const std::vector<Ints> all = indices(dims);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t expected = offsets[0];
    for (int axis = 0; axis < dims.rank; ++axis) {
      if (all[i][axis] > 0)
        expected += all[i][axis] * (offsets[static_cast<std::size_t>(dense.strides[axis])] - offsets[0]);
    }
    if (expected != offsets[i]) return false;
  }
  return true;
}

TEST(Views, RandomViewsMatchBruteForce) {
  Random random(4);
  int views = 0, copies = 0;
  for (int round = 0; round < 20000 * testing::campaignFactor(); ++round) {
    const TensorDesc src = randomSource(random);
    const OpSpec spec = randomView(src.dims, random);
    std::vector<TensorDesc> dst;
    const Verdict fits = inferShapes(spec, {src}, &dst);
    if (!fits.ok) {
      ASSERT_TRUE(spec.kind == OpKind::kSelect && src.dims.count() == 0)
          << spec.text() << " on " << src.str() << ": " << fits.reason;
      continue;
    }
    ASSERT_EQ(dst.size(), 1u);
    std::vector<std::int64_t> expected;
    for (const Ints& at : sourceIndices(spec, src.dims, dst[0].dims)) expected.push_back(offsetOf(src, at));
    TensorDesc view;
    std::int64_t offset = 0;
    if (!viewOf(spec, src, dst[0], &view, &offset)) {
      ++copies;
      ASSERT_FALSE(src.isContiguous()) << spec.text() << " on " << src.str();
      ASSERT_FALSE(hasStrides(expected, dst[0].dims)) << spec.text() << " on " << src.str();
      continue;
    }
    ++views;
    ASSERT_TRUE(view.dims == dst[0].dims);
    ASSERT_EQ(view.strides.rank, view.dims.rank);
    std::size_t element = 0;
    for (const Ints& at : indices(view.dims)) {
      ASSERT_EQ(offset + offsetOf(view, at), expected[element++]) << spec.text() << " on " << src.str();
    }
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(copies, 50);
}

TEST(Views, BlockedSourcesAreSlicedBetweenBlocks) {
  Random random(5);
  int views = 0, copies = 0;
  for (int round = 0; round < 3000; ++round) {
    const Dims dims{random.between(1, 2), random.between(1, 40), random.between(1, 3), random.between(1, 3)};
    const TensorDesc src = blockedDesc(DType::kF32, dims, random.chance(50) ? 8 : 16);
    OpSpec spec = randomView(dims, random);
    if (spec.kind == OpKind::kSlice && spec.intOr("axis", 0) == 1 && random.chance(60)) {
      spec.attributes["begin"] = spec.intOr("begin", 0) / src.block * src.block;
      spec.attributes["step"] = std::int64_t{1};
    }
    std::vector<TensorDesc> dst;
    ASSERT_TRUE(inferShapes(spec, {src}, &dst).ok);
    TensorDesc view;
    std::int64_t offset = 0;
    if (!viewOf(spec, src, dst[0], &view, &offset)) {
      ++copies;
      continue;
    }
    ++views;
    const std::vector<Ints> from = sourceIndices(spec, dims, dst[0].dims);
    std::size_t element = 0;
    for (const Ints& at : indices(view.dims))
      ASSERT_EQ(offset + offsetOf(view, at), offsetOf(src, from[element++])) << spec.text();
    // Padding of the view must be padding of the source, because kernels rely on zeros there.
    if (view.block > 0 && view.dims[1] % view.block != 0) {
      ASSERT_EQ(spec.intOr("begin", 0) * (spec.intOr("axis", 0) == 1) + view.dims[1], dims[1]);
    }
  }
  EXPECT_GT(views, 100);
  EXPECT_GT(copies, 100);
}

// Sizes of all parts, as torch.chunk and torch.split cut them.
Ints partSizes(const std::string& how, std::int64_t size, int parts) {
  Ints sizes;
  for (int part = 0; part < parts; ++part) {
    std::vector<TensorDesc> dst;
    const OpSpec spec =
        parseOpSpec("slice{axis=0,part=" + std::to_string(part) + ",parts=" + std::to_string(parts) + how + "}");
    if (!inferShapes(spec, {contiguousDesc(DType::kF32, Dims{size, 2})}, &dst).ok) return {};
    sizes.push_back(dst[0].dims[0]);
  }
  return sizes;
}

TEST(Views, PartsOfADimension) {
  EXPECT_EQ(partSizes("", 6, 3), (Ints{2, 2, 2}));
  EXPECT_EQ(partSizes("", 7, 3), (Ints{3, 3, 1}));
  EXPECT_EQ(partSizes("", 5, 4), Ints{});  // two and two and one: three parts only
  EXPECT_EQ(partSizes(",part_size=4", 7, 2), (Ints{4, 3}));
  EXPECT_EQ(partSizes(",part_size=4", 9, 2), Ints{});
  EXPECT_EQ(partSizes(",part_size=9223372036854775807", 9, 1), (Ints{9}));
  EXPECT_EQ(partSizes(",part_size=0", 9, 1), Ints{});
  EXPECT_EQ(partSizes("", 0, 1), (Ints{0}));
}

TEST(Views, RefusesWhatDoesNotFit) {
  const TensorDesc x = contiguousDesc(DType::kF32, Dims{2, 3, 4});
  const char* const kBad[] = {"reshape{shape=[5,5]}",
                              "reshape{shape=[-1,-1]}",
                              "reshape{shape=[-2,-12]}",
                              "reshape{shape=[-1,0]}",
                              "reshape{shape=[1,1,1,1,1,1,1,1,24]}",
                              "reshape{flatten_begin=2,flatten_end=1}",
                              "reshape{flatten_begin=0,flatten_end=3}",
                              "permute{order=[0,1]}",
                              "permute{order=[0,1,1]}",
                              "permute{order=[0,1,3]}",
                              "permute{order=[0,1,-2]}",
                              "slice{axis=3}",
                              "slice{axis=0,step=0}",
                              "slice{axis=0,step=-1}",
                              "slice{axis=1,of=4}",
                              "slice{axis=0,begin=-1,forward=1}",
                              "select{axis=0,index=2}",
                              "select{axis=0,index=-3}",
                              "select{axis=-4}",
                              "expand{shape=[3,4]}",
                              "expand{shape=[2,3,5]}",
                              "expand{shape=[-1,2,3,4]}",
                              "unsqueeze{axis=4}",
                              "squeeze{axes=[3]}",
                              "select{axis=0,index=-9223372036854775808}",
                              "select{axis=0,index=0,of=3}",
                              "squeeze{axes=[0],rank=2}",
                              "slice{axis=0,part=2,parts=2}",
                              "slice{axis=0,part=0,parts=0}"};
  for (const char* text : kBad) {
    std::vector<TensorDesc> dst;
    const Verdict verdict = inferShapes(parseOpSpec(text), {x}, &dst);
    EXPECT_FALSE(verdict.ok) << text;
    EXPECT_FALSE(verdict.reason.empty()) << text;
    EXPECT_TRUE(dst.empty()) << text;
  }
  std::vector<TensorDesc> dst;
  EXPECT_FALSE(
      inferShapes(parseOpSpec("unsqueeze{axis=0}"), {contiguousDesc(DType::kF32, Dims{1, 1, 1, 1, 1, 1, 1, 1})}, &dst)
          .ok);
  EXPECT_FALSE(inferShapes(parseOpSpec("reshape{shape=[24]}|relu"), {x}, &dst).ok);
  EXPECT_FALSE(inferShapes(parseOpSpec("reshape{shape=[24]}"), {}, &dst).ok);
  EXPECT_FALSE(inferShapes(parseOpSpec("reshape{shape=[24]}"), {x, x}, &dst).ok);
  // A size of 0 must not hide an overflow.
  EXPECT_FALSE(inferShapes(parseOpSpec("expand{shape=[0,4611686018427387904,4]}"),
                           {contiguousDesc(DType::kF32, Dims{1, 1, 1})}, &dst)
                   .ok);
}

}  // namespace
}  // namespace ipex_studio

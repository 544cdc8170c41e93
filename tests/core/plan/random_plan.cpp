// The operations of random plans, chosen by a seed.
#include "tests/core/plan/random_plan.h"

#include "tests/core/plan/plan_growth.h"

namespace ipex_studio::testing {
namespace {

class Builder : PlanGrowth {
 public:
  explicit Builder(std::uint64_t seed) : PlanGrowth(seed) {}

  RandomPlan build(int nodes) {
    const std::int64_t batch = random_.between(1, 2);
    const std::int64_t channels = pick({3, 8, 16, 17, 32});
    addInput(Dims{batch, channels, random_.between(1, 7), random_.between(1, 7)});
    addInput(Dims{batch, random_.between(1, 5), pick({4, 16, 24})});
    addInput(Dims{5, 5});
    for (int n = 0; n < nodes; ++n) grow();
    outputs();
    renumber();
    return std::move(plan_);
  }

 private:
  static OpSpec spec(const std::string& text) { return parseOpSpec(text); }

  void grow() {
    switch (random_.between(0, 21)) {
      case 19:
        return order();
      case 20:
        return elements();
      case 21:
        return gridSample();
      case 17:
        return attention();
      case 18:
        return pad();
      case 0:
      case 1:
      case 2:
        return convolution();
      case 3:
        return linear();
      case 4:
        return matmul();
      case 5:
        return pool();
      case 6:
      case 7:
        return pointwise();
      case 8:
        return norm();
      case 9:
        return softmax();
      case 10:
        return concat();
      case 11:
        return reduce();
      case 12:
        return gather();
      default:
        return view();
    }
  }

  void convolution() {
    const auto x = ofRank(4, 4);
    if (!x) return;
    const std::int64_t in = x->dims[1];
    const std::int64_t groups = random_.chance(25) ? in : 1;
    const std::int64_t k = pick({1, 3});
    const std::int64_t out = groups > 1 ? in : random_.chance(60) ? in : pick({8, 16, 19, 32});
    if (random_.chance(15)) {
      return add(spec("deconvolution{padding=[0,0],stride=[1,1]}"),
                 {x->number, constant(DType::kF32, Dims{in, out, k, k}), maybeConstant(Dims{out})}, 2);
    }
    OpSpec op = spec("convolution{}");
    op.attributes["groups"] = groups;
    op.attributes["padding"] = Ints{k / 2, k / 2};
    op.attributes["stride"] = random_.chance(80) ? Ints{1, 1} : Ints{2, 1};
    op.attributes["dilation"] = Ints{1, 1};
    add(op, {x->number, constant(DType::kF32, Dims{out, in / groups, k, k}), maybeConstant(Dims{out})}, 3);
  }

  void linear() {
    const auto x = ofRank(2, 4);
    if (!x) return;
    const std::int64_t k = x->dims[x->dims.rank - 1], n = random_.chance(50) ? k : pick({4, 7, 16});
    add(spec("linear{}"), {x->number, constant(DType::kF32, Dims{n, k}), maybeConstant(Dims{n})}, 3);
  }

  void matmul() {
    const auto a = ofRank(2, 4);
    if (!a) return;
    const auto b = value([&](const Dims& dims) { return dims.rank == a->dims.rank; });
    add(spec(random_.chance(50) ? "matmul{scale=0.25}" : "matmul{scale=0.25,transpose_b=1}"), {a->number, b->number},
        2);
  }

  void pool() {
    const auto x = ofRank(4, 4);
    if (!x) return;
    static const char* const kPools[] = {
        "pool{kernel=[2,2],mode=max,stride=[1,1]}",
        "pool{kernel=[3,3],mode=avg,padding=[1,1],stride=[2,2]}",
        "pool{ceil_mode=1,kernel=[2,2],mode=avg_exclude_pad,padding=[1,1],stride=[2,2]}",
        "adaptive_pool{mode=avg,output=[1,1]}",
        "adaptive_pool{mode=max,output=[2,3]}",
        "upsample{mode=nearest,output=[6,5]}",
        "upsample{align_corners=0,mode=bilinear,output=[6,8]}"};
    add(spec(kPools[random_.index(7)]), {x->number});
  }

  void pointwise() {
    const auto x = ofRank(0, 5);
    if (!x) return;
    add(spec("pointwise{}"), {x->number}, 4);
  }

  void norm() {
    const auto x = ofRank(2, 4);
    if (!x) return;
    const std::int64_t width = x->dims[x->dims.rank - 1];
    const auto residual = value([&](const Dims& dims) { return dims == x->dims; });
    const bool add_residual = random_.chance(50);
    OpSpec op = spec("layer_norm{axes=1,eps=0.01}");
    if (add_residual && random_.chance(60)) op.attributes["sum_output"] = std::int64_t{1};
    if (random_.chance(25) && x->dims.rank == 4) {
      return add(spec("group_norm{eps=0.01,groups=1}"),
                 {x->number, constant(DType::kF32, Dims{x->dims[1]}), constant(DType::kF32, Dims{x->dims[1]})});
    }
    add(op, {x->number, maybeConstant(Dims{width}), maybeConstant(Dims{width}), add_residual ? residual->number : -1});
  }

  void softmax() {
    const auto x = ofRank(1, 4);
    if (!x) return;
    OpSpec op = spec("softmax{log=0,scale=0.5}");
    op.attributes["axis"] = random_.chance(70) ? std::int64_t{-1} : random_.between(0, x->dims.rank - 1);
    add(op, {x->number, random_.chance(50) ? operandFor(x->dims) : -1});
  }

  void attention() {
    const auto q = ofRank(2, 4);
    if (!q) return;
    const std::int64_t depth = q->dims[q->dims.rank - 1], queries = q->dims[q->dims.rank - 2];
    const auto k = value([&](const Dims& dims) { return dims.rank == q->dims.rank && dims[dims.rank - 1] == depth; });
    const std::int64_t keys = k->dims[k->dims.rank - 2];
    const auto v = value([&](const Dims& dims) { return dims.rank == q->dims.rank && dims[dims.rank - 2] == keys; });
    static const char* const kForms[] = {"attention{scale=0.5}", "attention{heads_last=1,scale=0.5}",
                                         "attention{causal=1,scale=0.25}", "attention{fill=-2.0,scale=0.5}"};
    OpSpec op = spec(kForms[random_.index(4)]);
    const bool masked = op.has("fill") || random_.chance(40);
    const Dims mask = random_.chance(50) ? Dims{queries, keys} : Dims{1, keys};
    add(op, {q->number, k->number, v->number, masked ? constant(DType::kF32, mask) : -1});
  }

  void pad() {
    const auto x = ofRank(1, 4);
    if (!x) return;
    Ints begin, end;
    for (int axis = 0; axis < x->dims.rank; ++axis) {
      begin.push_back(random_.between(0, 2));
      end.push_back(random_.between(0, 2));
    }
    OpSpec op = spec(random_.chance(50)   ? "pad{mode=constant,value=0.5}"
                     : random_.chance(50) ? "pad{mode=reflect}"
                                          : "pad{mode=replicate}");
    op.attributes["begin"] = begin;
    op.attributes["end"] = end;
    add(op, {x->number});
  }

  void concat() {
    const auto x = ofRank(1, 4);
    if (!x) return;
    OpSpec op = spec("concat{}");
    op.attributes["axis"] = x->dims.rank == 1 ? 0 : random_.between(0, x->dims.rank - 1);
    std::vector<std::int32_t> src{x->number};
    for (std::int64_t more = random_.between(0, 2); more > 0; --more) {
      src.push_back(random_.chance(20) ? x->number : value([&](const Dims& dims) { return dims == x->dims; })->number);
    }
    add(op, src);
  }

  void reduce() {
    const auto x = ofRank(1, 4);
    if (!x) return;
    OpSpec op = spec(random_.chance(50) ? "reduce{keepdim=1,mode=mean}" : "reduce{keepdim=0,mode=max}");
    op.attributes["axes"] =
        random_.chance(30) && x->dims.rank == 4 ? Ints{2, 3} : Ints{random_.between(0, x->dims.rank - 1)};
    add(op, {x->number}, 1);
  }

  void gather() {
    if (random_.chance(40))
      return add(spec("embedding{}"), {constant(DType::kS64, Dims{2, 3}), constant(DType::kF32, Dims{5, 8})});
    const auto x = value([](const Dims& dims) { return dims.rank >= 1 && dims[0] >= 5; });
    if (x) add(spec("gather{axis=0}"), {x->number, constant(DType::kS64, Dims{3})});
  }

  void order() {
    const auto x = random_.chance(40) ? std::optional<Known>(known_[random_.index(3)]) : ofRank(1, 4);
    if (!x) return;
    static const char* const kForms[] = {"max_min{keepdim=1,mode=max}", "max_min{mode=min}",
                                         "sort{descending=1}",          "sort{}",
                                         "sort{descending=1,k=1}",      "cumulative_sum{}"};
    OpSpec op = spec(kForms[random_.index(6)]);
    op.attributes["axis"] = random_.between(random_.chance(80) ? 0 : -x->dims.rank, x->dims.rank - 1);
    add(op, {x->number});
  }

  // Looks up elements by exact indices, or computes with the indices.
  void elements() {
    if (places_.empty()) return order();
    const Known index = places_[random_.index(places_.size())];
    if (random_.chance(50)) {
      static const char* const kMath[] = {"integer_math{op=add}", "integer_math{op=mul}", "integer_math{op=min}",
                                          "integer_math{op=sub}"};
      add(spec(kMath[random_.index(4)]),
          {index.number, constant(DType::kS64, random_.chance(50) ? index.dims : Dims{1})});
      return add(spec("cast{dtype=f32}"), {places_.back().number});
    }
    const auto x = value([&](const Dims& dims) { return dims == index.dims; });
    if (!x || index.axis < 0) return add(spec("cast{dtype=f32}"), {index.number});
    OpSpec op = spec(random_.chance(50) ? "gather_elements{}" : "scatter_elements{}");
    op.attributes["axis"] = index.axis;
    std::vector<std::int32_t> src{x->number, index.number};
    if (op.kind == OpKind::kScatterElements)
      src.push_back(value([&](const Dims& dims) { return dims == index.dims; })->number);
    add(op, src);
  }

  void gridSample() {
    const auto x = ofRank(4, 4);
    if (!x) return;
    static const char* const kForms[] = {"grid_sample{align_corners=1,padding=zeros}",
                                         "grid_sample{align_corners=0,padding=zeros}",
                                         "grid_sample{align_corners=0,padding=border}"};
    add(spec(kForms[random_.index(3)]),
        {x->number, constant(DType::kF32, Dims{x->dims[0], random_.between(1, 5), random_.between(1, 9), 2})});
  }

  void view() {
    const auto x = ofRank(1, 5);
    if (!x) return;
    const int rank = x->dims.rank;
    const std::int64_t axis = random_.between(0, rank - 1), size = x->dims[static_cast<int>(axis)];
    OpSpec op;
    switch (random_.between(0, 9)) {
      case 0:
        op = spec("reshape{shape=[-1]}");
        break;
      case 1: {  // a size read at run time
        op.kind = OpKind::kReshape;
        op.attributes["shape"] = Ints{0, -1};
        const std::int32_t first = addInt(IntOp::kSize, 0, {x->number});
        // Shapes are inferred with the real size, which the reference then replaces.
        op.attributes["shape"] = Ints{x->dims[0], -1};
        return add(op, {x->number}, 0, {{"shape", 0, first}});
      }
      case 2:
      case 3: {
        Ints order(static_cast<std::size_t>(rank));
        for (int a = 0; a < rank; ++a) order[static_cast<std::size_t>(a)] = a;
        std::swap(order[static_cast<std::size_t>(axis)], order[random_.index(order.size())]);
        op.kind = OpKind::kPermute;
        op.attributes["order"] = order;
        break;
      }
      case 4:
      case 5:
        op.kind = OpKind::kSlice;
        op.attributes = {{"axis", axis},
                         {"begin", random_.chance(50) ? 0 : size / 2},
                         {"end", random_.chance(50) ? size : (size + 1) / 2},
                         {"step", random_.between(1, 2)}};
        break;
      case 6:
        op.kind = OpKind::kSelect;
        op.attributes = {{"axis", axis}, {"index", random_.between(-size, size - 1)}};
        break;
      case 7: {
        Ints shape = x->dims.toVector();
        for (std::int64_t& entry : shape) entry = entry == 1 ? random_.between(1, 3) : -1;
        op.kind = OpKind::kExpand;
        op.attributes["shape"] = shape;
        break;
      }
      case 8:
        op.kind = OpKind::kUnsqueeze;
        op.attributes["axis"] = axis;
        break;
      default:
        op.kind = OpKind::kSqueeze;
    }
    add(op, {x->number});
  }
};

}  // namespace

RandomPlan makeRandomPlan(std::uint64_t seed, int nodes) { return Builder(seed).build(nodes); }

std::vector<Tensor> otherInputs(const RandomPlan& plan, std::uint64_t seed, std::int64_t batch) {
  Random random(seed);
  std::vector<Tensor> inputs = plan.inputs;
  for (Tensor& input : inputs) {
    Dims dims = input.desc.dims;
    if (batch > 0 && dims.rank > 2) dims[0] = batch;
    input = filled(input.desc.dtype, dims, random);
  }
  return inputs;
}

}  // namespace ipex_studio::testing

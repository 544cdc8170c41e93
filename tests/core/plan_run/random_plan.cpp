#include "random_plan.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/plan/shape_inference.h"

namespace ipex_studio::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor filled(DType dtype, const Dims& dims, Random& random) {
  Tensor tensor{contiguousDesc(dtype, dims), {}, {}};
  const auto count = static_cast<std::size_t>(dims.count());
  dtype == DType::kS64 ? tensor.ids.resize(count) : tensor.values.resize(count);
  for (std::int64_t& id : tensor.ids) id = random.between(0, 4);
  for (float& value : tensor.values) value = static_cast<float>(random.real() / 4);
  return tensor;
}

// While a plan grows, values have provisional numbers: inputs from 0, constants from kConstants, results from kResults.
constexpr std::int32_t kConstants = 10000, kResults = 20000;

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random_(seed) {}

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
  struct Known {
    std::int32_t number;
    Dims dims;
  };

  std::int64_t pick(const Ints& from) { return from[random_.index(from.size())]; }

  void addInput(const Dims& dims) {
    known_.push_back({static_cast<std::int32_t>(plan_.inputs.size()), dims});
    plan_.inputs.push_back(filled(DType::kF32, dims, random_));
    plan_.ints.push_back(0);
    plan_.spec.inputs.push_back({false, DType::kF32, dims.rank});
  }

  std::int32_t constant(DType dtype, const Dims& dims) {
    plan_.constants.push_back(filled(dtype, dims, random_));
    plan_.spec.constants.push_back(plan_.constants.back().desc);
    return kConstants + static_cast<std::int32_t>(plan_.constants.size() - 1);
  }
  std::int32_t maybeConstant(const Dims& dims) { return random_.chance(70) ? constant(DType::kF32, dims) : -1; }

  TensorDesc descOf(std::int32_t number) const {
    if (number < 0) return {};
    if (number >= kConstants && number < kResults) return plan_.constants[static_cast<std::size_t>(number - kConstants)].desc;
    for (const Known& value : known_) {
      if (value.number == number) return contiguousDesc(DType::kF32, value.dims);
    }
    return {};
  }

  // A value, rather a recent one, that `fits`.
  std::optional<Known> value(const std::function<bool(const Dims&)>& fits) {
    std::vector<Known> fitting;
    for (const Known& known : known_) {
      if (fits(known.dims) && known.dims.count() > 0) fitting.push_back(known);
    }
    if (fitting.empty()) return std::nullopt;
    const std::size_t back = std::min<std::size_t>(fitting.size(), random_.chance(60) ? 3 : fitting.size());
    return fitting[fitting.size() - 1 - random_.index(back)];
  }
  std::optional<Known> ofRank(int low, int high) {
    return value([=](const Dims& dims) { return dims.rank >= low && dims.rank <= high; });
  }

  // An operand of a binary post-op on a result of size `dims`: the same size (a value or a constant) or a broadcast.
  std::int32_t operandFor(const Dims& dims) {
    if (random_.chance(60)) {
      const auto same = value([&](const Dims& other) { return other == dims; });
      if (same) return same->number;
    }
    if (random_.chance(30)) return constant(DType::kF32, dims);
    Dims small = dims;
    for (int axis = 0; axis < small.rank; ++axis) small[axis] = random_.chance(50) ? 1 : small[axis];
    if (random_.chance(30) && small.rank > 1) {
      for (int axis = 0; axis + 1 < small.rank; ++axis) small[axis] = small[axis + 1];
      --small.rank;
    }
    return constant(DType::kF32, small);
  }

  // A mask for fill and keep: they jump where it passes zero, so it is never computed, and zeros in it are exact.
  std::int32_t maskFor(Dims dims) {
    for (int axis = 0; axis < dims.rank; ++axis) dims[axis] = random_.chance(30) ? 1 : dims[axis];
    const std::int32_t number = constant(DType::kF32, dims);
    for (float& value : plan_.constants.back().values) value = random_.chance(50) ? 0 : value;
    return number;
  }

  void addPostOps(OpSpec& op, std::vector<std::int32_t>& src, const Dims& result, std::int64_t most) {
    static const PostOpKind kUnary[] = {PostOpKind::kRelu, PostOpKind::kSigmoid, PostOpKind::kTanh, PostOpKind::kGeluErf, PostOpKind::kHardSwish,
                                        PostOpKind::kSilu, PostOpKind::kNeg, PostOpKind::kAbs, PostOpKind::kSin};
    static const PostOpKind kBinary[] = {PostOpKind::kAdd, PostOpKind::kAdd, PostOpKind::kAdd, PostOpKind::kSub, PostOpKind::kRsub, PostOpKind::kMul, PostOpKind::kMax,
                                         PostOpKind::kFill, PostOpKind::kKeep};
    std::int32_t operands = 0;
    for (std::int64_t p = random_.between(0, most); p > 0; --p) {
      if (random_.chance(50)) {
        op.post_ops.push_back(unaryPostOp(kUnary[random_.index(9)]));
      } else {
        const PostOpKind kind = kBinary[random_.index(9)];
        op.post_ops.push_back(binaryPostOp(kind, operands++, 1));
        src.push_back(kind == PostOpKind::kFill || kind == PostOpKind::kKeep ? maskFor(result) : operandFor(result));
      }
    }
  }

  // Appends the operation when shapes allow it.
  void add(OpSpec op, std::vector<std::int32_t> src, std::int64_t post_ops = 0, std::vector<AttrRef> refs = {}) {
    std::vector<TensorDesc> descs, dst;
    for (std::int32_t number : src) descs.push_back(descOf(number));
    if (!inferShapes(op, descs, &dst).ok || dst[0].dims.count() > 20000 || dst[0].dims.count() == 0) return;
    addPostOps(op, src, dst[0].dims, post_ops);
    descs.clear();
    for (std::int32_t number : src) descs.push_back(descOf(number));
    if (!inferShapes(op, descs, &dst).ok) return;
    PlanNode node;
    node.op = std::move(op);
    node.src = std::move(src);
    node.refs = std::move(refs);
    node.name = "node" + std::to_string(plan_.spec.nodes.size());
    for (const TensorDesc& desc : dst) {
      node.dst.push_back(kResults + next_result_);
      known_.push_back({kResults + next_result_++, desc.dims});
    }
    plan_.spec.nodes.push_back(std::move(node));
  }

  std::int32_t addInt(IntOp op, std::int64_t literal, std::vector<std::int32_t> src) {
    PlanNode node;
    node.is_int = true;
    node.int_op = op;
    node.literal = literal;
    node.src = std::move(src);
    node.dst = {kResults + next_result_};
    plan_.spec.nodes.push_back(std::move(node));
    return kResults + next_result_++;
  }

  static OpSpec spec(const std::string& text) { return parseOpSpec(text); }

  void grow() {
    switch (random_.between(0, 18)) {
      case 17: return attention();
      case 18: return pad();
      case 0:
      case 1:
      case 2: return convolution();
      case 3: return linear();
      case 4: return matmul();
      case 5: return pool();
      case 6:
      case 7: return pointwise();
      case 8: return norm();
      case 9: return softmax();
      case 10: return concat();
      case 11: return reduce();
      case 12: return gather();
      default: return view();
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
      return add(spec("deconvolution{padding=[0,0],stride=[1,1]}"), {x->number, constant(DType::kF32, Dims{in, out, k, k}), maybeConstant(Dims{out})}, 2);
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
    add(spec(random_.chance(50) ? "matmul{scale=0.25}" : "matmul{scale=0.25,transpose_b=1}"), {a->number, b->number}, 2);
  }

  void pool() {
    const auto x = ofRank(4, 4);
    if (!x) return;
    static const char* const kPools[] = {"pool{kernel=[2,2],mode=max,stride=[1,1]}", "pool{kernel=[3,3],mode=avg,padding=[1,1],stride=[2,2]}",
                                         "pool{ceil_mode=1,kernel=[2,2],mode=avg_exclude_pad,padding=[1,1],stride=[2,2]}",
                                         "adaptive_pool{mode=avg,output=[1,1]}", "adaptive_pool{mode=max,output=[2,3]}", "upsample{mode=nearest,output=[6,5]}",
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
      return add(spec("group_norm{eps=0.01,groups=1}"), {x->number, constant(DType::kF32, Dims{x->dims[1]}), constant(DType::kF32, Dims{x->dims[1]})});
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
    static const char* const kForms[] = {"attention{scale=0.5}", "attention{heads_last=1,scale=0.5}", "attention{causal=1,scale=0.25}", "attention{fill=-2.0,scale=0.5}"};
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
    OpSpec op = spec(random_.chance(50) ? "pad{mode=constant,value=0.5}" : random_.chance(50) ? "pad{mode=reflect}" : "pad{mode=replicate}");
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
    op.attributes["axes"] = random_.chance(30) && x->dims.rank == 4 ? Ints{2, 3} : Ints{random_.between(0, x->dims.rank - 1)};
    add(op, {x->number}, 1);
  }

  void gather() {
    if (random_.chance(40)) return add(spec("embedding{}"), {constant(DType::kS64, Dims{2, 3}), constant(DType::kF32, Dims{5, 8})});
    const auto x = value([](const Dims& dims) { return dims.rank >= 1 && dims[0] >= 5; });
    if (x) add(spec("gather{axis=0}"), {x->number, constant(DType::kS64, Dims{3})});
  }

  void view() {
    const auto x = ofRank(1, 5);
    if (!x) return;
    const int rank = x->dims.rank;
    const std::int64_t axis = random_.between(0, rank - 1), size = x->dims[static_cast<int>(axis)];
    OpSpec op;
    switch (random_.between(0, 9)) {
      case 0: op = spec("reshape{shape=[-1]}"); break;
      case 1: {  // the size is read at run time
        op.kind = OpKind::kReshape;
        op.attributes["shape"] = Ints{0, -1};
        const std::int32_t first = addInt(IntOp::kSize, 0, {x->number});
        // Infer with the real size; the reference replaces it.
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
        op.attributes = {{"axis", axis}, {"begin", random_.chance(50) ? 0 : size / 2}, {"end", random_.chance(50) ? size : (size + 1) / 2}, {"step", random_.between(1, 2)}};
        break;
      case 6: op.kind = OpKind::kSelect; op.attributes = {{"axis", axis}, {"index", random_.between(-size, size - 1)}}; break;
      case 7: {
        Ints shape = x->dims.toVector();
        for (std::int64_t& entry : shape) entry = entry == 1 ? random_.between(1, 3) : -1;
        op.kind = OpKind::kExpand;
        op.attributes["shape"] = shape;
        break;
      }
      case 8: op.kind = OpKind::kUnsqueeze; op.attributes["axis"] = axis; break;
      default: op.kind = OpKind::kSqueeze;
    }
    add(op, {x->number});
  }

  void outputs() {
    for (std::int64_t o = random_.between(1, 4); o > 0; --o) plan_.spec.outputs.push_back(known_[known_.size() - 1 - random_.index(std::min<std::size_t>(known_.size(), 8))].number);
    if (random_.chance(20)) plan_.spec.outputs.push_back(known_[random_.index(3)].number);  // an input
    if (random_.chance(20)) plan_.spec.outputs.push_back(plan_.spec.outputs[0]);            // twice
    if (random_.chance(15)) {
      for (std::size_t c = 0; c < plan_.constants.size(); ++c) {
        if (plan_.constants[c].desc.dtype != DType::kF32) continue;
        plan_.spec.outputs.push_back(kConstants + static_cast<std::int32_t>(c));
        break;
      }
    }
  }

  void renumber() {
    const auto inputs = static_cast<std::int32_t>(plan_.inputs.size());
    const auto constants = static_cast<std::int32_t>(plan_.constants.size());
    const auto final = [&](std::int32_t& number) {
      if (number >= kResults) {
        number += inputs + constants - kResults;
      } else if (number >= kConstants) {
        number += inputs - kConstants;
      }
    };
    for (PlanNode& node : plan_.spec.nodes) {
      for (std::int32_t& number : node.src) final(number);
      for (std::int32_t& number : node.dst) final(number);
      for (AttrRef& ref : node.refs) final(ref.value);
    }
    for (std::int32_t& number : plan_.spec.outputs) final(number);
  }

  Random random_;
  RandomPlan plan_;
  std::vector<Known> known_;
  std::int32_t next_result_ = 0;
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

// Lowering of complex numbers, which plans hold as pairs of real and imaginary parts on a last axis of two.
#include <algorithm>
#include <limits>

#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"
#include "core/lower/region_levels.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// True if the operand, or what it lists or cuts a tensor into, is complex.
bool holdsComplex(const Value* value) {
  if (isComplex(value)) return true;
  if (value->type()->kind() != c10::TypeKind::ListType || !carriesOperands(value->node())) return false;
  const auto inputs = value->node()->inputs();
  return std::any_of(inputs.begin(), inputs.end(), [](const Value* input) { return isComplex(input); });
}

void needComplex(const Value* value) {
  if (!isComplex(value)) decline(reasons::kMixedDtype, "Only complex numbers of float32 are planned.");
  needRank(value);
}

// Part `which` of each number: 0 real, 1 imaginary.
LoweredOperand partOf(Steps& steps, const LoweredOperand& pairs, std::int64_t rank, std::int64_t which) {
  return steps.add(OpKind::kSelect, {{"axis", rank}, {"index", which}}, {pairs});
}

LoweredOperand pairsOf(Steps& steps, const LoweredOperand& real, const LoweredOperand& imaginary, std::int64_t rank) {
  const LoweredOperand first = steps.add(OpKind::kUnsqueeze, {{"axis", rank}}, {real}),
                       second = steps.add(OpKind::kUnsqueeze, {{"axis", rank}}, {imaginary});
  return steps.add(OpKind::kConcat, {{"axis", rank}}, {first, second});
}

// aten::view_as_complex, aten::view_as_real, aten::resolve_conj: pairs are what they were.
LoweredNode lowerSamePairs(Node* node) {
  Steps steps;
  steps.same(use(node->input(0)));
  return steps.finish(node);
}

LoweredNode partOfNode(Node* node, std::int64_t which) {
  needComplex(node->input(0));
  Steps steps;
  partOf(steps, use(node->input(0)), needRank(node->input(0)), which);
  return steps.finish(node);
}
LoweredNode lowerReal(Node* node) { return partOfNode(node, 0); }
LoweredNode lowerImag(Node* node) { return partOfNode(node, 1); }

// aten::abs(z)
LoweredNode lowerComplexAbs(Node* node) {
  needComplex(node->input(0));
  const int rank = needRank(node->input(0));
  Steps steps;
  const LoweredOperand real = partOf(steps, use(node->input(0)), rank, 0),
                       imaginary = partOf(steps, use(node->input(0)), rank, 1);
  const LoweredOperand square = steps.chain({unaryPostOp(PostOpKind::kSquare)}, {imaginary});
  steps.chain({unaryPostOp(PostOpKind::kSquare), binaryPostOp(PostOpKind::kAdd, 0), unaryPostOp(PostOpKind::kSqrt)},
              {real, square});
  return steps.finish(node);
}

// aten::complex(real, imag), broadcast by libtorch before.
LoweredNode lowerMakeComplex(Node* node) {
  for (std::size_t part = 0; part < 2; ++part) {
    if (knownDtype(node->input(part)) != at::kFloat || knownSizes(node->input(part)) != knownSizes(node->output()))
      decline(reasons::kUnsupportedAttribute, "Parts of other types or sizes.");
  }
  Steps steps;
  pairsOf(steps, use(node->input(0)), use(node->input(1)), needRank(node->output()));
  return steps.finish(node);
}

// aten::polar(abs, angle)
LoweredNode lowerPolar(Node* node) {
  for (std::size_t part = 0; part < 2; ++part) {
    if (knownDtype(node->input(part)) != at::kFloat || knownSizes(node->input(part)) != knownSizes(node->output()))
      decline(reasons::kUnsupportedAttribute, "Parts of other types or sizes.");
  }
  Steps steps;
  const auto part = [&](PostOpKind function) {
    return steps.chain({unaryPostOp(function), binaryPostOp(PostOpKind::kMul, 0)},
                       {use(node->input(1)), use(node->input(0))});
  };
  const LoweredOperand real = part(PostOpKind::kCos), imaginary = part(PostOpKind::kSin);
  pairsOf(steps, real, imaginary, needRank(node->output()));
  return steps.finish(node);
}

// aten::conj and its kin: the imaginary parts change their sign.
LoweredNode lowerConj(Node* node) {
  needComplex(node->input(0));
  Steps steps;
  steps.chain({binaryPostOp(PostOpKind::kMul, 0)}, {use(node->input(0)), use(at::tensor({1.0f, -1.0f}))});
  return steps.finish(node);
}

LoweredNode lowerComplexNeg(Node* node) {
  needComplex(node->input(0));
  Steps steps;
  steps.chain({unaryPostOp(PostOpKind::kNeg)}, {use(node->input(0))});
  return steps.finish(node);
}

// A real tensor beside pairs, with its numbers for both parts.
LoweredOperand besidePairs(Steps& steps, Value* real) {
  if (!isTensor(real)) decline(reasons::kNotConstant, "A number is computed at run time.");
  const int rank = needRank(real);
  if (knownDtype(real) != at::kFloat && !isCountable(real))
    decline(reasons::kUnsupportedDtype, "Numbers of this type beside complex ones stay in the interpreter.");
  return steps.add(OpKind::kUnsqueeze, {{"axis", std::int64_t{rank}}}, {asFloat(steps, real)});
}

// The number that a constant operand is; none for tensors with dimensions and for complex constants.
std::optional<double> numberOf(Value* value) {
  if (isTensor(value) && (!knownSizes(value) || !knownSizes(value)->empty())) return std::nullopt;
  return isComplex(value) ? std::nullopt : constantNumber(value);
}

// aten::mul(z, w), one of which may be real.
LoweredNode lowerComplexMul(Node* node) {
  needComplex(node->output());
  Value *a = node->input(0), *b = node->input(1);
  if (!isComplex(a)) std::swap(a, b);
  needComplex(a);
  Steps steps;
  if (isComplex(b)) {
    steps.add(OpKind::kComplexProduct, {}, {use(a), use(b)});
  } else if (const auto factor = numberOf(b)) {
    steps.chain({unaryPostOp(PostOpKind::kLinear, *factor, 0)}, {use(a)});
  } else {
    const LoweredOperand factors = besidePairs(steps, b);
    steps.chain({binaryPostOp(PostOpKind::kMul, 0)}, {use(a), factors});
  }
  return steps.finish(node);
}

// aten::div(z, real)
LoweredNode lowerComplexDiv(Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  needComplex(a);
  if (node->inputs().size() != 2 || isComplex(b))
    decline(reasons::kUnsupportedAttribute, "Quotients of complex numbers stay in the interpreter.");
  Steps steps;
  if (const auto divisor = numberOf(b)) {
    steps.chain({binaryPostOp(PostOpKind::kDiv, 0)}, {use(a), use(at::scalar_tensor(*divisor, at::kFloat))});
  } else {
    const LoweredOperand divisors = besidePairs(steps, b);
    steps.chain({binaryPostOp(PostOpKind::kDiv, 0)}, {use(a), divisors});
  }
  return steps.finish(node);
}

// aten::add and aten::sub(z, w, alpha), where w may be a number.
LoweredNode complexSumOf(Node* node, PostOpKind kind) {
  needComplex(node->input(0));
  const double factor = node->inputs().size() > 2 ? needNumber(node->input(2), "alpha") : 1;
  Steps steps;
  if (const auto number = numberOf(node->input(1))) {
    steps.chain({binaryPostOp(kind, 0, factor)},
                {use(node->input(0)), use(at::tensor({static_cast<float>(*number), 0.0f}))});
    return steps.finish(node);
  }
  needComplex(node->input(1));
  steps.chain({binaryPostOp(kind, 0, factor)}, {use(node->input(0)), use(node->input(1))});
  return steps.finish(node);
}
LoweredNode lowerComplexAdd(Node* node) { return complexSumOf(node, PostOpKind::kAdd); }
LoweredNode lowerComplexSub(Node* node) { return complexSumOf(node, PostOpKind::kSub); }

// aten::matmul, mm and bmm of complex matrices, as the product of real ones: a row's pairs are twice as many numbers,
// and each number w of the other matrix becomes the two rows (w) and (i·w) of pairs.
LoweredNode lowerComplexMatmul(Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  needComplex(a);
  needComplex(b);
  const std::int64_t a_rank = needRank(a), b_rank = needRank(b);
  if (a_rank < 2 || b_rank < 2) decline(reasons::kUnsupportedAttribute, "Products with vectors of complex numbers.");
  Steps steps;
  const auto flatten = [&](const LoweredOperand& x, std::int64_t axis) {
    return steps.add(OpKind::kReshape, {{"flatten_begin", axis}, {"flatten_end", axis + 1}}, {x});
  };
  const LoweredOperand turned = steps.add(OpKind::kComplexProduct, {}, {use(b), use(at::tensor({0.0f, 1.0f}))});
  const LoweredOperand first = steps.add(OpKind::kUnsqueeze, {{"axis", b_rank - 1}}, {use(b)}),
                       second = steps.add(OpKind::kUnsqueeze, {{"axis", b_rank - 1}}, {turned});
  const LoweredOperand both = steps.add(OpKind::kConcat, {{"axis", b_rank - 1}}, {first, second});
  const LoweredOperand rows = flatten(flatten(both, b_rank), b_rank - 2);
  const LoweredOperand product = steps.add(OpKind::kMatmul, {}, {flatten(use(a), a_rank - 1), rows});
  steps.add(OpKind::kReshape, {{"split_last", std::int64_t{2}}}, {product});
  return steps.finish(node);
}

// aten::zeros(sizes, …) of complex numbers
LoweredNode lowerComplexZeros(Node* node) {
  const bool is_new = isKind(node, "aten::new_zeros");
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kExpand;
  intsOrRefs(node->input(is_new ? 1 : 0), "shape", spec, refs);
  std::get<Ints>(spec.attributes["shape"]).push_back(2);
  return single(spec, {use(at::zeros({1}, at::kFloat))}, {node->output()}, refs);
}

// aten::sum and aten::mean(z, dim[], keepdim, dtype)
LoweredNode lowerComplexReduce(Node* node) {
  needComplex(node->input(0));
  needComplex(node->output());
  if (node->inputs().size() != 4 || isNone(node->input(1)))
    decline(reasons::kUnsupportedAttribute, "Sums of all complex numbers stay in the interpreter.");
  Ints axes;
  for (const std::int64_t axis : needInts(node->input(1), "dim"))
    axes.push_back(wrapAxis(axis, needRank(node->input(0))));
  if (axes.empty()) decline(reasons::kUnsupportedAttribute, "Sums of all complex numbers stay in the interpreter.");
  Steps steps;
  steps.add(OpKind::kReduce,
            {{"mode", std::string(isKind(node, "aten::sum") ? "sum" : "mean")},
             {"axes", axes},
             {"keepdim", std::int64_t{needBool(node->input(2), "keepdim")}}},
            {use(node->input(0))});
  return steps.finish(node);
}

// The count of numbers that a transform is asked for: all that there are, or an integer that may be known at run time.
struct TransformSize {
  std::optional<std::int64_t> known;
  Value* value = nullptr;
  bool whole() const { return value == nullptr && known.value_or(-1) == -1; }
};

TransformSize transformSize(Value* value) {
  if (isNone(value)) return {};
  const auto constant = constantInt(value);
  return {constant, constant ? nullptr : value};
}

// One transform along one axis, as aten::fft_… names it.
struct Transform {
  std::int64_t axis = 0;
  TransformSize size;
  bool inverse = false, from_real = false;
  const char* result = "pairs";
};

class TransformWriter {
 public:
  TransformWriter(Node* node, Value* norm) : node_(node), x_(use(node->input(0))) {
    if (isNone(norm)) return;
    const auto name = torch::jit::constant_as<std::string>(norm);
    if (!name) decline(reasons::kNotConstant, "The norm of a transform is chosen at run time.");
    norm_ = *name;
  }

  void add(const Transform& transform) {
    const bool whole = transform.size.whole();
    const int rank = needRank(node_->input(0));
    // Transforms of whole lines have a kernel of their own.
    if (whole && transform.from_real && transform.axis == rank - 1 && transform.result == std::string("half")) {
      x_ = steps_.add(OpKind::kFourier, {{"norm", norm_}}, {x_, {}});
      return;
    }
    std::map<std::string, AttrValue> attributes{{"axis", transform.axis}, {"norm", norm_}};
    if (transform.inverse) attributes["inverse"] = std::int64_t{1};
    if (transform.from_real) attributes["source"] = std::string("real");
    if (transform.result != std::string("pairs")) attributes["result"] = std::string(transform.result);
    if (!whole) attributes["size"] = transform.size.known.value_or(1);
    x_ = steps_.add(OpKind::kComplexFourier, std::move(attributes), {x_});
    if (transform.size.value != nullptr) steps_.addRef({"size", -1, transform.size.value});
  }

  LoweredNode finish() { return steps_.finish(node_); }

 private:
  Node* node_;
  Steps steps_;
  LoweredOperand x_;
  std::string norm_ = "backward";
};

// The axes of a transform and the sizes that are given along them.
void readAxes(Node* node, bool many, Ints* axes, std::vector<TransformSize>* sizes) {
  const int rank = needRank(node->input(0));
  Value *const given = node->input(1), *const dims = node->input(2);
  if (!many) {
    axes->push_back(wrapAxis(needInt(dims, "dim"), rank));
    sizes->push_back(transformSize(given));
    return;
  }
  if (!isNone(given)) {
    if (const auto constant = constantInts(given)) {
      for (const std::int64_t size : *constant) sizes->push_back({size, nullptr});
    } else {
      for (Value* size : needList(given)) sizes->push_back(transformSize(size));
    }
  }
  if (isNone(dims)) {
    const auto count = isNone(given) ? rank : static_cast<int>(sizes->size());
    for (int axis = rank - count; axis < rank; ++axis) axes->push_back(axis);
  } else {
    for (const std::int64_t axis : needInts(dims, "dim")) axes->push_back(wrapAxis(axis, rank));
  }
  if (isNone(given)) sizes->resize(axes->size());
  if (axes->empty() || axes->size() != sizes->size())
    decline(reasons::kUnsupportedAttribute, "A transform over no axis.");
}

// aten::fft_fft and its kin: (x, n?, dim, norm?), or (x, s[]?, dim[]?, norm?) for several axes.
LoweredNode lowerTransform(Node* node) {
  std::string name = std::string(node->kind().toQualString()).substr(std::string("aten::fft_").size());
  const bool many = name.back() == '2' || name.back() == 'n';
  if (many) name.pop_back();
  const bool from_real = !isComplex(node->input(0)), half = name == "rfft", to_real = name == "irfft";
  if (from_real && knownDtype(node->input(0)) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Plans compute Fourier transforms in FP32.");
  if (from_real ? to_real : half)
    decline(reasons::kUnsupportedDtype, "A transform of another type than its name says.");
  Ints axes;
  std::vector<TransformSize> sizes;
  readAxes(node, many, &axes, &sizes);
  TransformWriter writer(node, node->input(3));
  const std::size_t last = axes.size() - 1;
  Transform first{axes[last], sizes[last], name[0] == 'i', from_real, half ? "half" : to_real ? "real" : "pairs"};
  // The real numbers are on the side of the last axis.
  if (!to_real) writer.add(first);
  for (std::size_t i = last; i-- > 0;) writer.add({axes[i], sizes[i], first.inverse, false, "pairs"});
  if (to_real) writer.add(first);
  return writer.finish();
}

// Operators that move numbers: as for real ones, with the pairs' axis behind the others.
LoweredNode movePairs(Node* node, const Table& table) {
  LoweredNode lowered = table.at(node->kind().toQualString())(node);
  for (LoweredOp& op : lowered.ops) {
    auto& attributes = op.spec.attributes;
    const auto append = [&](const char* name, std::int64_t number) {
      const auto found = attributes.find(name);
      if (found != attributes.end()) std::get<Ints>(found->second).push_back(number);
    };
    if (op.spec.kind == OpKind::kReshape || op.spec.kind == OpKind::kExpand) append("shape", 2);
    if (op.spec.kind == OpKind::kPad) {
      append("begin", 0);
      append("end", 0);
    }
    if (op.spec.kind == OpKind::kSqueeze && attributes.count("rank") != 0)
      attributes["rank"] = std::get<std::int64_t>(attributes["rank"]) + 1;
    if (op.spec.kind == OpKind::kPermute) {
      Ints& order = std::get<Ints>(attributes["order"]);
      const auto rank = static_cast<std::int64_t>(order.size());
      for (std::int64_t& axis : order) axis += axis < 0 ? rank : 0;
      order.push_back(rank);
    }
  }
  return lowered;
}

bool movesNumbers(const Node* node) {
  static const std::unordered_map<std::string, int> kKinds = [] {
    std::unordered_map<std::string, int> kinds;
    for (const char* kind : {"aten::view",
                             "aten::reshape",
                             "aten::_unsafe_view",
                             "aten::flatten",
                             "aten::permute",
                             "aten::transpose",
                             "aten::t",
                             "aten::slice",
                             "aten::select",
                             "aten::expand",
                             "aten::unsqueeze",
                             "aten::squeeze",
                             "prim::ListUnpack",
                             "aten::__getitem__",
                             "aten::contiguous",
                             "aten::detach",
                             "aten::alias",
                             "aten::clone",
                             "aten::cat",
                             "aten::stack",
                             "aten::slice_scatter",
                             "aten::select_scatter",
                             "aten::constant_pad_nd",
                             "aten::roll"})
      kinds[kind] = 1;
    return kinds;
  }();
  return kKinds.count(node->kind().toQualString()) != 0;
}

const Table& complexTable() {
  static const Table table = [] {
    Table made;
    for (const char* kind : {"aten::view_as_complex", "aten::view_as_real", "aten::resolve_conj"})
      made[kind] = lowerSamePairs;
    for (const char* kind : {"aten::conj", "aten::_conj", "aten::conj_physical", "aten::_conj_physical"})
      made[kind] = lowerConj;
    made["aten::real"] = lowerReal;
    made["aten::imag"] = lowerImag;
    made["aten::abs"] = lowerComplexAbs;
    made["aten::neg"] = lowerComplexNeg;
    made["aten::complex"] = lowerMakeComplex;
    made["aten::polar"] = lowerPolar;
    made["aten::mul"] = lowerComplexMul;
    made["aten::div"] = lowerComplexDiv;
    made["aten::add"] = lowerComplexAdd;
    made["aten::sub"] = lowerComplexSub;
    made["aten::sum"] = made["aten::mean"] = lowerComplexReduce;
    made["aten::zeros"] = made["aten::new_zeros"] = lowerComplexZeros;
    for (const char* kind : {"aten::matmul", "aten::mm", "aten::bmm"}) made[kind] = lowerComplexMatmul;
    for (const char* kind : {"aten::fft_fft", "aten::fft_ifft", "aten::fft_rfft", "aten::fft_irfft", "aten::fft_fft2",
                             "aten::fft_ifft2", "aten::fft_rfft2", "aten::fft_irfft2", "aten::fft_fftn",
                             "aten::fft_ifftn", "aten::fft_rfftn", "aten::fft_irfftn"})
      made[kind] = lowerTransform;
    return made;
  }();
  return table;
}

}  // namespace

std::optional<LoweredNode> lowerComplex(Node* node, const Table& table) {
  const auto inputs = node->inputs(), outputs = node->outputs();
  const bool complex = std::any_of(inputs.begin(), inputs.end(), holdsComplex) ||
                       std::any_of(outputs.begin(), outputs.end(), holdsComplex);
  if (!complex || !node->blocks().empty()) return std::nullopt;
  if (movesNumbers(node)) return movePairs(node, table);
  const auto found = complexTable().find(node->kind().toQualString());
  if (found == complexTable().end())
    decline(reasons::kUnsupportedOperator,
            std::string("Plans do not know ") + node->kind().toQualString() + " of complex numbers.");
  return found->second(node);
}

}  // namespace ipex_studio::lowering

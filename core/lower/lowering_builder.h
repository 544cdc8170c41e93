// Helpers shared by the lowering tables. Private to core/lower/lowering*.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"
#include "core/lower/lowering.h"
#include "core/op/tensor_view.h"

namespace ipex_studio::lowering {

// Thrown inside a lowering function, caught by lowerNode only.
struct Declined {
  LoweringDecline decline;
};
[[noreturn]] inline void decline(const char* reason, std::string why) { throw Declined{{reason, std::move(why)}}; }

using Function = LoweredNode (*)(torch::jit::Node*);
using Table = std::unordered_map<std::string, Function>;
void addComputeLowerings(Table& table);    // lowering_compute.cpp
void addPoolingLowerings(Table& table);    // lowering_pooling.cpp
void addViewLowerings(Table& table);       // lowering_views.cpp
void addAttentionLowerings(Table& table);  // lowering_attention.cpp
void addLanguageLowerings(Table& table);   // lowering_language.cpp
void addLogicLowerings(Table& table);      // lowering_logic.cpp
void addComposedLowerings(Table& table);   // lowering_composed.cpp
void addFactoryLowerings(Table& table);    // lowering_factories.cpp
void addRecurrentLowerings(Table& table);  // lowering_recurrent.cpp
void addOrderLowerings(Table& table);      // lowering_order.cpp
void addIndexingLowerings(Table& table);   // lowering_indexing.cpp
void addWindowLowerings(Table& table);     // lowering_windows.cpp

inline LoweredOperand use(torch::jit::Value* value) {
  LoweredOperand operand;
  if (!isNone(value)) operand.value = value;
  return operand;
}
inline LoweredOperand use(const at::Tensor& constant) { return {nullptr, constant, -1}; }
inline LoweredOperand useLocal(std::int32_t op) { return {nullptr, {}, op}; }

inline LoweredNode single(OpSpec spec, std::vector<LoweredOperand> src, std::vector<torch::jit::Value*> dst,
                          std::vector<LoweredRef> refs = {}) {
  return {{{std::move(spec), std::move(src), std::move(refs), std::move(dst)}}};
}

// Builds the operations of one node in order; each result is a local of the next operation.
class Steps {
 public:
  LoweredOperand cast(LoweredOperand x, const char* dtype) {
    return add(OpKind::kCast, {{"dtype", std::string(dtype)}}, {std::move(x)});
  }
  LoweredOperand chain(std::vector<PostOp> ops, std::vector<LoweredOperand> operands) {
    LoweredOperand result = add(OpKind::kPointwise, {}, std::move(operands));
    lowered_.ops.back().spec.post_ops = std::move(ops);
    return result;
  }
  // Adds a view of all of x, so that a result that equals an operand is a value of its own.
  LoweredOperand same(LoweredOperand x) {
    return add(OpKind::kSqueeze, {{"axes", std::vector<std::int64_t>{}}}, {std::move(x)});
  }
  LoweredOperand add(OpKind kind, std::map<std::string, AttrValue> attributes, std::vector<LoweredOperand> src,
                     int results = 1) {
    OpSpec spec;
    spec.kind = kind;
    spec.attributes = std::move(attributes);
    lowered_.ops.push_back({std::move(spec), std::move(src), {}, {}, results});
    return useLocal(static_cast<std::int32_t>(lowered_.ops.size()) - 1);
  }
  // Adds `op` of integer_math.
  LoweredOperand integers(const char* op, LoweredOperand a, LoweredOperand b) {
    return add(OpKind::kIntegerMath, {{"op", std::string(op)}}, {std::move(a), std::move(b)});
  }
  // Adds `op` of integer_math with a number in the place of b.
  LoweredOperand integers(const char* op, LoweredOperand a, std::int64_t b) {
    return add(OpKind::kIntegerMath, {{"op", std::string(op)}, {"value", b}}, {std::move(a), {}});
  }
  // Adds an integer of the graph as a tensor without dimensions: a constant of a plan for known sizes.
  LoweredOperand integer(torch::jit::Value* value) {
    LoweredOperand result = integers("add", use(at::zeros({}, at::kLong)), std::int64_t{0});
    addRef({"value", -1, value});
    return result;
  }
  // Adds a reference to the last operation.
  void addRef(LoweredRef ref) { lowered_.ops.back().refs.push_back(std::move(ref)); }

  // Makes the last operation's result the `result` of the graph.
  void give(torch::jit::Value* result) { lowered_.ops.back().dst = {result}; }
  LoweredNode done() { return std::move(lowered_); }
  // Makes the last operation's result that of the node.
  LoweredNode finish(torch::jit::Node* node) {
    give(node->output());
    return done();
  }
  // Makes the last operation's results those of the node, however many there are.
  LoweredNode finishAll(torch::jit::Node* node) {
    lowered_.ops.back().dst = node->outputs().vec();
    return std::move(lowered_);
  }

 private:
  LoweredNode lowered_;
};

// Read constant attributes; decline if they are not constant.
std::int64_t needInt(torch::jit::Value* value, const char* what);
bool needBool(torch::jit::Value* value, const char* what);
double needNumber(torch::jit::Value* value, const char* what);
std::vector<std::int64_t> needInts(torch::jit::Value* value, const char* what);
// Reads the operation that a fused operator's last operand describes.
OpSpec needSpec(torch::jit::Node* node);
// Reads a list attribute whose entries may be constants or integers of the graph: fills `attribute` and `refs`.
void intsOrRefs(torch::jit::Value* list, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs);
void intOrRef(torch::jit::Value* value, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs);

// The rank that the example run saw.
int needRank(const torch::jit::Value* value);
// Declines unless the value is known to be FP32.
void needFloat(const torch::jit::Value* value);
// True for u8 and s8. Operations that only move or average elements take the integers of quantized values too;
// operators of libtorch that do not know such tensors get them only from the pass insert-quantize.
bool isInteger8(const torch::jit::Value* value);
void needFloatOrInteger8(const torch::jit::Value* value);
int wrapAxis(std::int64_t axis, int rank);
// Ones in FP32 with the sizes of `x` along `axes` (counted from the front) and 1 along its other axes.
LoweredOperand onesAlong(Steps& steps, LoweredOperand x, const std::vector<std::int64_t>& axes, int rank);

// True for s64, s32, u8 and bool, which integer arithmetic takes.
bool isCountable(const torch::jit::Value* value);
// Returns an FP32 tensor as it is, and integers converted to FP32, as libtorch takes them beside floats.
LoweredOperand asFloat(Steps& steps, torch::jit::Value* value);
// Lowers arithmetic with an integer result (lowering_integers.cpp); nullopt for other nodes.
std::optional<LoweredNode> lowerIntegerMath(torch::jit::Node* node);
// Lowers a sum, difference, product or quotient of a tensor of floats and an integer that is known when the sizes are
// (lowering_integers.cpp); nullopt for other nodes.
std::optional<LoweredNode> lowerWithSize(torch::jit::Node* node);
// Lowers aten::eq and the like on integers, `op` as in integer_math; nullopt if one side holds floats.
std::optional<LoweredNode> integerComparison(torch::jit::Node* node, const char* op);
// Lowers the choice of `yes` where the mask is true and `no` elsewhere, both integers.
LoweredNode integerChoice(torch::jit::Node* node, torch::jit::Value* mask, torch::jit::Value* yes,
                          torch::jit::Value* no);

// Lowers prim::ListUnpack or aten::__getitem__ of an aten::meshgrid (lowering_indexing.cpp).
LoweredNode lowerMeshgrid(torch::jit::Node* grid, torch::jit::Node* reader);
// Lowers aten::max and aten::min(x, dim, keepdim) -> (values, indices), `mode` as in max_min (lowering_order.cpp).
LoweredNode extremesWithPlaces(torch::jit::Node* node, const char* mode);

// True for complex numbers of float32. In plans they are pairs of real and imaginary parts on an axis behind the
// others.
bool isComplex(const torch::jit::Value* value);
// Sizes and type of a tensor in plans; its sizes are known.
TensorDesc exampleDesc(const torch::jit::Value* tensor);
// Lowers a node that reads or gives complex numbers, with `table` for those that only move them (lowering_complex.cpp);
// nullopt for other nodes.
std::optional<LoweredNode> lowerComplex(torch::jit::Node* node, const Table& table);
// Declines unless the value is known to be FP32, or complex numbers of such.
void needFloatOrComplex(const torch::jit::Value* value);

// Declines operations that a plan could not compute for the sizes of the example run, or whose results would have other
// sizes or types than those of the example run. All their tensors have known sizes and types.
void requireSizes(const LoweredNode& lowered);

// The elements of a prim::ListConstruct that is only read; declines any other list.
std::vector<torch::jit::Value*> needList(torch::jit::Value* list);

}  // namespace ipex_studio::lowering

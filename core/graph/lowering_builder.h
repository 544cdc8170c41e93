// Helpers shared by the lowering tables. Private to core/graph/lowering_*.cpp.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/graph/fused_op.h"
#include "core/graph/lowering.h"
#include "core/graph/reasons.h"

namespace ipex_studio::lowering {

// Thrown inside a lowering function, caught by lowerNode only.
struct Declined {
  LoweringDecline decline;
};
[[noreturn]] inline void decline(const char* reason, std::string why) { throw Declined{{reason, std::move(why)}}; }

using Function = LoweredNode (*)(torch::jit::Node*);
using Table = std::unordered_map<std::string, Function>;
void addComputeLowerings(Table& table);   // lowering_compute.cpp
void addPoolingLowerings(Table& table);   // lowering_pooling.cpp
void addViewLowerings(Table& table);      // lowering_views.cpp
void addAttentionLowerings(Table& table); // lowering_attention.cpp
void addLogicLowerings(Table& table);     // lowering_logic.cpp
void addComposedLowerings(Table& table);  // lowering_composed.cpp
void addFactoryLowerings(Table& table);   // lowering_factories.cpp
void addRecurrentLowerings(Table& table); // lowering_recurrent.cpp

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

// Constant attributes; decline when they are not constant.
std::int64_t needInt(torch::jit::Value* value, const char* what);
bool needBool(torch::jit::Value* value, const char* what);
double needNumber(torch::jit::Value* value, const char* what);
std::vector<std::int64_t> needInts(torch::jit::Value* value, const char* what);
// The operation that a fused operator's last operand describes.
OpSpec needSpec(torch::jit::Node* node);
// A list attribute whose entries may be constants or integers of the graph: fills `attribute` and `refs`.
void intsOrRefs(torch::jit::Value* list, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs);
void intOrRef(torch::jit::Value* value, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs);

// The rank the example run saw.
int needRank(const torch::jit::Value* value);
// Declines unless the value is known to be FP32.
void needFloat(const torch::jit::Value* value);
// u8 or s8. What only moves or averages elements takes the integers of quantized values too: operators of libtorch that
// do not know such tensors are given them by the pass insert-quantize alone.
bool isInteger8(const torch::jit::Value* value);
void needFloatOrInteger8(const torch::jit::Value* value);
int wrapAxis(std::int64_t axis, int rank);

// Elements of a prim::ListConstruct; declines on any other list.
std::vector<torch::jit::Value*> needList(torch::jit::Value* list);

}  // namespace ipex_studio::lowering

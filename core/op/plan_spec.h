// PlanSpec: the computation of a region as a list of operations in static single assignment. It knows no sizes: a Plan
// is compiled from it for one input signature. Compiled exports carry it as JSON; it is untrusted input there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "core/record/records.h"

namespace ipex_studio {

constexpr int kPlanSpecVersion = 1;

// Operations on integer values. A value of a plan is a tensor or an integer (a size, or arithmetic on sizes). Values
// are numbered: first the inputs, then the constants, then results in order of the nodes.
enum class IntOp : std::uint8_t { kLiteral, kSize, kAdd, kSub, kMul, kFloorDiv, kMod, kNeg, kMax, kMin };

// `attribute` (entry `index` of a list, or the scalar itself when index is -1) takes the integer value `value`.
struct AttrRef {
  std::string attribute;
  std::int32_t index = -1;
  std::int32_t value = 0;
};

struct PlanNode {
  bool is_int = false;
  // A tensor operation has op, src, dst and refs.
  OpSpec op;
  std::vector<std::int32_t> src;  // value numbers; -1: absent operand
  std::vector<std::int32_t> dst;  // value numbers
  std::vector<AttrRef> refs;
  std::string name;  // for people
  std::vector<OriginId> origins;
  // An integer operation computes dst[0] = int_op(src…); kSize: src[0] is a tensor, literal the axis; kLiteral:
  // literal.
  IntOp int_op = IntOp::kLiteral;
  std::int64_t literal = 0;
};

struct PlanSpec {
  struct Input {
    bool is_int = false;
    DType dtype = DType::kF32;  // tensors
    std::int32_t rank = 0;      // tensors: the rank the lowering saw; other ranks are refused
  };
  std::vector<Input> inputs;
  std::vector<TensorDesc> constants;  // row-major
  std::vector<PlanNode> nodes;
  std::vector<std::int32_t> outputs;  // tensor values

  std::int32_t valueCount() const;
  std::int32_t constantValue(std::size_t index) const { return static_cast<std::int32_t>(inputs.size() + index); }
};

std::string planSpecToText(const PlanSpec& spec);
// Checks version, limits (100,000 nodes), numbering (each operand defined before use, each value once, tensor or
// integer as used). Throws Error(kBadModel).
PlanSpec planSpecFromText(const std::string& text);

}  // namespace ipex_studio

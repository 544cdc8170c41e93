// PlanValues: the values of a plan that is being compiled, the buffers they lie in, and how long each is needed.
// Private to core/plan; not thread-safe.
//
// A value of the spec has its number from the spec; further values (copies in other layouts, results between the halves
// of a split operation) follow. Values share a buffer if one is a view of another or accumulates into it, and a buffer
// may be a part of another, as the sources of a concatenation are of its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/plan_spec.h"
#include "core/plan/plan.h"
#include "core/plan/sized_op.h"

namespace ipex_studio {

class PlanValues {
 public:
  struct Value {
    bool is_int = false;
    std::int64_t integer = 0;
    TensorDesc desc;
    std::int32_t buffer = -1;
    std::int64_t offset = 0;           // bytes
    const void* constant = nullptr;    // first element
    bool computed = false;             // depends on constants only and belongs to this plan, not to the model
    std::int32_t group = -1;           // alias group of the spec: a value and its views
    std::vector<std::int32_t> copies;  // the same tensor in other layouts

    bool isConstant() const { return constant != nullptr || computed; }
  };
  struct Buffer {
    SlotHome home = SlotHome::kArena;
    std::int32_t index = 0;  // input or output number
    std::size_t bytes = 0;
    DeviceId device;
    std::int32_t parent = -1;  // the buffer that this one is a part of, from byte `offset` on
    std::int64_t offset = 0;
    std::int32_t needed_until = -1;  // last node that reads any of the values that its parts hold
  };
  // The place of a value in the outermost buffer that holds it.
  struct Place {
    std::int32_t buffer = -1;
    std::int64_t offset = 0;  // bytes
  };

  // Defines inputs and constants, and finds the last use of every value. Throws Error(kFailure) where an input has
  // another dtype or rank than the spec says.
  PlanValues(const PlanSpec& spec, const PlanRequest& request);

  Value& operator[](std::int32_t index) { return values_[static_cast<std::size_t>(index)]; }
  const Value& operator[](std::int32_t index) const { return values_[static_cast<std::size_t>(index)]; }
  Buffer& buffer(std::int32_t index) { return buffers_[static_cast<std::size_t>(index)]; }
  const Buffer& buffer(std::int32_t index) const { return buffers_[static_cast<std::size_t>(index)]; }
  std::size_t bufferCount() const { return buffers_.size(); }
  // True if the spec numbers this value.
  bool isOfSpec(std::int32_t index) const { return index < spec_values_; }

  // Adds a value without a buffer. group < 0: a group of its own, which dies with the node that makes it.
  std::int32_t newValue(const TensorDesc& desc, std::int32_t group);
  std::int32_t newBuffer(std::size_t bytes, const DeviceId& device);
  // Gives the value this layout and a new buffer of its size on its device.
  void allocate(std::int32_t index, const TensorDesc& desc);
  // Makes `index` a view of `source`, `offset` elements into it.
  void makeView(std::int32_t index, std::int32_t source, const TensorDesc& view, std::int64_t offset);
  // A new view that reads the same memory in layout `wanted`, if both layouts put every element in the same place on
  // one device, or on two if the other `reaches` this memory; else -1.
  std::int32_t sameMemoryView(std::int32_t index, const TensorDesc& wanted, bool reaches = false);
  // The value itself, or a copy made before, if one is in this layout on this device; else -1.
  std::int32_t knownInLayout(std::int32_t index, const TensorDesc& wanted) const;
  // Makes the buffer `part` a part of `whole`, from byte `offset` on.
  void makePart(std::int32_t part, std::int32_t whole, std::int64_t offset);
  // Puts `value` into the alias group of `with`, because the two share memory.
  void joinGroups(std::int32_t value, std::int32_t with);

  Place placeOf(std::int32_t index) const;
  // True if the value alone fills its buffer, and that lies in the arena.
  bool fillsItsBuffer(std::int32_t index) const;

  // The node whose operations are being placed; lifetimes are compared with it.
  std::int32_t node() const { return node_; }
  void beginNode(std::int32_t node) { node_ = node; }
  // The last node that reads the value or its views; INT32_MAX for outputs, -1 for none.
  std::int32_t lastUse(std::int32_t index) const { return last_use_[groupOf(index)]; }
  void setLastUse(std::int32_t index, std::int32_t node) { last_use_[groupOf(index)] = node; }

  std::vector<TensorDesc> descsOf(const std::vector<std::int32_t>& indices) const;
  // Infers dtype and dims of the results into `dims`; false if the sources do not fit the operation.
  bool infer(const OpSpec& op, const std::vector<std::int32_t>& src, std::vector<TensorDesc>* dims) const;
  // The operation of the node with its size attributes filled in.
  OpSpec resolve(const PlanNode& node) const;
  // Computes an integer node. Throws Error(kFailure) on overflow and dimensions out of range.
  void computeInteger(const PlanNode& node);
  // Arguments for kernels that are asked for this operation, without `target` and `weights`; operands have the devices
  // of their values.
  PrepareArgs argsOf(const OpSpec& op, const std::vector<std::int32_t>& src, const std::vector<TensorDesc>& dims) const;

 private:
  void defineInputs(const PlanSpec& spec, const PlanRequest& request);
  void findLastUses(const PlanSpec& spec);
  std::size_t groupOf(std::int32_t index) const { return static_cast<std::size_t>((*this)[index].group); }

  const std::int32_t spec_values_;
  std::vector<Value> values_;
  std::vector<Buffer> buffers_;
  std::vector<std::int32_t> last_use_;  // per group
  std::int32_t node_ = 0;
};

}  // namespace ipex_studio

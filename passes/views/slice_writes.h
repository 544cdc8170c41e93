// Writes into slices of a tensor in their out-of-place form. Private to canonicalize_inplace.cpp.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/graph/pass.h"

namespace ipex_studio {

// True if `view`, made before `node`, gives its readers only the value before `node`: all of them run before it and
// keep no other name for the memory.
bool isReadBefore(const torch::jit::Value* view, const torch::jit::Node* node);

// True for operators whose only result may be a view of their first operand, and of nothing else.
bool mayBeView(const torch::jit::Node* node);

// True if `view` is a view of fresh memory of its block that no other name shows from `node` on.
bool isLastNameOfFresh(const torch::jit::Value* view, const torch::jit::Node* node);

// Could `node` keep another name for the memory of its operand?
bool namesOperand(const torch::jit::Node* node, const torch::jit::Value* operand);

// True for aten::index_put_(x, [None …, mask], value, False) of one value for all that the mask chooses: a tensor that
// has at most the axes behind those of the mask.
bool fillsByMask(const torch::jit::Node* node);

// True for aten::index_put_(x, [None …, mask], values, accumulate) of FP32 rows for all that the mask chooses, or of
// one for all of them.
bool writesByMask(const torch::jit::Node* node);

// True for aten::index_put_(x, [None …, i, j], values, accumulate) of a value for each place that integers name on
// neighbouring axes, or of one for all of them, as plans write it.
bool writesPlaces(const torch::jit::Node* node);

// A new node before the in-place `node` that computes what it writes, from its operands.
torch::jit::Node* createPlain(Rewriter& rewriter, torch::jit::Node* node);

//   before  %s = slice(%z, 1, 0, 3, 1)   %w = copy_(%s, %v, False)              %y = relu(%z)
//   after   %z' = slice_scatter(%z, %v, 1, 0, 3, 1)                              %y = relu(%z')
// What the write returns becomes the value written, if it is read at once or is the last name of the memory, else a
// slice of %z', which sees later writes.
// Slices of slices, select; copy_ (broadcast as well), fill_, and every operator that has an out-of-place form.
class SliceWrites {
 public:
  explicit SliceWrites(Rewriter& rewriter) : rewriter_(rewriter) {}

  // True if `node` writes to a slice of a tensor.
  static bool isSliceWrite(const torch::jit::Node* node);
  // Why the write has to stay. `plain`: there is an operator of the same name without the underscore.
  Decline decline(const torch::jit::Node* node, bool plain) const;
  // Call only after permit().
  void rewrite(torch::jit::Node* node);

 private:
  torch::jit::Value* sliceValue(torch::jit::Node* node);
  torch::jit::Value* sliceAgain(const std::vector<torch::jit::Node*>& slices, torch::jit::Value* value,
                                torch::jit::Node* before);

  Rewriter& rewriter_;
  // Each write copies the whole tensor: many into one are cheaper in place.
  std::unordered_map<const torch::jit::Value*, int> writes_;
};

}  // namespace ipex_studio

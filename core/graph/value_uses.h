// Taking away readers of values that thousands read (attributes that all convolutions of a graph share, a large skip).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// libtorch looks a use up by search from the first one and closes the gap behind it, so that taking n readers of one value
// away costs n². Here the places of the uses of such a value are known. The order of its other uses may change. Not
// thread-safe.
class ValueUses {
 public:
  // Replacements of Node::removeAllInputs(), Node::destroy() and Node::replaceInput().
  void removeInputs(torch::jit::Node* node);
  void destroy(torch::jit::Node* node);
  void replaceInput(torch::jit::Node* node, std::size_t index, torch::jit::Value* value);

 private:
  // `change` takes this input off its value.
  template <typename Change>
  void changeInput(torch::jit::Node* node, std::size_t index, const Change& change);

  // Passes mostly remove readers in their order: the next one that reads the value as the same operand is at the place
  // of the last one, or near. If it is not, it is searched for, as long as that takes no longer than all else; if nodes
  // are removed in no order, the first `listed` uses are looked up by user and operand. That is checked when it is
  // asked and made anew
  // where it is wrong: others change uses too, and values and nodes die.
  struct Readers {
    std::array<std::size_t, 8> last{};  // by operand, modulo their number
    std::int64_t may_search = 0;        // as many uses may be looked at before they are listed, and one search is free
    std::unordered_map<std::uintptr_t, std::size_t> places;
    std::size_t listed = 0;
    void forgetPlaces();
  };
  // The place of `use`, at most `farthest` away from `from`.
  static std::optional<std::size_t> search(const torch::jit::use_list& uses, const torch::jit::Use& use,
                                           std::size_t from, std::size_t farthest);
  static std::size_t placeInIndex(const torch::jit::use_list& uses, const torch::jit::Use& use, Readers& readers);
  static std::size_t placeOf(const torch::jit::use_list& uses, const torch::jit::Use& use, Readers& readers);

  std::unordered_map<const torch::jit::Value*, Readers> readers_;
  torch::jit::use_list alone_;  // the one use that libtorch gets to see
};

// Replacement of Value::replaceAllUsesWith() in time linear in the number of uses; keeps their order.
void replaceUses(torch::jit::Value* from, torch::jit::Value* to);

}  // namespace ipex_studio

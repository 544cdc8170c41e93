// Removal of readers of values that thousands read (attributes that all convolutions of a graph share, a large skip).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// libtorch finds a use by search from the first one and closes the gap behind it, so that removing n readers of one
// value costs n². This class knows the places of the uses of such a value. The order of its other uses may change. Not
// thread-safe.
class ValueUses {
 public:
  // Replacements of Node::removeAllInputs(), Node::destroy() and Node::replaceInput().
  void removeInputs(torch::jit::Node* node);
  void destroy(torch::jit::Node* node);
  void replaceInput(torch::jit::Node* node, std::size_t index, torch::jit::Value* value);

 private:
  // `change` removes this input from its value.
  template <typename Change>
  void changeInput(torch::jit::Node* node, std::size_t index, const Change& change);

  // Passes mostly remove readers in their order, so the next reader of the value with the same operand number is at the
  // place of the last one, or near. If it is not, it is searched for, as long as all searches take no longer than the
  // rest. If nodes are removed in no order, the first `listed` uses are looked up by user and operand. Each answer is
  // checked, and the index made anew if it is wrong: other code changes uses too, and values and nodes die.
  struct Readers {
    std::array<std::size_t, 8> last{};  // by operand number, modulo the size
    std::int64_t may_search = 0;        // uses that searches may visit before uses are listed; one search is free
    std::unordered_map<std::uintptr_t, std::size_t> places;
    std::size_t listed = 0;
    void forgetPlaces();
  };
  // Returns the place of `use`, at most `farthest` away from `from`.
  static std::optional<std::size_t> search(const torch::jit::use_list& uses, const torch::jit::Use& use,
                                           std::size_t from, std::size_t farthest);
  static std::size_t placeInIndex(const torch::jit::use_list& uses, const torch::jit::Use& use, Readers& readers);
  static std::size_t placeOf(const torch::jit::use_list& uses, const torch::jit::Use& use, Readers& readers);

  std::unordered_map<const torch::jit::Value*, Readers> readers_;
  torch::jit::use_list alone_;  // the one use that libtorch gets to see
};

// Replaces Value::replaceAllUsesWith() in time linear in the number of uses; keeps their order.
void replaceUses(torch::jit::Value* from, torch::jit::Value* to);

}  // namespace ipex_studio

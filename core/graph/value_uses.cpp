#include "core/graph/value_uses.h"

#include <algorithm>

#include "core/plan/error.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::use_list;
using torch::jit::Value;

namespace {

// So many uses libtorch may search.
constexpr std::size_t kFewUses = 32;

// Value hands its uses out as constant although neither it nor they are: the only way to work on a part of them.
use_list& usesOf(Value* value) { return const_cast<use_list&>(value->uses()); }

// Searches from `near` in both directions.
std::size_t findUse(const use_list& uses, const Node* user, std::size_t index, std::size_t near) {
  const auto wanted = [&](std::size_t at) { return uses[at].user == user && uses[at].offset == index; };
  std::size_t below = std::min(near, uses.size());  // entries before this one are still to be looked at, from the last
  for (std::size_t above = below; below > 0 || above < uses.size();) {
    if (above < uses.size() && wanted(above++)) return above - 1;
    if (below > 0 && wanted(--below)) return below;
  }
  IPEX_CHECK(false, "a node is not among the users of its input");
  return 0;
}

}  // namespace

template <typename Change>
void ValueUses::changeInput(Node* node, std::size_t index, const Change& change) {
  Value* value = node->input(index);
  use_list& uses = usesOf(value);
  if (uses.size() <= kFewUses) return change();
  std::size_t& near = found_at_[value];
  near = findUse(uses, node, index, near);
  uses[near] = uses.back();
  uses.pop_back();
  alone_.assign(1, Use(node, index));
  alone_.swap(uses);
  change();
  alone_.swap(uses);
}

void ValueUses::removeInputs(Node* node) {
  for (std::size_t index = node->inputs().size(); index-- > 0;) {
    changeInput(node, index, [&] { node->removeInput(index); });
  }
}

void ValueUses::replaceInput(Node* node, std::size_t index, Value* value) {
  if (node->input(index) != value) changeInput(node, index, [&] { node->replaceInput(index, value); });
}

void ValueUses::destroy(Node* node) {
  removeInputs(node);
  node->destroy();
}

void replaceUses(Value* from, Value* to) {
  if (from->uses().size() <= kFewUses) return from->replaceAllUsesWith(to);
  use_list all;
  all.swap(usesOf(from));
  for (std::size_t first = 0; first < all.size(); first += kFewUses) {
    const std::size_t last = std::min(first + kFewUses, all.size());
    usesOf(from).assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last));
    from->replaceAllUsesWith(to);
  }
}

}  // namespace ipex_studio

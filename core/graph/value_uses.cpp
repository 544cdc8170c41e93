#include "core/graph/value_uses.h"

#include <algorithm>

#include "core/plan/error.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::use_list;
using torch::jit::Value;

namespace {

// So many uses libtorch may search and move.
constexpr std::size_t kFewUses = 64;
constexpr std::size_t kNear = 16;  // so far on either side of the last use taken away the next is looked for
constexpr std::size_t kFewMoved = 32;  // by Value::replaceAllUsesWith(), which takes the first away again and again

// Value hands its uses out as constant although neither it nor they are: the only way to work on a part of them.
use_list& usesOf(Value* value) { return const_cast<use_list&>(value->uses()); }

// Nodes are farther apart in memory than they have operands, or nearly always are: what is found is compared.
std::uintptr_t keyOf(const Use& use) { return reinterpret_cast<std::uintptr_t>(use.user) + use.offset; }

bool isSame(const Use& a, const Use& b) { return a.user == b.user && a.offset == b.offset; }

}  // namespace

std::optional<std::size_t> ValueUses::placeNear(const use_list& uses, const Use& use, std::size_t last) {
  const std::size_t end = std::min(last + kNear, uses.size());
  for (std::size_t place = last < kNear ? 0 : last - kNear; place < end; ++place) {
    if (isSame(uses[place], use)) return place;
  }
  return std::nullopt;
}

std::size_t ValueUses::placeOf(const use_list& uses, const Use& use, Index& index) {
  for (const bool anew : {false, true}) {
    if (anew || index.listed > uses.size()) index = {};
    for (; index.listed < uses.size(); ++index.listed) index.places[keyOf(uses[index.listed])] = index.listed;
    const auto found = index.places.find(keyOf(use));
    if (found != index.places.end() && found->second < uses.size() && isSame(uses[found->second], use)) return found->second;
  }
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& other) { return isSame(other, use); });
  IPEX_CHECK(found != uses.end(), "a node is not among the users of its input");
  return static_cast<std::size_t>(found - uses.begin());
}

template <typename Change>
void ValueUses::changeInput(Node* node, std::size_t index, const Change& change) {
  Value* value = node->input(index);
  use_list& uses = usesOf(value);
  if (uses.size() <= kFewUses) return change();
  const Use use(node, index);
  Index& known = indices_[value];
  const auto near = placeNear(uses, use, known.last);
  const std::size_t place = near ? *near : placeOf(uses, use, known);
  uses[place] = uses.back();
  uses.pop_back();
  known.last = place;
  if (known.listed != 0) {
    known.places.erase(keyOf(use));
    if (place < uses.size()) known.places[keyOf(uses[place])] = place;
    known.listed = uses.size();
  }
  alone_.assign(1, use);
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
  if (from->uses().size() <= kFewMoved) return from->replaceAllUsesWith(to);
  use_list all;
  all.swap(usesOf(from));
  for (std::size_t first = 0; first < all.size(); first += kFewMoved) {
    const std::size_t last = std::min(first + kFewMoved, all.size());
    usesOf(from).assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last));
    from->replaceAllUsesWith(to);
  }
}

}  // namespace ipex_studio

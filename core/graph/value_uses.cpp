// Finds the use of a value near the last one removed, by search, or in an index of its uses.
#include "core/graph/value_uses.h"

#include <algorithm>

#include "core/base/error.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::use_list;
using torch::jit::Value;

namespace {

// Up to this number of uses libtorch's own linear search is fast enough.
constexpr std::size_t kFewUses = 64;
constexpr std::size_t kNear = 32;             // distance from the last removed use at which the next one is looked for
constexpr std::int64_t kSearchedPerUse = 64;  // uses that a later search may visit for every use found near
constexpr std::int64_t kListing = 4;          // cost of listing a use, in visited uses
// Up to this number of uses Value::replaceAllUsesWith() moves them, although it removes the first one again and again.
constexpr std::size_t kFewMoved = 32;

// Value hands out its uses as constant although neither is: there is no other way to change a part of them.
use_list& usesOf(Value* value) { return const_cast<use_list&>(value->uses()); }

// The sum is nearly unique, because nodes are nearly always farther apart in memory than they have operands; hits are
// compared.
std::uintptr_t keyOf(const Use& use) { return reinterpret_cast<std::uintptr_t>(use.user) + use.offset; }

bool isSame(const Use& a, const Use& b) { return a.user == b.user && a.offset == b.offset; }

}  // namespace

std::optional<std::size_t> ValueUses::search(const use_list& uses, const Use& use, std::size_t from,
                                             std::size_t farthest) {
  for (std::size_t distance = 0; distance <= farthest; ++distance) {
    const std::size_t behind = from + distance;
    if (behind < uses.size() && isSame(uses[behind], use)) return behind;
    if (distance <= from && from - distance < uses.size() && isSame(uses[from - distance], use)) return from - distance;
  }
  return std::nullopt;
}

void ValueUses::Readers::forgetPlaces() {
  places.clear();
  listed = 0;
}

std::size_t ValueUses::placeInIndex(const use_list& uses, const Use& use, Readers& readers) {
  for (const bool anew : {false, true}) {
    if (anew || readers.listed > uses.size()) readers.forgetPlaces();
    for (; readers.listed < uses.size(); ++readers.listed) readers.places[keyOf(uses[readers.listed])] = readers.listed;
    const auto found = readers.places.find(keyOf(use));
    if (found != readers.places.end() && found->second < uses.size() && isSame(uses[found->second], use))
      return found->second;
  }
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& other) { return isSame(other, use); });
  IPEX_CHECK(found != uses.end(), "a node is not among the users of its input");
  return static_cast<std::size_t>(found - uses.begin());
}

std::size_t ValueUses::placeOf(const use_list& uses, const Use& use, Readers& readers) {
  std::size_t& last = readers.last[use.offset % readers.last.size()];
  last = std::min(last, uses.size() - 1);
  auto found = search(uses, use, last, kNear);
  if (found) {
    readers.may_search += kSearchedPerUse;
    if (readers.listed != 0 && readers.may_search > kListing * static_cast<std::int64_t>(uses.size()))
      readers.forgetPlaces();
  } else if (readers.listed == 0 && readers.may_search >= 0) {
    found = search(uses, use, last, uses.size());
    if (found) readers.may_search -= static_cast<std::int64_t>(*found > last ? *found - last : last - *found);
  }
  return last = found ? *found : placeInIndex(uses, use, readers);
}

template <typename Change>
void ValueUses::changeInput(Node* node, std::size_t index, const Change& change) {
  Value* value = node->input(index);
  use_list& uses = usesOf(value);
  if (uses.size() <= kFewUses) return change();
  const Use use(node, index);
  Readers& readers = readers_[value];
  const std::size_t place = placeOf(uses, use, readers);
  uses[place] = uses.back();
  uses.pop_back();
  if (readers.listed != 0) {
    readers.places.erase(keyOf(use));
    if (place < uses.size()) readers.places[keyOf(uses[place])] = place;
    readers.listed = uses.size();
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
    usesOf(from).assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                        all.begin() + static_cast<std::ptrdiff_t>(last));
    from->replaceAllUsesWith(to);
  }
}

}  // namespace ipex_studio

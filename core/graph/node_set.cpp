// Open addressing with linear probing over pages of address bits (Knuth, The Art of Computer Programming, vol. 3, 6.4).
#include "core/graph/node_set.h"

#include <algorithm>
#include <utility>

namespace ipex_studio {

using torch::jit::Node;

namespace {

static_assert(alignof(std::max_align_t) >= 16, "two nodes would share a bit");

std::uintptr_t addressOf(const Node* node) { return reinterpret_cast<std::uintptr_t>(node); }

}  // namespace

std::size_t NodeSet::place(std::uintptr_t number) const {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;  // multiplicative hashing, Knuth 6.4
  const std::size_t mask = pages_.size() - 1;
  std::size_t at = static_cast<std::size_t>((number * kGolden) >> 32) & mask;
  while (pages_[at] != nullptr && pages_[at]->number != number) at = (at + 1) & mask;
  return at;
}

NodeSet::Page& NodeSet::page(std::uintptr_t number) {
  constexpr std::size_t kMinPages = 16;
  if (2 * (taken_ + 1) > pages_.size()) {
    std::vector<std::unique_ptr<Page>> old(std::max(kMinPages, 2 * pages_.size()));
    old.swap(pages_);
    for (std::unique_ptr<Page>& page : old) {
      if (page != nullptr) std::swap(pages_[place(page->number)], page);
    }
  }
  std::unique_ptr<Page>& found = pages_[place(number)];
  if (found == nullptr) {
    found = std::make_unique<Page>();
    found->number = number;
    ++taken_;
  }
  return *found;
}

std::uint64_t NodeSet::bit(std::uintptr_t address) {
  return std::uint64_t{1} << ((address >> kAlignmentBits) % (std::size_t{1} << kWordBits));
}

bool NodeSet::contains(const Node* node) const {
  if (size_ == 0) return false;
  const std::uintptr_t address = addressOf(node);
  Page* page = pages_[place(address >> kPageBits)].get();
  return page != nullptr && (page->word(address) & bit(address)) != 0;
}

void NodeSet::insert(const Node* node) {
  const std::uintptr_t address = addressOf(node);
  Page& into = page(address >> kPageBits);
  if ((into.word(address) & bit(address)) != 0) return;
  into.word(address) |= bit(address);
  ++into.nodes;
  ++size_;
}

void NodeSet::erase(const Node* node) {
  if (!contains(node)) return;
  const std::uintptr_t address = addressOf(node);
  Page& from = page(address >> kPageBits);
  from.word(address) &= ~bit(address);
  --from.nodes;
  --size_;
}

void NodeSet::clear() {
  for (const std::unique_ptr<Page>& page : pages_) {
    if (page == nullptr || page->nodes == 0) continue;
    page->words.fill(0);
    page->nodes = 0;
  }
  size_ = 0;
}

}  // namespace ipex_studio

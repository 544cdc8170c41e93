// A set of nodes, alive or not, as a map of the memory they lie in: neighbours share a cache line, and an insertion
// hardly ever allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Holds one bit for each address at which an allocator may put a node, in pages of 2 MiB of addresses, found by open
// addressing. Only addresses are looked at. Not thread-safe while it changes.
class NodeSet {
 public:
  bool contains(const torch::jit::Node* node) const;
  std::size_t size() const { return size_; }
  void insert(const torch::jit::Node* node);
  void erase(const torch::jit::Node* node);
  void clear();

 private:
  static constexpr std::size_t kAlignmentBits = 4;  // alignment of malloc()
  static constexpr std::size_t kPageBits = 21;
  static constexpr std::size_t kWordBits = 6;
  struct Page {
    std::uintptr_t number = 0;
    std::size_t nodes = 0;
    std::array<std::uint64_t, std::size_t{1} << (kPageBits - kAlignmentBits - kWordBits)> words{};

    std::uint64_t& word(std::uintptr_t address) {
      return words[(address >> (kAlignmentBits + kWordBits)) % words.size()];
    }
  };

  // Index of the page with this number, or of the free place that it would get.
  std::size_t place(std::uintptr_t number) const;
  Page& page(std::uintptr_t number);
  static std::uint64_t bit(std::uintptr_t address);

  std::vector<std::unique_ptr<Page>> pages_;  // a power of two of them, or 0; at most half are taken
  std::size_t taken_ = 0;
  std::size_t size_ = 0;
};

}  // namespace ipex_studio

// The hash FNV-1a, for keys and fingerprints that nobody attacks. Source: Fowler, Noll, Vo (1991).
#pragma once

#include <cstdint>

namespace ipex_studio {

constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;

// The hash of what `hash` stands for with one more byte, or a number in the place of a byte.
constexpr std::uint64_t fnvWith(std::uint64_t hash, std::uint64_t next) { return (hash ^ next) * 0x100000001b3; }

}  // namespace ipex_studio

// SHA-256 of byte streams, by which models are named in the database and in trust decisions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ipex_studio {

// One running digest. Not shared between threads.
class Sha256 {
 public:
  enum class Engine { kBest, kPortable };  // kBest: the CPU's SHA instructions where it has them

  explicit Sha256(Engine engine = Engine::kBest);
  void update(const void* data, std::size_t bytes);
  std::string hex();  // finishes the digest, 64 lower-case digits; call once

 private:
  using Compress = void (*)(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);

  Compress compress_;
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

bool cpuHasShaInstructions();

std::string sha256Hex(std::string_view bytes);

// Digest of the whole file behind a descriptor; does not move its position. Throws Error(kFailure) when reading fails.
std::string sha256HexOfFile(int fd);

}  // namespace ipex_studio

// CRC-32 against zlib, at once and in pieces.
#include "core/base/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace ipex_studio {
namespace {

TEST(Crc32, KnownValue) { EXPECT_EQ(crc32Update(0, "123456789", 9), 0xcbf43926u); }

TEST(Crc32, AgreesWithZlibOnEveryLengthAndStart) {
  std::mt19937 random(3);
  std::string text(1200, '\0');
  for (char& c : text) c = static_cast<char>(random());
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  for (std::size_t length = 0; length < 1100; ++length) {
    const std::size_t begin = random() % 100;
    const std::uint32_t before = random();
    const auto expected = static_cast<std::uint32_t>(::crc32(before, bytes + begin, static_cast<uInt>(length)));
    EXPECT_EQ(crc32Update(before, text.data() + begin, length), expected) << length;
  }
}

TEST(Crc32, ContinuesOverPieces) {
  const std::string text(1000003, 'q');
  const std::uint32_t whole = crc32Update(0, text.data(), text.size());
  const std::uint32_t first = crc32Update(0, text.data(), 77777);
  EXPECT_EQ(crc32Update(first, text.data() + 77777, text.size() - 77777), whole);
}

}  // namespace
}  // namespace ipex_studio

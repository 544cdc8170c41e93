// SHA-256 against published digests, for both engines, and of files.
#include "core/base/sha256.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/core/file/pt_file_fixture.h"

namespace ipex_studio {
namespace {

std::string digest(const std::string& text, Sha256::Engine engine, std::size_t piece) {
  Sha256 sha(engine);
  for (std::size_t at = 0; at < text.size(); at += piece)
    sha.update(text.data() + at, std::min(piece, text.size() - at));
  return sha.hex();
}

TEST(Sha256, KnownDigests) {
  for (Sha256::Engine engine : {Sha256::Engine::kBest, Sha256::Engine::kPortable}) {
    EXPECT_EQ(digest("", engine, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest("abc", engine, 2), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", engine, 5),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(digest(std::string(1000000, 'a'), engine, 4096),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, BothEnginesAgreeOnEveryLength) {
  std::mt19937 random(1);
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string expected = digest(text, Sha256::Engine::kPortable, 300);
    EXPECT_EQ(digest(text, Sha256::Engine::kBest, 1 + random() % 100), expected);
    EXPECT_EQ(sha256Hex(text), expected);
  }
}

TEST(Sha256, OfAFile) {
  const std::string text(7000000, 'x');
  const testing::MemoryFile file(text);
  EXPECT_EQ(sha256HexOfFile(file.fd()), sha256Hex(text));
  EXPECT_THROW(sha256HexOfFile(-1), Error);
}

}  // namespace
}  // namespace ipex_studio

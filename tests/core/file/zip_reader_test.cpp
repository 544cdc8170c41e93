// ZIP archives: sound ones are read, inconsistent ones refused.
#include "core/file/zip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/file/pt_file_fixture.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;
using ::testing::HasSubstr;

// Reads all members; returns the complaint, or "accepted".
std::string zipRefusal(const std::string& bytes, const ZipLimits& limits = {}) {
  const MemoryFile file(bytes);
  try {
    const ZipReader zip(file.fd(), "a.zip", limits);
    for (const ZipMember& member : zip.members()) zip.verify(member);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void patch(std::string* bytes, std::size_t at, const std::string& with) { bytes->replace(at, with.size(), with); }

TEST(ZipReader, ReadsStoredAndDeflatedMembers) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919 % 1000);
  for (bool descriptors : {true, false}) {
    for (bool zip64 : {true, false}) {
      ZipWriter writer;
      writer.descriptors = descriptors;
      writer.zip64_end = zip64;
      writer.padding = descriptors;
      writer.add("a/empty", "");
      writer.add("a/stored", text);
      writer.add("a/deflated", text, true);
      writer.add("a/none", "", true);
      const MemoryFile file(writer.finish());
      const ZipReader zip(file.fd(), "a.zip");
      ASSERT_EQ(zip.members().size(), 4u);
      EXPECT_EQ(zip.firstListed(), "a/empty");
      EXPECT_EQ(zip.read(*zip.find("a/empty"), 0), "");
      EXPECT_EQ(zip.read(*zip.find("a/none"), 0), "");
      EXPECT_EQ(zip.read(*zip.find("a/stored"), 1 << 20), text);
      EXPECT_EQ(zip.read(*zip.find("a/deflated"), 1 << 20), text);
      EXPECT_LT(zip.find("a/deflated")->compressed_bytes, text.size());
      EXPECT_EQ(zip.find("a/other"), nullptr);
      EXPECT_THROW(zip.read(*zip.find("a/stored"), text.size() - 1), Error);
    }
  }
}

TEST(ZipReader, RefusesBadNames) {
  for (const char* name : {"/etc/passwd", "a/../b", "..", "a//b", "./a", "a\\b", "c:/a", "a\nb", "a/.."}) {
    ZipWriter zip;
    zip.add(name, "x");
    EXPECT_THAT(zipRefusal(zip.finish()), HasSubstr("is not a sound ZIP archive")) << name;
  }
  ZipWriter nameless;
  nameless.add("", "x");
  EXPECT_THAT(zipRefusal(nameless.finish()), HasSubstr("has no name"));
  ZipWriter fine;
  fine.add("a/.data/x..y", "x");
  fine.add("a/folder/", "");
  EXPECT_EQ(zipRefusal(fine.finish()), "accepted");
}

TEST(ZipReader, RefusesDuplicatesAlsoByCase) {
  for (const char* second : {"a/x", "a/X", "A/x"}) {
    ZipWriter zip;
    zip.add("a/x", "1");
    zip.add(second, "2");
    EXPECT_THAT(zipRefusal(zip.finish()), HasSubstr("upper and lower case count as the same")) << second;
  }
}

TEST(ZipReader, RefusesADeclaredSizeBeyondTheFile) {
  ZipWriter zip;
  zip.add("a/data", "tiny");
  std::string bytes = zip.finish();
  const std::string huge = littleEndian(2200000000u, 4);
  patch(&bytes, zip.places[0].central + 20, huge + huge);
  EXPECT_EQ(
      zipRefusal(bytes),
      "'a.zip' is not a sound ZIP archive: member 'a/data' declares 2200000000 bytes, more than the file has; copy "
      "or export the file again.");
}

TEST(ZipReader, RefusesBombs) {
  const std::string zeros(4 << 20, '\0');
  ZipWriter zip;
  zip.add("a/zeros", zeros, true);
  const std::string bytes = zip.finish();
  EXPECT_EQ(zipRefusal(bytes), "accepted");
  ZipLimits limits;
  limits.inflated_bytes = 1 << 20;
  EXPECT_THAT(zipRefusal(bytes, limits), HasSubstr("would grow beyond 1 MB"));

  const std::string squeezed = deflated(zeros);
  ZipWriter more;  // inflates to more bytes than it declares
  more.addRaw("a/lie", squeezed, 1000, crcOf(zeros.substr(0, 1000)), 8);
  EXPECT_THAT(zipRefusal(more.finish()), HasSubstr("inflates to more than its declared size"));
  ZipWriter less;
  less.addRaw("a/lie", squeezed, zeros.size() + 1, crcOf(zeros), 8);
  EXPECT_THAT(zipRefusal(less.finish()), HasSubstr("holds 4194304 bytes instead of 4194305"));
  ZipWriter beyond;
  beyond.addRaw("a/lie", squeezed, 1500000000u, crcOf(zeros), 8);
  EXPECT_THAT(zipRefusal(beyond.finish()), HasSubstr("more than"));
  ZipWriter trailing;
  trailing.addRaw("a/lie", deflated("abc") + "tail", 3, crcOf("abc"), 8);
  EXPECT_THAT(zipRefusal(trailing.finish()), HasSubstr("broken compressed data"));
  ZipWriter cut;
  cut.addRaw("a/lie", squeezed.substr(0, squeezed.size() - 3), zeros.size(), crcOf(zeros), 8);
  EXPECT_NE(zipRefusal(cut.finish()), "accepted");
}

TEST(ZipReader, RefusesTooManyMembers) {
  ZipWriter zip;
  for (int i = 0; i < 100000; ++i) zip.add("a/" + std::to_string(i), "");
  EXPECT_THAT(zipRefusal(zip.finish()), HasSubstr("it lists 100000 members, more than the 50000 allowed"));
}

TEST(ZipReader, RefusesOverlapsAndGaps) {
  ZipWriter zip;
  zip.padding = false;
  zip.add("a/x", "0123456789");
  zip.add("a/y", "0123456789");
  const std::string good = zip.finish();
  ASSERT_EQ(zipRefusal(good), "accepted");

  std::string same_place = good;
  patch(&same_place, zip.places[1].central + 42, littleEndian(0, 4));
  EXPECT_THAT(zipRefusal(same_place), HasSubstr("overlaps another or leaves a gap"));

  std::string wider = good;  // x claims the bytes of y's header as its own
  patch(&wider, zip.places[0].central + 20, littleEndian(40, 4) + littleEndian(40, 4));
  EXPECT_NE(zipRefusal(wider), "accepted");

  const std::string front_gap = std::string("PK\x03\x04", 4) + good;
  EXPECT_NE(zipRefusal(front_gap), "accepted");
  std::string appended = good + "x";
  EXPECT_THAT(zipRefusal(appended), HasSubstr("is cut short or has bytes appended"));
}

TEST(ZipReader, RefusesHeadersThatDisagree) {
  for (bool descriptors : {true, false}) {
    ZipWriter zip;
    zip.descriptors = descriptors;
    zip.add("a/member", "0123456789");
    const std::string good = zip.finish();
    for (std::size_t at = 0; at < 30; ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x55);
      EXPECT_NE(zipRefusal(bad), "accepted") << "local header, byte " << at;
    }
    if (!descriptors) continue;
    for (std::size_t at = zip.places[0].data_end; at < zip.places[0].data_end + 16; ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x01);
      EXPECT_NE(zipRefusal(bad), "accepted") << "descriptor, byte " << at;
    }
  }
}

TEST(ZipReader, RefusesEncryptionAndUnknownMethods) {
  ZipWriter method;
  method.addRaw("a/x", "abc", 3, crcOf("abc"), 12);
  EXPECT_THAT(zipRefusal(method.finish()), HasSubstr("compressed by unknown method 12"));
  ZipWriter zip;
  zip.add("a/x", "abc");
  std::string bytes = zip.finish();
  bytes[zip.places[0].header + 6] ^= 1;
  bytes[zip.places[0].central + 8] ^= 1;
  EXPECT_THAT(zipRefusal(bytes), HasSubstr("is encrypted"));
}

TEST(ZipReader, RefusesZip64RecordsThatDisagree) {
  ZipWriter zip;
  zip.add("a/x", "abc");
  const std::string good = zip.finish();
  const std::size_t record = good.size() - 22 - 20 - 56;
  for (std::size_t at : {0u, 4u, 16u, 20u, 24u, 32u, 40u, 48u, 56u, 60u, 64u, 72u}) {
    std::string bad = good;
    bad[record + at] = static_cast<char>(bad[record + at] ^ 2);
    EXPECT_NE(zipRefusal(bad), "accepted") << "byte " << at;
  }
}

}  // namespace
}  // namespace ipex_studio

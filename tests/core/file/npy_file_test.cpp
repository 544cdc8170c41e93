// Arrays that numpy writes are read, and others are refused before anything is allocated.
#include "core/file/npy_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tests/core/file/zip_writer.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

std::string npy(const std::string& descr, const std::string& order, const std::string& shape, const std::string& data,
                int version = 1) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  const std::size_t before = version == 1 ? 10 : 12;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         testing::littleEndian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string npyRefusal(const std::string& bytes) {
  try {
    parseNpy(bytes, "'x.npy'");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return {};
}

TEST(NpyFile, ReadsEveryVersionAndType) {
  for (int version = 1; version <= 3; ++version) {
    const NpyArray array = parseNpy(npy("<f4", "False", "(2, 3)", std::string(24, 'a'), version), "x");
    EXPECT_EQ(array.dtype, "float32");
    EXPECT_EQ(array.dims, (std::vector<std::int64_t>{2, 3}));
    EXPECT_FALSE(array.fortran_order);
    EXPECT_EQ(array.data, std::string(24, 'a'));
  }
  const std::pair<const char*, const char*> kTypes[] = {{"<f2", "float16"}, {"<f8", "float64"}, {"|i1", "int8"},
                                                        {"<i2", "int16"},   {"<i4", "int32"},   {"<i8", "int64"},
                                                        {"|u1", "uint8"},   {"|b1", "bool"}};
  for (const auto& [descr, dtype] : kTypes) {
    const std::string data(static_cast<std::size_t>(descr[2] - '0'), '\1');
    EXPECT_EQ(parseNpy(npy(descr, "True", "(1,)", data), "x").dtype, dtype);
    EXPECT_TRUE(parseNpy(npy(descr, "False", "()", data), "x").dims.empty());
  }
  EXPECT_EQ(parseNpy(npy("<f4", "True", "(3L, 0)", ""), "x").dims, (std::vector<std::int64_t>{3, 0}));
}

TEST(NpyFile, RefusesTheRest) {
  const std::string good = npy("<f4", "False", "(2,)", "12345678");
  EXPECT_EQ(npyRefusal(good), "");
  EXPECT_EQ(npyRefusal(npy(">f4", "False", "(2,)", "12345678")),
            "'x.npy' cannot be used as input: its numbers are big-endian; save it again with numpy.save.");
  EXPECT_EQ(npyRefusal(npy("|O", "False", "(2,)", "12345678")),
            "'x.npy' cannot be used as input: its type '|O' is no tensor type; save it again with numpy.save.");
  EXPECT_EQ(npyRefusal(good + "9"),
            "'x.npy' cannot be used as input: its data does not fill its sizes; save it again with numpy.save.");
  for (const char* shape :
       {"(4294967296, 4294967296, 4294967296)", "(-1,)", "(99999999999999999999,)", "(9223372036854775807, 2)",
        "(1.5,)", "2", "(2",
        "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)"}) {
    EXPECT_NE(npyRefusal(npy("<f4", "False", shape, "12345678")), "") << shape;
  }
  for (const char* descr : {"<c8", "<U5", "f4", "<u4", "", "<f44", "<m8"})
    EXPECT_NE(npyRefusal(npy(descr, "False", "(2,)", "12345678")), "") << descr;
  EXPECT_NE(npyRefusal(npy("<f4", "0", "(2,)", "12345678")), "");
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(npyRefusal(good.substr(0, length)), "") << length;
  EXPECT_NE(npyRefusal(std::string("\x93NUMPY\x04\0", 8) + good.substr(8)), "");
  std::string long_header = npy("<f4", "False", "(2,)", "12345678", 2);
  long_header.replace(8, 4, testing::littleEndian(0xfffffff0, 4));
  EXPECT_NE(npyRefusal(long_header), "");
}

TEST(NpyFile, MutationsNeverCrash) {
  testing::Random random(11);
  const std::string good = npy("<f4", "False", "(2, 2)", std::string(16, 'x'));
  for (int i = 0; i < 5000 * testing::campaignFactor(); ++i) npyRefusal(testing::mutated(good, random));
}

// Reads an archive in memory through a descriptor, as a file is read.
std::vector<std::pair<std::string, NpyArray>> readArchive(const std::string& bytes) {
  const int fd = memfd_create("npz", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  return readNpz(ZipReader(fd, "x.npz"), "x.npz");
}

TEST(NpyFile, ReadsArchivesInOrder) {
  testing::ZipWriter zip;
  zip.add("second.npy", npy("<f4", "False", "(1,)", "1234"));
  zip.add("arr_0.npy", npy("|b1", "False", "(3,)", std::string(3, '\1')), true);
  const auto arrays = readArchive(zip.finish());
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "second");
  EXPECT_EQ(arrays[1].second.dtype, "bool");
}

// Archives as numpy.savez and numpy.savez_compressed write them: ZIP64 sizes in the local headers only.
TEST(NpyFile, ReadsNumpysOwnArchives) {
  for (const bool compress : {false, true}) {
    const std::string data = npy("<f4", "False", "(2, 3)", std::string(24, 'a'));
    const std::string stored = compress ? testing::deflated(data) : data;
    const std::string crc = testing::littleEndian(testing::crcOf(data), 4),
                      method = testing::littleEndian(compress ? 8 : 0, 2);
    const std::string time("\0\0\x21\0", 4), name = "arr_0.npy", unknown(8, '\xff');
    std::string file = std::string("PK\3\4", 4) + testing::littleEndian(45, 2) + std::string(2, '\0') + method + time +
                       crc + unknown + testing::littleEndian(name.size(), 2) + testing::littleEndian(20, 2) + name +
                       testing::littleEndian(1, 2) + testing::littleEndian(16, 2) +
                       testing::littleEndian(data.size(), 8) + testing::littleEndian(stored.size(), 8) + stored;
    const std::size_t directory = file.size();
    file += std::string("PK\1\2", 4) + testing::littleEndian(0x032d, 2) + testing::littleEndian(45, 2) +
            std::string(2, '\0') + method + time + crc + testing::littleEndian(stored.size(), 4) +
            testing::littleEndian(data.size(), 4) + testing::littleEndian(name.size(), 2) + std::string(8, '\0') +
            testing::littleEndian(0x01800000, 4) + testing::littleEndian(0, 4) + name;
    const std::size_t length = file.size() - directory;
    file += std::string("PK\5\6", 4) + std::string(4, '\0') + testing::littleEndian(1, 2) +
            testing::littleEndian(1, 2) + testing::littleEndian(length, 4) + testing::littleEndian(directory, 4) +
            std::string(2, '\0');
    const auto arrays = readArchive(file);
    ASSERT_EQ(arrays.size(), 1u) << compress;
    EXPECT_EQ(arrays[0].first, "arr_0");
    EXPECT_EQ(arrays[0].second.data, std::string(24, 'a'));
  }
}

TEST(NpyFile, RefusesOtherArchives) {
  testing::ZipWriter zip;
  zip.add("notes.txt", "hello");
  EXPECT_THROW(readArchive(zip.finish()), Error);
}

}  // namespace
}  // namespace ipex_studio

// Files of prepared weights are written and read, and refused if anything about them is wrong.
#include "core/plan/prepared_weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "core/base/crc32.h"
#include "core/base/error.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

constexpr const char* kMachine = "isa, libraries";
constexpr std::size_t kHeaderBytes = 32;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Replaces the file by a new one, so that a mapping of the old contents stays whole.
void replace(const std::string& path, const std::string& bytes) {
  unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
  chmod(path.c_str(), 0644);
}

class PreparedFile : public ::testing::Test {
 protected:
  PreparedFile() {
    std::mt19937 random(7);
    for (std::string* bytes : {&large_, &small_, &other_}) {
      bytes->resize(bytes == &large_ ? 3'000'001 : 77);
      for (char& byte : *bytes) byte = static_cast<char>(random());
    }
    PreparedRegion first{"first", {}}, second{"second", {}};
    first.weights.push_back({0, 5, 0, "blocked", large_.data(), large_.size()});
    first.weights.push_back({3, 6, 128, "transposed", small_.data(), small_.size()});
    second.weights.push_back({0, 5, 0, "blocked", other_.data(), other_.size()});
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    end_ = writePreparedWeights(fd, 0, kMachine, {first, second});
    ::close(fd);
    bytes_ = contents(path_);
  }

  std::shared_ptr<const PreparedWeights> open() {
    problem_.clear();
    return PreparedWeights::open(path_, kMachine, &problem_);
  }

  // The file with another table, with a valid checksum and otherwise sound.
  std::string withTable(const std::string& table) const {
    std::string file = bytes_.substr(0, kHeaderBytes) + table;
    const std::uint32_t crc = crc32Update(0, table.data(), table.size());
    const std::uint64_t table_bytes = table.size();
    file.resize((file.size() + 4095) / 4096 * 4096 + 8192);
    const std::uint64_t file_bytes = file.size();
    std::memcpy(file.data() + 12, &crc, sizeof crc);
    std::memcpy(file.data() + 16, &table_bytes, sizeof table_bytes);
    std::memcpy(file.data() + 24, &file_bytes, sizeof file_bytes);
    return file;
  }

  const testing::TempDirectory folder_;
  const std::string path_ = folder_.file("fast.pt.weights");
  std::string large_, small_, other_;
  std::string bytes_, problem_;
  std::int64_t end_ = 0;
};

std::string textOf(const WeightCache::Packed& packed) {
  return packed ? std::string(static_cast<const char*>(packed->data()), packed->bytes()) : "nothing";
}

TEST_F(PreparedFile, GivesBackWhatWasWritten) {
  EXPECT_EQ(end_, static_cast<std::int64_t>(bytes_.size()));
  for (const mode_t mode : {0644, 0666}) {
    chmod(path_.c_str(), mode);
    const auto file = open();
    ASSERT_TRUE(file) << problem_;
    EXPECT_EQ(file->isMapped(), mode == 0644) << "what others may write must not be mapped";
    EXPECT_EQ(file->places("third"), nullptr);
    const auto* first = file->places("first");
    const auto* second = file->places("second");
    ASSERT_TRUE(first != nullptr && second != nullptr && first->size() == 2 && second->size() == 1);
    EXPECT_EQ(textOf(file->take((*first)[0])), large_);
    EXPECT_EQ(textOf(file->take((*first)[1])), small_);
    EXPECT_EQ(textOf(file->take((*second)[0])), other_);
    EXPECT_EQ((*first)[1].constant, 3u);
    EXPECT_EQ((*first)[1].constant_crc, 6u);
    EXPECT_EQ((*first)[1].offset, 128u);
    EXPECT_EQ((*first)[1].form, "transposed");
    for (const PreparedWeights::Place& place : *first)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->take(place)->data()) % 64, 0u);
  }
}

TEST_F(PreparedFile, MemoryOutlivesTheFile) {
  WeightCache::Packed packed;
  {
    const auto file = open();
    ASSERT_TRUE(file && file->isMapped());
    packed = file->take(file->places("first")->at(0));
  }
  unlink(path_.c_str());
  EXPECT_EQ(textOf(packed), large_);
}

TEST_F(PreparedFile, IsReadFromTheMiddleOfAnotherWhenItWasWrittenThere) {
  const std::string path = folder_.file("export");
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  PreparedRegion region{"first", {{0, 5, 0, "blocked", large_.data(), large_.size()}}};
  const std::int64_t end = writePreparedWeights(fd, 12345, kMachine, {region});
  ::close(fd);
  const std::string all = contents(path);
  ASSERT_EQ(end, static_cast<std::int64_t>(all.size()));
  replace(path_, all.substr(12345));
  const auto file = open();
  ASSERT_TRUE(file) << problem_;
  EXPECT_EQ(textOf(file->take(file->places("first")->at(0))), large_);
}

TEST_F(PreparedFile, OtherMachinesAndMissingFilesGiveNothing) {
  EXPECT_EQ(PreparedWeights::open(path_, "isa, other libraries", &problem_), nullptr);
  EXPECT_NE(problem_.find("another machine"), std::string::npos) << problem_;
  unlink(path_.c_str());
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(problem_, "") << "no file is no mistake";
  mkdir(path_.c_str(), 0755);
  EXPECT_EQ(open(), nullptr);
  EXPECT_NE(problem_, "");
}

TEST_F(PreparedFile, EveryTruncationIsRefused) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 10,
                                  std::size_t{4096}, bytes_.size() / 2, bytes_.size() - 1, bytes_.size() + 1}) {
    replace(path_, bytes_.substr(0, bytes) + std::string(bytes > bytes_.size() ? 1 : 0, '\0'));
    EXPECT_EQ(open(), nullptr) << bytes;
    EXPECT_EQ(problem_.find('\n'), std::string::npos);
    EXPECT_NE(problem_.find("packed again"), std::string::npos) << problem_;
  }
}

// A flipped bit in the description of the weights refuses the file, one in weights refuses only those weights.
TEST_F(PreparedFile, FlippedBitsAreFound) {
  std::mt19937 random(11);
  const auto sound = open();
  const std::uint64_t first = sound->places("first")->at(0).begin;
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = bytes_;
    const bool in_weights = trial % 2 == 0;
    std::uint64_t table_bytes = 0;
    std::memcpy(&table_bytes, bytes_.data() + 16, sizeof table_bytes);
    const std::size_t at = in_weights ? first + random() % large_.size() : random() % (kHeaderBytes + table_bytes);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    replace(path_, damaged);
    const auto file = open();
    if (!in_weights) {
      EXPECT_EQ(file, nullptr) << "byte " << at;
      continue;
    }
    ASSERT_TRUE(file) << problem_;
    EXPECT_EQ(file->take(file->places("first")->at(0)), nullptr) << "byte " << at;
    EXPECT_EQ(textOf(file->take(file->places("first")->at(1))), small_);
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_THROW(PreparedWeights::check(fd, path_), Error);
    ::close(fd);
  }
}

TEST_F(PreparedFile, HostileTablesAreRefused) {
  const auto table = [](const std::string& rows) {
    return R"({"machine": "isa, libraries", "regions": {"first": [)" + rows + "]}}";
  };
  replace(path_, withTable(table(R"([0, 9, 0, "blocked", 0, 8192, 0])")));
  EXPECT_TRUE(open()) << "the frame of these cases must be sound: " << problem_;
  for (const char* rows :
       {R"([0, 9, 0, "blocked", 0, 8193, 0])", R"([0, 9, 0, "blocked", 8192, 1, 0])",
        R"([0, 9, 0, "blocked", 64, 8192, 0])", R"([0, 9, 0, "blocked", 1, 64, 0])",
        R"([0, 9, 0, "blocked", 18446744073709551552, 64, 0])", R"([0, 9, 0, "blocked", 64, 18446744073709551615, 0])",
        R"([0, 9, 0, "blocked", -64, 64, 0])", R"([-1, 9, 0, "blocked", 0, 64, 0])",
        R"([0, 9, 0.5, "blocked", 0, 64, 0])", R"([0, 9, 0, 7, 0, 64, 0])", R"([0, 9, 0, "blocked", 0, 64])",
        R"({"constant": 0})", "null", "[]",
        R"([0, 9, 0, "a", 0, 8192, 0], [0, 9, 0, "b", 0, 8192, 0], [0, 9, 0, "c", 0, 8192, 0])"}) {
    replace(path_, withTable(table(rows)));
    EXPECT_EQ(open(), nullptr) << rows;
    EXPECT_NE(problem_.find("is damaged"), std::string::npos) << rows;
  }
  for (const char* text : {"", "{", "[]", "7", R"({"machine": 7, "regions": {}})", R"({"machine": "isa, libraries"})",
                           R"({"machine": "isa, libraries", "regions": {"first": 7}})"}) {
    replace(path_, withTable(text));
    EXPECT_EQ(open(), nullptr) << text;
  }
}

TEST_F(PreparedFile, RegionsAreNamedByOperationsAndSizes) {
  PlanSpec spec;
  spec.constants = {contiguousDesc(DType::kF32, Dims{4, 4})};
  const std::string id = preparedRegionId(spec);
  EXPECT_EQ(preparedRegionId(planSpecFromText(planSpecToText(spec))), id);
  spec.constants = {contiguousDesc(DType::kF32, Dims{16})};
  EXPECT_NE(preparedRegionId(spec), id);
  spec.inputs = {{false, DType::kF32, 4}};
  EXPECT_NE(preparedRegionId(spec), id);
}

// Equal blocks with different weights: each finds its own by the bytes that it was packed from.
TEST_F(PreparedFile, RegionsOfOneNameStandTogether) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC);
  const PreparedRegion one{"block", {{0, 5, 0, "blocked", small_.data(), small_.size()}}},
      two{"block", {{0, 6, 0, "blocked", other_.data(), other_.size()}}};
  writePreparedWeights(fd, 0, kMachine, {one, two});
  ::close(fd);
  const auto file = open();
  ASSERT_TRUE(file) << problem_;
  const auto* places = file->places("block");
  ASSERT_TRUE(places != nullptr && places->size() == 2);
  EXPECT_EQ(textOf(file->take((*places)[0])), small_);
  EXPECT_EQ(textOf(file->take((*places)[1])), other_);
  EXPECT_NE((*places)[0].constant_crc, (*places)[1].constant_crc);
}

// The size that a file claims is not trusted: a kernel reads as many bytes as it asked for.
TEST(WeightCachePut, IsFoundOnlyAtTheSizeThatIsAskedFor) {
  WeightCache cache;
  const char source = 0;
  static const std::string memory(64, 'p');
  const auto owner = std::make_shared<int>(0);
  cache.put(&source, "form", std::make_shared<const Buffer>(owner, memory.data(), 64));
  int packed = 0;
  const auto pack = [&](void* to) {
    ++packed;
    std::memset(to, 'n', 100);
  };
  EXPECT_EQ(cache.getOrPack(&source, "form", 64, pack)->data(), memory.data());
  EXPECT_EQ(packed, 0);
  const WeightCache::Packed larger = cache.getOrPack(&source, "form", 100, pack);
  EXPECT_EQ(packed, 1);
  EXPECT_EQ(std::memchr(larger->data(), 'p', 100), nullptr);
  EXPECT_EQ(cache.getOrPack(&source, "form", 100, pack), larger);
  EXPECT_EQ(packed, 1);
}

// Upconverted weights are packed from a buffer that is freed; a later buffer at its address must not find them.
TEST(WeightCacheRelease, ForgetsWhatWasPackedFromWhatItFrees) {
  WeightCache cache;
  const char source = 0;
  const auto nothing = [](void*) {};
  WeightCache::Packed wide = cache.getOrPack(&source, "wide", 4096, nothing);
  const char* at = static_cast<const char*>(wide->data()) + 64;
  const WeightCache::Packed used = cache.getOrPack(at, "packed", 128, nothing);
  wide.reset();
  cache.releaseUnused();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_NE(cache.getOrPack(at, "packed", 128, nothing), used);
}

}  // namespace
}  // namespace ipex_studio

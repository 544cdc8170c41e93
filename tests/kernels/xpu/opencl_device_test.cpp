// The runtime: memory, copies, order, programs, their cache, and failures as sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "kernels/xpu/opencl_kernel.h"
#include "tests/kernels/xpu/opencl_machine.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using testing::openTestDevice;
using testing::TemporaryFolder;

const DeviceProgram kAddOne{"add_one",
                            "__attribute__((reqd_work_group_size(16, 1, 1)))\n"
                            "__kernel void addOne(__global float* x, int count, float step) {\n"
                            "  if (get_global_id(0) < count) x[get_global_id(0)] += step;\n"
                            "}\n"};

class OpenClDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = openTestDevice(folder_.path());
    IPEX_NEEDS_OPENCL(device_);
  }

  // 100 numbers after two steps of the kernel.
  static std::vector<float> addTwice(OpenClDevice& device) {
    std::vector<float> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const Buffer memory(400, device);
    const auto queue = device.newQueue();
    queue->copy(memory.data(), numbers.data(), 400);
    OpenClKernel kernel(device, kAddOne, "addOne");
    for (const float step : {1.0f, 2.0f}) {
      kernel.begin();
      kernel.pointer(memory.data());
      kernel.value(cl_int{100});
      kernel.value(step);
      EXPECT_EQ(kernel.submit(static_cast<OpenClQueue&>(*queue), {7, 1, 1}, {16, 1, 1}), CL_SUCCESS);
    }
    queue->copy(numbers.data(), memory.data(), 400);
    return numbers;
  }

  static std::vector<float> expected() {
    std::vector<float> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 3.0f);
    return numbers;
  }

  std::string cacheFile() const {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) return file.path().string();
    return "";
  }

  TemporaryFolder folder_;
  std::unique_ptr<OpenClDevice> device_;
};

TEST_F(OpenClDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->id().str(), "xpu:0");
  EXPECT_FALSE(device_->isHost());
  EXPECT_NE(device_->properties().name, "");
  EXPECT_GT(device_->properties().memory_bytes, 0u);
  EXPECT_GT(device_->copyNs(1 << 20), device_->copyNs(1));
}

TEST_F(OpenClDeviceTest, CopiesBothWaysAndWithin) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{1} << 20}) {
    std::vector<unsigned char> from(bytes), to(bytes);
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
    const Buffer first(bytes, *device_), second(bytes, *device_);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 64, 0u);
    const auto queue = device_->newQueue();
    queue->copy(first.data(), from.data(), bytes);
    queue->copy(second.data(), first.data(), bytes);
    queue->copy(to.data(), second.data(), bytes);
    queue->finish();
    EXPECT_EQ(from, to);
  }
}

TEST_F(OpenClDeviceTest, RunsStepsInOrder) { EXPECT_EQ(addTwice(*device_), expected()); }

// Spans lie in the order of the work, inside of the time that the host waited.
TEST_F(OpenClDeviceTest, TimesWorkByTheClockOfTheDevice) {
  constexpr std::size_t kBytes = 1 << 22;
  const std::vector<unsigned char> data(kBytes);
  const Buffer memory(kBytes, *device_);
  const auto queue = device_->newQueue();
  for (int round = 0; round < 2; ++round) {
    const std::int64_t begin = device_->nowNs();
    ASSERT_TRUE(queue->startSpans());
    for (const std::size_t copies : {1, 0, 2}) {
      queue->beginSpan();
      for (std::size_t c = 0; c < copies; ++c) queue->copy(memory.data(), data.data(), kBytes);
    }
    const std::vector<DeviceSpan> spans = queue->endSpans();
    const std::int64_t end = device_->nowNs();
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ(spans[1].elapsed_ns, 0);
    EXPECT_GT(spans[0].elapsed_ns, 10000) << "4 MiB in 10 us";
    EXPECT_GE(spans[0].begin_ns, begin - 1000000);
    EXPECT_GE(spans[2].begin_ns, spans[0].begin_ns + spans[0].elapsed_ns);
    EXPECT_LE(spans[2].begin_ns + spans[2].elapsed_ns, end + 1000000);
    EXPECT_LT(spans[0].elapsed_ns + spans[2].elapsed_ns, end - begin);
    queue->copy(memory.data(), data.data(), kBytes);
    EXPECT_TRUE(queue->endSpans().empty()) << "nothing was begun";
  }
}

TEST_F(OpenClDeviceTest, QueuesOfSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (auto& result : results) threads.emplace_back([&] { result = addTwice(*device_); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected());
  EXPECT_EQ(device_->compiled(), 1);
}

TEST_F(OpenClDeviceTest, NoMemoryIsBadAlloc) {
  EXPECT_THROW(Buffer(std::size_t{1} << 50, *device_), std::bad_alloc);
  EXPECT_EQ(addTwice(*device_), expected()) << "and the device lives on";
}

TEST_F(OpenClDeviceTest, ASecondStartCompilesNothing) {
  EXPECT_EQ(addTwice(*device_), expected());
  EXPECT_EQ(device_->compiled(), 1);
  for (const MayCompile may : {MayCompile::kYes, MayCompile::kNo}) {
    const auto again = openTestDevice(folder_.path(), may);
    EXPECT_EQ(addTwice(*again), expected());
    EXPECT_EQ(again->compiled(), 0);
  }
}

TEST_F(OpenClDeviceTest, DamagedFilesAreCompiledAnew) {
  addTwice(*device_);
  const std::string path = cacheFile();
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_GT(whole.size(), 1000u);
  std::string other_byte = whole;
  other_byte[whole.size() / 2] ^= 1;
  for (const std::string& damaged :
       {std::string(), whole.substr(0, 50), whole.substr(0, whole.size() - 1), other_byte}) {
    std::ofstream(path, std::ios::binary) << damaged;
    const auto again = openTestDevice(folder_.path());
    EXPECT_EQ(addTwice(*again), expected());
    EXPECT_EQ(again->compiled(), 1);
    const auto third = openTestDevice(folder_.path());
    addTwice(*third);
    EXPECT_EQ(third->compiled(), 0) << "the file is whole again";
  }
}

TEST_F(OpenClDeviceTest, AFileUnderTheNameOfAnotherIsNotTaken) {
  addTwice(*device_);
  const std::string path = cacheFile();
  DeviceProgram other = kAddOne;
  other.text += "// another text\n";
  device_->program(other);
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().string() != path)
      std::filesystem::copy_file(path, file.path(), std::filesystem::copy_options::overwrite_existing);
  }
  const auto again = openTestDevice(folder_.path());
  again->program(other);
  EXPECT_EQ(again->compiled(), 1);
}

TEST_F(OpenClDeviceTest, WithoutAFolderItStillWorks) {
  const auto device = openTestDevice("/proc/nowhere");
  EXPECT_EQ(addTwice(*device), expected());
}

TEST_F(OpenClDeviceTest, WhatMustNotBeCompiledIsASentence) {
  const auto device = openTestDevice(folder_.path(), MayCompile::kNo);
  try {
    device->program(kAddOne);
    ADD_FAILURE() << "it was compiled";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is not among the compiled ones in " + folder_.path()));
  }
}

TEST_F(OpenClDeviceTest, AProgramThatIsNoneIsASentence) {
  try {
    device_->program({"nonsense", "__kernel void f(__global float* x) { x[0] = nothing; }"});
    ADD_FAILURE() << "it was compiled";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot compile nonsense (CL_BUILD_PROGRAM_FAILURE"));
    EXPECT_THAT(error.what(), HasSubstr("use of undeclared identifier"));
  }
  EXPECT_EQ(addTwice(*device_), expected()) << "and the device lives on";
}

TEST_F(OpenClDeviceTest, ADeviceThatIsNotThereIsUnsupported) {
  try {
    OpenClDevice::open("opencl:99", ProgramCache(""), MayCompile::kYes);
    ADD_FAILURE() << "there are a hundred devices";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("There is no device opencl:99;"));
  }
}

}  // namespace
}  // namespace ipex_studio

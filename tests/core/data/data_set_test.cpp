// Data sets of every form, and the messages about those that cannot be used.
#include "core/data/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>

#include <jpeglib.h>

#include "core/base/error.h"
#include "core/data/idx_file.h"
#include "core/data/image_file.h"
#include "tests/core/data/files.h"

namespace ipex_studio::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

std::string messageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    const std::string text = error.what();
    EXPECT_EQ(text.back(), '.');
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  }
  return "nothing was thrown";
}

void writePng(const std::string& path, int width, int height, bool color, unsigned char value) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const std::vector<unsigned char> pixels(static_cast<std::size_t>(width * height * (color ? 3 : 1)), value);
  ASSERT_NE(png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr), 0);
}

void writeJpeg(const std::string& path, unsigned width, unsigned height, unsigned char value) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  jpeg_stdio_dest(&encoder, file);
  encoder.image_width = width;
  encoder.image_height = height;
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<unsigned char> line(std::size_t{width} * 3, value);
  while (encoder.next_scanline < height) {
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  std::fclose(file);
}

std::string fileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> floats(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kFloat).contiguous();
  return {dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel()};
}

DataSetOptions batchesOf(std::int64_t batch) {
  DataSetOptions options;
  options.batch = batch;
  return options;
}

TEST(DataSets, ReadIdxPlainAndPacked) {
  const Folder folder;
  const std::string images = idxBytes({3, 2, 2}, std::string("\x00\x33\x66\x99\x01\x01\x01\x01\xff\xff\xff\xff", 12));
  writeBytes(folder / "t10k-images-idx3-ubyte", images);
  writeBytes(folder / "t10k-labels-idx1-ubyte", idxBytes({3}, std::string("\x02\x00\x01", 3)));
  const DataSet plain(folder.path(), batchesOf(2));
  EXPECT_EQ(plain.size(), 3);
  EXPECT_EQ(plain.batches(), 2);
  const DataBatch first = plain.batch(0), last = plain.batch(1);
  EXPECT_THAT(floats(first.inputs[0].toTensor()[0]),
              ElementsAre(FloatEq(0), FloatEq(0.2f), FloatEq(0.4f), FloatEq(0.6f)));
  EXPECT_EQ(first.targets[0].item<std::int64_t>(), 2);
  EXPECT_EQ(last.samples, 1);
  EXPECT_EQ(last.inputs[0].toTensor().size(0), 2);  // with repetitions

  gzFile packed = gzopen((folder / "train-images-idx3-ubyte.gz").c_str(), "wb");
  gzwrite(packed, images.data(), static_cast<unsigned>(images.size()));
  gzclose(packed);
  const DataSet unlabelled(folder / "train-images-idx3-ubyte.gz", batchesOf(3));
  EXPECT_FALSE(unlabelled.labelled());
  EXPECT_TRUE(at::equal(unlabelled.batch(0).inputs[0].toTensor()[1], first.inputs[0].toTensor()[1]));
  EXPECT_THAT(messageOf([&] { unlabelled.requireLabels(); }), HasSubstr("has no labels"));
}

TEST(DataSets, DamagedIdxFilesAreRefused) {
  const Folder folder;
  writeBytes(folder / "cut-images", idxBytes({3, 2, 2}, "abc"));
  EXPECT_THAT(messageOf([&] { readIdx(folder / "cut-images"); }), HasSubstr("is cut short"));
  // The header alone must not cause an allocation.
  writeBytes(folder / "boast-images", idxBytes({0xffff, 0xffff}, "abc"));
  EXPECT_THAT(messageOf([&] { readIdx(folder / "boast-images"); }), HasSubstr("is cut short"));
  writeBytes(folder / "huge-images", idxBytes({0xffffffff, 0xffffffff, 2}, "abc"));
  EXPECT_THAT(messageOf([&] { readIdx(folder / "huge-images"); }), HasSubstr("more than 4 GB"));
  writeBytes(folder / "text.gz", "hello world, this is text");
  EXPECT_THAT(messageOf([&] { DataSet(folder / "text.gz", {}); }), HasSubstr("neither a CIFAR-10 file"));
}

TEST(DataSets, ReadCifar) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 5; ++i)
    rows += std::string(1, static_cast<char>(i)) + std::string(3072, static_cast<char>(51 * i));
  writeBytes(folder / "test_batch.bin", rows);
  const DataSet data(folder.path(), batchesOf(5));
  const DataBatch batch = data.batch(0);
  EXPECT_EQ(batch.inputs[0].toTensor().sizes(), (std::vector<std::int64_t>{5, 3, 32, 32}));
  EXPECT_FLOAT_EQ(batch.inputs[0].toTensor()[4][2][31][31].item<float>(), 0.8f);
  EXPECT_EQ(batch.targets[3].item<std::int64_t>(), 3);
  writeBytes(folder / "bad.bin", std::string(3073, '\x0b'));
  EXPECT_THAT(messageOf([&] { DataSet(folder / "bad.bin", {}); }), HasSubstr("greater than 9"));
}

TEST(DataSets, TakeTheFilesToTrainOnOrToTestOn) {
  const Folder folder;
  const auto images = [](int from, int count) {
    std::string rows;
    for (int i = from; i < from + count; ++i) rows += std::string(3073, static_cast<char>(i));
    return rows;
  };
  writeBytes(folder / "cifar/data_batch_1.bin", images(1, 2));
  writeBytes(folder / "cifar/data_batch_3.bin", images(3, 3));
  DataSetOptions training = batchesOf(64);
  training.for_training = true;
  EXPECT_FALSE(hasTestFiles(folder / "cifar"));
  writeBytes(folder / "cifar/test_batch.bin", images(0, 1));
  EXPECT_TRUE(hasTestFiles(folder / "cifar"));
  EXPECT_FALSE(hasTestFiles(folder / "cifar/test_batch.bin"));
  const DataSet all(folder / "cifar", training);
  EXPECT_EQ(all.batchSize(), 5);  // no larger than the data
  EXPECT_THAT(floats(all.batch(0).targets), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(DataSet(folder / "cifar", batchesOf(1)).size(), 1);

  writeBytes(folder / "mnist/train-images-idx3-ubyte", idxBytes({2, 1, 1}, "ab"));
  writeBytes(folder / "mnist/train-labels-idx1-ubyte", idxBytes({2}, std::string("\x01\x02", 2)));
  writeBytes(folder / "mnist/t10k-images-idx3-ubyte", idxBytes({1, 1, 1}, "c"));
  EXPECT_EQ(DataSet(folder / "mnist", training).size(), 2);
  EXPECT_EQ(DataSet(folder / "mnist", batchesOf(1)).size(), 1);
}

TEST(DataSets, EveryEpochHasAnOrderAndAVariationOfItsOwn) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 40; ++i) {
    rows += static_cast<char>(i % 10);
    for (int p = 0; p < 3072; ++p) rows += static_cast<char>((p * 13 + i) % 251);
  }
  writeBytes(folder / "images.bin", rows);
  DataSetOptions options = batchesOf(40);
  options.preprocess = preprocessFromText("[image]\nflip = true\nshift = 3\n", "p");
  options.seed = 4;
  DataSet data(folder / "images.bin", options), same(folder / "images.bin", options);
  const DataBatch plain = data.batch(0);
  EXPECT_EQ(plain.targets[13].item<std::int64_t>(), 3);
  EXPECT_FLOAT_EQ(plain.inputs[0].toTensor()[0][0][0][1].item<float>(), 13 / 255.f);
  data.startEpoch(0);
  const DataBatch first = data.batch(0);
  data.startEpoch(1);
  const DataBatch second = data.batch(0);
  same.startEpoch(7);
  same.startEpoch(1);  // depends on the number alone
  const DataBatch again = same.batch(0);
  EXPECT_FALSE(at::equal(first.targets, second.targets));
  EXPECT_TRUE(at::equal(second.targets, again.targets));
  EXPECT_TRUE(at::equal(second.inputs[0].toTensor(), again.inputs[0].toTensor()));
  EXPECT_TRUE(at::equal(std::get<0>(first.targets.sort()), std::get<0>(plain.targets.sort())));
  EXPECT_EQ(second.inputs[0].toTensor().sizes(), plain.inputs[0].toTensor().sizes());
}

TEST(DataSets, TargetsMayBeTensors) {
  const Folder folder;
  at::Tensor x = at::rand({4, 3}), y = at::rand({4, 2});
  const auto write = [&](const c10::IValue& value) {
    const std::vector<char> bytes = torch::jit::pickle_save(value);
    writeBytes(folder / "data.pt", std::string(bytes.begin(), bytes.end()));
  };
  write(c10::ivalue::Tuple::create(x, y));
  DataSetOptions options = batchesOf(4);
  EXPECT_EQ(DataSet(folder / "data.pt", options).batch(0).inputs.size(), 2u);
  options.any_targets = true;
  const DataSet data(folder / "data.pt", options);
  EXPECT_TRUE(data.hasTargets());
  EXPECT_FALSE(data.labelled());
  EXPECT_TRUE(at::equal(data.batch(0).targets, y));
  y[2][1].fill_(std::numeric_limits<float>::infinity());
  write(c10::ivalue::Tuple::create(x, y));
  EXPECT_THAT(messageOf([&] { DataSet(folder / "data.pt", options).batch(0); }),
              HasSubstr("The target of sample 2 of"));
  write(c10::ivalue::Tuple::create(x, at::rand({3, 2})));
  EXPECT_THAT(messageOf([&] { DataSet(folder / "data.pt", options); }), HasSubstr("has 4 samples, but 3 targets"));
}

TEST(DataSets, ReadFoldersOfImages) {
  const Folder folder;
  writePng(folder / "set/cat/a.png", 6, 4, false, 51);
  writePng(folder / "set/dog/b.PNG", 6, 4, true, 102);
  writeJpeg(folder / "set/dog/c.jpg", 6, 4, 153);
  writeBytes(folder / "set/dog/notes.txt", "no image");
  DataSetOptions options = batchesOf(3);
  options.preprocess = preprocessFromText("[image]\nresize = [4, 4]\nchannels = 3\n", "test");
  const DataSet data(folder / "set", options);
  const DataBatch batch = data.batch(0);
  ASSERT_EQ(batch.inputs[0].toTensor().sizes(), (std::vector<std::int64_t>{3, 3, 4, 4}));
  EXPECT_FLOAT_EQ(batch.inputs[0].toTensor()[0][2][3][3].item<float>(), 0.2f);
  EXPECT_NEAR(batch.inputs[0].toTensor()[2].mean().item<float>(), 0.6f, 0.01f);
  EXPECT_THAT(floats(batch.targets), ElementsAre(0, 1, 1));

  EXPECT_THAT(messageOf([&] { DataSet(folder / "set", batchesOf(3)).batch(0); }), HasSubstr("differ in size"));
  const DataSet one(folder / "set/dog", batchesOf(1));
  EXPECT_FALSE(one.labelled());
  std::filesystem::create_directories(folder / "empty");
  EXPECT_THAT(messageOf([&] { DataSet(folder / "empty", {}); }), HasSubstr("is empty"));
  EXPECT_THAT(messageOf([&] { DataSet(folder / "nothing", {}); }), HasSubstr("There is no data set at"));
  std::filesystem::remove_all(folder / "set/cat");
  EXPECT_THAT(messageOf([&] { DataSet(folder / "set", {}).requireLabels(); }), HasSubstr("are of one class"));
}

// Every cut and every flipped byte of small files gives an image or one sentence, never a crash or a partly grey
// picture.
TEST(DataSets, HostileImagesAreRefused) {
  const Folder folder;
  writePng(folder / "a.png", 9, 7, true, 77);
  writeJpeg(folder / "b.jpg", 9, 7, 77);
  for (const char* name : {"a.png", "b.jpg"}) {
    const std::string whole = fileBytes(folder / name);
    int refused = 0;
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      writeBytes(folder / "cut", whole.substr(0, cut));
      refused += messageOf([&] { readImage(folder / "cut"); }) == "nothing was thrown" ? 0 : 1;
      std::string flipped = whole;
      flipped[cut] = static_cast<char>(flipped[cut] ^ 0x55);
      writeBytes(folder / "flip", flipped);
      messageOf([&] { readImage(folder / "flip"); });
    }
    // The last bytes of a JPEG are its end marker, which decoders can do without.
    EXPECT_GE(refused, static_cast<int>(whole.size()) - 14) << name;
  }
  std::string huge = fileBytes(folder / "a.png");
  huge.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));
  writeBytes(folder / "huge.png", huge);
  EXPECT_THAT(messageOf([&] { readImage(folder / "huge.png"); }), HasSubstr("cannot be used as an image"));
}

TEST(DataSets, ReadTensors) {
  const Folder folder;
  writeBytes(folder / "x.npy", npyBytes("<f4", "(3, 2)", bytesOf<float>({1, 2, 3, 4, 5, 6})));
  const DataSet data(folder / "x.npy", batchesOf(2));
  EXPECT_THAT(floats(data.batch(0).inputs[0].toTensor()), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(data.labelled());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  writeBytes(folder / "nan.npy", npyBytes("<f4", "(3, 2)", bytesOf<float>({1, 2, 3, nan, 5, 6})));
  const DataSet broken(folder / "nan.npy", batchesOf(1));
  EXPECT_NO_THROW(broken.batch(0));
  EXPECT_THAT(messageOf([&] { broken.batch(1); }), HasSubstr("Sample 1 of"));
  EXPECT_THAT(messageOf([&] { broken.batch(1); }), HasSubstr("NaN or infinity"));
  // numpy writes doubles by default; in FP32 a number that is too large is infinite.
  writeBytes(folder / "wide.npy", npyBytes("<f8", "(2, 2)", bytesOf<double>({1, 2, 3, 1e300})));
  DataSetOptions options = batchesOf(1);
  EXPECT_EQ(DataSet(folder / "wide.npy", options).batch(0).inputs[0].toTensor().scalar_type(), at::kDouble);
  options.floats_as_fp32 = true;
  const DataSet narrowed(folder / "wide.npy", options);
  EXPECT_THAT(floats(narrowed.batch(0).inputs[0].toTensor()), ElementsAre(1, 2));
  EXPECT_THAT(messageOf([&] { narrowed.batch(1); }), HasSubstr("NaN or infinity"));
}

TEST(DataSets, BytesAreImagesWhereAPreprocessingSaysSo) {
  const Folder folder;
  DataSetOptions options = batchesOf(1);
  options.preprocess.scale = 0.5;
  options.preprocess.mean = {1};
  writeBytes(folder / "planes.npy", npyBytes("|u1", "(1, 3, 1, 2)", "\x02\x04\x06\x08\x0a\x0c"));
  writeBytes(folder / "pixels.npy", npyBytes("|u1", "(1, 2, 1, 3)", "\x02\x06\x0a\x04\x08\x0c"));
  writeBytes(folder / "rows.npy", npyBytes("|u1", "(1, 6)", "\x02\x04\x06\x08\x0a\x0c"));
  EXPECT_EQ(DataSet(folder / "planes.npy", options).batch(0).inputs[0].toTensor().scalar_type(), at::kByte);
  options.bytes_are_images = true;
  const at::Tensor planes = DataSet(folder / "planes.npy", options).batch(0).inputs[0].toTensor();
  EXPECT_EQ(planes.sizes(), at::IntArrayRef({1, 3, 1, 2}));
  EXPECT_THAT(floats(planes), ElementsAre(0, 1, 2, 3, 4, 5));
  const at::Tensor pixels = DataSet(folder / "pixels.npy", options).batch(0).inputs[0].toTensor();
  EXPECT_EQ(pixels.sizes(), at::IntArrayRef({1, 3, 2, 1}));
  EXPECT_THAT(floats(pixels), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(DataSet(folder / "rows.npy", options).batch(0).inputs[0].toTensor().scalar_type(), at::kByte);
}

TEST(DataSets, SubsetsAreDrawnBySeed) {
  const Folder folder;
  std::vector<float> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  writeBytes(folder / "x.npy", npyBytes("<f4", "(100,)", bytesOf(values)));
  DataSetOptions options = batchesOf(10);
  options.samples = 10;
  const auto drawn = [&] { return floats(DataSet(folder / "x.npy", options).batch(0).inputs[0].toTensor()); };
  const std::vector<float> first = drawn();
  EXPECT_EQ(first, drawn());
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  const std::string fingerprint = DataSet(folder / "x.npy", options).fingerprint();
  options.seed = 1;
  EXPECT_NE(first, drawn());
  EXPECT_NE(fingerprint, DataSet(folder / "x.npy", options).fingerprint());
  options.shuffle = true;
  const std::vector<float> shuffled = drawn();
  EXPECT_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
}

}  // namespace
}  // namespace ipex_studio::testing

// The sources that openDataSource knows: image folders, CIFAR-10, IDX, tensors in files.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/base/error.h"
#include "core/data/data_set.h"
#include "core/data/idx_file.h"
#include "core/data/image_file.h"
#include "core/model/read_inputs.h"

namespace ipex_studio {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 4'000'000;

[[noreturn]] void refuseDataSet(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kUsage, fmt::format("The data set {} {}.", path, why));
}

at::Tensor scalar(std::int64_t value) { return at::scalar_tensor(value, at::kLong); }

// --- images in folders -----------------------------------------------------------------------------------------------

std::vector<fs::path> sortedEntries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entries.size() > kMaxFiles) refuseDataSet(folder.string(), "holds more than four million files");
    entries.push_back(entry->path());
  }
  if (error) refuseDataSet(folder.string(), fmt::format("cannot be listed ({})", error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

class ImageFolder : public DataSource {
 public:
  ImageFolder(const std::string& path, const Preprocess& preprocess) : preprocess_(preprocess) {
    std::int64_t classes = 0;
    for (const fs::path& entry : sortedEntries(path)) {
      if (fs::is_directory(entry)) {
        for (const fs::path& file : sortedEntries(entry)) add(file, &labels_, classes);
        ++classes;
      }
    }
    if (!files_.empty()) return;
    for (const fs::path& entry : sortedEntries(path)) add(entry, nullptr, 0);
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  std::vector<std::int64_t> labels() const override { return labels_; }
  Sample read(std::int64_t index, std::uint64_t variation) const override {
    const auto i = static_cast<std::size_t>(index);
    return {{preprocessImage(preprocess_, readImage(files_[i]), variation)},
            labels_.empty() ? at::Tensor() : scalar(labels_[i])};
  }

 private:
  void add(const fs::path& file, std::vector<std::int64_t>* labels, std::int64_t label) {
    if (!isImageName(file.string()) || !fs::is_regular_file(file)) return;
    files_.push_back(file.string());
    if (labels != nullptr) labels->push_back(label);
  }

  Preprocess preprocess_;
  std::vector<std::string> files_;
  std::vector<std::int64_t> labels_;
};

// --- all images in one tensor ----------------------------------------------------------------------------------------

class ImageTensor : public DataSource {
 public:
  ImageTensor(at::Tensor images, at::Tensor labels, const Preprocess& preprocess)
      : images_(std::move(images)), labels_(std::move(labels)), preprocess_(preprocess) {}
  std::int64_t size() const override { return images_.size(0); }
  std::vector<std::int64_t> labels() const override {
    if (!labels_.defined()) return {};
    const at::Tensor wide = labels_.to(at::kLong).contiguous();
    return {wide.data_ptr<std::int64_t>(), wide.data_ptr<std::int64_t>() + wide.numel()};
  }
  Sample read(std::int64_t index, std::uint64_t variation) const override {
    return {{preprocessImage(preprocess_, images_[index], variation)},
            labels_.defined() ? labels_[index].to(at::kLong) : at::Tensor()};
  }

 private:
  at::Tensor images_;  // uint8 (N, C, H, W)
  at::Tensor labels_;
  Preprocess preprocess_;
};

constexpr std::int64_t kCifarImage = 3 * 32 * 32;
constexpr std::int64_t kCifarRow = 1 + kCifarImage;  // label, then red, green and blue planes

bool isCifarFile(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return path.extension() == ".bin" && !error && bytes > 0 && bytes % kCifarRow == 0;
}

at::Tensor cifarRows(const std::string& path) {
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  if (bytes > (std::int64_t{1} << 32)) refuseDataSet(path, "is larger than 4 GB");
  at::Tensor rows = at::empty({bytes / kCifarRow, kCifarRow}, at::kByte);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(static_cast<char*>(rows.data_ptr()), bytes)) refuseDataSet(path, "cannot be read");
  if (rows.select(1, 0).max().item<std::int64_t>() > 9)
    refuseDataSet(path, "is no CIFAR-10 file: a label is greater than 9");
  return rows;
}

std::unique_ptr<DataSource> openCifar(const std::vector<std::string>& files, const Preprocess& preprocess) {
  std::vector<at::Tensor> parts;
  for (const std::string& file : files) parts.push_back(cifarRows(file));
  const at::Tensor rows = parts.size() == 1 ? parts.front() : at::cat(parts);
  const at::Tensor labels = rows.select(1, 0);
  return std::make_unique<ImageTensor>(rows.narrow(1, 1, kCifarImage).view({-1, 3, 32, 32}), labels.contiguous(),
                                       preprocess);
}

// Maps ".../t10k-images-idx3-ubyte.gz" to ".../t10k-labels-idx1-ubyte.gz", plain or compressed, whichever exists.
std::string labelsBeside(const std::string& images) {
  const std::size_t at = images.rfind("images");
  if (at == std::string::npos) return "";
  std::string labels = images;
  labels.replace(at, 6, "labels");
  const std::size_t dims = labels.rfind("idx3");
  if (dims != std::string::npos) labels.replace(dims, 4, "idx1");
  const bool packed = labels.size() > 3 && labels.compare(labels.size() - 3, 3, ".gz") == 0;
  const std::string other = packed ? labels.substr(0, labels.size() - 3) : labels + ".gz";
  return fs::exists(labels) ? labels : fs::exists(other) ? other : "";
}

std::unique_ptr<DataSource> openIdx(const std::string& path, const Preprocess& preprocess) {
  at::Tensor images = readIdx(path);
  if (images.dim() != 3)
    refuseDataSet(path, "holds no images (an IDX file of three dimensions is expected; labels are found beside it)");
  const std::string beside = labelsBeside(path);
  at::Tensor labels = beside.empty() ? at::Tensor() : readIdx(beside);
  if (labels.defined() && (labels.dim() != 1 || labels.size(0) != images.size(0))) {
    refuseDataSet(path, fmt::format("has {} images, but {} does not hold as many labels", images.size(0), beside));
  }
  return std::make_unique<ImageTensor>(images.unsqueeze(1), labels, preprocess);
}

// --- tensors ---------------------------------------------------------------------------------------------------------

bool isLabelName(const std::string& name) {
  return name == "labels" || name == "targets" || name == "target" || name == "y";
}

bool isChannelCount(std::int64_t size) { return size == 1 || size == 3; }

// Returns uint8 (N, C, H, W), also from (N, H, W, C); undefined if the tensor holds no images.
at::Tensor byteImages(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kByte || tensor.dim() != 4) return {};
  if (isChannelCount(tensor.size(1))) return tensor;
  return isChannelCount(tensor.size(3)) ? tensor.permute({0, 3, 1, 2}) : at::Tensor();
}

class Tensors : public DataSource {
 public:
  Tensors(const std::string& path, const NamedInputs& file, const DataSetOptions& options)
      : preprocess_(options.preprocess) {
    for (std::size_t i = 0; i < file.values.size(); ++i) {
      if (!file.values[i].isTensor() || file.values[i].toTensor().dim() == 0)
        refuseDataSet(path, "holds something else than tensors of samples");
      at::Tensor tensor = file.values[i].toTensor();
      const bool last = i + 1 == file.values.size() && i > 0;
      const bool numbers = tensor.dim() == 1 && at::isIntegralType(tensor.scalar_type(), false);
      const bool unnamed = last && file.names[i].empty();
      if (isLabelName(file.names[i]) || (unnamed && (numbers || options.any_targets))) {
        if (!numbers && !options.any_targets)
          refuseDataSet(path, "has labels that are not one whole number per sample");
        (numbers ? labels_ : targets_) = numbers ? tensor.to(at::kLong).contiguous() : tensor;
      } else {
        images_.push_back(options.bytes_are_images ? byteImages(tensor) : at::Tensor());
        inputs_.push_back(std::move(tensor));
        names_.push_back(file.names[i]);
      }
    }
    if (inputs_.empty()) refuseDataSet(path, "holds labels alone");
    for (const at::Tensor& tensor : inputs_) {
      if (tensor.size(0) != inputs_.front().size(0))
        refuseDataSet(path, "has tensors with different numbers of samples (their first dimension)");
    }
    if (labels_.defined() && labels_.size(0) != size())
      refuseDataSet(path, fmt::format("has {} samples, but {} labels", size(), labels_.size(0)));
    if (targets_.defined() && targets_.size(0) != size())
      refuseDataSet(path, fmt::format("has {} samples, but {} targets", size(), targets_.size(0)));
  }
  std::int64_t size() const override { return inputs_.front().size(0); }
  std::vector<std::string> names() const override { return names_; }
  std::vector<std::int64_t> labels() const override {
    if (!labels_.defined()) return {};
    return {labels_.data_ptr<std::int64_t>(), labels_.data_ptr<std::int64_t>() + labels_.numel()};
  }
  Sample read(std::int64_t index, std::uint64_t variation) const override {
    Sample sample;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      sample.inputs.push_back(images_[i].defined() ? preprocessImage(preprocess_, images_[i][index], variation)
                                                   : inputs_[i][index]);
    }
    if (labels_.defined()) sample.target = labels_[index];
    if (targets_.defined()) sample.target = targets_[index];
    return sample;
  }
  bool hasTargets() const override { return targets_.defined(); }

 private:
  Preprocess preprocess_;
  std::vector<at::Tensor> inputs_, images_;  // images: byteImages of each input
  std::vector<std::string> names_;
  at::Tensor labels_;   // one whole number per sample
  at::Tensor targets_;  // what is no such number
};

class RecordedCases : public DataSource {
 public:
  explicit RecordedCases(std::vector<RecordedCase> cases) : cases_(std::move(cases)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(cases_.size()); }
  bool batched() const override { return true; }
  bool hasTargets() const override { return !cases_.front().expected.empty(); }
  std::vector<std::string> names() const override { return std::vector<std::string>(cases_.front().inputs.size()); }
  Sample read(std::int64_t index, std::uint64_t) const override {
    const RecordedCase& recorded = cases_[static_cast<std::size_t>(index)];
    Sample sample;
    for (const torch::jit::IValue& value : recorded.inputs) sample.inputs.push_back(value.toTensor());
    if (!recorded.expected.empty()) sample.target = recorded.expected.front();
    return sample;
  }

 private:
  std::vector<RecordedCase> cases_;
};

std::optional<std::string> firstOf(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (fs::is_regular_file(folder / name)) return (folder / name).string();
  }
  return std::nullopt;
}

std::optional<std::string> testFile(const fs::path& folder) {
  return firstOf(folder, {"test_batch.bin", "t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz"});
}

std::optional<std::string> trainingFile(const fs::path& folder) {
  return firstOf(folder, {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "data_batch_1.bin"});
}

// CIFAR-10's five files to train on, as far as they are there.
std::vector<std::string> cifarTrainingFiles(const fs::path& folder) {
  std::vector<std::string> files;
  for (int part = 1; part <= 5; ++part) {
    const fs::path file = folder / fmt::format("data_batch_{}.bin", part);
    if (fs::is_regular_file(file)) files.push_back(file.string());
  }
  return files;
}

// The source that a folder's files of CIFAR-10 or MNIST make; null if there are none.
std::unique_ptr<DataSource> openKnownFolder(const std::string& path, const DataSetOptions& options) {
  if (options.for_training) {
    const std::vector<std::string> cifar = cifarTrainingFiles(path);
    if (!cifar.empty()) return openCifar(cifar, options.preprocess);
  }
  auto file = options.for_training ? trainingFile(path) : testFile(path);
  if (!file) file = options.for_training ? testFile(path) : trainingFile(path);
  return file ? openDataSource(*file, options) : nullptr;
}

}  // namespace

bool hasTestFiles(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && testFile(path).has_value();
}

std::unique_ptr<DataSource> openDataSource(const std::string& path, const DataSetOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) throw Error(ExitCode::kUsage, fmt::format("There is no data set at '{}'.", path));
  if (fs::is_directory(path, error)) {
    if (auto known = openKnownFolder(path, options)) return known;
    auto images = std::make_unique<ImageFolder>(path, options.preprocess);
    if (images->size() == 0)
      refuseDataSet(path, "is empty: no JPEG or PNG images, no CIFAR-10 or MNIST files are in this folder");
    return images;
  }
  if (isCifarFile(path)) return openCifar({path}, options.preprocess);
  if (isIdxFile(path)) return openIdx(path, options.preprocess);
  if (fs::path(path).extension() == ".bin" || fs::path(path).extension() == ".gz") {
    refuseDataSet(path, "is neither a CIFAR-10 file (rows of 3073 bytes) nor an IDX file as MNIST's are");
  }
  std::vector<RecordedCase> cases = readRecordedCases(path);
  if (!cases.empty()) return std::make_unique<RecordedCases>(std::move(cases));
  return std::make_unique<Tensors>(path, readNamedInputs(path), options);
}

}  // namespace ipex_studio

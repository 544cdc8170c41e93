// DataSet: samples with or without labels, read on demand, as batches of forward's arguments.
//
//   a folder of class folders of images     label = place of the folder's name in the sorted list
//   a folder of images                      no labels
//   CIFAR-10's binary form                  a .bin file, or the folder that holds test_batch.bin and data_batch_N.bin
//   MNIST, Fashion-MNIST (IDX)              an images file, plain or .gz, its labels beside it; or their folder
//                                           (of both folders the test files are taken, or those to train on)
//   .npy, .npz, .pt                         tensors whose first dimension counts samples; the one called "labels",
//                                           "targets", "y" or "target" are the labels, or the last of a list that holds
//                                           whole numbers, one per sample; with `any_targets` they may be tensors
//   a recorded .io.pt                       each case is one batch; its recorded results are the targets
//
// A data set is deterministic: the same path, options and seed give the same batches. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/preprocess.h"
#include "core/model/model.h"

namespace ipex_studio {

// Options of reading and batching.
struct DataSetOptions {
  Preprocess preprocess;  // images only
  // In .npy, .npz, .pt: uint8 of (N, C, H, W) or (N, H, W, C), C 1 or 3, are preprocessed.
  bool bytes_are_images = false;
  std::int64_t samples = 0;  // a subset of this size, drawn by `seed`; 0: all
  std::uint64_t seed = 0;
  bool shuffle = false;    // false: the subset keeps the order of the data
  std::int64_t batch = 1;  // samples per batch; a recorded case stays as it is
  // Floats of other widths become FP32, since numpy writes float64 unasked; not in a recorded case.
  bool floats_as_fp32 = false;
  // True: a folder of CIFAR-10 or MNIST gives its files to train on instead of those to test on, and no batch is larger
  // than the data.
  bool for_training = false;
  // In .npy, .npz, .pt: targets may be tensors of any type and size per sample, not labels alone.
  bool any_targets = false;
};

struct DataBatch {
  Inputs inputs;             // by DataSet::names()
  at::Tensor targets;        // int64 (batch) labels, other targets (batch, …), recorded results; undefined without
  std::int64_t samples = 0;  // without padding: the last batch is filled up by repeating its last sample
};

// One source of samples. Private to core/data and its tests.
class DataSource {
 public:
  struct Sample {
    std::vector<at::Tensor> inputs;  // without batch dimension unless batched()
    at::Tensor target;               // int64 scalar, or results; undefined without
  };
  virtual ~DataSource() = default;
  virtual std::int64_t size() const = 0;
  virtual bool batched() const { return false; }
  virtual std::vector<std::string> names() const { return {""}; }
  // Labels of all samples, cheap to read; empty if there are none.
  virtual std::vector<std::int64_t> labels() const { return {}; }
  // True if samples bring targets that are no labels.
  virtual bool hasTargets() const { return false; }
  // `variation`: a random number that an image is varied by, as its preprocessing says; 0: it is not.
  virtual Sample read(std::int64_t index, std::uint64_t variation) const = 0;
};

class DataSet {
 public:
  // Opens the data at `path` and draws the subset. Throws Error(kUsage) with one sentence: no such path, nothing in it
  // that can be read, no samples.
  DataSet(const std::string& path, const DataSetOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }  // samples of the subset
  std::int64_t batches() const;                                                   // the last one may be padded
  std::int64_t fullBatches() const { return size() / options_.batch; }
  std::int64_t batchSize() const { return options_.batch; }
  // Names of forward's arguments that the inputs are for; empty: by order.
  std::vector<std::string> names() const { return source_->names(); }
  bool labelled() const { return !labels_.empty(); }
  const std::vector<std::int64_t>& labels() const { return labels_; }  // of all samples; empty without
  // True if batches bring targets of any form.
  bool hasTargets() const { return labelled() || source_->hasTargets(); }
  // True if batches bring recorded results instead of labels.
  bool hasResults() const { return source_->batched(); }

  // From now on batches have the samples in another order, and images vary as the preprocessing says, both drawn by the
  // seed and the number of the epoch.
  void startEpoch(std::int64_t epoch);

  // Reads batch `index` of 0 … batches() - 1: per input a tensor (batch, …) in the data's dtype, or FP32 as
  // `floats_as_fp32` says; labels int64 (batch). Throws Error(kUsage) if a file cannot be read, samples differ in size,
  // or a value is NaN or infinite (in FP32 if `floats_as_fp32`).
  DataBatch batch(std::int64_t index) const;

  // Throws Error(kUsage) in one sentence if an accuracy over labels would be impossible, or would say nothing.
  void requireLabels() const;

  // Size, order and path of the data; what goes on from a state must find the same.
  std::string fingerprint() const;

 private:
  std::string path_;
  DataSetOptions options_;
  std::unique_ptr<DataSource> source_;
  std::vector<std::int64_t> labels_;  // of the whole source
  std::vector<std::int64_t> order_;
  std::uint64_t variation_ = 0;  // of the epoch; 0: images are not varied
};

// True if `path` is a folder that holds the test files of CIFAR-10 or MNIST.
bool hasTestFiles(const std::string& path);

// Chooses the source by the files at `path`. Throws as DataSet() does.
std::unique_ptr<DataSource> openDataSource(const std::string& path, const DataSetOptions& options);

}  // namespace ipex_studio

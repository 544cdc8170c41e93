// Order, subset and batching of samples.
#include "core/data/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "core/base/fnv.h"

namespace ipex_studio {
namespace {

// SplitMix64 (G. Steele et al.: Fast splittable pseudorandom number generators, 2014): the same on every machine.
std::uint64_t nextRandom(std::uint64_t* state) {
  std::uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void shuffle(std::vector<std::int64_t>* order, std::uint64_t state) {
  for (std::size_t i = order->size(); i > 1; --i) std::swap((*order)[i - 1], (*order)[nextRandom(&state) % i]);
}

std::vector<std::int64_t> drawOrder(std::int64_t size, const DataSetOptions& options) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const bool subset = options.samples > 0 && options.samples < size;
  if (subset || options.shuffle) shuffle(&order, options.seed);
  if (subset) order.resize(static_cast<std::size_t>(options.samples));
  if (subset && !options.shuffle) std::sort(order.begin(), order.end());
  return order;
}

bool isFinite(const at::Tensor& tensor) {
  return !at::isFloatingType(tensor.scalar_type()) || tensor.isfinite().all().item<bool>();
}

}  // namespace

DataSet::DataSet(const std::string& path, const DataSetOptions& options) : path_(path), options_(options) {
  source_ = openDataSource(path, options);
  if (source_->size() == 0) throw Error(ExitCode::kUsage, fmt::format("The data set {} holds no samples.", path));
  labels_ = source_->labels();
  order_ = drawOrder(source_->size(), options);
  if (source_->batched()) options_.batch = 1;
  if (options.for_training) options_.batch = std::min(options_.batch, size());
}

void DataSet::startEpoch(std::int64_t epoch) {
  order_ = drawOrder(source_->size(), options_);
  std::uint64_t state = options_.seed + static_cast<std::uint64_t>(epoch) * 0xd1342543de82ef95u;
  variation_ = nextRandom(&state) | 1;
  shuffle(&order_, nextRandom(&state));
}

std::int64_t DataSet::batches() const { return (size() + options_.batch - 1) / options_.batch; }

DataBatch DataSet::batch(std::int64_t index) const {
  IPEX_CHECK(index >= 0 && index < batches(), "a batch of the data set");
  DataBatch batch;
  const std::int64_t begin = index * options_.batch;
  batch.samples = std::min(options_.batch, size() - begin);
  std::vector<std::vector<at::Tensor>> columns;
  std::vector<at::Tensor> targets;
  for (std::int64_t i = 0; i < batch.samples; ++i) {
    const std::int64_t number = order_[static_cast<std::size_t>(begin + i)];
    std::uint64_t state = variation_ + static_cast<std::uint64_t>(number);
    const DataSource::Sample sample = source_->read(number, variation_ == 0 ? 0 : nextRandom(&state) | 1);
    columns.resize(sample.inputs.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool widens =
          options_.floats_as_fp32 && !source_->batched() && at::isFloatingType(sample.inputs[c].scalar_type());
      const at::Tensor value = widens ? sample.inputs[c].to(at::kFloat) : sample.inputs[c];
      if (!isFinite(value)) {
        throw Error(ExitCode::kUsage,
                    fmt::format("Sample {} of {} holds NaN or infinity; repair it or leave it out.", number, path_));
      }
      if (!columns[c].empty() && !columns[c].front().sizes().equals(value.sizes())) {
        throw Error(
            ExitCode::kUsage,
            fmt::format(
                "Samples of {} differ in size ({} and {}); give --preprocess with a resize or crop, or --batch 1.",
                path_, c10::str(columns[c].front().sizes()), c10::str(value.sizes())));
      }
      columns[c].push_back(value);
    }
    if (!sample.target.defined()) continue;
    if (!isFinite(sample.target)) {
      throw Error(
          ExitCode::kUsage,
          fmt::format("The target of sample {} of {} is NaN or infinite; repair it or leave it out.", number, path_));
    }
    targets.push_back(sample.target);
  }
  const bool whole = source_->batched();
  for (auto& column : columns) {
    while (!whole && static_cast<std::int64_t>(column.size()) < options_.batch) column.push_back(column.back());
    batch.inputs.emplace_back(whole ? column.front() : at::stack(column));
  }
  if (!targets.empty()) batch.targets = whole ? targets.front() : at::stack(targets);
  return batch;
}

void DataSet::requireLabels() const {
  if (!labelled()) {
    throw Error(
        ExitCode::kUsage,
        fmt::format(
            "{} has no labels, which an accuracy needs; give data with labels, or --metric cosine, mse or sqnr.",
            path_));
  }
  const std::set<std::int64_t> classes(labels_.begin(), labels_.end());
  if (classes.size() == 1) {
    throw Error(
        ExitCode::kUsage,
        fmt::format(
            "All {} samples of {} are of one class, so an accuracy would say nothing; give data of every class.",
            labels_.size(), path_));
  }
}

std::string DataSet::fingerprint() const {
  std::uint64_t hash = kFnvBasis;
  for (const std::int64_t index : order_) hash = fnvWith(hash, static_cast<std::uint64_t>(index));
  return fmt::format("{} {} {} {:016x}", path_, source_->size(), options_.batch, hash);
}

}  // namespace ipex_studio

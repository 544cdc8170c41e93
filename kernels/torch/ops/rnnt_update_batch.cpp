// ipex_studio::rnnt_update_batch: one step of greedy decoding by an RNN transducer for a batch, in place.
//
//   rnnt_update_batch(Tensor symbols, Tensor lengths, Tensor(a!) label_col, Tensor(b!) symbols_added, Tensor(c!)
//   time_idxs, Tensor(d!) goes_on, Tensor(e!) ended, Tensor(f!) takes, Tensor(g!) label_to_put, Tensor(h!) labels,
//   Tensor(i!) next_label, Tensor(j!)[] hidden, Tensor[] new_hidden, Tensor features, Tensor(k!) feature, int
//   max_symbols, int blank, int first_label, int max_len) -> bool
//
// symbols: [B], int64, the likeliest class of each sample; lengths, and the counters label_col to takes: [B], int32;
// labels: [B, L], int64, all first_label in the beginning; label_to_put, next_label: [B], int64; hidden and new_hidden:
// [layers, B, D] of one type; features: [B, T, F]; feature: [B, 1, F]. A symbol that is no blank, of a sample with
// frames left, is added to labels, and that sample's new_hidden becomes hidden; where a sample goes on to its next
// frame, feature is read again for all. Result: true once no sample has a frame left. Throws c10::Error for sizes and
// types that differ, c10::IndexError for more labels than `labels` has room for.
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/index/rnnt_step.h"

namespace ipex_studio {
namespace {

constexpr char kRnntStep[] = "rnnt_update_batch";

void checkCounter(const char* name, const at::Tensor& tensor, at::ScalarType type, std::int64_t samples) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.scalar_type() == type && tensor.is_contiguous() &&
                  tensor.sizes() == at::IntArrayRef{samples},
              kRnntStep, ": ", name, " is not a dense tensor of ", samples, " numbers of type ", type, " on the CPU");
}

RowBlocks rowsOf(const at::Tensor& tensor, std::int64_t blocks_axis, std::int64_t rows_axis) {
  const auto bytes = static_cast<std::int64_t>(tensor.element_size());
  return {static_cast<char*>(tensor.data_ptr()), tensor.size(blocks_axis), tensor.stride(blocks_axis) * bytes,
          tensor.stride(rows_axis) * bytes};
}

// A copy where values of a row do not lie side by side.
at::Tensor withDenseRows(const at::Tensor& tensor) {
  return tensor.size(-1) <= 1 || tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

void takeHidden(const RnntStep& step, const at::Tensor& hidden, const at::Tensor& new_hidden) {
  TORCH_CHECK(hidden.dim() == 3 && hidden.size(1) == step.samples && hidden.sizes() == new_hidden.sizes() &&
                  hidden.scalar_type() == new_hidden.scalar_type() && hidden.stride(2) == 1,
              kRnntStep, ": hidden states of ", hidden.sizes(), " and ", new_hidden.sizes(), " for ", step.samples,
              " samples");
  const at::Tensor from = withDenseRows(new_hidden);
  copyTakenRows(step, rowsOf(from, 0, 1), rowsOf(hidden, 0, 1), hidden.size(2) * hidden.element_size());
}

// Adds the labels; writes those that the next step begins from.
void putLabels(const RnntStep& step, std::int64_t first_label, const at::Tensor& label_to_put, const at::Tensor& labels,
               const at::Tensor& next_label) {
  auto* const added = label_to_put.data_ptr<std::int64_t>();
  auto* const next = next_label.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < step.samples; ++i) {
    TORCH_CHECK_INDEX(step.labels_said[i] >= 0 && step.labels_said[i] < labels.size(1), kRnntStep, ": sample ", i,
                      " has ", step.labels_said[i], " labels, for which ", labels.size(1), " places are not enough");
    added[i] = step.takes[i] * (step.symbols[i] - first_label);
    std::int64_t& place = labels.data_ptr<std::int64_t>()[i * labels.stride(0) + step.labels_said[i]];
    place += added[i];
    next[i] = place;
  }
}

void readFeatures(const RnntStep& step, const at::Tensor& features, const at::Tensor& feature, std::int64_t max_len) {
  TORCH_CHECK(features.dim() == 3 && features.size(0) == step.samples && feature.dim() == 3 &&
                  feature.size(0) == step.samples && feature.size(1) == 1 && feature.size(2) == features.size(2) &&
                  feature.scalar_type() == features.scalar_type(),
              kRnntStep, ": features of ", features.sizes(), " and ", feature.sizes(), " for ", step.samples,
              " samples");
  TORCH_CHECK(max_len >= 1 && max_len <= features.size(1), kRnntStep, ": max_len is ", max_len, " for features of ",
              features.size(1), " frames");
  at::Tensor frames = at::empty({step.samples}, at::kLong);
  for (std::int64_t i = 0; i < step.samples; ++i)
    frames.data_ptr<std::int64_t>()[i] = std::min<std::int64_t>(step.frame[i], max_len - 1);
  feature.copy_(features.gather(1, frames.view({-1, 1, 1}).expand({-1, 1, features.size(2)})));
}

bool updateBatch(const at::Tensor& symbols, const at::Tensor& lengths, const at::Tensor& label_col,
                 const at::Tensor& symbols_added, const at::Tensor& time_idxs, const at::Tensor& goes_on,
                 const at::Tensor& ended, const at::Tensor& takes, const at::Tensor& label_to_put,
                 const at::Tensor& labels, const at::Tensor& next_label, at::TensorList hidden,
                 at::TensorList new_hidden, const at::Tensor& features, const at::Tensor& feature,
                 std::int64_t max_symbols, std::int64_t blank, std::int64_t first_label, std::int64_t max_len) {
  const at::NoGradGuard no_gradients;
  RnntStep step;
  step.samples = symbols.numel(), step.blank = blank, step.most_symbols = max_symbols;
  for (const auto& [name, tensor] : {std::pair<const char*, at::Tensor>{"lengths", lengths},
                                     {"label_col", label_col},
                                     {"symbols_added", symbols_added},
                                     {"time_idxs", time_idxs},
                                     {"goes_on", goes_on},
                                     {"ended", ended},
                                     {"takes", takes}})
    checkCounter(name, tensor, at::kInt, step.samples);
  for (const auto& [name, tensor] : {std::pair<const char*, at::Tensor>{"symbols", symbols},
                                     {"label_to_put", label_to_put},
                                     {"next_label", next_label}})
    checkCounter(name, tensor, at::kLong, step.samples);
  TORCH_CHECK(labels.dim() == 2 && labels.size(0) == step.samples && labels.scalar_type() == at::kLong &&
                  (labels.size(1) <= 1 || labels.stride(1) == 1),
              kRnntStep, ": labels are not ", step.samples, " rows of int64");
  TORCH_CHECK(hidden.size() == new_hidden.size(), kRnntStep, ": ", hidden.size(), " hidden states and ",
              new_hidden.size(), " new ones");
  step.symbols = symbols.data_ptr<std::int64_t>();
  step.frames_of = lengths.data_ptr<std::int32_t>();
  step.labels_said = label_col.data_ptr<std::int32_t>();
  step.symbols_in_frame = symbols_added.data_ptr<std::int32_t>();
  step.frame = time_idxs.data_ptr<std::int32_t>();
  step.goes_on = goes_on.data_ptr<std::int32_t>();
  step.ended = ended.data_ptr<std::int32_t>();
  step.takes = takes.data_ptr<std::int32_t>();
  if (advanceRnnt(step)) return true;
  putLabels(step, first_label, label_to_put, labels, next_label);
  for (std::size_t i = 0; i < hidden.size(); ++i) takeHidden(step, hidden[i], new_hidden[i]);
  if (std::any_of(step.goes_on, step.goes_on + step.samples, [](std::int32_t goes) { return goes != 0; }))
    readFeatures(step, features, feature, max_len);
  return false;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "rnnt_update_batch(Tensor symbols, Tensor lengths, Tensor(a!) label_col, Tensor(b!) symbols_added, Tensor(c!) "
      "time_idxs, Tensor(d!) goes_on, Tensor(e!) ended, Tensor(f!) takes, Tensor(g!) label_to_put, Tensor(h!) labels, "
      "Tensor(i!) next_label, Tensor(j!)[] hidden, Tensor[] new_hidden, Tensor features, Tensor(k!) feature, int "
      "max_symbols, int blank, int first_label, int max_len) -> bool");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("rnnt_update_batch", updateBatch); }

}  // namespace ipex_studio

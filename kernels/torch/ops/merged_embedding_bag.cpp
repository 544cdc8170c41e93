// ipex_studio::merged_embedding_bag: the embedding bags of many tables in one call, with gradients; and
// merged_embedding_bag_update, which makes the gradients of the rows that a batch touched and applies them at once, so
// that no gradient is ever stored (kernels/index/merged_bags.h).
//
//   merged_embedding_bag(Tensor[] weights, Tensor[] indices, Tensor[] offsets, Tensor[] per_sample_weights, str mode,
//                        bool include_last_offset, int padding_idx, bool sparse) -> Tensor[]
//
// weights[t]: [rows, width] of table t, float32 or float64, contiguous. indices[t], offsets[t]: one axis, int64 or
// int32, as torch.nn.functional.embedding_bag takes them. per_sample_weights: one tensor for each table, or none at
// all; for mode "sum" only. mode: "sum", "mean" or "max". padding_idx: -1 for none. sparse: gradients of weights are
// coalesced sparse tensors. Result t: [bags, width]; empty bags give zeros.
//
//   merged_embedding_bag_update(Tensor(a!)[] weights, Tensor(b!)[] states, Tensor[] gradients, Tensor[] indices,
//                               Tensor[] offsets, str mode, bool include_last_offset, int padding_idx, str optimizer,
//                               float learning_rate, float weight_decay, float eps) -> ()
//
// gradients[t]: that of result t. optimizer: "sgd" (no states), "adagrad" (states[t] as weights[t]) or
// "rowwise_adagrad" (states[t]: one number for each row). mode: "sum" or "mean".
//
// Gradients and updates have the same bits for any number of threads. Both throw c10::IndexError that names table,
// position and value of an index or offset that does not fit, before anything is written.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/index/merged_bags.h"

namespace ipex_studio {
namespace {

using Tensors = std::vector<at::Tensor>;

struct BagOptions {
  std::string mode = "sum";
  bool include_last_offset = false;
  std::int64_t padding = -1;
  bool sparse = false;
};

BagMode modeOf(const std::string& mode) {
  if (mode == "sum") return BagMode::kSum;
  if (mode == "mean") return BagMode::kMean;
  TORCH_CHECK_VALUE(mode == "max", "merged_embedding_bag: the mode '", mode, "' is none of sum, mean and max");
  return BagMode::kMax;
}

Tensors contiguous(at::TensorList tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.detach().contiguous());
  return result;
}

// All tables as the kernels see them; holds on to the memory.
class Tables {
 public:
  Tables(at::TensorList weights, at::TensorList indices, at::TensorList offsets, at::TensorList sample_weights,
         const BagOptions& options)
      : weights_(weights.vec()),
        indices_(contiguous(indices)),
        offsets_(contiguous(offsets)),
        sample_weights_(contiguous(sample_weights)),
        mode(modeOf(options.mode)) {
    const std::size_t count = weights_.size();
    TORCH_CHECK(indices_.size() == count && offsets_.size() == count &&
                    (sample_weights_.empty() || sample_weights_.size() == count),
                "merged_embedding_bag: ", count, " tables need as many indices and offsets, not ", indices_.size(),
                " and ", offsets_.size());
    TORCH_CHECK(sample_weights_.empty() || mode == BagMode::kSum,
                "merged_embedding_bag: per_sample_weights are for the mode sum");
    for (std::size_t t = 0; t < count; ++t) bags.push_back(describe(t, options));
  }

  template <typename T>
  std::vector<const T*> weightData() const {
    std::vector<const T*> data;
    for (const at::Tensor& weight : weights_) data.push_back(weight.data_ptr<T>());
    return data;
  }

  const Tensors& weights() const { return weights_; }

 private:
  Bags describe(std::size_t t, const BagOptions& options) const {
    const at::Tensor &weight = weights_[t], &ids = indices_[t], &offsets = offsets_[t];
    const auto say = [t](const auto&... words) { return c10::str("merged_embedding_bag: table ", t, ": ", words...); };
    TORCH_CHECK(weight.dim() == 2 && weight.is_contiguous() && weight.device().is_cpu(),
                say("weights are a contiguous matrix on the CPU"));
    TORCH_CHECK(weight.scalar_type() == weights_[0].scalar_type() &&
                    (weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kDouble),
                say("weights are all float32 or all float64, not ", weight.scalar_type()));
    TORCH_CHECK(ids.dim() == 1 && offsets.dim() == 1, say("indices and offsets have one axis"));
    TORCH_CHECK(
        ids.scalar_type() == offsets.scalar_type() && (ids.scalar_type() == at::kLong || ids.scalar_type() == at::kInt),
        say("indices and offsets are both int64 or both int32"));
    TORCH_CHECK(!options.include_last_offset || offsets.numel() > 0, say("offsets lack the last one"));
    Bags bags;
    bags.rows = weight.size(0);
    bags.width = weight.size(1);
    bags.index_type = ids.scalar_type() == at::kLong ? DType::kS64 : DType::kS32;
    bags.ids = ids.data_ptr();
    bags.id_count = ids.numel();
    bags.offsets = offsets.data_ptr();
    bags.offset_count = offsets.numel();
    bags.bags = offsets.numel() - (options.include_last_offset ? 1 : 0);
    bags.padding = options.padding;
    if (!sample_weights_.empty()) {
      TORCH_CHECK(
          sample_weights_[t].numel() == bags.id_count && sample_weights_[t].scalar_type() == weight.scalar_type(),
          say("per_sample_weights are one for each index, in the type of the weights"));
      bags.sample_weights = sample_weights_[t].data_ptr();
    }
    const std::string fault = checkBags(bags);
    TORCH_CHECK_INDEX(fault.empty(), say(fault));
    return bags;
  }

  Tensors weights_, indices_, offsets_, sample_weights_;

 public:
  BagMode mode;
  std::vector<Bags> bags;
};

template <typename T>
std::vector<T*> dataOf(const Tensors& tensors) {
  std::vector<T*> data;
  for (const at::Tensor& tensor : tensors) data.push_back(tensor.data_ptr<T>());
  return data;
}

template <typename T>
std::vector<const T*> constDataOf(const Tensors& tensors) {
  const std::vector<T*> data = dataOf<T>(tensors);
  return {data.begin(), data.end()};
}

// Stores the places of the maxima, for the mode max.
Tensors sumAll(const Tables& tables, Tensors* places) {
  Tensors results;
  for (std::size_t t = 0; t < tables.bags.size(); ++t) {
    results.push_back(at::empty({tables.bags[t].bags, tables.bags[t].width}, tables.weights()[t].options()));
    if (tables.mode == BagMode::kMax) places->push_back(at::empty(results[t].sizes(), at::kLong));
  }
  if (results.empty()) return results;
  AT_DISPATCH_FLOATING_TYPES(results[0].scalar_type(), "merged_embedding_bag", [&] {
    sumBags<scalar_t>(tables.bags, tables.mode, tables.weightData<scalar_t>(), dataOf<scalar_t>(results),
                      dataOf<std::int64_t>(*places), at::get_num_threads());
  });
  return results;
}

at::Tensor rowNumbers(const TouchedRows& touched) {
  return at::tensor(at::ArrayRef<std::int64_t>(touched.rows), at::kLong);
}

// The gradients of all tables, given those of the results.
Tensors weightGradients(const Tables& tables, const Tensors& result_gradients, const Tensors& places, bool sparse) {
  const std::int32_t threads = at::get_num_threads();
  const std::vector<TouchedRows> touched = touchedRows(tables.bags, threads);
  Tensors rows, gradients;
  for (std::size_t t = 0; t < touched.size(); ++t) {
    const auto count = static_cast<std::int64_t>(touched[t].rows.size());
    rows.push_back(at::empty({count, tables.bags[t].width}, result_gradients[t].options()));
  }
  AT_DISPATCH_FLOATING_TYPES(result_gradients[0].scalar_type(), "merged_embedding_bag", [&] {
    rowGradients<scalar_t>(tables.bags, tables.mode, touched, constDataOf<scalar_t>(result_gradients),
                           constDataOf<std::int64_t>(places), dataOf<scalar_t>(rows), threads);
  });
  for (std::size_t t = 0; t < touched.size(); ++t) {
    const at::Tensor numbers = rowNumbers(touched[t]);
    const auto sizes = tables.weights()[t].sizes();
    gradients.push_back(sparse ? at::_sparse_coo_tensor_unsafe(numbers.unsqueeze(0), rows[t], sizes)._coalesced_(true)
                               : at::zeros(sizes, rows[t].options()).index_copy_(0, numbers, rows[t]));
  }
  return gradients;
}

Tensors gradientsOfSampleWeights(const Tables& tables, const Tensors& result_gradients) {
  Tensors gradients;
  for (std::size_t t = 0; t < tables.bags.size(); ++t)
    gradients.push_back(at::zeros({tables.bags[t].id_count}, result_gradients[t].options()));
  AT_DISPATCH_FLOATING_TYPES(result_gradients[0].scalar_type(), "merged_embedding_bag", [&] {
    sampleWeightGradients<scalar_t>(tables.bags, tables.weightData<scalar_t>(), constDataOf<scalar_t>(result_gradients),
                                    dataOf<scalar_t>(gradients), at::get_num_threads());
  });
  return gradients;
}

Tensors mergedEmbeddingBag(at::TensorList weights, at::TensorList indices, at::TensorList offsets,
                           at::TensorList sample_weights, c10::string_view mode, bool include_last_offset,
                           std::int64_t padding, bool /*sparse*/) {
  Tensors places;
  return sumAll(Tables(weights, indices, offsets, sample_weights, {std::string(mode), include_last_offset, padding}),
                &places);
}

Tensors mergedEmbeddingBagMeta(at::TensorList weights, at::TensorList, at::TensorList offsets, at::TensorList,
                               c10::string_view, bool include_last_offset, std::int64_t, bool) {
  Tensors results;
  for (std::size_t t = 0; t < weights.size(); ++t)
    results.push_back(
        at::empty({offsets[t].size(0) - (include_last_offset ? 1 : 0), weights[t].size(1)}, weights[t].options()));
  return results;
}

class MergedBags : public torch::autograd::Function<MergedBags> {
 public:
  static Tensors forward(torch::autograd::AutogradContext* context, at::TensorList weights, at::TensorList indices,
                         at::TensorList offsets, at::TensorList sample_weights, const std::string& mode,
                         bool include_last_offset, std::int64_t padding, bool sparse) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensors places;
    const Tables tables(weights, indices, offsets, sample_weights, {mode, include_last_offset, padding, sparse});
    Tensors results = sumAll(tables, &places);
    Tensors saved = weights.vec();
    for (const at::TensorList list : {indices, offsets, sample_weights, at::TensorList(places)})
      saved.insert(saved.end(), list.begin(), list.end());
    context->save_for_backward(saved);
    context->saved_data["sample_weights"] = !sample_weights.empty();
    context->saved_data["mode"] = mode;
    context->saved_data["include_last_offset"] = include_last_offset;
    context->saved_data["padding"] = padding;
    context->saved_data["sparse"] = sparse;
    return results;
  }

  static Tensors backward(torch::autograd::AutogradContext* context, Tensors gradients) {
    const Tensors saved = context->get_saved_variables();
    const std::size_t count = gradients.size();
    std::size_t next = 0;
    const auto take = [&](bool there) {
      const auto begin = saved.begin() + static_cast<std::ptrdiff_t>(next);
      next += there ? count : 0;
      return Tensors(begin, saved.begin() + static_cast<std::ptrdiff_t>(next));
    };
    BagOptions options{context->saved_data["mode"].toStringRef(), context->saved_data["include_last_offset"].toBool(),
                       context->saved_data["padding"].toInt(), context->saved_data["sparse"].toBool()};
    const bool weighted = context->saved_data["sample_weights"].toBool();
    const Tensors weights = take(true), indices = take(true), offsets = take(true), sample_weights = take(weighted),
                  places = take(options.mode == "max");
    const Tables tables(weights, indices, offsets, sample_weights, options);
    for (std::size_t t = 0; t < count; ++t) {
      if (!gradients[t].defined())
        gradients[t] = at::zeros({tables.bags[t].bags, weights[t].size(1)}, weights[t].options());
      gradients[t] = gradients[t].contiguous();
    }
    constexpr std::size_t kOtherArguments = 4;
    Tensors results = weightGradients(tables, gradients, places, options.sparse);
    results.resize(3 * count);
    if (weighted) {
      const Tensors of_samples = gradientsOfSampleWeights(tables, gradients);
      results.insert(results.end(), of_samples.begin(), of_samples.end());
    }
    results.resize(results.size() + kOtherArguments);
    return results;
  }
};

Tensors mergedEmbeddingBagAutograd(at::TensorList weights, at::TensorList indices, at::TensorList offsets,
                                   at::TensorList sample_weights, c10::string_view mode, bool include_last_offset,
                                   std::int64_t padding, bool sparse) {
  if (weights.empty()) return {};
  return MergedBags::apply(weights, indices, offsets, sample_weights, std::string(mode), include_last_offset, padding,
                           sparse);
}

RowUpdate::Kind updateKind(c10::string_view optimizer) {
  if (optimizer == "sgd") return RowUpdate::Kind::kSgd;
  if (optimizer == "adagrad") return RowUpdate::Kind::kAdagrad;
  TORCH_CHECK_VALUE(optimizer == "rowwise_adagrad", "merged_embedding_bag_update: the optimizer '", optimizer,
                    "' is none of sgd, adagrad and rowwise_adagrad");
  return RowUpdate::Kind::kRowwiseAdagrad;
}

void checkUpdate(const Tables& tables, const Tensors& gradients, at::TensorList states, RowUpdate::Kind kind) {
  const std::size_t count = tables.bags.size();
  TORCH_CHECK(tables.mode != BagMode::kMax, "merged_embedding_bag_update: the mode is sum or mean");
  TORCH_CHECK(gradients.size() == count && (kind == RowUpdate::Kind::kSgd || states.size() == count),
              "merged_embedding_bag_update: ", count, " tables need as many gradients and states");
  for (std::size_t t = 0; t < count; ++t) {
    const Bags& bags = tables.bags[t];
    TORCH_CHECK(gradients[t].sizes() == at::IntArrayRef({bags.bags, bags.width}) &&
                    gradients[t].scalar_type() == tables.weights()[t].scalar_type(),
                "merged_embedding_bag_update: table ", t, ": the gradient is not that of its result");
    if (kind == RowUpdate::Kind::kSgd) continue;
    const std::int64_t numbers = kind == RowUpdate::Kind::kAdagrad ? bags.rows * bags.width : bags.rows;
    TORCH_CHECK(states[t].numel() == numbers && states[t].is_contiguous() &&
                    states[t].scalar_type() == tables.weights()[t].scalar_type(),
                "merged_embedding_bag_update: table ", t, ": the state is contiguous, of ", numbers,
                " numbers in the type of the weights");
  }
}

void mergedEmbeddingBagUpdate(at::TensorList weights, at::TensorList states, at::TensorList result_gradients,
                              at::TensorList indices, at::TensorList offsets, c10::string_view mode,
                              bool include_last_offset, std::int64_t padding, c10::string_view optimizer,
                              double learning_rate, double weight_decay, double eps) {
  if (weights.empty()) return;
  const Tables tables(weights, indices, offsets, {}, {std::string(mode), include_last_offset, padding});
  const Tensors gradients = contiguous(result_gradients);
  const RowUpdate update{updateKind(optimizer), learning_rate, weight_decay, eps};
  checkUpdate(tables, gradients, states, update.kind);
  const std::int32_t threads = at::get_num_threads();
  const std::vector<TouchedRows> touched = touchedRows(tables.bags, threads);
  AT_DISPATCH_FLOATING_TYPES(weights[0].scalar_type(), "merged_embedding_bag_update", [&] {
    updateRows<scalar_t>(tables.bags, tables.mode, touched, constDataOf<scalar_t>(gradients), {}, update,
                         dataOf<scalar_t>(weights.vec()), dataOf<scalar_t>(states.vec()), threads);
  });
  for (const at::TensorList written : {weights, states}) {
    for (const at::Tensor& tensor : written) tensor.unsafeGetTensorImpl()->bump_version();
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "merged_embedding_bag(Tensor[] weights, Tensor[] indices, Tensor[] offsets, Tensor[] per_sample_weights, str "
      "mode, bool include_last_offset, int padding_idx, bool sparse) -> Tensor[]");
  m.def(
      "merged_embedding_bag_update(Tensor(a!)[] weights, Tensor(b!)[] states, Tensor[] gradients, Tensor[] indices, "
      "Tensor[] offsets, str mode, bool include_last_offset, int padding_idx, str optimizer, float learning_rate, "
      "float weight_decay, float eps) -> ()",
      mergedEmbeddingBagUpdate);
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("merged_embedding_bag", mergedEmbeddingBag); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("merged_embedding_bag", mergedEmbeddingBagMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("merged_embedding_bag", mergedEmbeddingBagAutograd); }

}  // namespace ipex_studio

// See decoder.h.
#include "core/generate/decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/model/input_values.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

// The parts of a result: the logits, then all that stands behind them.
std::vector<IValue> partsOf(const IValue& result) {
  if (result.isTuple()) return result.toTupleRef().elements().vec();
  if (result.isList()) return result.toListRef().vec();
  if (!result.isGenericDict()) return {result};
  std::vector<IValue> parts;
  for (const auto& entry : result.toGenericDict()) {
    const bool logits = entry.key().isString() && entry.key().toStringRef() == "logits";
    parts.insert(logits ? parts.begin() : parts.end(), entry.value());
  }
  return parts;
}

void appendTensors(const IValue& value, std::vector<at::Tensor>& tensors) {
  mapTensors(value, [&](const at::Tensor& tensor) {
    tensors.push_back(tensor);
    return tensor;
  });
}

std::vector<at::Tensor> tensorsIn(const std::vector<IValue>& values, std::size_t from) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = from; i < values.size(); ++i) appendTensors(values[i], tensors);
  return tensors;
}

[[noreturn]] void noCache(std::size_t found, std::size_t wanted) {
  throw Error(
      ExitCode::kUnsupported,
      fmt::format("forward takes a cache of {} tensors and returns {} that fit behind its logits; generate needs "
                  "a model that returns its cache in the order in which it takes it.",
                  wanted, found));
}

// True if the first ones of `others` have the ranks of the tensors, and are floating where those are.
bool alike(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& others) {
  if (others.size() < tensors.size()) return false;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].dim() != others[t].dim()) return false;
    if (tensors[t].is_floating_point() != others[t].is_floating_point()) return false;
  }
  return true;
}

// The one axis along which each tensor grew; empty if one of them grew along none, or along several.
std::vector<std::int64_t> grownAxes(const std::vector<at::Tensor>& before, const std::vector<at::Tensor>& after) {
  std::vector<std::int64_t> axes;
  for (std::size_t t = 0; t < before.size(); ++t) {
    std::int64_t grown = 0;
    for (std::int64_t axis = 0; axis < after[t].dim(); ++axis) {
      if (after[t].size(axis) == before[t].size(axis)) continue;
      axes.resize(t);
      axes.push_back(axis);
      ++grown;
    }
    if (grown != 1) return {};
  }
  return axes;
}

// Ids [texts, tokens], or places in them, as the argument takes them.
IValue idsAs(const DecodeArgument& argument, const at::Tensor& ids) {
  const at::Tensor typed = ids.to(argument.dtype);
  return argument.rank == 1 ? typed.select(0, 0) : typed;
}

IValue placesAs(const DecodeArgument& argument, std::int64_t texts, std::int64_t first, std::int64_t count) {
  const bool number = argument.type->isSubtypeOf(*c10::OptionalType::create(c10::IntType::get()));
  if (number) return first;
  const at::Tensor places = at::arange(first, first + count, argument.dtype);
  return argument.rank == 1 ? places : places.unsqueeze(0).expand({texts, count}).contiguous();
}

}  // namespace

Decoder::Decoder(torch::jit::Module module, const DecodeForm& form)
    : module_(std::move(module)), form_(form), mode_(module_) {}

void Decoder::empty() {
  templates_.clear();
  cache_.clear();
  token_axes_.clear();
  given_ = 0;
  for (const DecodeArgument& argument : form_.arguments) {
    if (argument.role != ArgumentRole::kCache) continue;
    templates_.push_back(copyValue(argument.value));
    appendTensors(templates_.back(), cache_);
  }
}

at::Tensor Decoder::begin(const std::vector<std::int64_t>& prompt) {
  empty();
  const at::Tensor ids = at::tensor(prompt, at::kLong).unsqueeze(0);
  if (form_.whole_prompt || !form_.cached()) {
    text_ = ids;
    return run(ids);
  }
  at::Tensor scores;
  for (std::int64_t token = 0; token < ids.size(1); ++token) {
    text_ = ids.narrow(1, 0, token + 1);
    scores = run(ids.narrow(1, token, 1));
  }
  return scores;
}

at::Tensor Decoder::beginBehind(std::int64_t given, std::int64_t token) {
  empty();
  given_ = given;
  text_ = at::tensor({token}, at::kLong).unsqueeze(0);
  return run(text_);
}

at::Tensor Decoder::next(const std::vector<std::int64_t>& tokens) {
  const at::Tensor ids = at::tensor(tokens, at::kLong).unsqueeze(1);
  text_ = at::cat({text_, ids}, 1);
  return run(form_.cached() ? ids : text_);
}

void Decoder::reorder(const std::vector<std::int64_t>& parents) {
  bool same = static_cast<std::int64_t>(parents.size()) == text_.size(0);
  for (std::size_t p = 0; p < parents.size() && same; ++p) same = parents[p] == static_cast<std::int64_t>(p);
  if (same) return;
  const at::Tensor indices = at::tensor(parents, at::kLong);
  if (static_cast<std::int64_t>(parents.size()) == text_.size(0) && mayWriteCache()) {
    const std::int64_t first = firstDifference(parents);
    text_ = text_.index_select(0, indices);
    for (std::size_t t = 0; t < cache_.size() && first < given_; ++t) {
      const at::Tensor moved = cache_[t].narrow(token_axes_[t], first, given_ - first);
      moved.copy_(moved.index_select(form_.text_axes[t], indices));
    }
    return;
  }
  text_ = text_.index_select(0, indices);
  for (std::size_t t = 0; t < cache_.size(); ++t) cache_[t] = cache_[t].index_select(form_.text_axes[t], indices);
}

std::int64_t Decoder::firstDifference(const std::vector<std::int64_t>& parents) const {
  const std::int64_t tokens = text_.size(1);
  const at::Tensor text = text_.contiguous();
  const std::int64_t* const ids = text.data_ptr<std::int64_t>();
  std::int64_t first = tokens;
  for (std::size_t p = 0; p < parents.size(); ++p) {
    const std::int64_t *const own = ids + static_cast<std::int64_t>(p) * tokens, *const other =
                                                                                     ids + parents[p] * tokens;
    first = std::min<std::int64_t>(first, std::mismatch(own, own + first, other).first - own);
  }
  return first + given_ - tokens;
}

// True if the last step made the tensors: they grew, so none is the one that was given; and none shares memory.
bool Decoder::mayWriteCache() const {
  if (cache_.empty() || token_axes_.size() != cache_.size()) return false;
  for (std::size_t t = 0; t < cache_.size(); ++t) {
    if (cache_[t].size(token_axes_[t]) != given_) return false;
    for (std::int64_t axis = 0; axis < cache_[t].dim(); ++axis) {
      if (cache_[t].size(axis) > 1 && cache_[t].stride(axis) == 0) return false;
    }
    for (std::size_t other = 0; other < t; ++other) {
      if (cache_[other].data_ptr() == cache_[t].data_ptr()) return false;
    }
  }
  return true;
}

Inputs Decoder::firstInputs(std::int64_t token) {
  empty();
  return inputsFor(at::tensor({token}, at::kLong).unsqueeze(0));
}

Inputs Decoder::nextInputs(const std::vector<std::int64_t>& tokens) const {
  const at::Tensor ids = at::tensor(tokens, at::kLong).unsqueeze(1);
  return inputsFor(form_.cached() ? ids : at::cat({text_, ids}, 1));
}

std::int64_t Decoder::cacheBytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : cache_) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

Inputs Decoder::inputsFor(const at::Tensor& ids) const {
  const std::int64_t texts = ids.size(0), count = ids.size(1), whole = given_ + count;
  Inputs inputs;
  std::size_t next = 0, caches = 0;
  for (const DecodeArgument& argument : form_.arguments) {
    switch (argument.role) {
      case ArgumentRole::kIds:
        inputs.push_back(idsAs(argument, ids));
        break;
      case ArgumentRole::kCache:
        inputs.push_back(mapTensors(templates_[caches++], [&](const at::Tensor&) { return cache_[next++]; }));
        break;
      case ArgumentRole::kMask:
        inputs.push_back(idsAs(argument, at::ones({texts, whole}, argument.dtype)));
        break;
      case ArgumentRole::kPositions:
      case ArgumentRole::kCachePositions:
        inputs.push_back(placesAs(argument, texts, given_, count));
        break;
      case ArgumentRole::kOther:
        inputs.push_back(argument.value);
        break;
    }
  }
  return inputs;
}

at::Tensor Decoder::run(const at::Tensor& ids) {
  IValue result;
  try {
    result = module_.forward(inputsFor(ids));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw runError(problem);
  }
  if (form_.cached()) {
    takeCache(result);
    given_ += ids.size(1);
  }
  return scoresOf(result, ids.size(0));
}

void Decoder::takeCache(const IValue& result) {
  const std::vector<IValue> parts = partsOf(result);
  const std::vector<IValue> behind(parts.begin() + 1, parts.end());
  if (cache_.empty()) return takeFirstCache(behind);
  std::size_t most = 0;
  for (std::size_t part = 0; part < behind.size(); ++part) {
    std::vector<at::Tensor> tensors = tensorsIn(behind, part);
    most = std::max(most, tensors.size());
    if (!alike(cache_, tensors)) continue;
    tensors.resize(cache_.size());
    token_axes_ = form_.cache == CacheForm::kGrows ? grownAxes(cache_, tensors) : std::vector<std::int64_t>();
    cache_ = std::move(tensors);
    return;
  }
  noCache(most, cache_.size());
}

// Without a cache before there is no more to go by than the order: a tensor for each argument that is one, a whole part
// for any other.
void Decoder::takeFirstCache(const std::vector<IValue>& behind) {
  std::vector<const DecodeArgument*> arguments;
  for (const DecodeArgument& argument : form_.arguments) {
    if (argument.role == ArgumentRole::kCache) arguments.push_back(&argument);
  }
  const bool tensors = std::all_of(arguments.begin(), arguments.end(), [](const DecodeArgument* argument) {
    return argument->type->isSubtypeOf(*c10::OptionalType::create(c10::TensorType::get()));
  });
  std::vector<IValue> values = behind;
  if (tensors) {
    const std::vector<at::Tensor> all = tensorsIn(behind, 0);
    values.assign(all.begin(), all.end());
  }
  if (values.size() < arguments.size()) noCache(values.size(), arguments.size());
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    templates_[a] = asType(values[a], arguments[a]->type, arguments[a]->name);
    appendTensors(templates_[a], cache_);
  }
  if (cache_.empty()) noCache(0, arguments.size());
}

at::Tensor Decoder::scoresOf(const IValue& result, std::int64_t texts) const {
  const std::vector<IValue> parts = partsOf(result);
  const bool tensor = !parts.empty() && parts[0].isTensor() && parts[0].toTensor().defined();
  at::Tensor scores = tensor ? parts[0].toTensor() : at::Tensor();
  if (tensor && scores.dim() == 3 && scores.size(1) > 0) scores = scores.select(1, -1);
  if (tensor && scores.dim() == 1) scores = scores.unsqueeze(0);
  if (tensor && scores.dim() == 2 && texts == 1 && scores.size(0) > 1) scores = scores.narrow(0, scores.size(0) - 1, 1);
  if (!tensor || scores.dim() != 2 || scores.size(0) != texts || scores.size(1) < 1 ||
      !at::isFloatingType(scores.scalar_type())) {
    throw Error(ExitCode::kUnsupported,
                fmt::format("The first result of forward has to be logits of {} texts, [texts, tokens, vocabulary]; it "
                            "is {}.",
                            texts, parts.empty() ? "missing" : inputValueText(parts[0])));
  }
  return scores.to(at::kFloat).contiguous();
}

}  // namespace ipex_studio

// Decoder: a language model and the texts that it goes on with, side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "core/generate/decode_form.h"
#include "core/model/run_mode.h"

namespace ipex_studio {

// Not thread-safe. Each function throws Error if the model fails or gives no logits.
class Decoder {
 public:
  // `form` must outlive it.
  Decoder(torch::jit::Module module, const DecodeForm& form);

  // Begins one text. Returns the scores of the next token [1, vocabulary].
  at::Tensor begin(const std::vector<std::int64_t>& prompt);
  // The same with one token, behind `given` tokens that the cache of the form holds already.
  at::Tensor beginBehind(std::int64_t given, std::int64_t token);
  // Adds a token to each text. Returns scores [texts, vocabulary].
  at::Tensor next(const std::vector<std::int64_t>& tokens);
  // Text i goes on from what was text parents[i]. Where the number of texts stays, a growing cache is written in place,
  // and its tokens that a text has in common with its parent are left as they are; otherwise each tensor is gathered.
  void reorder(const std::vector<std::int64_t>& parents);

  // The arguments that begin() would call forward with for one token; None for caches that are not known.
  Inputs firstInputs(std::int64_t token);
  // The arguments that next() would call forward with.
  Inputs nextInputs(const std::vector<std::int64_t>& tokens) const;
  std::int64_t cacheBytes() const;
  const std::vector<at::Tensor>& cache() const { return cache_; }

 private:
  void empty();  // takes the cache that a text begins with
  Inputs inputsFor(const at::Tensor& ids) const;
  at::Tensor run(const at::Tensor& ids);
  // Takes the cache out of a result of forward.
  void takeCache(const torch::jit::IValue& result);
  void takeFirstCache(const std::vector<torch::jit::IValue>& behind);
  // The first token of the cache in which a text differs from its parent.
  std::int64_t firstDifference(const std::vector<std::int64_t>& parents) const;
  bool mayWriteCache() const;
  at::Tensor scoresOf(const torch::jit::IValue& result, std::int64_t texts) const;

  torch::jit::Module module_;
  const DecodeForm& form_;
  RunMode mode_;
  at::Tensor text_;                // ids [texts, tokens so far]
  std::int64_t given_ = 0;         // tokens of it that the cache holds
  Inputs templates_;               // of the arguments with the role kCache: values that hold the cache's tensors
  std::vector<at::Tensor> cache_;  // all tensors of it
  // The axis along which each tensor of a growing cache grew in the last step; empty where that is not known.
  std::vector<std::int64_t> token_axes_;
};

}  // namespace ipex_studio

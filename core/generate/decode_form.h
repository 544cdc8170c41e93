// How a language model is called to write a text: what each argument of forward gets, and what its cache is like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/generate/argument_roles.h"
#include "core/model/model.h"

namespace ipex_studio {

struct DecodeArgument {
  std::string name;
  c10::TypePtr type;
  ArgumentRole role = ArgumentRole::kOther;
  torch::jit::IValue value;          // kOther: what it always gets; kCache: without tokens, or None
  at::ScalarType dtype = at::kLong;  // kIds, kMask and places
  std::int64_t rank = 2;             // of the same; 1: for one text alone
};

enum class CacheForm {
  kNone,   // the whole text is given at each step
  kGrows,  // by each token
  kFixed,  // room for all tokens, or a state that does not depend on their number
};

struct DecodeForm {
  std::vector<DecodeArgument> arguments;  // of forward, without self
  CacheForm cache = CacheForm::kNone;
  // The axis of texts of each tensor of the cache, in order. Empty: one text alone.
  std::vector<std::int64_t> text_axes;
  std::int64_t vocabulary = 0;
  bool whole_prompt = true;          // false: the prompt is given token by token
  std::vector<std::string> remarks;  // sentences on what is not as asked

  bool cached() const { return cache != CacheForm::kNone; }
};

// Reads the form off the model and runs it on the prompt. `given`: of arguments that the user gave values for; that of
// a cache may have any length. `texts`: side by side; for more than one the cache's axis of texts is found. Throws
// Error(kUsage) for what has to be given, Error(kUnsupported) for a model that cannot be called so.
DecodeForm findDecodeForm(torch::jit::Module& module, const std::vector<InputSpec>& given,
                          const std::vector<std::string>& roles, const std::vector<std::int64_t>& prompt,
                          std::int64_t texts, std::uint64_t seed);

// Throws Error(kUsage) if one of the ids, which the flag gave, is no token.
void requireTokens(const char* flag, const std::vector<std::int64_t>& ids, std::int64_t vocabulary);

}  // namespace ipex_studio

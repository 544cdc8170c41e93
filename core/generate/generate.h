// Writing a text with a language model: greedy, by beam search or by sampling, and comparing two models at it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/generate/decoder.h"
#include "core/record/generation_record.h"
#include "core/record/request.h"
#include "core/verify/verify.h"

namespace ipex_studio {

// True if the token ends a text.
bool endsText(const GenerateRequest& options, std::int64_t token);

struct GeneratedText {
  std::vector<std::int64_t> ids;          // new tokens, the one that ends the text included
  std::vector<double> log_probabilities;  // of each of them, before any temperature
  std::vector<std::int64_t> step_ns;      // of each token; the first reads the prompt
  std::int64_t cache_bytes = 0;
};

// Writes up to `options.max_new` tokens behind the prompt. `seed`: of sampling. `progress` (may be empty) gets the
// number of tokens written so far. Throws Error.
GeneratedText generate(Decoder& decoder, const std::vector<std::int64_t>& prompt, const GenerateRequest& options,
                       std::uint64_t seed, const std::function<void(std::int64_t)>& progress = {});

// The likeliest texts side by side (Graves: Sequence transduction with recurrent neural networks, 2012). A text's score
// is its log-probability over its length to the power of `options.length_penalty`; it ends when no text that goes on
// can score better than the best `options.beams` that have ended.
GeneratedText beamSearch(Decoder& decoder, const std::vector<std::int64_t>& prompt, const GenerateRequest& options,
                         const std::function<void(std::int64_t)>& progress);

// Two models on one text, token by token.
struct TextAgreement {
  AccuracyRecord worst;            // of log-probabilities of all tokens at one step
  double max_difference = 0;       // between them at any step
  std::int64_t other_choices = 0;  // tokens for which the original would choose another one than `optimized` does
  double closest_choice = 0;       // greatest difference between the original's log-probabilities of the two
  double log_probability = 0;      // of the text, as the original says
};

// Gives both the tokens `ids` behind the prompt. Choices are those of greedy search and sampling; a beam's are not
// compared here. Log-probabilities are compared by `rule`.
TextAgreement compareOnText(Decoder& original, Decoder& optimized, const std::vector<std::int64_t>& prompt,
                            const std::vector<std::int64_t>& ids, const GenerateRequest& options, std::uint64_t seed,
                            const AccuracyRule& rule);

// The times of texts that were written one after another.
GenerationForm describeTexts(const std::string& form, const std::vector<GeneratedText>& texts);

}  // namespace ipex_studio

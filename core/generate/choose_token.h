// How the next token of a text is chosen from a model's scores. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

// The log-probability of each token by one row of scores. NaN counts as minus infinity. Throws Error(kFailure) if no
// score is above that.
std::vector<double> logProbabilities(const float* scores, std::size_t count);

// The first of the greatest values.
std::int64_t likeliest(const std::vector<double>& log_probabilities);

struct SamplingOptions {
  double temperature = 1;
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;
  std::uint64_t seed = 0;
};

// A token drawn from softmax(log_probabilities / temperature) over the top_k likeliest tokens, of these over the fewest
// whose probabilities reach top_p together. Equal tokens rank by their ids. The draw depends on the seed and on `step`,
// the number of the token in its text, alone.
std::int64_t drawToken(const std::vector<double>& log_probabilities, const SamplingOptions& options, std::int64_t step);

}  // namespace ipex_studio

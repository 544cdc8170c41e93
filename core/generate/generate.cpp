// See generate.h.
#include "core/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/clock.h"
#include "core/generate/choose_token.h"

namespace ipex_studio {
namespace {

std::int64_t chosen(const std::vector<double>& values, const GenerateRequest& options, std::uint64_t seed,
                    std::int64_t step) {
  if (options.temperature == 0) return likeliest(values);
  return drawToken(values, {options.temperature, options.top_k, options.top_p, seed}, step);
}

std::vector<double> firstRow(const at::Tensor& scores) {
  return logProbabilities(scores.data_ptr<float>(), static_cast<std::size_t>(scores.size(1)));
}

at::Tensor asTensor(const std::vector<double>& values) { return at::tensor(values, at::kDouble).to(at::kFloat); }

std::int64_t percentile(std::vector<std::int64_t> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(values.size(), std::max<std::size_t>(at, 1)) - 1];
}

}  // namespace

bool endsText(const GenerateRequest& options, std::int64_t token) {
  return std::find(options.eos.begin(), options.eos.end(), token) != options.eos.end();
}

GeneratedText generate(Decoder& decoder, const std::vector<std::int64_t>& prompt, const GenerateRequest& options,
                       std::uint64_t seed, const std::function<void(std::int64_t)>& progress) {
  if (options.beams > 1) return beamSearch(decoder, prompt, options, progress);
  GeneratedText text;
  for (std::int64_t step = 0; step < options.max_new; ++step) {
    const std::int64_t begin = nowNs();
    const std::vector<double> values = firstRow(step == 0 ? decoder.begin(prompt) : decoder.next({text.ids.back()}));
    const std::int64_t token = chosen(values, options, seed, step);
    text.step_ns.push_back(nowNs() - begin);
    text.ids.push_back(token);
    text.log_probabilities.push_back(values[static_cast<std::size_t>(token)]);
    if (progress) progress(step + 1);
    if (endsText(options, token)) break;
  }
  text.cache_bytes = decoder.cacheBytes();
  return text;
}

TextAgreement compareOnText(Decoder& original, Decoder& optimized, const std::vector<std::int64_t>& prompt,
                            const std::vector<std::int64_t>& ids, const GenerateRequest& options, std::uint64_t seed,
                            const AccuracyRule& rule) {
  TextAgreement agreement;
  for (std::size_t step = 0; step < ids.size(); ++step) {
    const auto given = step == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{ids[step - 1]};
    const auto expected = firstRow(step == 0 ? original.begin(prompt) : original.next(given));
    const auto actual = firstRow(step == 0 ? optimized.begin(prompt) : optimized.next(given));
    const AccuracyRecord record = compareOutputs(asTensor(actual), asTensor(expected), nullptr, rule).front();
    const bool worse = record.pass != agreement.worst.pass ? !record.pass : record.max_rel > agreement.worst.max_rel;
    if (step == 0 || worse) agreement.worst = record;
    agreement.max_difference = std::max(agreement.max_difference, static_cast<double>(record.max_abs));
    agreement.log_probability += expected[static_cast<std::size_t>(ids[step])];
    if (options.beams > 1) continue;
    const auto at = static_cast<std::int64_t>(step);
    const std::int64_t own = chosen(expected, options, seed, at), other = chosen(actual, options, seed, at);
    if (own == other) continue;
    ++agreement.other_choices;
    agreement.closest_choice = std::max(agreement.closest_choice, std::abs(expected[static_cast<std::size_t>(own)] -
                                                                           expected[static_cast<std::size_t>(other)]));
  }
  return agreement;
}

GenerationForm describeTexts(const std::string& form, const std::vector<GeneratedText>& texts) {
  GenerationForm record;
  record.form = form;
  record.ids = texts.back().ids;
  record.log_probabilities = texts.back().log_probabilities;
  record.cache_bytes = texts.back().cache_bytes;
  std::vector<std::int64_t> first, later;
  for (const GeneratedText& text : texts) {
    first.push_back(text.step_ns.front());
    later.insert(later.end(), text.step_ns.begin() + 1, text.step_ns.end());
  }
  record.first_token_ns = percentile(first, 0.5);
  record.p50_ns = percentile(later, 0.5);
  record.p99_ns = percentile(later, 0.99);
  const double sum_s = 1e-9 * static_cast<double>(std::accumulate(later.begin(), later.end(), std::int64_t{0}));
  if (sum_s > 0) record.tokens_per_s = static_cast<double>(later.size()) / sum_s;
  return record;
}

}  // namespace ipex_studio

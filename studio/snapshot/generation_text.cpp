// See generation_text.h.
#include "studio/snapshot/generation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

std::string milliseconds(std::int64_t ns) { return fmt::format("{:.2f} ms", static_cast<double>(ns) / 1e6); }

std::string rowOf(const GenerationForm& form) {
  return fmt::format("{:<14}{:<16}{:<12}{:<12}{:<12}{}\n", displayText(form.form, 13),
                     milliseconds(form.first_token_ns), milliseconds(form.p50_ns), milliseconds(form.p99_ns),
                     fmt::format("{:.1f}", form.tokens_per_s), form.cache_bytes);
}

std::string agreementText(const GenerationRecord& record) {
  const std::string verdict = displayText(record.accuracy, 300);
  if (!record.pass) return fmt::format("The original's log-probabilities differ beyond the tolerance: {}.\n", verdict);
  if (record.same_ids)
    return fmt::format("The original writes the same; log-probabilities differ by at most {:.2g}.\n",
                       record.max_difference);
  return fmt::format(
      "The original would choose otherwise for {} of the tokens, where its two choices differ by at most {:.2g} in "
      "log-probability; all log-probabilities agree within the tolerance (at most {:.2g} apart).\n",
      record.other_choices, record.closest_choice, record.max_difference);
}

}  // namespace

std::string generatedIds(const GenerationRecord& record) {
  return record.forms.empty() ? "" : fmt::format("{}", fmt::join(record.forms.back().ids, " "));
}

std::string generationText(const GenerationRecord& record) {
  const std::size_t count = record.forms.empty() ? 0 : record.forms.back().ids.size();
  std::string text = displayText(record.strategy, 40);
  if (record.beams > 1) text += fmt::format(" ({} beams)", record.beams);
  text += fmt::format(", {} tokens behind {}; cache: {}\n", count, record.prompt.size(), displayText(record.cache, 20));
  for (const std::string& remark : record.remarks) text += displayText(remark, 400) + "\n";
  text += fmt::format("{:<14}{:<16}{:<12}{:<12}{:<12}{}\n", "", "first token", "p50/token", "p99/token", "tokens/s",
                      "bytes of cache");
  for (const GenerationForm& form : record.forms) text += rowOf(form);
  return text + agreementText(record);
}

}  // namespace ipex_studio

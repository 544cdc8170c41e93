// See value_text.h.
#include "studio/snapshot/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.5g}", value) : "–"; }

std::string shareText(std::int64_t count, std::int64_t of) {
  if (count == 0) return "0";
  return fmt::format("{} ({:.3g} %)", count,
                     100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(of, 1)));
}

std::string histogramText(const std::vector<std::int64_t>& counts) {
  constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (const std::int64_t count : counts) {
    // The root keeps rare values visible.
    const double share = most > 0 ? std::sqrt(static_cast<double>(count) / static_cast<double>(most)) : 0;
    text += kBars[static_cast<std::size_t>(std::ceil(share * 8))];
  }
  return text;
}

}  // namespace

std::vector<ValueFact> valueFacts(const ValueRecord& record) {
  std::vector<ValueFact> facts = {{"shape and type", {}}, {"minimum", {}}, {"maximum", {}}, {"mean", {}},
                                  {"deviation", {}},      {"zeros", {}},   {"NaN", {}},     {"infinite", {}}};
  for (const ValueForm& f : record.forms) {
    const std::string texts[] = {formatInput(displayText(f.type, 60)),
                                 number(f.least),
                                 number(f.greatest),
                                 number(f.mean),
                                 number(f.deviation),
                                 shareText(f.zeros, f.elements),
                                 shareText(f.nans, f.elements),
                                 shareText(f.infinities, f.elements)};
    for (std::size_t i = 0; i < facts.size(); ++i) facts[i].texts.push_back(texts[i]);
  }
  return facts;
}

std::string valueDifferenceText(const ValueRecord& record) {
  if (record.differences.empty()) return "";
  const ValueDifference& difference = record.differences.front();
  if (difference.accuracy.sqnr_db >= kSqnrOfEqual) return "The optimized value is equal to the original's.";
  std::string text = fmt::format("The optimized value differs by at most {:.3g}", difference.accuracy.max_abs);
  if (!difference.place.empty())
    text += fmt::format(" ({:.6g} instead of {:.6g} at {})", difference.value, difference.expected,
                        displayText(difference.place, 80));
  return text + fmt::format("; SQNR {:.0f} dB.", difference.accuracy.sqnr_db);
}

std::string valueText(const ValueRecord& record) {
  std::string text = displayText(record.name, 200) + "\n";
  if (!record.remark.empty()) text += displayText(record.remark, 400) + "\n";
  text += fmt::format("{:<16}", "");
  for (const ValueForm& form : record.forms) text += fmt::format("{:<24}", displayText(form.form, 20));
  text += "\n";
  for (const ValueFact& fact : valueFacts(record)) {
    text += fmt::format("{:<16}", fact.name);
    for (const std::string& value : fact.texts) text += fmt::format("{:<24}", value);
    text += "\n";
  }
  text += fmt::format("histogram from {:.5g} to {:.5g}\n", record.low, record.high);
  for (const ValueForm& form : record.forms)
    text += fmt::format("  {:<14}{}\n", displayText(form.form, 13), histogramText(form.histogram));
  const std::string difference = valueDifferenceText(record);
  return difference.empty() ? text : text + difference + "\n";
}

}  // namespace ipex_studio

// See bisect_text.h.
#include "studio/snapshot/bisect_text.h"

#include <fmt/format.h>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

// "max |Δ| 0.12, relative 0.03, 28.1 dB"
std::string distanceText(const AccuracyRecord& accuracy) {
  if (accuracy.sqnr_db >= kSqnrOfEqual) return "equal";
  return fmt::format("max |Δ| {:.3g}, relative {:.3g}, {:.1f} dB", accuracy.max_abs, accuracy.max_rel,
                     accuracy.sqnr_db);
}

std::string named(const ValueDifference& value) {
  std::string text = displayText(value.name, 200);
  if (!value.source.empty()) text += fmt::format(", {}", displayText(value.source, 200));
  return text;
}

std::string wrongText(const ValueDifference& wrong) {
  std::string text = fmt::format("first wrong node  {}\n", named(wrong));
  if (!wrong.other.empty()) text += fmt::format("  there            {}\n", displayText(wrong.other, 200));
  text +=
      fmt::format("  differs          {}; {}\n", distanceText(wrong.accuracy), displayText(wrong.accuracy.text, 400));
  if (!wrong.place.empty())
    text +=
        fmt::format("  worst element    {:.7g} instead of {:.7g} at {}\n", wrong.value, wrong.expected, wrong.place);
  if (wrong.nans != 0 || wrong.right_nans != 0) {
    text += fmt::format("  NaN or infinite  {} elements instead of {}{}\n", wrong.nans, wrong.right_nans,
                        wrong.nan_place.empty() ? "" : ", first at " + displayText(wrong.nan_place, 100));
  }
  return text;
}

}  // namespace

std::string bisectText(const BisectRecord& record) {
  std::string text = fmt::format("results           {}: {}\n", record.results.pass ? "right" : "wrong",
                                 displayText(record.results.text, 400));
  text += fmt::format("compared          {} values of {} nodes\n", record.compared, record.nodes);
  if (record.wrong.empty() && record.results.pass) return text + "Nothing is over the tolerance.\n";
  if (!record.wrong.empty()) text += wrongText(record.wrong.front());
  for (const ValueDifference& feed : record.feeds) {
    text += fmt::format("  reads            {}: {}, {}\n", named(feed), feed.accuracy.pass ? "right" : "wrong",
                        distanceText(feed.accuracy));
  }
  if (record.alone) text += "  With the right value in its place all results are right.\n";
  if (record.cause.empty()) return text + "to blame          not found\n";
  text += fmt::format("to blame          {} {}: {}\n", displayText(record.cause, 40), displayText(record.blame, 300),
                      displayText(record.why, 1000));
  text += record.confirmed ? "  Confirmed: without it, and nothing else changed, results are right.\n"
                           : "  Not confirmed: results stay wrong without it alone.\n";
  if (record.cause == "rewrite" || record.cause == "kernel")
    text += fmt::format("  Leave it out with --disable {}\n", displayText(record.blame, 300));
  return text;
}

std::string bisectSentence(const BisectRecord& record) {
  if (record.wrong.empty() && record.results.pass) return "No node is over the tolerance.";
  const std::string why = record.cause.empty() ? "" : fmt::format(", because of {}", displayText(record.blame, 300));
  if (record.wrong.empty()) return fmt::format("Results differ, but no node could be named{}.", why);
  const ValueDifference& wrong = record.wrong.front();
  const std::string values =
      wrong.place.empty() ? ""
                          : fmt::format(": {:.6g} instead of {:.6g} at {}", wrong.value, wrong.expected, wrong.place);
  return fmt::format("The first wrong node is {}{}{}.", displayText(wrong.name, 200), values, why);
}

}  // namespace ipex_studio

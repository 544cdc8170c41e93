// The four forms of a check's result.
#include "studio/cli/check_page.h"

#include <fmt/format.h>

#include "core/record/records_json.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

std::string intervalText(const Interval& interval) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.value, interval.low, interval.high);
}

nlohmann::json intervalJson(const Interval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

std::string speedVerdict(const CheckPage& page) {
  if (page.check.speed.slower) return "slower";
  return page.check.speed.noisy ? "not to be told: this machine is too noisy" : "ok";
}

const char* accuracyVerdict(const CheckPage& page) { return page.check.accurate ? "ok" : "less accurate"; }

std::string controlText(const CheckPage& page) {
  return fmt::format("{} of its own time in another process", intervalText(page.check.speed.control));
}

// Text for XML, without what it cannot hold.
std::string xmlText(const std::string& text) {
  std::string safe;
  for (const char c : displayText(text, 4000)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string junitCase(const CheckPage& page, const char* name, bool failed, const std::string& text) {
  const std::string head = fmt::format(R"(  <testcase classname="{}" name="{}">)", xmlText(page.new_path), name);
  return failed ? fmt::format("{}<failure message=\"{}\"/></testcase>\n", head, xmlText(text))
                : fmt::format("{}<system-out>{}</system-out></testcase>\n", head, xmlText(text));
}

// Text for a cell of a Markdown table.
std::string cellText(const std::string& text) {
  std::string safe;
  for (const char c : displayText(text, 4000)) safe += c == '|' ? std::string("\\|") : std::string(1, c);
  return safe;
}

}  // namespace

std::string speedText(const CheckPage& page) {
  return fmt::format("{} of the time before, {:g} allowed", intervalText(page.check.speed.ratio),
                     1 + page.max_slowdown);
}

std::string textPage(const CheckPage& page) {
  const ModelCheck& check = page.check;
  return fmt::format(
      "old       {:.3f} ms  {}\nnew       {:.3f} ms  {}\ncontrol   {}, {} rounds\nspeed     {}: {}\naccuracy  {}: {}\n",
      check.old_ms, displayText(page.old_path), check.new_ms, displayText(page.new_path), controlText(page),
      check.speed.rounds, speedText(page), speedVerdict(page), displayText(check.accuracy_text, 400),
      accuracyVerdict(page));
}

std::string markdownPage(const CheckPage& page) {
  const ModelCheck& check = page.check;
  return fmt::format(
      "# {}\n\n| what | measured | verdict |\n|---|---|---|\n| old | {:.3f} ms, {} | |\n| new | {:.3f} ms, {} | |\n"
      "| control | the old model takes {} ({} rounds) | |\n| speed | {} | {} |\n| accuracy | {} | {} |\n",
      check.accurate && !check.speed.slower ? "The new model passes" : "The new model fails", check.old_ms,
      cellText(page.old_path), check.new_ms, cellText(page.new_path), controlText(page), check.speed.rounds,
      speedText(page), speedVerdict(page), cellText(check.accuracy_text), accuracyVerdict(page));
}

std::string junitPage(const CheckPage& page) {
  const ModelCheck& check = page.check;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"ipex-studio check\" tests=\"2\" failures=\"{}\">\n{}{}</testsuite>\n",
      (check.speed.slower ? 1 : 0) + (check.accurate ? 0 : 1),
      junitCase(page, "speed", check.speed.slower,
                fmt::format("{}: {}; control: {}", speedText(page), speedVerdict(page), controlText(page))),
      junitCase(page, "accuracy", !check.accurate, check.accuracy_text));
}

nlohmann::json jsonPage(const CheckPage& page) {
  const ModelCheck& check = page.check;
  nlohmann::json accuracy = nlohmann::json::array(), before = accuracy, after = accuracy;
  for (const AccuracyRecord& record : check.accuracy) accuracy.push_back(toJson(record));
  for (const MetricRecord& metric : check.old_metrics) before.push_back(toJson(metric));
  for (const MetricRecord& metric : check.new_metrics) after.push_back(toJson(metric));
  return {{"schema", 1},
          {"pass", check.accurate && !check.speed.slower},
          {"speed",
           {{"slower", check.speed.slower},
            {"noisy", check.speed.noisy},
            {"ratio", intervalJson(check.speed.ratio)},
            {"control", intervalJson(check.speed.control)},
            {"allowed", 1 + page.max_slowdown},
            {"rounds", check.speed.rounds},
            {"old_ms", check.old_ms},
            {"new_ms", check.new_ms}}},
          {"accurate", check.accurate},
          {"accuracy_text", check.accuracy_text},
          {"accuracy", std::move(accuracy)},
          {"old_metrics", std::move(before)},
          {"new_metrics", std::move(after)}};
}

}  // namespace ipex_studio

// See script.h.
#include "studio/window/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "studio/snapshot/graph_search.h"
#include "studio/window/app_actions.h"

namespace ipex_studio {
namespace {

constexpr auto kLongestWait = std::chrono::minutes(10);
constexpr const char* kVerbs[] = {"open",       "wait",   "scrub", "select",  "do",      "expect",
                                  "screenshot", "report", "trust", "export",  "tune",    "load",
                                  "flags",      "inputs", "key",   "library", "compare", "curves"};
constexpr const char* kStates[] = {"empty", "ready", "recorded", "working", "done", "failed", "cancelled"};

std::int32_t shownStage(const StudioSnapshot& snapshot, const Selection& selection) {
  const auto last = static_cast<std::int32_t>(snapshot.index->stages.size()) - 1;
  return selection.after_stage < 0 ? snapshot.index->default_stage : std::min(selection.after_stage, last);
}

const GraphSnapshot* shownGraph(const StudioSnapshot& snapshot, const Selection& selection) {
  const std::int32_t stage = shownStage(snapshot, selection);
  const std::int32_t graph = stage < 0 ? -1 : snapshot.index->stages[stage].graph;
  return graph < 0 ? nullptr : snapshot.index->graphs[graph].graph.get();
}

}  // namespace

Script Script::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ExitCode::kUsage, "The script '" + displayText(path, 200) + "' cannot be read.");
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str());
}

Script Script::parse(const std::string& text) {
  Script script;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    Step step;
    step.line = number;
    step.verb = line.substr(begin, end - begin);
    const std::size_t rest = line.find_first_not_of(" \t", end);
    if (rest != std::string::npos) step.rest = line.substr(rest, line.find_last_not_of(" \t\r") - rest + 1);
    const bool known = std::find(std::begin(kVerbs), std::end(kVerbs), step.verb) != std::end(kVerbs);
    if (!known || step.rest.empty()) {
      throw Error(ExitCode::kUsage,
                  fmt::format("Line {} of the script is no step: '{}'; steps are open, wait, scrub, "
                              "select, key, do, expect, screenshot, report, trust, export, tune, load, flags, inputs, "
                              "library, compare and curves, each "
                              "with what to do it with.",
                              number, displayText(line, 80)));
    }
    const auto& actions = allActions();
    const bool action = step.verb != "do" || std::any_of(actions.begin(), actions.end(),
                                                         [&](const Action& a) { return step.rest == a.name; });
    if (!action) {
      throw Error(ExitCode::kUsage, fmt::format("Line {} of the script asks for '{}', which is no action; the command "
                                                "palette lists them.",
                                                number, displayText(step.rest, 80)));
    }
    script.steps_.push_back(std::move(step));
  }
  return script;
}

bool Script::advance(const Frame& frame) {
  while (next_ < steps_.size()) {
    if (fresh_) since_ = std::chrono::steady_clock::now();
    fresh_ = false;
    if (!run(steps_[next_], frame)) return true;
    ++next_;
    fresh_ = true;
    // Effects of a step show in a later frame.
    const std::string& verb = steps_[next_ - 1].verb;
    if (verb != "wait" && verb != "expect" && verb != "screenshot") return true;
  }
  return false;
}

bool Script::run(const Step& step, const Frame& frame) {
  if (step.verb == "wait") return wait(step, frame);
  if (step.verb == "open") frame.post(OpenCommand{step.rest});
  if (step.verb == "do") frame.selection.request(step.rest);
  if (step.verb == "key" && !frame.press(step.rest)) {
    throw Error(ExitCode::kUsage,
                fmt::format("Line {} of the script: '{}' are no keys.", step.line, displayText(step.rest, 40)));
  }
  if (step.verb == "scrub") scrub(step, frame);
  if (step.verb == "select") select(step, frame);
  if (step.verb == "expect") expect(step, frame);
  if (step.verb == "screenshot") frame.screenshot(step.rest);
  if (step.verb == "report") frame.report(step.rest);
  if (step.verb == "trust") frame.post(trustStep(step.rest, step.line));
  if (step.verb == "export") frame.post(exportStep(step.rest, step.line));
  if (step.verb == "tune") frame.post(tuneStep(step.rest, step.line));
  if (step.verb == "curves") frame.post(curvesStep(step.rest, step.line));
  if (step.verb == "flags") frame.post(FlagsCommand{step.rest});
  if (step.verb == "inputs") frame.post(inputsStep(step.rest, frame.snapshot));
  if (step.verb == "library") frame.post(libraryStep(step.rest, step.line, frame.snapshot));
  if (step.verb == "compare") frame.post(compareStep(step.rest, step.line));
  if (step.verb == "load") frame.post(loadStep(step.rest, step.line, frame.snapshot));
  return true;
}

bool Script::wait(const Step& step, const Frame& frame) {
  const auto waited = std::chrono::steady_clock::now() - since_;
  if (waited > kLongestWait)
    throw Error(ExitCode::kFailure, fmt::format("Line {} of the script waited for ten minutes.", step.line));
  if (step.rest == "settled") return frame.settled;
  if (const std::size_t space = step.rest.find(' '); space != std::string::npos) {
    bool good = false;
    if (workFact(frame.snapshot, step.rest.substr(0, space), step.rest.substr(space + 1), &good)) return good;
  }
  return waited >= std::chrono::duration<double>(std::strtod(step.rest.c_str(), nullptr));
}

void Script::scrub(const Step& step, const Frame& frame) const {
  const auto& stages = frame.snapshot.index->stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].name != step.rest && std::to_string(s) != step.rest) continue;
    frame.selection.after_stage = static_cast<std::int32_t>(s);
    return;
  }
  throw Error(ExitCode::kFailure,
              fmt::format("Line {} of the script: there is no pass '{}'.", step.line, displayText(step.rest, 80)));
}

void Script::select(const Step& step, const Frame& frame) const {
  const GraphSnapshot* graph = shownGraph(frame.snapshot, frame.selection);
  GraphSearch search;
  if (graph != nullptr) search.read(*graph);
  if (graph == nullptr || search.find(step.rest).empty()) {
    throw Error(ExitCode::kFailure,
                fmt::format("Line {} of the script: no node has '{}'.", step.line, displayText(step.rest, 80)));
  }
  frame.selection.select(graph->nodes[search.hits().front()].origins, true);
}

void Script::expect(const Step& step, const Frame& frame) const {
  const std::size_t space = std::min(step.rest.find(' '), step.rest.size());
  const std::string key = step.rest.substr(0, space);
  const std::string value = space < step.rest.size() ? step.rest.substr(space + 1) : std::string();
  const GraphSnapshot* graph = shownGraph(frame.snapshot, frame.selection);
  std::string found;
  bool good = false;
  if (key == "state") {
    found = kStates[static_cast<std::size_t>(frame.snapshot.status.state)];
  } else if (key == "pass") {
    const std::int32_t stage = shownStage(frame.snapshot, frame.selection);
    found = stage < 0 ? "none" : frame.snapshot.index->stages[stage].name;
  } else if (key == "nodes") {
    found = std::to_string(graph == nullptr ? 0 : graph->nodes.size());
  } else if (key == "selected") {
    found = std::to_string(frame.selection.origins().size());
    good = static_cast<long>(frame.selection.origins().size()) >= std::strtol(value.c_str(), nullptr, 10);
  } else if (key == "message") {
    found = displayText(frame.snapshot.status.message, 300);
    good = found.find(value) != std::string::npos;
  } else if (key == "status") {
    found = frame.snapshot.log->empty() ? "" : displayText(frame.snapshot.log->back().text, 600);
    good = found.find(value) != std::string::npos;
  } else if (key == "kernel") {
    const RunIndex& run = frame.snapshot.index->optimized;
    for (const std::int32_t r : rowsOf(run, frame.selection.origins())) {
      const std::string& kernel = run.rows[static_cast<std::size_t>(r)].kernel;
      if (!kernel.empty()) found += (found.empty() ? "" : ", ") + kernel;
    }
    good = found.find(value) != std::string::npos;
  } else if (key == "dialogs") {
    found = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup) ? "1" : "0";
  } else if (key == "blocked") {
    found = std::to_string(frame.statistics.blocked);
  } else if (const auto fact = workFact(frame.snapshot, key, value, &good)) {
    found = *fact;
  } else {
    throw Error(ExitCode::kUsage, fmt::format("Line {} of the script expects '{}', which is not known.", step.line,
                                              displayText(key, 80)));
  }
  if (good || found == value) return;
  throw Error(ExitCode::kFailure, fmt::format("Line {} of the script expects {} to be '{}', but it is '{}'.", step.line,
                                              key, displayText(value, 80), found));
}

}  // namespace ipex_studio

// See snapshot_advice.h.
#include "studio/snapshot_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ipex_studio {
namespace {

constexpr std::size_t kMostAdvice = 6;
// Below these shares of the run a hint is not worth anyone's time.
constexpr double kLeastShare = 0.005;
constexpr double kLeastUnattributed = 0.05;

struct RowGroup {
  std::int32_t count = 0;
  double total_ns = 0;
  std::vector<OriginId> origins;

  void add(const OperationRow& row) {
    ++count;
    total_ns += row.time.p50_ns;
    origins.insert(origins.end(), row.origins.begin(), row.origins.end());
  }
};

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

const char* plural(std::int32_t count) { return count == 1 ? "" : "s"; }

void adviseOnAccuracy(const JobIndex& index, std::vector<Advice>* advice) {
  if (index.optimized.run == nullptr || index.optimized.run->accuracy.pass) return;
  const AccuracyRecord& accuracy = index.optimized.run->accuracy;
  std::string text = accuracy.text.empty() ? fmt::format("max relative error {:.2g}", accuracy.max_rel)
                                           : displayText(accuracy.text, 200);
  advice->push_back({Advice::Tone::kWarning, "Results differ from the original: " + text, "Show log", {}, "log"});
}

void adviseOnInterpreter(const JobIndex& index, std::vector<Advice>* advice) {
  RowGroup group;
  for (const OperationRow& row : index.optimized.rows) {
    if (row.step < 0) group.add(row);
  }
  const double latency_ns = index.optimized.latency.p50_ns;
  if (group.count == 0 || latency_ns <= 0 || group.total_ns / latency_ns < kLeastShare) return;
  advice->push_back({Advice::Tone::kWarning,
                     fmt::format("{} node{} stayed with the interpreter: {} ({}).", group.count, plural(group.count),
                                 formatTime(group.total_ns), percent(group.total_ns / latency_ns)),
                     "Show", std::move(group.origins), "operations"});
}

void adviseOnReorders(const JobIndex& index, std::vector<Advice>* advice) {
  RowGroup group;
  for (const OperationRow& row : index.optimized.rows) {
    if (row.step >= 0 && row.group == KindGroup::kReorder) group.add(row);
  }
  const double latency_ns = index.optimized.latency.p50_ns;
  if (group.count == 0 || latency_ns <= 0 || group.total_ns / latency_ns < kLeastShare) return;
  advice->push_back(
      {Advice::Tone::kWarning,
       fmt::format("{} reorder{} cost{} {} ({}).", group.count, plural(group.count), group.count == 1 ? "s" : "",
                   formatTime(group.total_ns), percent(group.total_ns / latency_ns)),
       "Show", std::move(group.origins), "operations"});
}

void adviseOnSlowest(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized.run != nullptr ? index.optimized : index.baseline;
  std::vector<const OperationRow*> rows;
  for (const OperationRow& row : run.rows) {
    if (row.time.p50_ns > 0) rows.push_back(&row);
  }
  if (rows.size() < 4 || run.latency.p50_ns <= 0) return;
  std::partial_sort(rows.begin(), rows.begin() + 3, rows.end(), [](const OperationRow* a, const OperationRow* b) {
    return a->time.p50_ns != b->time.p50_ns ? a->time.p50_ns > b->time.p50_ns : a < b;
  });
  double total_ns = 0;
  for (std::size_t i = 0; i < 3; ++i) total_ns += rows[i]->time.p50_ns;
  advice->push_back({Advice::Tone::kHint,
                     fmt::format("The slowest three operations take {} of the run, first {} with {}.",
                                 percent(total_ns / run.latency.p50_ns), displayText(rows[0]->name, 48),
                                 formatTime(rows[0]->time.p50_ns)),
                     "Show", rows[0]->origins, "operations"});
}

struct Declines {
  std::int32_t count = 0;
  const Remark* first = nullptr;
};

void adviseOnDeclines(const JobRecord& job, std::vector<Advice>* advice) {
  std::map<std::pair<std::string, std::string>, Declines> groups;
  for (const Remark& remark : job.remarks) {
    if (remark.kind != RemarkKind::kMissed || remark.reason == "decided-by-hand") continue;
    Declines& group = groups[{remark.pass, remark.reason}];
    if (group.count++ == 0) group.first = &remark;
  }
  std::vector<const Declines*> order;
  for (const auto& [key, group] : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(),
                   [](const Declines* a, const Declines* b) { return a->count > b->count; });
  if (order.size() > 2) order.resize(2);
  for (const Declines* group : order) {
    std::string why = displayText(group->first->text.empty() ? group->first->reason : group->first->text, 140);
    if (!why.empty() && why.back() != '.') why += '.';
    const std::string often = group->count > 1 ? fmt::format(" {} times", group->count) : std::string();
    advice->push_back({Advice::Tone::kHint,
                       fmt::format("{} declined{}: {}", displayText(group->first->pass, 48), often, why), "Show",
                       group->first->origins, "remarks"});
  }
}

void adviseOnInputs(const JobRecord& job, std::vector<Advice>* advice) {
  std::string guessed;
  for (const InputRecord& input : job.model.inputs) {
    if (!input.guessed || guessed.size() > 80) continue;
    guessed += (guessed.empty() ? "" : ", ") + displayText(input.name, 24) + " " + formatShape(input.description);
  }
  if (guessed.empty()) return;
  advice->push_back(
      {Advice::Tone::kHint, fmt::format("The inputs are a guess ({}). Give yours with --input.", guessed), "", {}, ""});
}

void adviseOnUnattributed(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized;
  if (run.rows.empty() || run.latency.p50_ns <= 0) return;
  const double share = run.unattributed_ns / run.latency.p50_ns;
  if (share < kLeastUnattributed) return;
  advice->push_back(
      {Advice::Tone::kWarning,
       fmt::format("{} of the run ({}) belong to no operation.", formatTime(run.unattributed_ns), percent(share)),
       "Show",
       {},
       "operations"});
}

}  // namespace

std::vector<Advice> makeAdvice(const JobRecord& job, const JobIndex& index) {
  std::vector<Advice> advice;
  adviseOnAccuracy(index, &advice);
  adviseOnInterpreter(index, &advice);
  adviseOnReorders(index, &advice);
  adviseOnSlowest(index, &advice);
  adviseOnDeclines(job, &advice);
  adviseOnUnattributed(index, &advice);
  adviseOnInputs(job, &advice);
  if (advice.size() > kMostAdvice) advice.resize(kMostAdvice);
  return advice;
}

}  // namespace ipex_studio

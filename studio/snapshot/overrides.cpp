// See overrides.h.
#include "studio/snapshot/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/record/records_json.h"
#include "core/record/tuning_store.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxStates = 200;
constexpr const char* kPrecisions[] = {"fp32", "bf16", "int8"};
constexpr char kReason[] = "another one is pinned";

}  // namespace

// The key of a step's measurements looks like "convolution{…}|relu : f32 1x64x56x56 … -> f32 1x64x56x56".
bool isTuningOf(const std::string& text, const std::string& spec, const std::string& dst_shape) {
  if (spec.empty() || text.compare(0, spec.size(), spec) != 0 || text.compare(spec.size(), 2, " :") != 0) return false;
  const std::size_t arrow = text.rfind("->");
  return arrow != std::string::npos && text.find(" " + dst_shape, arrow) != std::string::npos;
}

std::string Overrides::whole() const {
  const auto last = std::find_if(precisions.rbegin(), precisions.rend(),
                                 [](const PrecisionOverride& override) { return override.what == "*"; });
  return last == precisions.rend() ? "" : last->precision;
}

Overrides Overrides::withoutWhole() const {
  Overrides rest = *this;
  rest.precisions.erase(std::remove_if(rest.precisions.begin(), rest.precisions.end(),
                                       [](const PrecisionOverride& override) { return override.what == "*"; }),
                        rest.precisions.end());
  return rest;
}

Overrides Overrides::with(const KernelPin& pin) const {
  Overrides next = *this;
  const bool taken_back = std::find(pins.begin(), pins.end(), pin) != pins.end();
  const auto same = [&](const KernelPin& other) { return other.spec == pin.spec && other.dst_shape == pin.dst_shape; };
  next.pins.erase(std::remove_if(next.pins.begin(), next.pins.end(), same), next.pins.end());
  if (!taken_back) next.pins.push_back(pin);
  return next;
}

Overrides Overrides::with(const PrecisionOverride& override) const {
  Overrides next = *this;
  const bool taken_back = std::find(precisions.begin(), precisions.end(), override) != precisions.end();
  const auto same = [&](const PrecisionOverride& other) { return other.what == override.what; };
  next.precisions.erase(std::remove_if(next.precisions.begin(), next.precisions.end(), same), next.precisions.end());
  if (!taken_back) next.precisions.push_back(override);
  return next;
}

Overrides Overrides::adding(const Overrides& more) const {
  Overrides next = *this;
  for (const KernelPin& pin : more.pins) {
    if (std::find(next.pins.begin(), next.pins.end(), pin) == next.pins.end()) next = next.with(pin);
  }
  for (const PrecisionOverride& override : more.precisions) {
    if (std::find(next.precisions.begin(), next.precisions.end(), override) == next.precisions.end())
      next = next.with(override);
  }
  return next;
}

void OverrideHistory::set(Overrides next) {
  if (next == now()) return;
  states_.resize(at_ + 1);
  if (states_.size() >= kMaxStates) states_.erase(states_.begin());
  states_.push_back(std::move(next));
  at_ = states_.size() - 1;
}

std::vector<DecisionRecord> decisionRecords(const Overrides& overrides, const std::string& base) {
  std::vector<DecisionRecord> records;
  const auto whole = [](const PrecisionOverride& override) { return override.what == "*"; };
  if (std::none_of(overrides.precisions.begin(), overrides.precisions.end(), whole))
    records.push_back({"*", base, "", "", "", ""});
  for (const PrecisionOverride& override : overrides.precisions)
    records.push_back({override.what, override.precision, "", "", "", ""});
  for (const KernelPin& pin : overrides.pins)
    records.push_back({pin.step, "", pin.spec, pin.dst_shape, pin.kernel, pin.layout});
  return records;
}

Overrides overridesFrom(const std::vector<DecisionRecord>& records, const std::string& base) {
  Overrides overrides;
  for (const DecisionRecord& record : records) {
    if (record.precision.empty()) {
      const KernelPin pin{record.spec, record.dst_shape, record.kernel, record.layout, record.what};
      if (!pin.spec.empty() && !pin.kernel.empty()) overrides.pins.push_back(pin);
    } else if (!record.what.empty() &&
               std::find(std::begin(kPrecisions), std::end(kPrecisions), record.precision) != std::end(kPrecisions)) {
      overrides.precisions.push_back({record.what, record.precision});
    }
  }
  auto& precisions = overrides.precisions;
  if (!precisions.empty() && precisions.front() == PrecisionOverride{"*", base}) precisions.erase(precisions.begin());
  return overrides;
}

std::string decisionsText(const Overrides& overrides, std::size_t most) {
  constexpr std::size_t kNameBytes = 48;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](const std::string& decision) {
    if (count++ < most) text += (text.empty() ? "" : ", ") + decision;
  };
  for (const PrecisionOverride& override : overrides.precisions) {
    const bool kind = override.what.compare(0, 5, "kind:") == 0;
    std::string what = override.what == "*" ? "all"
                       : kind               ? "all " + override.what.substr(5)
                                            : override.what.substr(0, override.what.find(':'));
    // In a model without modules `what` begins with a colon: ":aten::linear#0".
    if (what.empty()) what = override.what.substr(override.what.rfind(':') + 1);
    add(fmt::format("{} in {}", displayText(what, kNameBytes), displayText(override.precision, 12)));
  }
  for (const KernelPin& pin : overrides.pins)
    add(fmt::format("{} for {}", displayText(pin.kernel, kNameBytes), displayText(pin.step, kNameBytes)));
  if (count > most) text += fmt::format(" and {} more", count - most);
  return text;
}

std::string trustedTuning(const std::string& record) {
  MemoryTuningStore all, trusted;
  all.readText(record);
  for (auto& [key, entry] : all.entries(false)) {
    if (entry.spec.compare(0, 5, "plan ") != 0) entry.effort = kPinnedEffort;
    trusted.put(key, std::move(entry));
  }
  return dumpJson(trusted.toJson(false));
}

std::string pinnedTuning(const std::string& record, const std::vector<KernelPin>& pins) {
  MemoryTuningStore all;
  all.readText(record);
  MemoryTuningStore pinned;
  for (auto& [key, entry] : all.entries(false)) {
    if (entry.spec.compare(0, 5, "plan ") == 0) continue;
    for (const KernelPin& pin : pins) {
      if (!isTuningOf(entry.spec, pin.spec, pin.dst_shape)) continue;
      const auto fits = [&](const TuningCandidate& c) {
        return c.reason.empty() && c.kernel == pin.kernel && (pin.layout.empty() || c.dst == pin.layout);
      };
      // An entry without the pinned kernel, which this machine lacks, stays as it is.
      if (std::none_of(entry.candidates.begin(), entry.candidates.end(), fits)) continue;
      entry.effort = kPinnedEffort;
      for (TuningCandidate& candidate : entry.candidates) {
        if (candidate.reason.empty() && !fits(candidate)) candidate.reason = kReason;
      }
    }
    pinned.put(key, std::move(entry));
  }
  return dumpJson(pinned.toJson(false));
}

}  // namespace ipex_studio

// MemoryTuningStore, and the reader that accepts tuning records of any origin.
#include "core/record/tuning_store.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>

#include "core/base/error.h"
#include "core/record/records_json.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxEntries = 100000;
constexpr std::size_t kMaxCandidates = 100000;  // a plan's entry has one per node
constexpr std::size_t kMaxSources = 1024;
constexpr std::size_t kLongestText = 1 << 16;
constexpr std::size_t kLongestRecord = std::size_t{64} << 20;

json candidateJson(const TuningCandidate& c) {
  return {{"node", c.node},
          {"kernel", c.kernel},
          {"kept", c.kept},
          {"src", c.src},
          {"dst", c.dst},
          {"implementation", c.implementation},
          {"elapsed_ns", c.elapsed_ns},
          {"max_error", c.max_error},
          {"reason", c.reason}};
}

// Records of version 0.1.0 use other names for some kinds and kernels; their measurements stay valid.
struct FormerName {
  std::string_view former, name;
};
constexpr FormerName kFormerNames[] = {
    {"expand_depthwise", "pointwise_depthwise"},
    {"extremum_integers", "max_min_integer_sort"},
    {"extremum", "max_min"},
    {"sort_integers", "integer_sort"},
    {"linear_simd_narrow_weights", "linear_woq_simd"},
    {"_widened", "_upconverted"},
};

// Replaces the first former name in the head of `text`, which is the part before '{'.
void useCurrentName(std::string* text) {
  const std::string_view head = std::string_view(*text).substr(0, text->find('{'));
  for (const FormerName& entry : kFormerNames) {
    const std::size_t at = head.find(entry.former);
    if (at == std::string_view::npos) continue;
    text->replace(at, entry.former.size(), entry.name);
    return;
  }
}

// Readers that return false instead of throwing.
bool readText(const json& object, const char* name, std::string* text) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string() || found->get_ref<const std::string&>().size() > kLongestText)
    return false;
  *text = found->get<std::string>();
  return true;
}

template <class Integer>
bool readInteger(const json& object, const char* name, Integer* integer) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return false;
  const auto value = found->get<std::int64_t>();
  if (value < -1 || value > std::numeric_limits<Integer>::max()) return false;
  *integer = static_cast<Integer>(value);
  return true;
}

bool readCandidate(const json& object, TuningCandidate* c) {
  if (!object.is_object() || !readText(object, "kernel", &c->kernel) || !readText(object, "dst", &c->dst)) return false;
  if (!readText(object, "implementation", &c->implementation) || !readText(object, "reason", &c->reason)) return false;
  if (!readInteger(object, "node", &c->node) || !readInteger(object, "kept", &c->kept) ||
      !readInteger(object, "elapsed_ns", &c->elapsed_ns))
    return false;
  const auto error = object.find("max_error"), src = object.find("src");
  if (error == object.end() || !error->is_number() || src == object.end() || !src->is_array() ||
      src->size() > kMaxSources)
    return false;
  c->max_error = error->get<double>();
  useCurrentName(&c->kernel);
  for (const json& layout : *src) {
    if (!layout.is_string() || layout.get_ref<const std::string&>().size() > kLongestText) return false;
    c->src.push_back(layout.get<std::string>());
  }
  return c->kept >= 0 && c->elapsed_ns >= 0 && std::isfinite(c->max_error);
}

bool readEntry(const json& object, TuningKey* key, TuningEntry* entry) {
  if (!object.is_object() || !readText(object, "spec", &entry->spec) || !readInteger(object, "effort", &entry->effort))
    return false;
  if (!readText(object, "device", &key->device) || !readText(object, "isa", &key->isa) ||
      !readText(object, "libraries", &key->libraries))
    return false;
  useCurrentName(&entry->spec);
  const auto candidates = object.find("candidates");
  if (!readInteger(object, "threads", &key->threads) || candidates == object.end() || !candidates->is_array())
    return false;
  if (candidates->size() > kMaxCandidates) return false;
  for (const json& candidate : *candidates) {
    entry->candidates.emplace_back();
    if (!readCandidate(candidate, &entry->candidates.back())) return false;
  }
  return true;
}

}  // namespace

bool TuningKey::operator<(const TuningKey& o) const {
  return std::tie(device, isa, libraries, threads) < std::tie(o.device, o.isa, o.libraries, o.threads);
}

std::optional<TuningEntry> MemoryTuningStore::find(const TuningKey& key, const std::string& spec,
                                                   std::int32_t effort) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entries = entries_.find(key);
  if (entries == entries_.end()) return std::nullopt;
  const auto found = entries->second.find(spec);
  if (found == entries->second.end() || found->second.entry.effort < effort) return std::nullopt;
  return found->second.entry;
}

void MemoryTuningStore::put(const TuningKey& key, TuningEntry entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string spec = entry.spec;
  entries_[key][spec] = {std::move(entry), true};
}

std::vector<std::pair<TuningKey, TuningEntry>> MemoryTuningStore::entries(bool fresh) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<TuningKey, TuningEntry>> result;
  for (const auto& [key, stored_entries] : entries_) {
    for (const auto& [spec, stored] : stored_entries) {
      if (stored.fresh || !fresh) result.emplace_back(key, stored.entry);
    }
  }
  return result;
}

json MemoryTuningStore::toJson(bool fresh) const {
  json objects = json::array();
  for (const auto& [key, entry] : entries(fresh)) {
    json candidates = json::array();
    for (const TuningCandidate& candidate : entry.candidates) candidates.push_back(candidateJson(candidate));
    objects.push_back({{"spec", entry.spec},
                       {"device", key.device},
                       {"isa", key.isa},
                       {"libraries", key.libraries},
                       {"threads", key.threads},
                       {"effort", entry.effort},
                       {"candidates", std::move(candidates)}});
  }
  return {{"tuning", std::move(objects)}};
}

void MemoryTuningStore::read(const json& given) {
  const auto found = given.is_object() ? given.find("tuning") : given.end();
  if (!given.is_object() || found == given.end() || !found->is_array() || found->size() > kMaxEntries) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const json& object : *found) {
    TuningKey key;
    TuningEntry entry;
    if (!readEntry(object, &key, &entry)) continue;
    const std::string spec = entry.spec;
    entries_[key][spec] = {std::move(entry), false};
  }
}

bool MemoryTuningStore::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.empty();
}

void MemoryTuningStore::readText(const std::string& text) {
  if (text.empty()) return;
  try {
    read(parseRecordText(text, kLongestRecord));
  } catch (const Error&) {
    // Unreadable text counts as no record: kernels are chosen without it.
  }
}

}  // namespace ipex_studio

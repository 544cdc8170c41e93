// Tuning records: measured times of kernels and the choices made from them. The profile database keeps them, and
// compiled exports carry them.
//
// Four kinds of entries share one form. A step's entry ("convolution{…}|relu : f32 1x64x56x56 … -> …") holds every way
// to compute it that was considered, with its time. A plan's entry ("plan <sha256>") holds one candidate per node that
// does not stay with the default, as measured for the plan as a whole. An entry "slices of plan <sha256>" holds the
// time of that plan per number of samples computed at a time, the chosen number first. An entry "region <sha256>" holds
// the times of a region by its plan and by the interpreter, the chosen way first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipex_studio {

// The conditions that a measurement is valid for.
struct TuningKey {
  std::string device = "cpu";
  std::string isa;
  std::string libraries;  // "ipex-studio 0.1.0, oneDNN 2.6.3"
  std::int32_t threads = 1;
  bool operator<(const TuningKey& other) const;
};

// One way to compute a step.
struct TuningCandidate {
  std::int32_t node = -1;  // in a plan's entry: node of the spec; in an entry of slices: samples at a time
  std::string kernel;
  std::int32_t kept = 0;         // post-operations that the kernel computes; the others follow as a pointwise step
  std::vector<std::string> src;  // layouts it reads, per source (layout_text.h); empty: as the producer wrote it
  std::string dst;               // layout it writes
  std::string implementation;    // as the library names it
  std::int64_t elapsed_ns = 0;   // 0: not timed
  double max_error = 0;          // max |Δ| / max |result| against the default kernel
  std::string reason;            // why it cannot be chosen; empty: it can
};

// Effort of an entry that a person narrowed down: the choice from it stays even if the whole plan is not faster.
constexpr std::int32_t kPinnedEffort = 3;

struct TuningEntry {
  std::string spec;
  std::int32_t effort = 1;  // 1: quick, 2: full, kPinnedEffort
  std::vector<TuningCandidate> candidates;
};

// A place that tuning entries are kept in. Thread-safe.
class TuningStore {
 public:
  virtual ~TuningStore() = default;
  // nullopt if there is no entry of at least this effort.
  virtual std::optional<TuningEntry> find(const TuningKey& key, const std::string& spec, std::int32_t effort) const = 0;
  virtual void put(const TuningKey& key, TuningEntry entry) = 0;
};

class MemoryTuningStore final : public TuningStore {
 public:
  std::optional<TuningEntry> find(const TuningKey& key, const std::string& spec, std::int32_t effort) const override;
  void put(const TuningKey& key, TuningEntry entry) override;

  // `fresh`: only entries that were put, not those that were read.
  std::vector<std::pair<TuningKey, TuningEntry>> entries(bool fresh) const;
  // The entries of entries() as {"tuning": [{"spec", "device", "isa", "libraries", "threads", "effort", "candidates":
  // […]}]}.
  nlohmann::json toJson(bool fresh) const;
  // Adds the entries that can be read; malformed ones are left out, since entries are only hints. Never throws on any
  // text.
  void read(const nlohmann::json& json);
  void readText(const std::string& text);
  bool empty() const;

 private:
  struct Stored {
    TuningEntry entry;
    bool fresh = false;
  };
  mutable std::mutex mutex_;
  std::map<TuningKey, std::map<std::string, Stored>> entries_;
};

}  // namespace ipex_studio

#include "profiler/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <unordered_map>

#include "core/plan/records_json.h"
#include "profiler/summary.h"

namespace ipex_studio {
namespace {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> parent_;
};

// Names that hold across runs, machines and library versions.
std::unordered_map<OriginId, std::string> originKeys(const ModelRecord& model) {
  std::unordered_map<OriginId, std::string> keys;
  for (const Origin& o : model.origins) keys.emplace(o.id, fmt::format("{}\n{}\n{}", o.module_path, o.kind, o.ordinal));
  return keys;
}

// What an item is joined by: its origins, or its name where it has none (a reorder that the planner placed).
std::vector<std::string> joinKeys(const StepSummary& step, const std::unordered_map<OriginId, std::string>& origins) {
  std::vector<std::string> keys;
  for (const OriginId id : step.origins) {
    const auto key = origins.find(id);
    if (key != origins.end()) keys.push_back(key->second);
  }
  if (keys.empty()) keys.push_back(fmt::format("\n{}\n{}", step.kind, step.name));
  return keys;
}

std::vector<ComparedRow> comparedRows(const RunDigest& a, const ModelRecord& model_a, const RunDigest& b,
                                      const ModelRecord& model_b) {
  const std::size_t count_a = a.steps.size();
  DisjointSets sets(count_a + b.steps.size());
  std::unordered_map<std::string, std::size_t> seen;
  const auto joinAll = [&](const RunDigest& digest, const ModelRecord& model, std::size_t offset) {
    const auto origins = originKeys(model);
    for (std::size_t i = 0; i < digest.steps.size(); ++i) {
      for (const std::string& key : joinKeys(digest.steps[i], origins)) {
        const auto [at, is_new] = seen.emplace(key, offset + i);
        if (!is_new) sets.join(at->second, offset + i);
      }
    }
  };
  joinAll(a, model_a, 0);
  joinAll(b, model_b, count_a);

  std::map<std::size_t, ComparedRow> rows;
  for (std::size_t i = 0; i < b.steps.size(); ++i) {
    ComparedRow& row = rows[sets.find(count_a + i)];
    if (row.steps_b++ == 0) {
      row.name = b.steps[i].name;
      row.kind = b.steps[i].kind;
    }
    row.b_ns += b.steps[i].p50_ns;
  }
  for (std::size_t i = 0; i < count_a; ++i) {
    ComparedRow& row = rows[sets.find(i)];
    if (row.steps_a++ == 0 && row.steps_b == 0) {
      row.name = a.steps[i].name;
      row.kind = a.steps[i].kind;
    }
    row.a_ns += a.steps[i].p50_ns;
  }
  std::vector<ComparedRow> result;
  for (auto& row : rows) result.push_back(std::move(row.second));
  std::stable_sort(result.begin(), result.end(), [](const ComparedRow& x, const ComparedRow& y) {
    return std::llabs(x.delta_ns()) > std::llabs(y.delta_ns());
  });
  return result;
}

RunSummary summaryOf(const JobRecord& job, const RunRecord& run) {
  RunSummary summary;
  summary.command = job.command;
  summary.model_path = job.model.path;
  summary.sha256 = job.model.sha256;
  summary.started_unix_ns = job.started_unix_ns;
  summary.cpu = job.machine.cpu;
  summary.isa = job.machine.isa;
  summary.variant = run.variant;
  summary.device = run.device;
  summary.precision = run.precision;
  summary.threads = run.threads;
  summary.instances = run.instances;
  summary.samples = static_cast<std::int64_t>(run.latency_ns.size());
  summary.p50_ns = median(run.latency_ns);
  return summary;
}

}  // namespace

RunComparison compareRuns(const JobRecord& job_a, std::size_t run_a, const JobRecord& job_b, std::size_t run_b) {
  const RunRecord& a = job_a.runs.at(run_a);
  const RunRecord& b = job_b.runs.at(run_b);
  const RunDigest digest_a = digestOf(a);
  const RunDigest digest_b = digestOf(b);
  const bool same_job = job_a.started_unix_ns == job_b.started_unix_ns && job_a.command == job_b.command;
  RunComparison comparison;
  comparison.a = summaryOf(job_a, a);
  comparison.b = summaryOf(job_b, b);
  comparison.ratio = medianRatio({a.latency_ns, a.turn}, {b.latency_ns, b.turn}, same_job);
  comparison.rows = comparedRows(digest_a, job_a.model, digest_b, job_b.model);
  comparison.a_unattributed_ns = digest_a.unattributed_ns;
  comparison.b_unattributed_ns = digest_b.unattributed_ns;
  comparison.same_model = job_a.model.sha256 == job_b.model.sha256;
  comparison.same_machine = toJson(job_a.machine) == toJson(job_b.machine);
  return comparison;
}

RunComparison compareRuns(const Database& database, std::int64_t run_a, std::int64_t run_b) {
  const auto [job_a, index_a] = database.run(run_a);
  const auto [job_b, index_b] = database.run(run_b);
  RunComparison comparison = compareRuns(job_a, index_a, job_b, index_b);
  comparison.a.id = run_a;
  comparison.b.id = run_b;
  return comparison;
}

}  // namespace ipex_studio

// Joins the steps of two or more runs through their origins and compares their times.
#include "profiler/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <unordered_map>

#include "core/record/device_copy_name.h"
#include "core/record/records_json.h"
#include "profiler/summary.h"

namespace ipex_studio {
namespace {

constexpr char kReorderKind[] = "reorder";

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

// Names of origins that hold across runs, machines and library versions.
std::unordered_map<OriginId, std::string> originKeys(const ModelRecord& model) {
  std::unordered_map<OriginId, std::string> keys;
  for (const Origin& o : model.origins) keys.emplace(o.id, fmt::format("{}\n{}\n{}", o.module_path, o.kind, o.ordinal));
  return keys;
}

// Keys that join steps of two runs: their origins, or the name of a step without any (a reorder that the planner
// placed).
std::vector<std::string> joinKeys(const StepSummary& step, const std::unordered_map<OriginId, std::string>& origins) {
  std::vector<std::string> keys;
  for (const OriginId id : step.origins) {
    const auto key = origins.find(id);
    if (key != origins.end()) keys.push_back(key->second);
  }
  if (keys.empty()) keys.push_back(fmt::format("\n{}\n{}", step.kind, step.name));
  return keys;
}

// The digest of one run, with the model that its origins belong to.
struct DigestedRun {
  RunDigest digest;
  const ModelRecord* model = nullptr;
};

void addStep(const StepSummary& step, std::size_t run, RunSetRow* row) {
  ++row->steps[run];
  row->p50_ns[run] += step.p50_ns;
  if (step.kernel == kDeviceCopyName) {
    ++row->copies[run];
    row->copy_ns[run] += step.p50_ns;
    return;
  }
  std::string& kernels = row->kernels[run];
  if ((", " + kernels + ",").find(", " + step.kernel + ",") != std::string::npos) return;
  kernels += (kernels.empty() ? "" : ", ") + step.kernel;
}

// Joins steps of all runs that share an origin to one row; `offset[r]` is the number of steps in the runs before r.
std::vector<RunSetRow> joinedRows(const std::vector<DigestedRun>& runs) {
  std::vector<std::size_t> offset{0};
  for (const DigestedRun& run : runs) offset.push_back(offset.back() + run.digest.steps.size());
  DisjointSets sets(offset.back());
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto origins = originKeys(*runs[r].model);
    for (std::size_t i = 0; i < runs[r].digest.steps.size(); ++i) {
      for (std::string& key : joinKeys(runs[r].digest.steps[i], origins)) {
        const auto [at, is_new] = seen.emplace(std::move(key), offset[r] + i);
        if (!is_new) sets.join(at->second, offset[r] + i);
      }
    }
  }
  std::map<std::size_t, RunSetRow> rows;
  std::unordered_map<std::size_t, std::size_t> named;  // the run that named a row
  // The last run names its own rows, the run before it names the rows that the last one lacks, and so on.
  for (std::size_t r = runs.size(); r-- > 0;) {
    for (std::size_t i = 0; i < runs[r].digest.steps.size(); ++i) {
      const StepSummary& step = runs[r].digest.steps[i];
      RunSetRow& row = rows[sets.find(offset[r] + i)];
      const bool fresh = row.steps.empty();
      // Copies and changes of layout name a row only if nothing is computed there.
      const bool only_moved = !fresh && named[sets.find(offset[r] + i)] == r && row.kind == kReorderKind;
      if (fresh || (only_moved && step.kind != kReorderKind)) {
        row.name = step.name;
        row.kind = step.kind;
      }
      if (fresh) {
        named[sets.find(offset[r] + i)] = r;
        row.steps.assign(runs.size(), 0);
        row.p50_ns.assign(runs.size(), 0);
        row.copy_ns.assign(runs.size(), 0);
        row.copies.assign(runs.size(), 0);
        row.kernels.assign(runs.size(), "");
      }
      if (named[sets.find(offset[r] + i)] == r)
        row.origins.insert(row.origins.end(), step.origins.begin(), step.origins.end());
      addStep(step, r, &row);
    }
  }
  std::vector<RunSetRow> result;
  for (auto& entry : rows) {
    std::sort(entry.second.origins.begin(), entry.second.origins.end());
    result.push_back(std::move(entry.second));
  }
  std::stable_sort(result.begin(), result.end(), [](const RunSetRow& x, const RunSetRow& y) {
    return std::llabs(x.p50_ns.back() - x.p50_ns.front()) > std::llabs(y.p50_ns.back() - y.p50_ns.front());
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
  summary.noise = judgeNoise(run);
  return summary;
}

}  // namespace

RunSet compareRunSet(const std::vector<std::pair<const JobRecord*, std::size_t>>& runs) {
  RunSet set;
  std::vector<DigestedRun> digests;
  const JobRecord& first_job = *runs.at(0).first;
  const RunRecord& first = first_job.runs.at(runs[0].second);
  for (const auto& [job, place] : runs) {
    const RunRecord& run = job->runs.at(place);
    digests.push_back({digestOf(run), &job->model});
    const bool same_job = job->started_unix_ns == first_job.started_unix_ns && job->command == first_job.command;
    set.runs.push_back(summaryOf(*job, run));
    set.ratio.push_back(medianRatio({first.latency_ns, first.turn}, {run.latency_ns, run.turn}, same_job));
    set.unattributed_ns.push_back(digests.back().digest.unattributed_ns);
    set.same_model = set.same_model && job->model.sha256 == first_job.model.sha256;
    set.same_machine = set.same_machine && toJson(job->machine) == toJson(first_job.machine);
  }
  set.rows = joinedRows(digests);
  return set;
}

RunSet compareRunSet(const Database& database, const std::vector<std::int64_t>& run_ids) {
  std::vector<std::pair<JobRecord, std::size_t>> read;
  for (const std::int64_t id : run_ids) read.push_back(database.run(id));
  std::vector<std::pair<const JobRecord*, std::size_t>> runs;
  for (const auto& [job, place] : read) runs.emplace_back(&job, place);
  RunSet set = compareRunSet(runs);
  for (std::size_t r = 0; r < run_ids.size(); ++r) set.runs[r].id = run_ids[r];
  return set;
}

RunComparison compareRuns(const JobRecord& job_a, std::size_t run_a, const JobRecord& job_b, std::size_t run_b) {
  RunSet set = compareRunSet({{&job_a, run_a}, {&job_b, run_b}});
  RunComparison comparison;
  comparison.a = std::move(set.runs[0]);
  comparison.b = std::move(set.runs[1]);
  comparison.ratio = set.ratio[1];
  for (RunSetRow& row : set.rows) {
    comparison.rows.push_back({std::move(row.name), std::move(row.kind), row.steps[0], row.steps[1], row.p50_ns[0],
                               row.p50_ns[1], std::move(row.kernels[0]), std::move(row.kernels[1])});
  }
  comparison.a_unattributed_ns = set.unattributed_ns[0];
  comparison.b_unattributed_ns = set.unattributed_ns[1];
  comparison.same_model = set.same_model;
  comparison.same_machine = set.same_machine;
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

// See library.h.
#include "profiler/library/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "core/base/error.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMinDigits = 6;

std::string lowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

bool means(const LibraryModel& model, const std::string& word) {
  const bool digits = word.size() >= kMinDigits && model.sha256.compare(0, word.size(), lowerCase(word)) == 0;
  return digits || word == model.path || word == fileName(model.path) || (!word.empty() && word == model.name);
}

}  // namespace

std::vector<LibraryModel> libraryOf(const std::vector<JobSummary>& jobs) {
  std::vector<LibraryModel> models;
  std::unordered_map<std::string, std::size_t> known;
  std::vector<bool> measured;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobSummary& job = jobs[j];
    const auto [at, fresh] = known.emplace(job.sha256, models.size());
    if (fresh) {
      models.push_back({job.sha256, job.model_path, job.model_name, job.model_pinned, {}, j});
      measured.push_back(false);
    }
    LibraryModel& model = models[at->second];
    model.jobs.push_back(j);
    if (measured[at->second] || job.optimized_p50_ns <= 0) continue;
    measured[at->second] = true;
    model.result = j;
  }
  std::stable_partition(models.begin(), models.end(), [](const LibraryModel& model) { return model.pinned; });
  return models;
}

const RunSummary* resultOf(const JobSummary& job) {
  for (auto run = job.runs.rbegin(); run != job.runs.rend(); ++run) {
    if (run->variant == "optimized") return &*run;
  }
  return job.runs.empty() ? nullptr : &job.runs.back();
}

double ratioOf(const JobSummary& job) {
  const RunSummary* run = resultOf(job);
  if (run == nullptr || run->variant != "optimized" || run->p50_ns <= 0) return 0;
  return static_cast<double>(job.baseline_p50_ns) / static_cast<double>(run->p50_ns);
}

NoiseVerdict noiseOf(const JobSummary& job) {
  NoiseVerdict worst;
  for (const RunSummary& run : job.runs)
    worst = run.id == job.runs.front().id ? run.noise : worseNoise(worst, run.noise);
  return worst;
}

bool matches(const JobSummary& job, const std::string& query) {
  std::string text = job.model_name + '\n' + job.name + '\n' + job.model_path + '\n' + job.command;
  for (const RunSummary& run : job.runs) text += '\n' + run.precision;
  text = lowerCase(std::move(text));
  std::istringstream words(lowerCase(query));
  for (std::string word; words >> word;) {
    if (text.find(word) == std::string::npos) return false;
  }
  return true;
}

LibraryItem findItem(const std::vector<JobSummary>& jobs, const std::string& word) {
  const bool number = !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    const std::int64_t id = std::stoll(word);
    if (std::any_of(jobs.begin(), jobs.end(), [id](const JobSummary& job) { return job.id == id; })) return {"", id};
  }
  std::vector<LibraryItem> found;
  for (const LibraryModel& model : libraryOf(jobs)) {
    if (means(model, word)) found.push_back({model.sha256, 0});
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(ExitCode::kUsage,
                fmt::format("{} is neither a job nor a model of this database; `ipex-studio db list` shows them.",
                            ellipsized(printable(word), 80)));
  throw Error(ExitCode::kUsage,
              fmt::format("{} models of this database are called {}; give the path, or the first digits of the SHA-256 "
                          "that `ipex-studio db list --json` shows.",
                          found.size(), ellipsized(printable(word), 80)));
}

}  // namespace ipex_studio

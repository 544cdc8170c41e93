// See library_rows.h.
#include "studio/panels/library/library_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/text.h"

namespace ipex_studio {
namespace {

bool less(const RunHistory& history, const LibraryRow& a, const LibraryRow& b, LibraryColumn column) {
  const JobSummary &x = numbersOf(history, a), &y = numbersOf(history, b);
  const RunSummary *r = resultOf(x), *s = resultOf(y);
  switch (column) {
    case LibraryColumn::kName:
      return titleOf(a) > titleOf(b);  // the column is sorted from A at first
    case LibraryColumn::kPrecision:
      return (r == nullptr ? "" : r->precision) < (s == nullptr ? "" : s->precision);
    case LibraryColumn::kTime:
      return (r == nullptr ? 0 : r->p50_ns) < (s == nullptr ? 0 : s->p50_ns);
    case LibraryColumn::kRatio:
      return ratioOf(x) < ratioOf(y);
    case LibraryColumn::kAccuracy:
      return (r == nullptr || !r->judged ? 0 : r->sqnr_db) < (s == nullptr || !s->judged ? 0 : s->sqnr_db);
    case LibraryColumn::kRuns:
      return a.model->jobs.size() < b.model->jobs.size();
    default:
      return x.started_unix_ns < y.started_unix_ns;
  }
}

bool isPinned(const LibraryRow& row) { return row.job != nullptr ? row.job->pinned : row.model->pinned; }

void sortRows(const RunHistory& history, const LibraryQuery& query, std::vector<LibraryRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [&](const LibraryRow& a, const LibraryRow& b) {
    if (isPinned(a) != isPinned(b)) return isPinned(a);
    return query.descending ? less(history, b, a, query.sort) : less(history, a, b, query.sort);
  });
}

}  // namespace

const JobSummary& numbersOf(const RunHistory& history, const LibraryRow& row) {
  return row.job != nullptr ? *row.job : history.jobs[row.model->result];
}

LibraryItem itemOf(const LibraryRow& row) {
  return row.job != nullptr ? LibraryItem{row.model->sha256, row.job->id} : LibraryItem{row.model->sha256, 0};
}

std::string titleOf(const LibraryRow& row) {
  if (row.job == nullptr) return row.model->name.empty() ? fileName(row.model->path) : row.model->name;
  return row.job->name.empty() ? fmt::format("job {}: {}", row.job->id, row.job->command) : row.job->name;
}

std::string runsText(const LibraryRow& row) {
  if (row.job == nullptr) {
    const std::size_t jobs = row.model->jobs.size();
    return fmt::format("{} job{}", jobs, jobs == 1 ? "" : "s");
  }
  std::string text;
  for (const RunSummary& run : row.job->runs) text += fmt::format("{}{}", text.empty() ? "" : ", ", run.id);
  return text.empty() ? "–" : text;
}

std::vector<LibraryRow> libraryRows(const RunHistory& history, const LibraryQuery& query) {
  std::vector<LibraryRow> models, rows;
  for (const LibraryModel& model : history.models) models.push_back({&model});
  sortRows(history, query, &models);
  for (LibraryRow& model : models) {
    std::vector<LibraryRow> jobs;
    for (const std::size_t j : model.model->jobs) {
      if (matches(history.jobs[j], query.words)) jobs.push_back({model.model, &history.jobs[j]});
    }
    if (jobs.empty()) continue;
    const auto open = std::find(query.open.begin(), query.open.end(), model.model->sha256);
    model.open = open != query.open.end() || query.words.find_first_not_of(' ') != std::string::npos;
    rows.push_back(model);
    if (!model.open) continue;
    sortRows(history, query, &jobs);
    rows.insert(rows.end(), jobs.begin(), jobs.end());
  }
  return rows;
}

}  // namespace ipex_studio

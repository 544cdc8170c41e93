// Bottom tab: the library of models and jobs that were recorded, to open, name, pin, forget and compare.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "profiler/text.h"
#include "studio/panels/data_table.h"
#include "studio/panels/library/library_dialogs.h"
#include "studio/panels/library/library_rows.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

bool same(const LibraryItem& a, const LibraryItem& b) { return a.sha256 == b.sha256 && a.job == b.job; }

constexpr int column(LibraryColumn c) { return static_cast<int>(c); }

class LibraryPanel : public Panel {
 public:
  explicit LibraryPanel(const Ui& ui)
      : ui_(ui),
        table_(ui,
               {{"model, job", 0, false, 0, 2},
                {"pinned", 56},
                {"last run", 136, false, 640},
                {"precision", 72},
                {"ms", 72, true, 0, 1, "Median latency, optimized where it was."},
                {"ratio", 116, true, 0, 1, "Time of the baseline over that of the optimized model, of the same job."},
                {"accuracy", 110, false, 560, 1, "Of the results, against those of the model as it is saved."},
                {"runs", 90, false, 740, 1, "Numbers that `ipex-studio compare` takes."}},
               column(LibraryColumn::kWhen), true),
        dialogs_(ui) {}
  const char* name() const override { return "library"; }
  const char* title() const override { return "Library"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    adopt(snapshot);
    if (history_->models.empty()) {
      emptyState(ui_, "The library is empty",
                 "Every model that is optimized, measured or trained stands here with its jobs. " +
                     pressOptimize(snapshot) + ".");
      return;
    }
    act(selection, commands);
    drawTools(selection, commands);
    const bool resort = table_.draw("library", ImGui::GetContentRegionAvail().y, static_cast<int>(rows_.size()),
                                    [&](int i) { drawRow(rows_[static_cast<std::size_t>(i)], i, commands); });
    if (resort || std::exchange(stale_, false) || table_.sortByKey(selection)) collect();
    dialogs_.draw(commands);
  }

 private:
  void adopt(const StudioSnapshot& snapshot) {
    if (history_ == snapshot.history) return;
    history_ = snapshot.history;
    // The model that is open comes with its jobs.
    const std::string& sha256 = snapshot.job->model.sha256;
    if (!sha256.empty() && shown_ != sha256 && !isOpen(sha256)) query_.open.push_back(sha256);
    shown_ = sha256;
    collect();
  }

  void collect() {
    query_.words = filter_.data();
    query_.sort = static_cast<LibraryColumn>(table_.sortColumn());
    query_.descending = table_.descending();
    rows_ = libraryRows(*history_, query_);
  }

  bool isOpen(const std::string& sha256) const {
    return std::find(query_.open.begin(), query_.open.end(), sha256) != query_.open.end();
  }

  void toggle(const LibraryModel& model) {
    stale_ = true;
    if (!isOpen(model.sha256)) return query_.open.push_back(model.sha256);
    query_.open.erase(std::find(query_.open.begin(), query_.open.end(), model.sha256));
  }

  int placeOf(const std::optional<LibraryItem>& item) const {
    const auto at = std::find_if(rows_.begin(), rows_.end(),
                                 [&](const LibraryRow& row) { return item && same(itemOf(row), *item); });
    return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
  }
  const LibraryRow* rowOf(const std::optional<LibraryItem>& item) const {
    const int place = placeOf(item);
    return place < 0 ? nullptr : &rows_[static_cast<std::size_t>(place)];
  }

  // Carries out requested actions.
  void act(Selection& selection, Commands& commands) {
    const int by_key = rowByKey(selection, placeOf(current_), static_cast<int>(rows_.size()));
    if (by_key >= 0) {
      current_ = itemOf(rows_[static_cast<std::size_t>(by_key)]);
      table_.scrollTo(by_key);
    }
    const LibraryRow* row = rowOf(current_);
    if (selection.take("row.open") && row != nullptr) toggle(*row->model);
    if (selection.take("library.first")) first_ = current_;
    if (row == nullptr) return;
    if (selection.take("library.open")) openRow(*row, commands);
    if (selection.take("library.name")) askName(*row);
    if (selection.take("library.pin")) pin(*row, commands);
    if (selection.take("library.forget")) askForget(*row);
    if (selection.take("library.compare") && whyNotCompare().empty()) compare(selection, commands);
  }

  static void openRow(const LibraryRow& row, Commands& commands) {
    if (row.job != nullptr) commands.post(ShowJobCommand{row.job->id});
    if (row.job == nullptr) commands.post(OpenCommand{row.model->path});
  }

  static std::string sentenceOf(const LibraryRow& row) {
    const std::string file = fileName(row.model->path);
    return row.job == nullptr ? file : fmt::format("job {} of {}", row.job->id, file);
  }

  void askName(const LibraryRow& row) {
    dialogs_.askName(itemOf(row), sentenceOf(row), row.job == nullptr ? row.model->name : row.job->name);
  }

  static void pin(const LibraryRow& row, Commands& commands) {
    const bool pinned = row.job == nullptr ? row.model->pinned : row.job->pinned;
    commands.post(
        LibraryCommand{pinned ? LibraryCommand::Action::kUnpin : LibraryCommand::Action::kPin, itemOf(row), ""});
  }

  void askForget(const LibraryRow& row) {
    const std::size_t jobs = row.model->jobs.size();
    dialogs_.askForget(itemOf(row), sentenceOf(row),
                       row.job != nullptr
                           ? "Its runs, graphs and times are removed from the database."
                           : fmt::format("Its {} job{} with all runs, graphs and times, its name, inputs and trust are "
                                         "removed from the database.",
                                         jobs, jobs == 1 ? "" : "s"));
  }

  // Number of the run that a line stands for; 0: none was measured.
  std::int64_t runOf(const std::optional<LibraryItem>& item) const {
    const LibraryRow* row = rowOf(item);
    const RunSummary* run = row == nullptr ? nullptr : resultOf(numbersOf(*history_, *row));
    return run == nullptr ? 0 : run->id;
  }

  std::string whyNotCompare() const {
    if (rowOf(first_) == nullptr || rowOf(current_) == nullptr)
      return "Click a line, and another one with Ctrl: the first is what the second is measured against.";
    const std::int64_t a = runOf(first_), b = runOf(current_);
    if (a == 0 || b == 0) return "One of the two measured nothing; choose another.";
    return a == b ? "Both lines stand for the same run; choose another." : "";
  }

  void compare(Selection& selection, Commands& commands) const {
    commands.post(CompareCommand{{runOf(first_), runOf(current_)}});
    selection.request("tab.compare");
  }

  void drawTools(Selection& selection, Commands& commands) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(7))});
    if (filterField(ui_, selection, "search: name, file, command, precision", filter_.data(), filter_.size(), 280))
      collect();
    const LibraryRow* row = rowOf(current_);
    const std::string none = row == nullptr ? "Click a line first." : "";
    const auto tool = [&](const char* id, const char* text, const std::string& why_not) {
      ImGui::SameLine(0, ui_.px(6));
      if (ImGui::GetCursorPosX() + buttonSize(ui_, text, ui_.fonts.head).x > ImGui::GetWindowWidth()) return false;
      return button(ui_, id, text, ButtonLook::kPlain, why_not, ui_.fonts.head);
    };
    const bool pinned = row != nullptr && (row->job == nullptr ? row->model->pinned : row->job->pinned);
    if (tool("open", "Open", none)) openRow(*row, commands);
    if (tool("compare", "Compare", whyNotCompare())) compare(selection, commands);
    if (tool("name", "Name…", none)) askName(*row);
    if (tool("pin", pinned ? "Unpin" : "Pin", none)) pin(*row, commands);
    if (tool("forget", "Forget…", none)) askForget(*row);
    ImGui::SetCursorPos({0, top + std::floor(ui_.px(38))});
  }

  void click(const LibraryRow& row) {
    const LibraryItem item = itemOf(row);
    if (ImGui::GetIO().KeyCtrl) {
      first_ = current_;
    } else {
      first_.reset();
      const bool again = current_ && same(*current_, item);
      if (row.job == nullptr && (again || !row.open)) toggle(*row.model);
    }
    current_ = item;
  }

  void drawRow(const LibraryRow& row, int position, Commands& commands) {
    const Theme& theme = ui_.theme;
    const bool of_model = row.job == nullptr;
    const bool marked = position == placeOf(current_), first = position == placeOf(first_);
    std::string text = displayText(titleOf(row), 80);
    if (of_model) text = (row.open ? "▼ " : "▶ ") + text;
    if (of_model && !row.model->name.empty()) text += "  (" + displayText(fileName(row.model->path), 60) + ")";
    if (first) text += "  · compared with";
    const bool shown = !of_model && row.job->id == history_->shown_job;
    if (table_.beginRow(position, marked || first, text, shown ? theme.accent : theme.text, 0,
                        of_model ? 0 : ui_.px(24)))
      click(row);
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) openRow(row, commands);
    const JobSummary& job = numbersOf(*history_, row);
    table_.text(column(LibraryColumn::kPin), theme.accent,
                (of_model ? row.model->pinned : row.job->pinned) ? "pinned" : "");
    table_.text(column(LibraryColumn::kWhen), theme.dim,
                dateText(of_model ? history_->jobs[row.model->jobs.front()].started_unix_ns : job.started_unix_ns)
                    .substr(0, 16));
    drawNumbers(job);
    table_.text(column(LibraryColumn::kRuns), theme.dim, runsText(row));
  }

  void drawNumbers(const JobSummary& job) {
    const Theme& theme = ui_.theme;
    const RunSummary* run = resultOf(job);
    if (run == nullptr) {
      table_.text(column(LibraryColumn::kPrecision), theme.dim, job.training ? job.training->precision : "");
      return;
    }
    table_.text(column(LibraryColumn::kPrecision), theme.text, displayText(run->precision, 12));
    table_.number(column(LibraryColumn::kTime), theme.text, msText(static_cast<double>(run->p50_ns)));
    const double ratio = ratioOf(job);
    const NoiseVerdict noise = noiseOf(job);
    const bool disturbed = noise.disturbed();
    table_.number(column(LibraryColumn::kRatio),
                  disturbed        ? theme.warning
                  : ratio >= 1.005 ? theme.good
                                   : theme.dim,
                  ratio > 0 ? (disturbed ? std::string(noiseName(noise.level)) + "  " : "") + ratioText(ratio) : "–");
    if (disturbed && ratio > 0 && ImGui::IsItemHovered()) tooltip("The machine was not quiet while this was measured.");
    table_.text(column(LibraryColumn::kAccuracy), !run->judged || run->accurate ? theme.dim : theme.bad,
                !run->judged ? "–" : (run->accurate ? "ok · " : "wrong · ") + accuracyText(run->sqnr_db));
  }

  const Ui& ui_;
  DataTable table_;
  LibraryDialogs dialogs_;
  std::shared_ptr<const RunHistory> history_;
  LibraryQuery query_;
  std::vector<LibraryRow> rows_;  // of history_
  std::string shown_;             // SHA-256 of the model that is open
  std::optional<LibraryItem> current_;
  std::optional<LibraryItem> first_;  // what current_ is compared with
  std::array<char, 160> filter_{};
  bool stale_ = false;
};

void fillLibrary(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"model",   "model_name", "model_pinned", "sha256", "job",   "name",    "pinned", "when",
                    "command", "precision",  "p50_ms",       "ratio",  "quiet", "sqnr_db", "runs"};
  for (const LibraryModel& model : snapshot.history->models) {
    for (const std::size_t j : model.jobs) {
      const JobSummary& job = snapshot.history->jobs[j];
      const RunSummary* run = resultOf(job);
      table->rows.push_back({model.path, model.name, whole(model.pinned), model.sha256, whole(job.id), job.name,
                             whole(job.pinned), dateText(job.started_unix_ns), job.command,
                             run == nullptr ? std::string() : run->precision,
                             run == nullptr ? kNotMeasured : ms(whole(run->p50_ns)), orUnknown(ratioOf(job)),
                             whole(!noiseOf(job).disturbed()),
                             run != nullptr && run->judged ? run->sqnr_db : kNotMeasured, runsText({&model, &job})});
    }
  }
}

std::vector<ActionGroup> libraryActions() {
  return {{710,
           {{"library.open", "Library: open the chosen model or job", ""},
            {"library.first", "Library: compare the next line with this one", ""},
            {"library.compare", "Library: compare the two chosen lines", ""},
            {"library.name", "Library: name the chosen model or job", "F2"},
            {"library.pin", "Library: pin the chosen model or job, or no longer", ""},
            {"library.forget", "Library: forget the chosen model or job", ""}}}};
}

}  // namespace

extern const PanelEntry kLibraryPanel;
const PanelEntry kLibraryPanel{
    "library",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<LibraryPanel>(ui); },
    fillLibrary, "Library of models and jobs",
    "L",         libraryActions()};

}  // namespace ipex_studio

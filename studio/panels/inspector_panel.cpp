// The panel at the right: everything known about the selected thing: node, attributes, constants, origins, kernel,
// times, remarks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/record/bisect_record.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/snapshot_precision.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxEntries = 40;
constexpr float kKeyPoints = 98;

class InspectorPanel : public Panel {
 public:
  explicit InspectorPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "inspector"; }
  const char* title() const override { return "Inspector"; }
  PanelPlace place() const override { return PanelPlace::kRight; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    panelHead(ui_, "Inspector");
    if (beginArea(ui_, "body", {0, 0}, ui_.theme.panel, {13, 12})) {
      scrollByKey(selection, "inspector");
      if (selection.empty()) {
        drawModel(snapshot);
      } else {
        drawSelected(snapshot, selection);
      }
    }
    endArea();
  }

 private:
  void heading(const std::string& text) const {
    ImGui::Dummy({1, ui_.px(6)});
    hairline(ui_);
    ImGui::Dummy({1, ui_.px(1)});
    label(ui_.theme.dim, text, ui_.fonts.head);
    ImGui::Dummy({1, ui_.px(1)});
  }

  void entry(const std::string& key, const std::string& text, bool mono = true) const {
    if (text.empty()) return;
    const float left = ImGui::GetCursorPosX();
    fittedLabel(ui_, ui_.theme.dim, key, ui_.px(kKeyPoints - 8));
    ImGui::SameLine(left + ui_.px(kKeyPoints), 0);
    const float room = ImGui::GetContentRegionAvail().x;
    fittedLabel(ui_, ui_.theme.text, text, room, mono ? ui_.fonts.mono : nullptr);
    copyMenu(ui_, text);
  }

  // Draws the model and the machine while nothing is selected.
  void drawModel(const StudioSnapshot& snapshot) const {
    const JobRecord& job = *snapshot.job;
    if (job.model.path.empty() && job.model.sha256.empty()) {
      emptyState(ui_, "Nothing is selected", "Open a model, then click a node or a row to see everything about it.");
      return;
    }
    label(ui_.theme.text, "Model", ui_.fonts.strong);
    entry("file", displayText(job.model.path, 200), false);
    if (job.model.file_bytes > 0) entry("size", formatBytes(job.model.file_bytes));
    entry("sha256", displayText(job.model.sha256, 64));
    if (job.model.nodes > 0) entry("nodes", std::to_string(job.model.nodes));
    for (std::size_t i = 0; i < std::min(job.model.inputs.size(), kMaxEntries); ++i) {
      const InputRecord& input = job.model.inputs[i];
      entry(displayText(input.name, 24), input.description.empty()
                                             ? "not known"
                                             : formatInput(input.description) + (input.guessed ? " (guess)" : ""));
    }
    if (!job.machine.cpu.empty()) {
      heading("Machine");
      entry("processor", displayText(job.machine.cpu, 80), false);
      entry("instructions", displayText(job.machine.isa, 40));
      entry("cores", std::to_string(job.machine.cores));
      entry("libtorch", displayText(job.machine.libtorch, 24));
      entry("oneDNN", displayText(job.machine.onednn, 24));
      entry("governor", displayText(job.machine.governor, 24));
    }
    drawRun("Baseline", snapshot.index->baseline);
    drawRun("Optimized", snapshot.index->optimized);
    ImGui::Dummy({1, ui_.px(10)});
    paragraph(ui_.theme.dim, "Click a node of the graph or a row below to see everything about it.");
  }

  void drawRun(const std::string& head, const RunIndex& index) const {
    if (index.run == nullptr) return;
    const RunRecord& run = *index.run;
    heading(head);
    const std::string threads = fmt::format("{} thread{}", run.threads, run.threads == 1 ? "" : "s");
    const bool timed = index.latency.samples > 0;
    entry("latency p50", timed ? formatSpread(index.latency) : "not measured", timed);
    entry("runs", timed ? fmt::format("{} on {}", index.latency.samples, threads) : threads);
    if (run.compile_ns > 0) entry("compile", formatTime(static_cast<double>(run.compile_ns)));
    if (run.first_run_ns > 0) entry("first run", formatTime(static_cast<double>(run.first_run_ns)));
    if (run.peak_rss_bytes > 0) entry("peak memory", formatBytes(run.peak_rss_bytes));
    // Share that runs as compiled plans; the rest stays with the interpreter.
    if (run.coverage.nodes > 0) entry("compiled", fmt::format("{:.0f} % of nodes", run.coverage.nodes * 100));
    if (run.coverage.nodes > 0 && timed) entry("", fmt::format("{:.0f} % of time", run.coverage.time * 100));
  }

  void drawSelected(const StudioSnapshot& snapshot, Selection& selection) {
    const JobIndex& index = *snapshot.index;
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    const std::int32_t stage = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    const std::int32_t graph = stage < 0 ? -1 : index.stages[stage].graph;
    const GraphNode* node = nullptr;
    const GraphSnapshot* shown = nullptr;
    if (graph >= 0) {
      const std::vector<std::int32_t> nodes = nodesOf(index.graphs[graph], selection.origins());
      shown = index.graphs[graph].graph.get();
      // The node that shares most origins with the selection is shown.
      std::size_t best = 0;
      for (const std::int32_t n : nodes) {
        const auto& origins = shown->nodes[n].origins;
        const auto shared = static_cast<std::size_t>(
            std::count_if(origins.begin(), origins.end(), [&](OriginId o) { return selection.contains(o); }));
        // A list of an operation's operands has the same origins as the operation.
        const std::size_t score = shared * 2 + (kindGroup(shown->nodes[n].kind) != KindGroup::kOther ? 1 : 0);
        if (score > best) {
          best = score;
          node = &shown->nodes[n];
        }
      }
    }
    const std::vector<std::int32_t> rows = rowsOf(index.optimized, selection.origins());
    drawTitle(node, index, rows);
    drawFirstWrong(snapshot, selection);
    drawSteps(index, rows, selection);
    drawKernels(index, rows);
    drawPrecision(snapshot, selection);
    drawRemarks(snapshot, selection);
    drawOrigins(snapshot, selection);
    if (node != nullptr) drawNode(*shown, *node, stage > 0 ? index.stages[stage].name : "the baseline");
  }

  // Draws time and error of the operation in each precision, and why its precision is not lower.
  void drawPrecision(const StudioSnapshot& snapshot, const Selection& selection) {
    if (precision_index_ != snapshot.index || precision_runs_ != snapshot.precisions) {
      precision_index_ = snapshot.index;
      precision_runs_ = snapshot.precisions;
      precision_rows_ = precisionRows(snapshot);
    }
    const auto row = std::find_if(precision_rows_.begin(), precision_rows_.end(),
                                  [&](const PrecisionRow& r) { return selection.overlaps(r.origins); });
    if (row == precision_rows_.end()) return;
    heading("Precision");
    for (std::size_t p = 0; p < kShownPrecisions.size(); ++p) {
      if (!isShown(snapshot, precision_rows_, p)) continue;
      const bool now = row->now == kShownPrecisions[p];
      const std::string time = row->time_ns[p] > 0 ? formatTime(row->time_ns[p]) : "not measured";
      entry(kShownPrecisions[p], time + (now ? " · now" : ""), row->time_ns[p] > 0);
    }
    if (!std::isnan(row->alone_db)) {
      entry("error alone",
            row->alone_db >= kSqnrOfEqual ? std::string("none") : fmt::format("SQNR {:.0f} dB", row->alone_db));
    }
    if (!std::isnan(row->together_db)) {
      entry("added up",
            row->together_db >= kSqnrOfEqual ? std::string("none") : fmt::format("SQNR {:.0f} dB", row->together_db));
    }
    if (!row->why.empty()) paragraph(ui_.theme.dim, "Not lower: " + row->why);
  }

  void drawTitle(const GraphNode* node, const JobIndex& index, const std::vector<std::int32_t>& rows) const {
    std::string title = "Selection";
    if (node != nullptr) {
      title = node->name.empty() ? node->kind : node->name;
    } else if (!rows.empty()) {
      title = index.optimized.rows[rows.front()].name;
    }
    ImGui::PushTextWrapPos(0);
    label(ui_.theme.text, displayText(title, 120), ui_.fonts.strong);
    ImGui::PopTextWrapPos();
    if (node == nullptr) return;
    swatch(ui_, ui_.theme.kind(kindGroup(node->kind)));
    ImGui::SameLine(0, ui_.px(7));
    const std::size_t count = node->origins.size();
    const std::string made = count > 1 ? fmt::format(" · from {} nodes", count) : std::string();
    ImGui::PushTextWrapPos(0);
    label(ui_.theme.dim, displayText(node->kind, 48) + made);
    ImGui::PopTextWrapPos();
    if (!node->scope.empty()) entry("module", displayText(node->scope, 120));
  }

  // What a search for the first wrong node said of the selected one.
  void drawFirstWrong(const StudioSnapshot& snapshot, const Selection& selection) const {
    const auto& found = snapshot.work.first_wrong.found;
    if (found == nullptr || found->wrong.empty() || !selection.overlaps(found->wrong.front().origins)) return;
    heading("First wrong node");
    paragraph(ui_.theme.bad, displayText(snapshot.work.first_wrong.sentence, 600));
    for (const ValueDifference& feed : found->feeds)
      paragraph(ui_.theme.dim, fmt::format("It reads {}, which is {}.", displayText(feed.name, 200),
                                           feed.accuracy.pass ? "right" : "wrong"));
  }

  void drawSteps(const JobIndex& index, const std::vector<std::int32_t>& rows, const Selection& selection) const {
    // Origins of all steps concerned, which can be more than the selected ones, so that both sums are of the same
    // operations.
    std::vector<OriginId> origins = selection.origins();
    for (const std::int32_t r : rows) {
      const auto& more = index.optimized.rows[r].origins;
      origins.insert(origins.end(), more.begin(), more.end());
    }
    double baseline_ns = 0;
    for (const std::int32_t r : rowsOf(index.baseline, origins)) baseline_ns += index.baseline.rows[r].time.p50_ns;
    if (rows.empty() && baseline_ns <= 0) return;
    double optimized_ns = 0;
    for (const std::int32_t r : rows) optimized_ns += index.optimized.rows[r].time.p50_ns;
    heading("Time");
    if (baseline_ns > 0) entry("baseline", formatTime(baseline_ns));
    if (!rows.empty()) entry("optimized", formatTime(optimized_ns));
    if (baseline_ns > 0 && optimized_ns > 0) entry("ratio", fmt::format("{:.2f}×", baseline_ns / optimized_ns));
    for (std::size_t i = 0; i < std::min(rows.size(), kMaxEntries); ++i) {
      const OperationRow& row = index.optimized.rows[rows[i]];
      if (rows.size() > 1) {
        ImGui::Dummy({1, ui_.px(2)});
        fittedLabel(ui_, ui_.theme.text, row.name, ImGui::GetContentRegionAvail().x);
      }
      entry("step", formatSpread(row.time));
      entry("share", fmt::format("{:.1f} % of the run", row.share * 100));
      entry("kernel", row.kernel);
      if (!row.isOnHost()) entry("device", row.device);
      entry("layout", row.layout);
      entry("output", row.output + (row.precision.empty() ? "" : " " + row.precision));
      if (row.gflops_per_s > 0) entry("speed", fmt::format("{:.0f} GFLOP/s", row.gflops_per_s));
    }
  }

  void drawNode(const GraphSnapshot& graph, const GraphNode& node, const std::string& where) const {
    heading("Node after " + where);
    for (std::size_t i = 0; i < std::min(node.inputs.size(), kMaxEntries); ++i) {
      const std::int32_t id = node.inputs[i];
      if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) continue;
      const GraphValue& value = graph.values[id];
      const std::string text = value.constant.empty()
                                   ? "%" + displayText(value.name, 40) + "  " + formatShape(value.type)
                                   : displayText(value.constant, 120);
      entry(fmt::format("{} {}", value.constant.empty() ? "input" : "constant", i), text);
    }
    for (std::size_t i = 0; i < std::min(node.outputs.size(), kMaxEntries); ++i) {
      const std::int32_t id = node.outputs[i];
      if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) continue;
      entry("output", "%" + displayText(graph.values[id].name, 40) + "  " + formatShape(graph.values[id].type));
    }
    for (std::size_t i = 0; i < std::min(node.attributes.size(), kMaxEntries); ++i) {
      entry(displayText(node.attributes[i].first, 40), displayText(node.attributes[i].second, 200));
    }
  }

  void drawKernels(const JobIndex& index, const std::vector<std::int32_t>& rows) const {
    if (index.optimized.run == nullptr) return;
    const RunRecord& run = *index.optimized.run;
    std::vector<const DispatchRecord*> considered;
    for (const std::int32_t r : rows) {
      const std::int32_t step = index.optimized.rows[r].step;
      if (step < 0) continue;
      const std::size_t first = considered.size();
      for (const DispatchRecord& dispatch : run.dispatches) {
        if (dispatch.step == run.steps[step].index) considered.push_back(&dispatch);
      }
      // The chosen kernel first, then timed ones, then those that declined.
      const auto rank = [](const DispatchRecord* d) {
        return std::make_tuple(!d->chosen, d->elapsed_ns <= 0, d->elapsed_ns);
      };
      std::stable_sort(considered.begin() + static_cast<std::ptrdiff_t>(first), considered.end(),
                       [&](const DispatchRecord* a, const DispatchRecord* b) { return rank(a) < rank(b); });
    }
    if (considered.empty()) return;
    heading("Kernels considered");
    const std::size_t known = sharedBeginning(considered);
    for (std::size_t c = 0; c < std::min(considered.size(), kMaxEntries); ++c) drawKernel(*considered[c], known);
  }

  // Length of the prefix that all kernels' names share, such as "convolution_", which says nothing.
  static std::size_t sharedBeginning(const std::vector<const DispatchRecord*>& dispatches) {
    const std::string& first = dispatches.front()->kernel;
    std::size_t length = dispatches.size() < 2 ? 0 : first.rfind('_') + 1;
    for (const DispatchRecord* dispatch : dispatches) {
      while (length > 0 &&
             (dispatch->kernel.size() <= length || dispatch->kernel.compare(0, length, first, 0, length) != 0))
        length = length < 2 ? 0 : first.rfind('_', length - 2) + 1;
    }
    return length;
  }

  void drawKernel(const DispatchRecord& dispatch, std::size_t known) const {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float radius = std::floor(ui_.px(4));
    const ImVec2 dot = {at.x + radius + 1, at.y + std::floor(ImGui::GetTextLineHeight() / 2)};
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddCircle(dot, radius, dispatch.chosen ? ui_.theme.accent : ui_.theme.dim, 16, ui_.scale);
    if (dispatch.chosen) list->AddCircleFilled(dot, radius - 1.5F * ui_.scale, ui_.theme.accent, 16);
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ui_.px(17));
    const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x;
    const bool timed = dispatch.elapsed_ns > 0;
    const std::string result =
        timed ? formatTime(static_cast<double>(dispatch.elapsed_ns)) : displayText(kernelReason(dispatch.reason), 80);
    std::string name = displayText(dispatch.kernel.substr(known), 60);
    if (!dispatch.layout.empty()) name += " · " + displayText(dispatch.layout, 24);
    // If name and reason do not fit, the name gets half of the room; what is cut is in a tooltip.
    const float room = right - ImGui::GetCursorPosX();
    const float name_width =
        ui_.fonts.mono->CalcTextSizeA(ui_.fonts.mono->FontSize, 1e6F, 0, name.data(), name.data() + name.size()).x;
    const float most = timed ? 1e6F : std::max(room / 2, room - name_width - ui_.px(12));
    const float result_width = std::min(most, ImGui::CalcTextSize(result.data(), result.data() + result.size()).x + 1);
    fittedLabel(ui_, dispatch.chosen ? ui_.theme.text : ui_.theme.dim, name, room - result_width - ui_.px(10),
                ui_.fonts.mono);
    ImGui::SameLine();
    ImGui::SetCursorPosX(std::floor(right - result_width));
    fittedLabel(ui_, dispatch.chosen ? ui_.theme.text : ui_.theme.dim, result, result_width);
  }

  void drawOrigins(const StudioSnapshot& snapshot, const Selection& selection) const {
    heading("Made of");
    const auto& origins = selection.origins();
    for (std::size_t i = 0; i < std::min(origins.size(), kMaxEntries); ++i) {
      const auto known = snapshot.index->origin_by_id.find(origins[i]);
      if (known == snapshot.index->origin_by_id.end()) {
        entry(fmt::format("#{}", origins[i]), "not in the baseline");
        continue;
      }
      const Origin& origin = snapshot.job->model.origins[known->second];
      std::string text = displayText(origin.module_path, 80);
      if (!origin.source.empty()) text += (text.empty() ? "" : "  ") + displayText(origin.source, 60);
      const std::size_t colon = origin.kind.rfind("::");
      entry(displayText(origin.kind.substr(colon == std::string::npos ? 0 : colon + 2), 24), text.empty() ? "–" : text);
    }
    if (origins.size() > kMaxEntries) label(ui_.theme.dim, fmt::format("and {} more", origins.size() - kMaxEntries));
  }

  void drawRemarks(const StudioSnapshot& snapshot, const Selection& selection) const {
    const std::vector<std::int32_t> remarks = remarksOf(*snapshot.index, selection.origins());
    if (remarks.empty()) return;
    heading("Remarks");
    for (std::size_t i = 0; i < std::min(remarks.size(), kMaxEntries); ++i) {
      const Remark& remark = snapshot.job->remarks[remarks[i]];
      const bool missed = remark.kind == RemarkKind::kMissed;
      label(missed ? ui_.theme.warning : ui_.theme.good, missed ? "missed" : "done");
      ImGui::SameLine(0, ui_.px(7));
      label(ui_.theme.text, displayText(remark.pass, 40));
      paragraph(ui_.theme.dim, displayText(remark.text.empty() ? remark.reason : remark.text, 400));
      ImGui::Dummy({1, ui_.px(2)});
    }
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> precision_index_;
  std::shared_ptr<const RunSet> precision_runs_;
  std::vector<PrecisionRow> precision_rows_;  // rows computed from the two members above
};

void fillInspector(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"what", "value"};
  const JobRecord& job = *snapshot.job;
  const auto add = [&](const char* what, TableCell value) {
    table->rows.push_back({std::string(what), std::move(value)});
  };
  add("model", job.model.path);
  add("sha256", job.model.sha256);
  add("file_bytes", whole(job.model.file_bytes));
  add("nodes", whole(job.model.nodes));
  for (const InputRecord& input : job.model.inputs) add("input", input.name + " " + input.description);
  add("cpu", job.machine.cpu);
  add("isa", job.machine.isa);
  add("cores", whole(job.machine.cores));
  add("libtorch", job.machine.libtorch);
  add("onednn", job.machine.onednn);
}

std::vector<ActionGroup> inspectorActions() {
  return {{510,
           {{"inspector.page-up", "Inspector: a page up", "Shift+PageUp"},
            {"inspector.page-down", "Inspector: a page down", "Shift+PageDown"}}}};
}

}  // namespace

extern const PanelEntry kInspectorPanel;
const PanelEntry kInspectorPanel{
    "inspector",
    [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<InspectorPanel>(ui); },
    fillInspector,
    "",
    "",
    inspectorActions()};

}  // namespace ipex_studio

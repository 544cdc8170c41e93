// Bottom tab: the arena of a plan over time, a box per tensor from its birth to its last use, and the tensors alive at
// the cursor.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "studio/canvas/graph_canvas.h"
#include "studio/panels/chart.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/snapshot_memory.h"

namespace ipex_studio {
namespace {

constexpr float kMemoryListPoints = 330;
constexpr float kMemoryAxisPoints = 24;
constexpr float kMemorySidePoints = 62;
constexpr std::size_t kMaxBoxes = 20000;

class MemoryPanel : public Panel {
 public:
  explicit MemoryPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "memory"; }
  const char* title() const override { return "Memory"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const RunIndex& run = snapshot.index->optimized;
    if (shown_index_ != snapshot.index) {
      shown_index_ = snapshot.index;
      memory_ = run.run == nullptr ? ArenaUse() : arenaUse(run);
      by_birth_.resize(std::min(memory_.tensors.size(), kMaxBoxes));
      std::iota(by_birth_.begin(), by_birth_.end(), std::size_t{0});
      std::stable_sort(by_birth_.begin(), by_birth_.end(), [this](std::size_t a, std::size_t b) {
        return memory_.tensors[a].begin_ns < memory_.tensors[b].begin_ns;
      });
      step_ = -1;
    }
    if (memory_.tensors.empty()) {
      const bool timed = run.run != nullptr && run.latency.p50_ns > 0;
      emptyState(ui_, timed ? "Nothing to draw" : "Nothing was measured yet",
                 timed ? "No plan of this run holds tensors of its own: everything stayed with the interpreter, which "
                         "frees as it goes."
                       : pressOptimize(snapshot) + ": where each tensor lies and how long it lives is drawn here.");
      return;
    }
    if (const int step = rowByKey(selection, step_, static_cast<int>(by_birth_.size())); step >= 0) {
      step_ = step;
      selection.select(run.rows[static_cast<std::size_t>(tensorOfStep().row)].origins, true);
    }
    if (selection.empty()) step_ = -1;
    double at_ns = memory_.peak_at_ns;
    drawChartBesideList(
        ui_, {"alive", kMemoryListPoints, 320, {10, 10}}, [&] { at_ns = drawChart(run, selection); },
        [&] { drawAlive(run, at_ns, selection); });
  }

 private:
  // Draws the chart and returns the time that the list beside it shows.
  double drawChart(const RunIndex& run, Selection& selection) {
    const ImVec2 window = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float left = window.x + ui_.px(kMemorySidePoints);
    const float right = std::max(left + 20, window.x + size.x - ui_.px(12));
    const float top = window.y + ui_.px(30);
    const float bottom = std::max(top + 20, window.y + size.y - ui_.px(kMemoryAxisPoints));
    const ChartScale x{0, memory_.end_ns, left, right, false};
    const ChartScale y{0, static_cast<double>(memory_.arena_bytes), bottom, top, false};
    ImGui::SetCursorScreenPos({left, top});
    ImGui::InvisibleButton("arena", {right - left, bottom - top});
    const bool hovered = ImGui::IsItemHovered();
    const bool clicked = ImGui::IsItemClicked();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    chartText(ui_, {left, window.y + ui_.px(8)}, ui_.theme.dim,
              fmt::format("Place in the arena over one run · peak {} of {} · weights and inputs are not in it",
                          formatBytes(memory_.peak_bytes), formatBytes(memory_.arena_bytes)));
    drawAxisX(ui_, x, top, bottom, [](double ns) { return fmt::format("{:.6g} ms", ns / 1e6); });
    const bool small = memory_.arena_bytes < 2'000'000;
    drawAxisY(ui_, y, left, right, [small](double bytes) {
      return small ? fmt::format("{:.6g} kB", bytes / 1e3) : fmt::format("{:.6g} MB", bytes / 1e6);
    });
    const std::optional<std::size_t> under =
        drawBoxes(run, x, y, hovered ? std::optional(mouse) : std::nullopt, selection);
    drawLive(x, y);
    const double at_ns = hovered ? x.value(mouse.x) : step_ >= 0 ? tensorOfStep().begin_ns : memory_.peak_at_ns;
    const float line = std::floor(x.at(at_ns));
    ImGui::GetWindowDrawList()->AddLine({line, top}, {line, bottom}, hovered ? ui_.theme.text : ui_.theme.dim);
    if (under) {
      const ArenaTensor& tensor = memory_.tensors[*under];
      const OperationRow& row = run.rows[static_cast<std::size_t>(tensor.row)];
      tooltip(fmt::format("{}\n{}  {}\n{} at {}\nlives {} to {}", row.name, row.output, row.precision,
                          formatBytes(tensor.bytes), formatBytes(tensor.offset), formatTime(tensor.begin_ns),
                          formatTime(tensor.end_ns)));
      if (clicked) selection.select(row.origins, true);
    }
    return at_ns;
  }

  std::optional<std::size_t> drawBoxes(const RunIndex& run, const ChartScale& x, const ChartScale& y,
                                       std::optional<ImVec2> mouse, const Selection& selection) const {
    std::optional<std::size_t> under;
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (std::size_t t = 0; t < std::min(memory_.tensors.size(), kMaxBoxes); ++t) {
      const ArenaTensor& tensor = memory_.tensors[t];
      const OperationRow& row = run.rows[static_cast<std::size_t>(tensor.row)];
      const ImVec2 low = {x.at(tensor.begin_ns), y.at(static_cast<double>(tensor.offset + tensor.bytes))};
      const ImVec2 high = {std::max(low.x + 1, x.at(tensor.end_ns)),
                           std::max(low.y + 1, y.at(static_cast<double>(tensor.offset)))};
      const bool inside = mouse && mouse->x >= low.x && mouse->x < high.x && mouse->y >= low.y && mouse->y < high.y;
      if (inside) under = t;
      const bool selected = !selection.empty() && selection.overlaps(row.origins);
      const ImU32 color = ui_.theme.kind(row.group);
      list->AddRectFilled(low, {high.x, high.y - (high.y - low.y > 3 ? 1.F : 0.F)},
                          withAlpha(color, selected || inside ? 0.95F : 0.5F));
      if (selected) list->AddRect(low, high, ui_.theme.text);
      if (high.x - low.x > ui_.px(52) && high.y - low.y > ui_.px(15)) {
        drawFittedText(list, ui_.fonts.small_mono, ui_.fonts.small_mono->FontSize,
                       {low.x + ui_.px(4), std::floor((low.y + high.y) / 2 - ui_.px(7))}, high.x - low.x - ui_.px(6),
                       ui_.theme.text, row.name);
      }
    }
    return under;
  }

  // Draws the sum of all live tensors as a stepped line over the boxes.
  void drawLive(const ChartScale& x, const ChartScale& y) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    ImVec2 before = {x.begin, y.begin};
    float drawn = x.begin - 1;
    for (const ArenaLevel& level : memory_.levels) {
      const ImVec2 at = {x.at(level.at_ns), y.at(static_cast<double>(level.bytes))};
      if (at.x < drawn + 0.5F) {
        before.y = at.y;
        continue;
      }
      drawn = at.x;
      list->AddLine(before, {at.x, before.y}, ui_.theme.text, 1.4F * ui_.scale);
      list->AddLine({at.x, before.y}, at, ui_.theme.text, 1.4F * ui_.scale);
      before = at;
    }
  }

  void drawAlive(const RunIndex& run, double at_ns, Selection& selection) const {
    std::vector<std::size_t> alive;
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < memory_.tensors.size(); ++t) {
      const ArenaTensor& tensor = memory_.tensors[t];
      if (at_ns < tensor.begin_ns || at_ns >= tensor.end_ns) continue;
      alive.push_back(t);
      bytes += tensor.bytes;
    }
    std::sort(alive.begin(), alive.end(), [this](std::size_t a, std::size_t b) {
      return memory_.tensors[a].bytes != memory_.tensors[b].bytes ? memory_.tensors[a].bytes > memory_.tensors[b].bytes
                                                                  : a < b;
    });
    const bool peak = at_ns == memory_.peak_at_ns;
    label(ui_.theme.text, fmt::format("Alive at {}{}", formatTime(at_ns), peak ? ", the peak" : ""), ui_.fonts.head);
    label(ui_.theme.dim,
          fmt::format("{} tensor{}, {}", alive.size(), alive.size() == 1 ? "" : "s", formatBytes(bytes)));
    ImGui::Dummy({1, ui_.px(4)});
    const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x;
    for (std::size_t i = 0; i < std::min<std::size_t>(alive.size(), 200); ++i) {
      const ArenaTensor& tensor = memory_.tensors[alive[i]];
      const OperationRow& row = run.rows[static_cast<std::size_t>(tensor.row)];
      const std::string amount = formatBytes(tensor.bytes);
      const float amount_width = ImGui::CalcTextSize(amount.c_str()).x;
      ImGui::PushID(static_cast<int>(i));
      const ImVec2 at = ImGui::GetCursorPos();
      if (ImGui::Selectable("##tensor", selection.overlaps(row.origins), 0, {0, ui_.px(17)}))
        selection.select(row.origins, true);
      ImGui::PopID();
      ImGui::SetCursorPos(at);
      swatch(ui_, ui_.theme.kind(row.group));
      ImGui::SameLine(0, ui_.px(7));
      fittedLabel(ui_, ui_.theme.text, row.name, right - ImGui::GetCursorPosX() - amount_width - ui_.px(12));
      ImGui::SameLine();
      labelRight(ui_.theme.text, amount, right);
    }
  }

  const ArenaTensor& tensorOfStep() const { return memory_.tensors[by_birth_[static_cast<std::size_t>(step_)]]; }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  ArenaUse memory_;
  std::vector<std::size_t> by_birth_;  // indexes into memory_.tensors, by birth
  int step_ = -1;  // index into by_birth_ that keys have reached, which is the cursor; -1: the cursor is at the peak
};

void fillMemory(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "offset_bytes", "bytes", "begin_ms", "end_ms"};
  const RunIndex& run = snapshot.index->optimized;
  for (const ArenaTensor& tensor : arenaUse(run).tensors) {
    table->rows.push_back({run.rows[static_cast<std::size_t>(tensor.row)].name, whole(tensor.offset),
                           whole(tensor.bytes), ms(tensor.begin_ns), ms(tensor.end_ns)});
  }
}

}  // namespace

extern const PanelEntry kMemoryPanel;
const PanelEntry kMemoryPanel{"memory",
                              [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<MemoryPanel>(ui); },
                              fillMemory, "Memory over time", "4"};

}  // namespace ipex_studio

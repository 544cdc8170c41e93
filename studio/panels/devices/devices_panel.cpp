// Bottom tab: the devices of a job side by side, a row for each node: time, kernel and error on each, copies, and the
// fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "profiler/device_comparison.h"
#include "profiler/text.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr int kColumnsOfDevice = 3;  // time, kernel, error
constexpr std::size_t kMaxDevices = 3;
constexpr float kHeadPoints = 34;

double copiesNs(const DeviceRow& row) {
  double all = 0;
  for (const DeviceShare& share : row.shares) all += whole(share.copy_ns);
  return all;
}

class DevicesPanel : public Panel {
 public:
  explicit DevicesPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "devices"; }
  const char* title() const override { return "Devices"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands&) override {
    const std::vector<DeviceComparison>& all = snapshot.index->devices;
    if (all.empty()) {
      emptyState(ui_, "Only one device was measured",
                 "ipex-studio run MODEL --device cpu,opencl measures several by turns; ipex-studio devices lists those "
                 "that are here.");
      return;
    }
    const bool next = selection.take("devices.precision");
    if (next || shown_index_ != snapshot.index) {
      shown_index_ = snapshot.index;
      shown_ = (std::min(shown_, all.size() - 1) + (next ? 1 : 0)) % all.size();
      show(all[shown_]);
    }
    drawHead(all);
    const DeviceComparison& comparison = all[shown_];
    if (table_->sortByKey(selection)) sort(comparison);
    const bool resort = table_->draw("nodes", ImGui::GetContentRegionAvail().y, static_cast<int>(order_.size()),
                                     [&](int i) { drawRow(comparison, i); });
    if (resort) sort(comparison);
  }

 private:
  std::size_t devicesOf(const DeviceComparison& comparison) const {
    return std::min(comparison.runs.size(), kMaxDevices);
  }

  void show(const DeviceComparison& comparison) {
    heads_.clear();
    heads_.reserve(kMaxDevices);
    std::vector<TableColumn> columns{{"node", 0, false, 0, 2}};
    for (std::size_t d = 0; d < devicesOf(comparison); ++d) {
      heads_.push_back(displayText(comparison.runs[d].device, 12) + " ms");
      columns.push_back({heads_.back().c_str(), 84, true, 0, 1, "Median of its steps, without copies."});
      columns.push_back({"kernel", 0, false, 700, 1.2F});
      columns.push_back({"error", 66, true, 900, 1, "Largest difference from FP32, against the largest result."});
    }
    columns.push_back({"copies ms", 78, true, 0, 1, "Copies between the devices before and after it."});
    columns.push_back({"fastest", 110, true, 0, 1, "The device, and how much longer the next takes."});
    table_ = std::make_unique<DataTable>(ui_, std::move(columns), 1, true);
    sort(comparison);
  }

  void sort(const DeviceComparison& comparison) {
    order_.resize(comparison.rows.size());
    for (std::size_t r = 0; r < order_.size(); ++r) order_[r] = r;
    const int column = table_->sortColumn();
    const int copies = 1 + kColumnsOfDevice * static_cast<int>(devicesOf(comparison));
    const auto key = [&](const DeviceRow& row) {
      if (column >= copies) return column == copies ? copiesNs(row) : static_cast<double>(row.fastest);
      const DeviceShare& share = row.shares[static_cast<std::size_t>(std::max(0, column - 1) / kColumnsOfDevice)];
      return (column - 1) % kColumnsOfDevice == 2 ? share.error : whole(share.p50_ns);
    };
    const auto less = [&](std::size_t a, std::size_t b) {
      const DeviceRow &x = comparison.rows[a], &y = comparison.rows[b];
      return column == 0 ? x.name < y.name : key(x) < key(y);
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return table_->descending() ? less(b, a) : less(a, b); });
  }

  void drawHead(const std::vector<DeviceComparison>& all) {
    const DeviceComparison& comparison = all[shown_];
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(12), top + ui_.px(8)});
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (button(ui_, all[p].precision.c_str(), displayText(all[p].precision, 8).c_str(),
                 p == shown_ ? ButtonLook::kChosen : ButtonLook::kQuiet, "", ui_.fonts.head) &&
          p != shown_) {
        shown_ = p;
        show(all[p]);
      }
      ImGui::SameLine(0, ui_.px(6));
    }
    std::string text;
    for (const DeviceRun& run : comparison.runs) {
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : "   ·   ", displayText(run.device, 16), formatTime(run.p50_ns));
      if (run.copies > 0)
        text += fmt::format(", {} {} {}", run.copies, run.copies == 1 ? "copy takes" : "copies take",
                            formatTime(whole(run.copy_ns)));
      text += fmt::format(", wins {} of {}", run.wins, comparison.rows.size());
    }
    ImGui::SetCursorPosY(top + ui_.px(11));
    fittedLabel(ui_, ui_.theme.dim, text, ImGui::GetContentRegionAvail().x - ui_.px(10));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(kHeadPoints)));
  }

  void drawRow(const DeviceComparison& comparison, int position) {
    const DeviceRow& row = comparison.rows[order_[static_cast<std::size_t>(position)]];
    table_->beginRow(position, false, displayText(row.name, 80), ui_.theme.text, 0);
    int column = 1;
    for (std::size_t d = 0; d < devicesOf(comparison); ++d, column += kColumnsOfDevice) {
      const DeviceShare& share = row.shares[d];
      const bool wins = row.fastest == static_cast<std::int32_t>(d);
      table_->number(column, wins ? ui_.theme.good : ui_.theme.text, msText(whole(share.p50_ns)));
      table_->text(column + 1, ui_.theme.dim, displayText(share.kernels, 60), ui_.fonts.mono);
      table_->number(column + 2, ui_.theme.dim, share.error < 0 ? "–" : fmt::format("{:.1e}", share.error));
    }
    const double copies = copiesNs(row);
    table_->number(column, copies > 0 ? ui_.theme.warning : ui_.theme.dim, msText(copies));
    table_->number(column + 1, row.fastest >= 0 ? ui_.theme.good : ui_.theme.dim, fastestText(comparison, row));
  }

  static std::string fastestText(const DeviceComparison& comparison, const DeviceRow& row) {
    if (row.fastest < 0) return "–";
    const auto best = static_cast<std::size_t>(row.fastest);
    double next = 0;
    for (std::size_t d = 0; d < row.shares.size(); ++d) {
      const double ns = whole(row.shares[d].p50_ns);
      if (d != best && (next == 0 || ns < next)) next = ns;
    }
    return fmt::format("{} {:.2f}×", displayText(comparison.runs[best].device, 12),
                       next / whole(row.shares[best].p50_ns));
  }

  const Ui& ui_;
  std::unique_ptr<DataTable> table_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::vector<std::string> heads_;  // of the columns of times
  std::vector<std::size_t> order_;  // of the rows
  std::size_t shown_ = 0;           // comparison, one for each precision
};

void fillDevices(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"precision", "node", "device", "time_ms", "kernels", "error", "copies_ms", "fastest"};
  for (const DeviceComparison& comparison : snapshot.index->devices) {
    for (const DeviceRow& row : comparison.rows) {
      for (std::size_t d = 0; d < row.shares.size(); ++d) {
        const DeviceShare& share = row.shares[d];
        table->rows.push_back({comparison.precision, row.name, comparison.runs[d].device,
                               orUnknown(ms(whole(share.p50_ns))), share.kernels,
                               share.error < 0 ? kNotMeasured : share.error, ms(whole(share.copy_ns)),
                               std::string(row.fastest == static_cast<std::int32_t>(d) ? "yes" : "no")});
      }
    }
  }
}

std::vector<ActionGroup> devicesActions() {
  return {{698, {{"devices.precision", "Devices: show the next precision", ""}}}};
}

}  // namespace

extern const PanelEntry kDevicesPanel;
const PanelEntry kDevicesPanel{
    "devices",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<DevicesPanel>(ui); },
    fillDevices, "Devices: which computes each node fastest, and what copies take",
    "",          devicesActions()};

}  // namespace ipex_studio

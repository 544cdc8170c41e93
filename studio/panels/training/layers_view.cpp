#include "studio/panels/training/layers_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/training_table.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

enum LayerColumn : int { kLayerName, kForward, kBackward, kUpdate, kWhole, kBars, kLayerShare, kNorm, kKept, kNumbers };

constexpr double kSmallShare = 0.003;

double wholeNs(const TrainingLayer& layer) { return whole(layer.wholeNs()); }

// What a column is sorted by; the largest stands first.
double layerKey(const TrainingLayer& layer, int column) {
  switch (column) {
    case kForward:
      return whole(layer.forward_ns);
    case kBackward:
      return whole(layer.backward_ns);
    case kUpdate:
      return whole(layer.update_ns);
    case kNorm:
      return std::isfinite(layer.gradient_norm) ? layer.gradient_norm : -1;
    case kKept:
      return whole(layer.kept_bytes);
    case kNumbers:
      return whole(layer.parameters);
    default:
      return wholeNs(layer);
  }
}

std::string timeCell(double ns) { return ns > 0 ? fmt::format("{:.3f}", ns / 1e6) : ""; }

}  // namespace

TrainingLayersView::TrainingLayersView(const Ui& ui)
    : ui_(ui),
      table_(ui,
             {{"layer", 0, false, 0, 1, "A module of the model, or the kind of operations that belong to none."},
              {"forward ms", 84, true},
              {"backward ms", 90, true},
              {"update ms", 80, true, 0, 1, "Share of the optimizer's time, by what the layer's parameters took."},
              {"all ms", 74, true},
              {"", 150, false, 900, 1, ""},
              {"share", 58, true},
              {"gradient", 78, true, 700, 1, "Norm of the gradients of the layer's parameters."},
              {"kept MB", 72, true, 760, 1, "Memory that the layer's forward left allocated for the backward."},
              {"parameters", 88, true, 980}},
             kWhole, true) {}

void TrainingLayersView::show(std::vector<TrainingLayer> layers) {
  layers_ = std::move(layers);
  selected_ = -1;
  whole_ns_ = 0;
  for (const TrainingLayer& layer : layers_) whole_ns_ += wholeNs(layer);
  foldSmall();
  longest_ns_ = 0;
  for (const TrainingLayer& layer : layers_) longest_ns_ = std::max(longest_ns_, wholeNs(layer));
  sort();
}

// Operations that no module owns and that take next to no time become one row.
void TrainingLayersView::foldSmall() {
  const auto is_small = [&](const TrainingLayer& layer) {
    return layer.parameters == 0 && wholeNs(layer) <= kSmallShare * whole_ns_;
  };
  const auto small = std::stable_partition(layers_.begin(), layers_.end(),
                                           [&](const TrainingLayer& layer) { return !is_small(layer); });
  if (layers_.end() - small < 2) return;
  const TrainingLayer others = othersOf(&*small, static_cast<std::size_t>(layers_.end() - small));
  layers_.erase(small, layers_.end());
  layers_.push_back(others);
}

void TrainingLayersView::sort() {
  const int column = table_.sortColumn();
  const auto less = [&](const TrainingLayer& a, const TrainingLayer& b) {
    return column == kLayerName ? a.layer < b.layer : layerKey(a, column) < layerKey(b, column);
  };
  std::stable_sort(layers_.begin(), layers_.end(), [&](const TrainingLayer& a, const TrainingLayer& b) {
    return table_.descending() ? less(b, a) : less(a, b);
  });
}

void TrainingLayersView::draw(Selection& selection) {
  if (const int row = rowByKey(selection, selected_, static_cast<int>(layers_.size())); row >= 0) {
    selected_ = row;
    table_.scrollTo(row);
  }
  bool sorted = table_.sortByKey(selection);
  sorted = table_.draw("layers", ImGui::GetContentRegionAvail().y, static_cast<int>(layers_.size()),
                       [this](int position) { drawRow(position); }) ||
           sorted;
  if (sorted) sort();
}

void TrainingLayersView::drawRow(int position) {
  const TrainingLayer& layer = layers_[static_cast<std::size_t>(position)];
  if (table_.beginRow(position, position == selected_, displayText(layer.layer, 200), ui_.theme.text, 0))
    selected_ = position;
  const double all = wholeNs(layer);
  table_.number(kForward, ui_.theme.text, timeCell(whole(layer.forward_ns)));
  table_.number(kBackward, ui_.theme.text, timeCell(whole(layer.backward_ns)));
  table_.number(kUpdate, ui_.theme.text, timeCell(whole(layer.update_ns)));
  table_.number(kWhole, ui_.theme.text, timeCell(all));
  // One bar over the other: all, forward and backward, forward.
  const double unit = longest_ns_ > 0 ? 1 / longest_ns_ : 0;
  const std::array<std::pair<KindGroup, double>, 3> bars = {
      {{KindGroup::kElementwise, all},
       {KindGroup::kLinear, whole(layer.forward_ns + layer.backward_ns)},
       {KindGroup::kConvolution, whole(layer.forward_ns)}}};
  for (const auto& [group, ns] : bars) table_.bar(kBars, ui_.theme.kind(group), ns * unit);
  table_.number(kLayerShare, ui_.theme.dim, fmt::format("{:.1f} %", whole_ns_ > 0 ? 100 * all / whole_ns_ : 0));
  table_.number(kNorm, ui_.theme.dim,
                std::isfinite(layer.gradient_norm) ? fmt::format("{:.3g}", layer.gradient_norm) : "");
  table_.number(kKept, ui_.theme.dim, layer.kept_bytes > 0 ? fmt::format("{:.3g}", whole(layer.kept_bytes) / 1e6) : "");
  table_.number(kNumbers, ui_.theme.dim, layer.parameters > 0 ? fmt::format("{}", layer.parameters) : "");
}

}  // namespace ipex_studio

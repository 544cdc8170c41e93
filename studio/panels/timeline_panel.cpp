// Bottom tab: when each operation ran, either in a median run on one axis or in every recorded execution on a track
// per instance; runs on another device than the CPU have a track for each of the two and one for copies. The view is
// zoomed and panned; a pixel is drawn once however many slices it holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "studio/canvas/graph_canvas.h"
#include "studio/panels/chart.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kToolPoints = 38;
constexpr float kTimelineAxisPoints = 24;
constexpr float kTrackPoints = 62;
constexpr float kTallTrackPoints = 104;  // height of a track where there is room
constexpr float kNamePoints = 128;
// Number of slices beginning within one pixel that are compared to show the longest.
constexpr std::size_t kMaxPerPixel = 8;
constexpr double kMinSpan_ns = 200;

// The last part of a name: "conv3 + add" of "layer1.0.conv3 + add".
std::string shortName(const std::string& name) {
  std::size_t dot = name.rfind('.', name.find(' '));
  // A bare number says nothing, so the part before it stays: "downsample.0".
  const bool number = dot != std::string::npos && dot + 1 < name.size() && name[dot + 1] >= '0' && name[dot + 1] <= '9';
  if (number && dot > 0) dot = name.rfind('.', dot - 1);
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

// The sides that a run on another device than the CPU is divided into.
constexpr StepPlace kSides[] = {StepPlace::kHost, StepPlace::kDevice, StepPlace::kCopies};

// The device that the run has steps on; empty: none but the CPU.
std::string deviceOf(const RunIndex& run) {
  const auto found =
      std::find_if(run.rows.begin(), run.rows.end(), [](const OperationRow& row) { return !row.isOnHost(); });
  return found == run.rows.end() ? "" : found->device;
}

// The operations of a median run, one after the other.
TimelineTrack medianTrack(const RunIndex& run) {
  TimelineTrack track;
  double at = 0;
  track.busy_ns.push_back(0);
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    const double end = at + run.rows[r].time.p50_ns;
    if (std::llround(end) > std::llround(at)) {
      track.slices.push_back({std::llround(at), std::llround(end), static_cast<std::int32_t>(r)});
      track.busy_ns.push_back(track.busy_ns.back() + std::llround(end) - std::llround(at));
    }
    at = end;
  }
  return track;
}

// A track and its run.
struct Lane {
  std::string name;
  std::string facts;
  const RunIndex* run = nullptr;
  const TimelineTrack* track = nullptr;
  const TimelineTrack* whole = nullptr;  // the track that `track` is one side of; the same where it is not divided
  double end_ns = 0;                     // end of a median run as it was measured; 0: none is marked

  bool isSide() const { return track != whole; }
};

class TimelinePanel : public Panel {
 public:
  explicit TimelinePanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "timeline"; }
  const char* title() const override { return "Timeline"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const JobIndex& index = *snapshot.index;
    if (shown_index_ != snapshot.index) {
      shown_index_ = snapshot.index;
      makeLanes(index);
      fit_ = true;
    }
    const std::vector<Lane>& lanes = recorded_ && hasTracks(index) ? recorded_lanes_ : median_lanes_;
    if (lanes.empty()) {
      emptyState(ui_, "Nothing was measured yet",
                 pressOptimize(snapshot) + ": what ran when is drawn here, a track per instance.");
      return;
    }
    double all_ns = 0;
    for (const Lane& lane : lanes) all_ns = std::max({all_ns, static_cast<double>(lane.track->end_ns()), lane.end_ns});
    act(selection, all_ns);
    stepByKey(lanes, selection, all_ns);
    drawTools(index, lanes);
    constexpr ImGuiWindowFlags kStill = ImGuiWindowFlags_NoScrollWithMouse;
    if (beginArea(ui_, "tracks", {0, 0}, ui_.theme.panel, {0, 0}, kStill)) drawLanes(lanes, selection, all_ns);
    endArea();
  }

 private:
  void makeLanes(const JobIndex& index) {
    tracks_.clear();
    median_lanes_.clear();
    recorded_lanes_.clear();
    for (const bool baseline : {true, false}) {
      const RunIndex& run = baseline ? index.baseline : index.optimized;
      const std::string name = baseline ? "baseline" : "optimized";
      const TimelineTrack& median = tracks_.emplace_back(medianTrack(run));
      const double p50_ns = run.latency.p50_ns;
      if (!median.slices.empty()) addLanes({name, formatTime(p50_ns), &run, &median, &median, p50_ns}, &median_lanes_);
      for (const TimelineTrack& track : run.tracks)
        addLanes({name, fmt::format("instance {}", track.thread), &run, &track, &track, 0}, &recorded_lanes_);
    }
  }

  // Adds the lane, or what ran on the CPU, on the device and the copies between them where the run has steps there.
  void addLanes(const Lane& lane, std::vector<Lane>* lanes) {
    const std::string device = deviceOf(*lane.run);
    if (device.empty()) {
      lanes->push_back(lane);
      return;
    }
    const std::string names[] = {"on the CPU", "on " + device, "copies"};
    for (std::size_t s = 0; s < std::size(kSides); ++s) {
      std::vector<bool> rows;
      for (const OperationRow& row : lane.run->rows) rows.push_back(row.place == kSides[s]);
      TimelineTrack side = partOf(*lane.whole, rows);
      if (side.slices.empty()) continue;
      const std::string facts = lane.end_ns > 0 ? formatTime(static_cast<double>(side.busy_ns.back())) : lane.facts;
      lanes->push_back({names[s], facts, lane.run, &tracks_.emplace_back(std::move(side)), lane.whole, lane.end_ns});
    }
  }

  static bool hasTracks(const JobIndex& index) {
    return !index.baseline.tracks.empty() || !index.optimized.tracks.empty();
  }

  void act(Selection& selection, double all_ns) {
    if (selection.take("timeline.recorded")) setRecorded(!recorded_);
    if (fit_ || selection.take("timeline.fit")) {
      begin_ns_ = 0;
      span_ns_ = std::max(all_ns * 1.02, kMinSpan_ns);
    }
    fit_ = false;
    const double middle = begin_ns_ + span_ns_ / 2;
    if (selection.take("timeline.zoom-in")) zoom(middle, 0.5, all_ns);
    if (selection.take("timeline.zoom-out")) zoom(middle, 2, all_ns);
    if (selection.take("timeline.later")) pan(span_ns_ / 4, all_ns);
    if (selection.take("timeline.earlier")) pan(-span_ns_ / 4, all_ns);
  }

  // Selects the operation that follows the selected one in the last run, and moves the view to it.
  void stepByKey(const std::vector<Lane>& lanes, Selection& selection, double all_ns) {
    const Lane& lane = lanes.back();
    const auto& slices = lane.whole->slices;
    const auto origins = [&](int slice) -> const std::vector<OriginId>& {
      return lane.run->rows[static_cast<std::size_t>(slices[static_cast<std::size_t>(slice)].row)].origins;
    };
    int current = -1;
    const auto first = static_cast<int>(lane.whole->firstEndingAfter(static_cast<std::int64_t>(begin_ns_)));
    const auto count = static_cast<int>(slices.size());
    // Keys go on from the selected slice in view.
    for (int s = first;
         s < count && static_cast<double>(slices[static_cast<std::size_t>(s)].begin_ns) < begin_ns_ + span_ns_ &&
         current < 0;
         ++s) {
      const std::int32_t row = slices[static_cast<std::size_t>(s)].row;
      if (row >= 0 && static_cast<std::size_t>(row) < lane.run->rows.size() && selection.overlaps(origins(s)))
        current = s;
    }
    const int next = rowByKey(selection, current, count);
    if (next < 0) return;
    const std::int32_t row = slices[static_cast<std::size_t>(next)].row;
    if (row < 0 || static_cast<std::size_t>(row) >= lane.run->rows.size()) return;
    selection.select(origins(next), true);
    const auto begin = static_cast<double>(slices[static_cast<std::size_t>(next)].begin_ns);
    const auto end = static_cast<double>(slices[static_cast<std::size_t>(next)].end_ns);
    if (begin < begin_ns_ || end > begin_ns_ + span_ns_) pan((begin + end) / 2 - begin_ns_ - span_ns_ / 2, all_ns);
  }

  void setRecorded(bool recorded) {
    recorded_ = recorded;
    fit_ = true;
  }

  void zoom(double around_ns, double factor, double all_ns) {
    const double wanted = std::clamp(span_ns_ * factor, kMinSpan_ns, std::max(all_ns * 1.02, kMinSpan_ns));
    begin_ns_ = around_ns - (around_ns - begin_ns_) * wanted / span_ns_;
    span_ns_ = wanted;
    pan(0, all_ns);
  }

  void pan(double by_ns, double all_ns) {
    begin_ns_ = std::clamp(begin_ns_ + by_ns, 0.0, std::max(0.0, all_ns * 1.02 - span_ns_));
  }

  void drawTools(const JobIndex& index, const std::vector<Lane>& lanes) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(7))});
    for (const bool recorded : {false, true}) {
      const bool chosen = recorded == (recorded_ && hasTracks(index));
      const char* text = recorded ? "all recorded runs" : "one median run";
      if (recorded) ImGui::SameLine(0, ui_.px(2));
      if (button(ui_, text, text, chosen ? ButtonLook::kChosen : ButtonLook::kQuiet,
                 recorded && !hasTracks(index) ? "This record holds medians alone, no single runs." : "",
                 ui_.fonts.head))
        setRecorded(recorded);
    }
    ImGui::SameLine(0, ui_.px(14));
    if (button(ui_, "fit", "show all", ButtonLook::kQuiet, ui_.fonts.head)) fit_ = true;
    ImGui::SameLine(0, ui_.px(14));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(11)));
    const auto from = static_cast<std::int64_t>(begin_ns_);
    const auto to = static_cast<std::int64_t>(begin_ns_ + span_ns_);
    double unattributed = 0;
    double all = 0;
    const TimelineTrack* counted = nullptr;
    for (const Lane& lane : lanes) {
      if (std::exchange(counted, lane.whole) == lane.whole) continue;  // another side of the same run
      if (lane.end_ns > 0) {
        unattributed += lane.run->unattributed_ns;
        all += lane.end_ns;
        continue;
      }
      unattributed += static_cast<double>(lane.whole->unattributed_ns(from, to));
      all += static_cast<double>(
          std::max<std::int64_t>(0, std::min(to, lane.whole->end_ns()) - std::max(from, lane.whole->begin_ns())));
    }
    if (all > 0) {
      fittedLabel(ui_, ui_.theme.dim,
                  fmt::format("In view {} · {} · wheel zooms, dragging pans, a click selects", formatTime(span_ns_),
                              unattributedText(unattributed, all)),
                  ImGui::GetContentRegionAvail().x - ui_.px(10));
    }
    ImGui::SetCursorPosY(top + std::floor(ui_.px(kToolPoints)));
  }

  void drawLanes(const std::vector<Lane>& lanes, Selection& selection, double all_ns) {
    const ImVec2 window = ImGui::GetWindowPos();
    const float left = window.x + ui_.px(kNamePoints);
    const float right = std::max(left + ui_.px(40), window.x + ImGui::GetWindowWidth() - ui_.px(16));
    const ChartScale x{begin_ns_, begin_ns_ + span_ns_, left, right, false};
    const float room = (ImGui::GetWindowHeight() - ui_.px(kTimelineAxisPoints + 4)) / static_cast<float>(lanes.size());
    track_ = std::floor(std::clamp(room, ui_.px(kTrackPoints), ui_.px(kTallTrackPoints)));
    const float height = static_cast<float>(lanes.size()) * track_;
    ImGui::SetCursorPos({ui_.px(kNamePoints), 0});
    ImGui::InvisibleButton("time", {right - left, std::max(height, ui_.px(20))});
    const bool hovered = ImGui::IsItemHovered();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (hovered && ImGui::GetIO().MouseWheel != 0)
      zoom(x.value(mouse.x), std::pow(0.8, static_cast<double>(ImGui::GetIO().MouseWheel)), all_ns);
    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 4)) {
      pan(-static_cast<double>(ImGui::GetIO().MouseDelta.x / (right - left)) * span_ns_, all_ns);
      dragged_ = true;
    }
    const bool clicked = ImGui::IsItemDeactivated() && !dragged_ && hovered;
    if (!ImGui::IsItemActive()) dragged_ = false;
    const float top = ImGui::GetItemRectMin().y;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float axis_bottom = std::min(top + height, window.y + ImGui::GetWindowHeight() - ui_.px(kTimelineAxisPoints));
    const double unit = span_ns_ < 2e4 ? 1e3 : 1e6;
    drawAxisX(ui_, x, top, axis_bottom,
              [&](double ns) { return fmt::format("{:.6g} {}", ns / unit, unit == 1e3 ? "µs" : "ms"); });
    const OperationRow* under = nullptr;
    const Lane* lane_under = nullptr;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const float lane_top = top + static_cast<float>(l) * track_;
      const bool here = hovered && mouse.y >= lane_top && mouse.y < lane_top + track_;
      const OperationRow* found =
          drawTrack(lanes[l], x, lane_top, selection, here ? std::optional(mouse.x) : std::nullopt);
      if (found != nullptr) under = found;
      if (here) lane_under = &lanes[l];
      ImGui::SetCursorScreenPos({window.x + ui_.px(13), std::floor(lane_top + ui_.px(12))});
      label(ui_.theme.text, lanes[l].name);
      ImGui::SetCursorScreenPos({window.x + ui_.px(13), std::floor(lane_top + ui_.px(30))});
      fittedLabel(ui_, ui_.theme.dim, lanes[l].facts, ui_.px(kNamePoints - 20));
    }
    if (hovered) list->AddLine({mouse.x, top}, {mouse.x, axis_bottom}, withAlpha(ui_.theme.dim, 0.6F));
    if (under != nullptr) {
      const std::string where = under->place == StepPlace::kDevice ? " · " + under->device : "";
      tooltip(fmt::format("{}\n{} · {}{}\n{} ({:.1f} %)", under->name, under->kind, under->kernel, where,
                          formatSpread(under->time), under->share * 100));
      if (clicked) selection.select(under->origins, true);
    } else if (lane_under != nullptr && x.value(mouse.x) < all_ns) {
      tooltip(lane_under->isSide() ? "Nothing ran here at that time."
                                   : "Unattributed: between operations, or after the last.");
    }
  }

  // Draws a track and returns the row at `mouse`; null if there is none.
  const OperationRow* drawTrack(const Lane& lane, const ChartScale& x, float top, const Selection& selection,
                                std::optional<float> mouse) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float low = top + ui_.px(8);
    const float high = top + track_ - ui_.px(8);
    const auto& slices = lane.track->slices;
    const double end_ns = std::max(lane.end_ns, static_cast<double>(lane.track->end_ns()));
    const float first = std::clamp(x.at(static_cast<double>(lane.track->begin_ns())), x.begin, x.end);
    const float last = std::clamp(x.at(end_ns), x.begin, x.end);
    // Time in which nothing ran here shows where no slice covers the ground.
    if (last > first) list->AddRectFilled({first, low}, {last, high}, withAlpha(ui_.theme.faint, 0.28F), 1);
    const OperationRow* under = nullptr;
    list->PushClipRect({x.begin, low - 3}, {x.end, high + 3}, true);
    std::size_t i = lane.track->firstEndingAfter(static_cast<std::int64_t>(x.low));
    float drawn_to = x.begin - 1;
    while (i < slices.size() && static_cast<double>(slices[i].begin_ns) < x.high) {
      std::size_t shown = i;
      std::size_t next = i + 1;
      const float x0 = x.at(static_cast<double>(slices[i].begin_ns));
      float x1 = x.at(static_cast<double>(slices[i].end_ns));
      if (x1 < std::max(x0, drawn_to) + 1) {
        // Only the longest of the slices that share a pixel is drawn.
        const std::int64_t pixel_end = static_cast<std::int64_t>(x.value(std::max(x0, drawn_to) + 1));
        for (; next < slices.size() && slices[next].end_ns < pixel_end && next < i + kMaxPerPixel; ++next) {
          if (slices[next].end_ns - slices[next].begin_ns > slices[shown].end_ns - slices[shown].begin_ns) shown = next;
        }
        if (next == i + kMaxPerPixel) next = std::max(next, lane.track->firstEndingAfter(pixel_end));
        x1 = std::max(x0, drawn_to) + 1;
      }
      if (slices[shown].row >= 0 && static_cast<std::size_t>(slices[shown].row) < lane.run->rows.size()) {
        const OperationRow& row = lane.run->rows[static_cast<std::size_t>(slices[shown].row)];
        if (mouse && *mouse >= x0 && *mouse < x1) under = &row;
        drawSlice(row, std::max(x0, drawn_to), x1, low, high, selection, under == &row);
      }
      drawn_to = x1;
      i = next;
    }
    list->PopClipRect();
    if (lane.end_ns > 0 && last > x.begin && last < x.end)
      list->AddLine({last, low - ui_.px(3)}, {last, high + ui_.px(3)}, ui_.theme.text, ui_.scale);
    return under;
  }

  void drawSlice(const OperationRow& row, float x0, float x1, float low, float high, const Selection& selection,
                 bool hovered) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool selected = !selection.empty() && selection.overlaps(row.origins);
    const ImU32 color = ui_.theme.kind(row.group);
    const float right = std::max(x0 + 0.75F, x1 - (x1 - x0 > 3 ? 1.F : 0.F));
    list->AddRectFilled({x0, low}, {right, high}, selected || hovered ? color : withAlpha(color, 0.72F));
    if (selected) list->AddRect({x0, low - 2}, {right, high + 2}, ui_.theme.text, 1);
    if (x1 - x0 <= ui_.px(40)) return;
    const float text_left = std::max(x0, ImGui::GetWindowDrawList()->GetClipRectMin().x) + ui_.px(5);
    drawFittedText(list, ui_.fonts.small_mono, ui_.fonts.small_mono->FontSize,
                   {text_left, (low + high) / 2 - ui_.px(7)}, right - text_left - ui_.px(3), ui_.theme.text,
                   shortName(row.name));
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::deque<TimelineTrack> tracks_;  // those that lanes show beside the runs' own
  std::vector<Lane> median_lanes_, recorded_lanes_;
  bool recorded_ = false;
  bool fit_ = true;
  bool dragged_ = false;
  float track_ = 1;      // height of a track in pixels
  double begin_ns_ = 0;  // begin of the view
  double span_ns_ = 1;
};

void fillTimeline(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "instance", "device", "copy", "operation", "begin_us", "time_us"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    for (const TimelineTrack& track : run->tracks) {
      for (const TimeSlice& slice : track.slices) {
        const OperationRow& row = run->rows[static_cast<std::size_t>(slice.row)];
        table->rows.push_back({std::string(variant), whole(track.thread), row.device,
                               std::string(row.place == StepPlace::kCopies ? "yes" : "no"), row.name,
                               whole(slice.begin_ns) / 1e3, whole(slice.end_ns - slice.begin_ns) / 1e3});
      }
    }
  }
}

std::vector<ActionGroup> timelineActions() {
  return {{860,
           {{"timeline.recorded", "Timeline: one median run or all recorded", ""},
            {"timeline.fit", "Timeline: show all", "Shift+F"},
            {"timeline.zoom-in", "Timeline: zoom in", "Shift+."},
            {"timeline.zoom-out", "Timeline: zoom out", "Shift+,"},
            {"timeline.later", "Timeline: go on", "."},
            {"timeline.earlier", "Timeline: go back", ","}}}};
}

}  // namespace

extern const PanelEntry kTimelinePanel;
const PanelEntry kTimelinePanel{
    "timeline",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<TimelinePanel>(ui); },
    fillTimeline, "Timeline",
    "3",          timelineActions()};

}  // namespace ipex_studio

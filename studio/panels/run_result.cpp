// See run_result.h.
#include "studio/panels/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "profiler/faster_fp32.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

class RunResult {
 public:
  explicit RunResult(const Ui& ui) : ui_(ui), x_(ImGui::GetWindowWidth() - ui.px(16)) {}

  float draw(const StudioSnapshot& snapshot, float room) {
    if (snapshot.status.state == JobState::kWorking) {
      drawStage(snapshot.status);
      return x_;
    }
    const JobIndex& index = *snapshot.index;
    if (index.optimized.run == nullptr) {
      if (index.baseline.run == nullptr || index.baseline.latency.p50_ns <= 0) return x_;
      place(ui_.fonts.big, ui_.theme.text, formatTime(index.baseline.latency.p50_ns), 14);
      place(ui_.fonts.text, ui_.theme.dim, "p50 baseline", 0);
      return x_;
    }
    if (snapshot.precisions) faster_ = fasterFp32(*snapshot.precisions, index.optimized.run->precision);
    const Texts texts = textsOf(index, room);
    if (texts.accuracy) drawAccuracy(index.optimized.run->accuracy);
    if (index.speedup.value <= 0) return x_;
    // A speedup whose interval contains 1 is no difference, however large the number.
    const bool clear = index.speedup.low > 1 || index.speedup.high < 1;
    if (texts.interval) place(ui_.fonts.text, ui_.theme.dim, intervalText(index), 14);
    if (!clear) place(ui_.fonts.text, ui_.theme.warning, "within noise", 14);
    if (faster_) drawFaster(*faster_);
    const ImU32 color = index.noise.disturbed() ? ui_.theme.warning : clear ? ui_.theme.text : ui_.theme.dim;
    place(ui_.fonts.big, color, fmt::format("{:.2f}×", index.speedup.value), 10);
    drawLamp(index.noise);
    if (texts.times) drawTimes(index);
    return x_;
  }

 private:
  // Texts beside the big number that have room, the more important first.
  struct Texts {
    bool accuracy = false;
    bool interval = false;
    bool times = false;
  };

  static float wide(ImFont* font, const std::string& text) {
    return font->CalcTextSizeA(font->FontSize, 1e6F, 0, text.data(), text.data() + text.size()).x;
  }

  float place(ImFont* font, ImU32 color, const std::string& text, float gap) {
    const float width = wide(font, text);
    x_ -= width;
    ImGui::SetCursorPos({std::floor(x_), std::floor((ImGui::GetWindowHeight() - font->FontSize) / 2)});
    label(color, text, font);
    x_ -= ui_.px(gap);
    return width;
  }

  Texts textsOf(const JobIndex& index, float room) const {
    if (index.speedup.value > 0)
      room -= wide(ui_.fonts.big, "00.00×") + wide(ui_.fonts.text, lampText(index.noise)) + ui_.px(38);
    if (index.speedup.low <= 1 && index.speedup.high >= 1) room -= wide(ui_.fonts.text, "within noise") + ui_.px(14);
    if (faster_) room -= wide(ui_.fonts.text, fasterText(*faster_)) + ui_.px(14);
    const auto take = [&](float width) {
      if (room < width) return false;
      room -= width;
      return true;
    };
    Texts texts;
    texts.accuracy = take(wide(ui_.fonts.text, "wrong · SQNR 000 dB") + ui_.px(14));
    texts.interval = texts.accuracy && take(wide(ui_.fonts.text, intervalText(index)) + ui_.px(14));
    texts.times = texts.interval && take(wide(ui_.fonts.text, "p50 0000.0 ms 0000.0 ms") + ui_.px(16));
    return texts;
  }

  static std::string intervalText(const JobIndex& index) {
    return fmt::format("95 %  {:.2f}–{:.2f}", index.speedup.low, index.speedup.high);
  }

  static const char* lampText(const NoiseVerdict& noise) {
    return noise.level == NoiseLevel::kUnknown ? "noise unknown" : noiseName(noise.level);
  }

  static std::string fasterText(const RunSummary& fp32) {
    return "FP32 was faster: " + formatTime(static_cast<double>(fp32.p50_ns));
  }

  void drawFaster(const RunSummary& fp32) {
    place(ui_.fonts.text, ui_.theme.warning, fasterText(fp32), 14);
    if (ImGui::IsItemHovered())
      tooltip("The newest FP32 run of this model with as many threads. Choose FP32 and optimize again to go back.");
  }

  // Draws whether the machine was quiet.
  void drawLamp(const NoiseVerdict& noise) {
    const bool known = noise.level != NoiseLevel::kUnknown;
    const ImU32 color = !known ? ui_.theme.dim : noise.disturbed() ? ui_.theme.bad : ui_.theme.good;
    place(ui_.fonts.text, color, lampText(noise), 6);
    if (ImGui::IsItemHovered())
      tooltip(!known ? "It was measured too briefly, or by an earlier version, to see what else the machine did."
              : noise.disturbed() ? noiseSentence(noise) + "."
                                  : "No other program used the CPUs while this was measured.");
    const float radius = ui_.px(4);
    x_ -= 2 * radius;
    const ImVec2 at = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddCircleFilled({at.x + x_ + radius, at.y + ImGui::GetWindowHeight() / 2}, radius,
                                                color);
    x_ -= ui_.px(14);
  }

  // Draws the time before, struck out, and the time now.
  void drawTimes(const JobIndex& index) {
    place(ui_.fonts.text, ui_.theme.text, formatTime(index.optimized.latency.p50_ns), 8);
    const float width = place(ui_.fonts.text, ui_.theme.dim, formatTime(index.baseline.latency.p50_ns), 8);
    const ImVec2 low = ImGui::GetItemRectMin();
    const float y = std::floor((low.y + ImGui::GetItemRectMax().y) / 2) + 1;
    ImGui::GetWindowDrawList()->AddLine({low.x, y}, {low.x + width, y}, ui_.theme.dim, ui_.scale);
    place(ui_.fonts.text, ui_.theme.dim, "p50", 0);
  }

  void drawAccuracy(const AccuracyRecord& accuracy) {
    // Results of other engines may have been judged by their cosine alone.
    const std::string measure = std::isnan(accuracy.sqnr_db)       ? fmt::format("cosine {:.4f}", accuracy.cosine)
                                : accuracy.sqnr_db >= kSqnrOfEqual ? "identical"
                                                                   : fmt::format("SQNR {:.0f} dB", accuracy.sqnr_db);
    const std::string text = accuracy.pass ? "ok · " + measure : "wrong · " + measure;
    place(ui_.fonts.text, accuracy.pass ? ui_.theme.good : ui_.theme.bad, text, 14);
    if (ImGui::IsItemHovered()) {
      tooltip(fmt::format("Against {}: largest difference {:.2g} absolute, {:.2g} relative. {}",
                          displayText(accuracy.reference, 40), accuracy.max_abs, accuracy.max_rel,
                          displayText(accuracy.text, 300)));
    }
  }

  void drawStage(const JobStatus& status) {
    if (status.eta_s >= 0)
      place(ui_.fonts.text, ui_.theme.dim, fmt::format("{:.0f} s left", std::ceil(status.eta_s)), 14);
    if (status.fraction >= 0)
      place(ui_.fonts.strong, ui_.theme.text, fmt::format("{:.0f} %", std::min(status.fraction, 1.0) * 100), 14);
    place(ui_.fonts.text, ui_.theme.text, displayText(status.stage.empty() ? "working" : status.stage, 60), 0);
  }

  const Ui& ui_;
  std::optional<RunSummary> faster_;  // FP32 run that was faster than the shown one
  float x_ = 0;
};

}  // namespace

float drawRunResult(const Ui& ui, const StudioSnapshot& snapshot, float room) {
  return RunResult(ui).draw(snapshot, room);
}

}  // namespace ipex_studio

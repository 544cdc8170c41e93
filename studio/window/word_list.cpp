// See word_list.h.
#include "studio/window/word_list.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ipex_studio {
namespace {

constexpr std::pair<const char*, const char*> kWords[] = {
    {"baseline", "The model frozen by torch::jit::freeze and run by libtorch: what everything is compared with."},
    {"job, run",
     "A job is one press of Optimize, or one command. Each version that it measured is a run with a number of its "
     "own."},
    {"frozen", "With all weights as constants and nothing left of training, so that a graph can be rewritten."},
    {"pass", "One rewrite of the whole graph. A pass that finds nothing to do leaves the graph as it is."},
    {"missed", "A rewrite that was considered and declined; the tab Remarks has the reason."},
    {"fused", "Computed in one step with what stands beside it, so that nothing between is written to memory."},
    {"region", "A static part of the graph that became one node with a plan behind it."},
    {"plan", "A list of prepared steps over one block of memory, for exact input sizes."},
    {"kernel", "One way to compute a step. The fastest that was measured on this machine is taken."},
    {"interpreter", "libtorch's own way to run a node: what stands in no plan is left to it."},
    {"layout",
     "The order of a tensor's values in memory. nchw: channel by channel. nhwc: all channels of a pixel "
     "together. nChw8c, nChw16c: blocks of 8 or 16 channels together, as SIMD kernels read them."},
    {"reorder", "A step that copies a tensor into the layout that its reader wants. It computes nothing."},
    {"cast", "A step that changes the type of a tensor's values, such as FP32 to BF16."},
    {"FP32, BF16, FP16, INT8",
     "Precisions: floats of 32 bits, floats of 16 bits with a short or a long mantissa, "
     "integers of 8 bits with scales."},
    {"VNNI", "Instructions that multiply and add bytes. Without them INT8 gains less, and weights have 7 bits."},
    {"recipe", "Ranges of values that were seen on data; they give INT8 its scales."},
    {"SQNR",
     "How far results are from the right ones, in dB: each 20 dB is a factor of 10 in the error. FP32 has 100 or "
     "more, good INT8 20 to 40."},
    {"cosine", "How well the direction of a result is kept: 1 is the same direction."},
    {"p50, p99", "The time that half, or 99 of 100, of all runs do not exceed."},
    {"95 %", "The interval that holds the true ratio in 95 of 100 measurements. One that holds 1 is no difference."},
    {"quiet, busy, throttled", "What else the machine did meanwhile. Ratios of a busy machine are uncertain."},
    {"unattributed", "Time of a run that belongs to no step: calls, checks, the interpreter."},
    {"compiled, portable",
     "Forms of an export: with plans, for programs that load the operator library; or with stock "
     "operators alone."}};

}  // namespace

void drawWordList(const Ui& ui, Selection& selection) {
  if (selection.take("words")) ImGui::OpenPopup("words");
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::floor(std::min(ui.px(760), display.x - ui.px(24))), left = ui.px(190);
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, display.y - ui.px(24)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(20), ui.px(18)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(8));
  const bool open = beginMenu("words");
  ImGui::PopStyleVar(2);
  if (!open) return;
  label(ui.theme.text, "What the words mean", ui.fonts.strong);
  ImGui::Dummy({1, ui.px(6)});
  const float begin = ImGui::GetCursorPosX();
  for (const auto& [word, meaning] : kWords) {
    label(ui.theme.text, word);
    ImGui::SameLine(begin + left, 0);
    paragraph(ui.theme.dim, meaning);
    ImGui::Dummy({1, ui.px(1)});
  }
  ImGui::EndPopup();
}

}  // namespace ipex_studio

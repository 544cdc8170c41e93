// The bar at the top: the model, the choices for a run, the button that starts it, and the main result.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "studio/panels/dialogs/export_dialog.h"
#include "studio/panels/dialogs/flags_dialog.h"
#include "studio/panels/dialogs/inputs_dialog.h"
#include "studio/panels/panel.h"
#include "studio/panels/run_result.h"
#include "studio/panels/table_cells.h"
#include "studio/panels/welcome.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxRecentShown = 10;

std::string fileName(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return displayText(slash == std::string::npos ? path : path.substr(slash + 1), 48);
}

// The longest prefix of the text that `width` pixels hold.
std::string fitted(ImFont* font, const std::string& text, float width) {
  std::string shown = text;
  for (std::size_t bytes = text.size();
       bytes > 4 && font->CalcTextSizeA(font->FontSize, 1e6F, 0, shown.c_str()).x > width; --bytes)
    shown = displayText(text, bytes - 1);
  return shown;
}

class RunBar : public Panel {
 public:
  explicit RunBar(const Ui& ui) : ui_(ui), inputs_(ui), export_(ui), flags_(ui) {}
  const char* name() const override { return "run"; }
  const char* title() const override { return "Run"; }
  PanelPlace place() const override { return PanelPlace::kTop; }
  bool settled() const override { return export_.settled(); }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    adopt(snapshot);
    const float result_left = result_left_ = drawRunResult(ui_, snapshot, resultRoom(snapshot));
    x_ = ui_.px(16);
    if (!narrow()) {
      middle(ui_.fonts.strong->FontSize);
      label(ui_.theme.text, "ipex-studio", ui_.fonts.strong);
      advance(14);
    }
    drawModel(snapshot, selection, commands);
    act(snapshot, selection, commands);
    if (snapshot.status.state != JobState::kEmpty) {
      drawInputs(snapshot, result_left - x_ - restWidth(snapshot));
      drawThreads(snapshot, selection);
      drawPrecisions(snapshot);
    }
    drawActions(snapshot, selection, commands);
    drawProgress(snapshot);
    export_.draw(snapshot, commands);
    flags_.draw(snapshot, commands);
    if (inputs_.draw()) commands.post(OptimizeCommand{precision_, threads_, inputs_.arguments()});
  }

 private:
  // True if there is no room for the program's name beside the result.
  bool narrow() const { return ImGui::GetWindowWidth() < ui_.px(1180); }

  static bool canStart(const StudioSnapshot& snapshot) { return whyNotStart(snapshot).empty(); }

  // True if the model cannot run before its user has said inputs.
  static bool inputsAreOpen(const StudioSnapshot& snapshot) {
    const auto& inputs = snapshot.job->model.inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const InputRecord& input) { return input.description.empty(); });
  }

  // Carries out requested actions.
  void act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    if (selection.take("run.optimize") && canStart(snapshot)) optimize(snapshot, selection, commands);
    if (selection.take("run.cancel") && snapshot.status.state == JobState::kWorking) commands.post(CancelCommand{});
    // The question comes with the graph, while the job that asked it still ends.
    const InputsState& inputs = snapshot.work.inputs;
    const bool refused =
        canStart(snapshot) && !inputs.problem.empty() && std::exchange(asked_inputs_, inputs.asked) != inputs.asked;
    if ((selection.take("run.inputs") && canStart(snapshot)) || refused) inputs_.open(snapshot);
    if (selection.take("run.flags")) flags_.open(snapshot);
    if (selection.take("run.export") && whyNotExport(snapshot).empty()) export_.open(snapshot);
    const bool idle = snapshot.status.state != JobState::kWorking && snapshot.status.state != JobState::kRecorded;
    if (!idle) return;
    constexpr std::pair<const char*, Precision> kChoices[] = {{"run.fp32", Precision::kFp32},
                                                              {"run.bf16", Precision::kBf16},
                                                              {"run.fp16", Precision::kFp16},
                                                              {"run.int8", Precision::kInt8}};
    for (const auto& [action, precision] : kChoices) {
      if (!selection.take(action)) continue;
      const auto& all = snapshot.choices.precisions;
      const bool available = std::any_of(all.begin(), all.end(), [wanted = precision](const PrecisionChoice& c) {
        return c.precision == wanted && c.available;
      });
      if (available) precision_ = precision;
    }
    if (selection.take("run.more-threads"))
      threads_ = std::min(threads_ + 1, std::max(1, snapshot.choices.max_threads));
    if (selection.take("run.fewer-threads")) threads_ = std::max(threads_ - 1, 1);
  }

  // Optimizes; INT8 without a recipe opens the dialog that makes one.
  void optimize(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) const {
    if (precision_ == Precision::kInt8 && snapshot.work.tuning.possible && snapshot.work.tuning.recipe.empty()) {
      selection.request("tune.quantize");
    } else {
      commands.post(OptimizeCommand{precision_, threads_, {}});
    }
  }

  // Draws the file's name with a menu of other files to open.
  void drawModel(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    const std::string name =
        fileName(!snapshot.job->model.path.empty() ? snapshot.job->model.path : snapshot.work.file);
    const std::string text = name.empty() ? "Open" : fitted(ui_.fonts.text, name, ui_.px(180));
    middle(ui_.px(30));
    if (button(ui_, "model", text + " ▼", ButtonLook::kQuiet) || selection.take("file.recent"))
      ImGui::OpenPopup("model");
    if (ImGui::IsItemHovered())
      tooltip(name.empty() ? "Open a model or recorded runs"
                           : displayText(snapshot.job->model.path, 600) + "\nClick to open another.");
    advance(6);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(16), ui_.px(14)});
    ImGui::SetNextWindowSize({ui_.px(460), 0});
    if (beginMenu("model")) {
      if (button(ui_, "open", "Open…", ButtonLook::kPlain)) {
        selection.request("file.open");
        ImGui::CloseCurrentPopup();
      }
      ImGui::SameLine(0, ui_.px(10));
      ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::floor(ui_.px(6)));
      label(ui_.theme.dim, "Ctrl+O, or drop a file onto the window");
      drawMeasureAtOnce(snapshot, selection);
      if (link(ui_, "library", "Library of models and jobs (L)")) {
        selection.request("tab.library");
        ImGui::CloseCurrentPopup();
      }
      if (ui_.recent != nullptr && !ui_.recent->empty()) {
        ImGui::Dummy({1, ui_.px(6)});
        label(ui_.theme.dim, "Recent", ui_.fonts.head);
        if (drawRecent(ui_, kMaxRecentShown, ImGui::GetContentRegionAvail().x, commands)) ImGui::CloseCurrentPopup();
      }
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  // What opening a model does, as a choice.
  void drawMeasureAtOnce(const StudioSnapshot& snapshot, Selection& selection) const {
    ImGui::Dummy({1, ui_.px(4)});
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::floor(ui_.px(6)));
    const float y = ImGui::GetCursorPosY();
    label(ui_.theme.dim, "A model that opens");
    for (const bool at_once : {false, true}) {
      ImGui::SameLine(0, ui_.px(at_once ? 2 : 8));
      ImGui::SetCursorPosY(y - std::floor(ui_.px(6)));
      const bool now = snapshot.work.measures_at_once == at_once;
      const char* text = at_once ? "is optimized at once" : "shows its graph";
      if (button(ui_, text, text, now ? ButtonLook::kChosen : ButtonLook::kQuiet) && !now)
        selection.request("file.measure-at-once");
    }
    ImGui::Dummy({1, ui_.px(2)});
  }

  // Takes over the session's choices, until the user changes them.
  void adopt(const StudioSnapshot& snapshot) {
    const bool taken = std::exchange(taken_, snapshot.choices.taken) != snapshot.choices.taken;
    if (taken || snapshot.choices.threads != offered_threads_) offered_threads_ = threads_ = snapshot.choices.threads;
    if (taken || snapshot.choices.precision != offered_precision_)
      offered_precision_ = precision_ = snapshot.choices.precision;
  }

  void middle(float height) {
    ImGui::SetCursorPos({std::floor(x_), std::floor((ImGui::GetWindowHeight() - height) / 2)});
  }
  void advance(float points) { x_ = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + ui_.px(points); }

  static const char* optimizeText(const StudioSnapshot& snapshot) {
    if (snapshot.status.state == JobState::kRecorded) return "Open the model";
    return snapshot.index->optimized.run != nullptr ? "Optimize again" : "Optimize";
  }

  // Width of everything between the inputs and the result.
  float restWidth(const StudioSnapshot& snapshot) const {
    constexpr float kGaps = 60;
    float width =
        buttonSize(ui_, threadsText()).x + buttonSize(ui_, optimizeText(snapshot)).x + buttonSize(ui_, "Export…").x;
    if (snapshot.work.tuning.possible) width += buttonSize(ui_, "Tune…").x + ui_.px(10);
    for (const PrecisionChoice& choice : snapshot.choices.precisions)
      width += buttonSize(ui_, precisionLabel(choice.precision)).x;
    return width + ui_.px(kGaps);
  }

  std::string threadsText() const { return fmt::format("{} thread{}", threads_, threads_ == 1 ? "" : "s"); }

  // Draws the inputs if there is room for them.
  void drawInputs(const StudioSnapshot& snapshot, float room) {
    const auto& inputs = snapshot.job->model.inputs;
    if (inputs.empty() || room < ui_.px(90)) return;
    const InputRecord& first = inputs.front();
    const bool open = inputsAreOpen(snapshot);
    std::string text = displayText(first.name, 16) + "  " + formatInput(displayText(first.description, 60));
    if (inputs.size() > 1) text += fmt::format("  +{}", inputs.size() - 1);
    text = fitted(ui_.fonts.mono, text, std::min(room, ui_.px(340)) - ui_.px(26));
    middle(ui_.px(30));
    const bool pressed = open ? button(ui_, "inputs", "Choose inputs…", ButtonLook::kPrimary)
                              : button(ui_, "inputs", text, ButtonLook::kPlain, ui_.fonts.mono);
    if (pressed && canStart(snapshot)) inputs_.open(snapshot);
    if (ImGui::IsItemHovered()) {
      std::string all;
      for (const InputRecord& input : inputs) {
        if (all.size() > 600) break;
        all += displayText(input.name, 40) + "  " +
               (input.description.empty() ? "to be said" : formatShape(input.description)) +
               (input.guessed ? "  (a guess)" : "") + "\n";
      }
      tooltip(all + (canStart(snapshot) ? "Click to choose others." : "They can be changed when nothing runs."));
    }
    advance(10);
  }

  void drawThreads(const StudioSnapshot& snapshot, Selection& selection) {
    middle(ui_.px(30));
    const std::string text = threadsText();
    if (button(ui_, "threads", text, ButtonLook::kPlain, whyNotStart(snapshot))) ImGui::OpenPopup("threads");
    advance(10);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), ui_.px(8)});
    if (beginMenu("threads")) {
      for (std::int32_t n = 1; n <= std::max(1, snapshot.choices.max_threads); n = n < 4 ? n + 1 : n * 2) {
        const std::string choice = fmt::format("{} thread{}", n, n == 1 ? "" : "s");
        if (button(ui_, choice.c_str(), choice, n == threads_ ? ButtonLook::kChosen : ButtonLook::kQuiet)) {
          threads_ = n;
          ImGui::CloseCurrentPopup();
        }
      }
      if (button(ui_, "flags", "More flags…", ButtonLook::kQuiet)) {
        selection.request("run.flags");
        ImGui::CloseCurrentPopup();
      }
      if (ImGui::IsItemHovered())
        tooltip("Instances, passes left out, seeds, rules of accuracy: whatever the command line can do.");
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  void drawPrecisions(const StudioSnapshot& snapshot) {
    const auto& choices = snapshot.choices.precisions;
    if (choices.empty()) return;
    middle(ui_.px(30));
    const ImVec2 low = ImGui::GetCursorScreenPos();
    float right = low.x;
    for (const PrecisionChoice& choice : choices) {
      middle(ui_.px(30));
      const bool chosen = choice.precision == precision_;
      const ButtonLook look = chosen ? ButtonLook::kChosen : ButtonLook::kQuiet;
      const std::string why = !choice.available ? choice.reason : whyNotStart(snapshot);
      if (button(ui_, precisionLabel(choice.precision), precisionLabel(choice.precision), look,
                 chosen ? std::string() : why)) {
        precision_ = choice.precision;
      }
      advance(0);
      right = ImGui::GetItemRectMax().x;
    }
    ImGui::GetWindowDrawList()->AddRect(low, {right, low.y + std::floor(ui_.px(30))}, ui_.theme.line, ui_.px(5));
    x_ += ui_.px(10);
  }

  void drawActions(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    const JobState state = snapshot.status.state;
    middle(ui_.px(30));
    if (state == JobState::kWorking) {
      if (button(ui_, "cancel", "Cancel", ButtonLook::kPlain)) commands.post(CancelCommand{});
    } else {
      const bool can_start = canStart(snapshot);
      const bool can_open = state == JobState::kRecorded && !snapshot.work.recorded_model.empty();
      if (state == JobState::kRecorded) {
        const std::string why_not = can_open ? ""
                                             : "These are recorded runs, and their model is not on this machine: " +
                                                   displayText(snapshot.job->model.path, 300);
        if (button(ui_, "reopen", optimizeText(snapshot), can_open ? ButtonLook::kPrimary : ButtonLook::kPlain,
                   why_not))
          commands.post(OpenCommand{snapshot.work.recorded_model});
        if (can_open && ImGui::IsItemHovered())
          tooltip("These are recorded runs. Opens the model they are of, to optimize it here: " +
                  displayText(snapshot.work.recorded_model, 300));
      } else if (button(ui_, "optimize", optimizeText(snapshot),
                        can_start && !inputsAreOpen(snapshot) ? ButtonLook::kPrimary : ButtonLook::kPlain,
                        whyNotStart(snapshot))) {
        optimize(snapshot, selection, commands);
      }
    }
    advance(10);
    if (state == JobState::kRecorded) {
      drawRecorded(snapshot);
      return;
    }
    middle(ui_.px(30));
    if (button(ui_, "export", "Export…", ButtonLook::kPlain, whyNotExport(snapshot))) export_.open(snapshot);
    advance(10);
    if (!snapshot.work.tuning.possible) return;
    middle(ui_.px(30));
    const std::string why = whyNotStart(snapshot);
    if (button(ui_, "tune", "Tune…", ButtonLook::kPlain, why)) selection.request("tune.quantize");
    if (why.empty() && ImGui::IsItemHovered())
      tooltip("Calibrate and quantize on data, search precisions within a budget, or measure kernels at length.");
    advance(10);
  }

  // Draws the text that replaces the controls while only recorded runs are open.
  void drawRecorded(const StudioSnapshot& snapshot) {
    const float room = result_left_ - x_ - ui_.px(16);
    const std::string text = "recorded " + displayText(snapshot.work.recorded_at, 40);
    if (room < ImGui::CalcTextSize(text.c_str()).x) return;
    middle(ui_.fonts.text->FontSize);
    label(ui_.theme.dim, text);
  }

  // Width that is left for the result.
  float resultRoom(const StudioSnapshot& snapshot) const {
    constexpr float kLeft = 16 + 14 + 24 + 6 + 32;  // points around the names of the program and the model
    const auto wide = [](ImFont* font, const std::string& text) {
      return font->CalcTextSizeA(font->FontSize, 1e6F, 0, text.data(), text.data() + text.size()).x;
    };
    const float model = std::min(wide(ui_.fonts.text, fileName(snapshot.job->model.path) + " ▼"), ui_.px(200));
    return ImGui::GetWindowWidth() - ui_.px(kLeft) - (narrow() ? 0 : wide(ui_.fonts.strong, "ipex-studio")) - model -
           restWidth(snapshot);
  }

  void drawProgress(const StudioSnapshot& snapshot) {
    if (snapshot.status.state != JobState::kWorking) return;
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float thick = ui_.px(2);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({at.x, at.y + size.y - thick}, {at.x + size.x, at.y + size.y}, ui_.theme.line);
    const auto share = static_cast<float>(std::clamp(snapshot.status.fraction, 0.0, 1.0));
    list->AddRectFilled({at.x, at.y + size.y - thick}, {at.x + size.x * share, at.y + size.y}, ui_.theme.accent);
  }

  const Ui& ui_;
  float x_ = 0;
  float result_left_ = 0;
  std::int32_t threads_ = 1;
  std::int32_t offered_threads_ = 0;
  Precision precision_ = Precision::kFp32;
  Precision offered_precision_ = Precision::kFp32;
  std::uint64_t taken_ = 0;         // RunChoices::taken that was adopted
  std::uint64_t asked_inputs_ = 0;  // InputsState::asked of the last snapshot
  InputsDialog inputs_;
  ExportDialog export_;
  FlagsDialog flags_;
};

void fillRun(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "precision",      "threads",         "instances", "p50_ms",   "half_width_ms",
                    "speedup", "speedup_low_95", "speedup_high_95", "sqnr_db",   "accurate", "noise"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    const RunRecord& record = *run->run;
    const Interval& speedup = snapshot.index->speedup;
    const bool optimized = run == &snapshot.index->optimized;
    const bool known = optimized && speedup.value > 0;
    table->rows.push_back({std::string(variant), record.precision, whole(record.threads), whole(record.instances),
                           ms(run->latency.p50_ns), ms(run->latency.half_width_ns),
                           known ? speedup.value : kNotMeasured, known ? speedup.low : kNotMeasured,
                           known ? speedup.high : kNotMeasured, optimized ? record.accuracy.sqnr_db : kNotMeasured,
                           std::string(!optimized             ? ""
                                       : record.accuracy.pass ? "yes"
                                                              : "no"),
                           std::string(noiseName(judgeNoise(record).level))});
  }
}

std::vector<ActionGroup> runActions() {
  return {{100,
           {{"run.optimize", "Optimize the model", "F5"},
            {"run.fp32", "Choose FP32 for the next run", ""},
            {"run.bf16", "Choose BF16 for the next run", ""},
            {"run.fp16", "Choose FP16 for the next run", ""},
            {"run.int8", "Choose INT8 for the next run", ""},
            {"run.more-threads", "One thread more for the next run", ""},
            {"run.fewer-threads", "One thread less for the next run", ""},
            {"run.cancel", "Cancel the running job", "Ctrl+."},
            {"run.inputs", "Choose the inputs", "Ctrl+I"},
            {"run.flags", "Flags of the command line", "Ctrl+Shift+F"},
            {"run.export", "Export the optimized model", "Ctrl+E"}}},
          {210, {{"file.recent", "Open what was open before", "Ctrl+Shift+O"}}}};
}

}  // namespace

extern const PanelEntry kRunBar;
const PanelEntry kRunBar{"run",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<RunBar>(ui); },
                         fillRun, "",
                         "",      runActions()};

}  // namespace ipex_studio

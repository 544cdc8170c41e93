// The studio without its window: theme, fonts and panels, drawn into the current ImGui context. window.cpp puts a
// window around it; tests use none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "studio/panels/panel.h"
#include "studio/ui/tab_order.h"
#include "studio/window/app_dialogs.h"
#include "studio/window/app_palette.h"
#include "studio/window/settings.h"

namespace ipex_studio {

struct AppOptions {
  float scale = 1;
  std::string theme = "dark";
  std::string panel;        // name of the only panel to draw; empty: all
  WindowSettings settings;  // remembered sizes, hidden parts, theme and scale
};

class App {
 public:
  // Throws what the constructor would throw, but needs no context.
  static void check(const AppOptions& options);

  // Needs a current ImGui context and fills its font atlas. `wake` is called from another thread when a new frame would
  // look different. Throws Error(kUsage) for an unknown theme or panel.
  App(const AppOptions& options, std::function<void()> wake);
  ~App();

  // Applies a change of scale; to be called before ImGui::NewFrame. True if the font atlas was built anew.
  bool prepareFrame();
  // Draws over the whole display, which has been cleared to theme().panel; to be called between ImGui::NewFrame and
  // ImGui::Render.
  void frame(const StudioSnapshot& snapshot, Commands& commands);
  // True if the next frame would look the same, given the same snapshot and no input.
  bool settled() const;

  // The content of the screen without its picture.
  ReportCommand reportOf(const StudioSnapshot& snapshot, const std::string& path) const;
  // The report to write about this frame once its picture exists; nullopt most of the time.
  std::optional<ReportCommand> takeReport() { return std::exchange(report_, std::nullopt); }

  Selection& selection() { return selection_; }
  // The current settings: the user's choices, not sizes derived from the window.
  const WindowSettings& settings() const { return settings_; }
  const TabOrder& tabOrder() const { return tabs_; }
  const Theme& theme() const { return ui_.theme; }

 private:
  void act(const StudioSnapshot& snapshot);
  void bringForward();
  void offerLibrary(const StudioSnapshot& snapshot);
  void scrub(const StudioSnapshot& snapshot);
  void showFirstWrong(const StudioSnapshot& snapshot);
  void drawAll(const StudioSnapshot& snapshot, Commands& commands, ImVec2 size);
  void drawBottom(const StudioSnapshot& snapshot, Commands& commands);
  void drawSaveLinks(const StudioSnapshot& snapshot, const Panel& front, float tabs_end, Commands& commands);
  void stepTab(int step);
  void followKeys();
  void areaStop(PanelPlace place, const char* name);
  float tabPadding(float width) const;
  float splitter(TabStop edge, ImVec2 at, ImVec2 size, bool* hide);
  void rail(const char* id, const char* what, ImVec2 at, ImVec2 size, bool* hidden);
  Panel* panelAt(PanelPlace place) const;

  TabOrder tabs_;
  Ui ui_;
  Selection selection_;
  WindowSettings settings_;
  const float display_scale_;
  Palette palette_{ui_};
  AppDialogs dialogs_{ui_};
  std::optional<ReportCommand> report_;
  std::unique_ptr<SceneService> scenes_;
  std::vector<std::unique_ptr<Panel>> panels_;
  bool drawn_ = false;
  bool popup_ = false;         // true: a dialog or menu was open after the last frame
  bool folded_right_ = false;  // true: the inspector was hidden for want of room, not by the user
  Panel* alone_ = nullptr;
  std::string tab_ = "waterfall";
  bool library_offered_ = false;               // true: while nothing was open the library came to the front by itself
  std::shared_ptr<const BisectRecord> found_;  // first wrong node of the last snapshot
  bool asks_values_ = false;  // true: the values of the first wrong node are asked for once no job runs
  std::shared_ptr<const TrainingRecord> training_;  // of the last snapshot
  std::string opened_;                              // file that was open in the last snapshot
};

}  // namespace ipex_studio

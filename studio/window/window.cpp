// See window.h.
#include "studio/window/window.h"
#include "studio/panels/panel_list.h"

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "studio/snapshot/snapshot_report.h"
#include "studio/ui/screenshot.h"
#include "studio/window/app.h"
#include "studio/window/app_actions.h"
#include "studio/window/script.h"

namespace ipex_studio {
namespace {

// ImGui needs a second frame to settle sizes and a third for what depends on them.
constexpr int kFramesAfterEvent = 3;
constexpr auto kLongestScreenshot = std::chrono::minutes(10);

class GlfwLibrary {
 public:
  GlfwLibrary() {
    if (glfwInit() == GLFW_TRUE) return;
    throw Error(
        ExitCode::kUnsupported,
        "No display was found; use 'ipex-studio run' for the same job without a window, or xvfb-run for a screenshot.");
  }
  ~GlfwLibrary() { glfwTerminate(); }
  GlfwLibrary(const GlfwLibrary&) = delete;
  GlfwLibrary& operator=(const GlfwLibrary&) = delete;
};

struct CloseWindow {
  void operator()(GLFWwindow* window) const { glfwDestroyWindow(window); }
};
using WindowPtr = std::unique_ptr<GLFWwindow, CloseWindow>;

// True if the window stays open; false if it draws off-screen and returns by itself.
bool staysOpen(const WindowOptions& options) {
  return options.screenshot_path.empty() && options.report_path.empty() && options.script_path.empty();
}

WindowPtr openWindow(const WindowOptions& options) {
  const bool screenshot = !staysOpen(options);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 2);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_VISIBLE, screenshot ? GLFW_FALSE : GLFW_TRUE);
  WindowPtr window(glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr));
  if (!window) {
    throw Error(ExitCode::kUnsupported,
                "The display has no OpenGL 3.2; use 'ipex-studio run' for the same job without a window.");
  }
  glfwMakeContextCurrent(window.get());
  // An off-screen picture must not wait for a screen.
  glfwSwapInterval(screenshot ? 0 : 1);
  return window;
}

float chooseScale(const WindowOptions& options, GLFWwindow* window) {
  if (options.scale > 0) return static_cast<float>(options.scale);
  if (!staysOpen(options)) return 1;
  float x = 1;
  float y = 1;
  glfwGetWindowContentScale(window, &x, &y);
  return std::max(x, y);
}

class ImguiScope {
 public:
  explicit ImguiScope(GLFWwindow* window) {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    ImGui_ImplOpenGL3_Init("#version 150");
  }
  ~ImguiScope() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
  }
  ImguiScope(const ImguiScope&) = delete;
  ImguiScope& operator=(const ImguiScope&) = delete;
};

// Wakes the drawing thread for new snapshots of the source for as long as it lives.
class WakeScope {
 public:
  explicit WakeScope(SnapshotSource& source) : source_(source) {
    source_.setWakeup([] { glfwPostEmptyEvent(); });
  }
  ~WakeScope() { source_.setWakeup({}); }
  WakeScope(const WakeScope&) = delete;
  WakeScope& operator=(const WakeScope&) = delete;

 private:
  SnapshotSource& source_;
};

// State that the window system's callbacks change.
struct WindowState {
  SnapshotSource* source = nullptr;
  bool input = false;  // true: an event other than a new snapshot arrived
};

WindowState& stateOf(GLFWwindow* window) { return *static_cast<WindowState*>(glfwGetWindowUserPointer(window)); }

// Installs the callbacks; to be called before ImGui installs its own, which call these.
void noteInput(GLFWwindow* window, WindowState* state) {
  glfwSetWindowUserPointer(window, state);
  glfwSetCursorPosCallback(window, [](GLFWwindow* target, double, double) { stateOf(target).input = true; });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* target, int, int, int) { stateOf(target).input = true; });
  glfwSetScrollCallback(window, [](GLFWwindow* target, double, double) { stateOf(target).input = true; });
  glfwSetKeyCallback(window, [](GLFWwindow* target, int, int, int, int) { stateOf(target).input = true; });
  glfwSetCharCallback(window, [](GLFWwindow* target, unsigned) { stateOf(target).input = true; });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* target) { stateOf(target).input = true; });
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow* target, int, int) { stateOf(target).input = true; });
  glfwSetDropCallback(window, [](GLFWwindow* target, int count, const char** paths) {
    stateOf(target).input = true;
    if (count > 0) stateOf(target).source->post(OpenCommand{paths[0]});
  });
}

void drawFrame(App& app, SnapshotSource& source, const SnapshotPtr& snapshot, int width, int height,
               FrameWatchdog* watchdog) {
  watchdog->begin();
  ImGui::NewFrame();
  Commands commands;
  app.frame(*snapshot, commands);
  ImGui::Render();
  watchdog->end();
  const ImVec4 ground = ImGui::ColorConvertU32ToFloat4(app.theme().panel);
  glViewport(0, 0, width, height);
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  if (std::optional<ReportCommand> report = app.takeReport()) {
    report->picture = std::make_shared<const Picture>(Picture{width, height, readPixels(width, height)});
    commands.post(std::move(*report));
  }
  for (Command& command : commands.take()) source.post(std::move(command));
}

// The name of the open file, as other windows have it.
std::string titleOf(const WindowOptions& options, const StudioSnapshot& snapshot) {
  const std::string& file = snapshot.work.file;
  const std::string name = displayText(file.substr(file.find_last_of('/') + 1), 100);
  return name.empty() ? options.title : name + " – " + options.title;
}

void runInteractive(const WindowOptions& options, GLFWwindow* window, App& app, SnapshotSource& source) {
  FrameWatchdog watchdog;
  int frames_due = kFramesAfterEvent;
  SnapshotPtr shown;
  while (glfwWindowShouldClose(window) == GLFW_FALSE) {
    if (frames_due > 0) {
      glfwPollEvents();
      stateOf(window).input = false;  // this frame shows the input
      --frames_due;
    } else {
      glfwWaitEvents();
      const bool input = std::exchange(stateOf(window).input, false);
      // New snapshots wait while something is timed: drawing them would change the numbers.
      if (source.timed() && !input) continue;
      frames_due = kFramesAfterEvent - 1;
    }
    const std::int64_t begin_ns = nowNs();
    SnapshotPtr latest = source.latest();
    if (latest != shown) {
      frames_due = kFramesAfterEvent;
      glfwSetWindowTitle(window, titleOf(options, *latest).c_str());
    }
    shown = std::move(latest);
    int width = 0;
    int height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    if (width <= 0 || height <= 0) {
      frames_due = 0;
      source.drew(begin_ns, begin_ns, false);
      continue;
    }
    const WindowSettings before = app.settings();
    if (app.prepareFrame()) {
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    drawFrame(app, source, shown, width, height, &watchdog);
    if (!(before == app.settings())) frames_due = kFramesAfterEvent;
    glfwSwapBuffers(window);
    source.drew(begin_ns, nowNs(), frames_due > 0 || !app.settled());
    if (options.after_frame && !options.after_frame(watchdog.statistics())) return;
  }
}

// Draws off-screen frames of exact size.
class OffscreenRunner {
 public:
  OffscreenRunner(const WindowOptions& options, App& app, SnapshotSource& source)
      : options_(options), app_(app), source_(source), target_(options.width, options.height) {}

  // Draws one frame, after which `settled()` tells whether the last frames looked the same.
  void frame() {
    // Nothing is drawn without input while something is timed, but only up to a limit, since a script may want to
    // cancel.
    const std::int64_t longest_ns = nowNs() + kLongestTimed_ns;
    while (source_.timed() && nowNs() < longest_ns) glfwWaitEventsTimeout(kWait_s);
    const bool working = shown_ && shown_->status.state == JobState::kWorking && !app_.selection().hasRequests();
    glfwWaitEventsTimeout(quiet_frames_ > 0 || !shown_ ? 0.0 : working ? kWait_s : 0.02);
    const std::int64_t begin_ns = nowNs();
    SnapshotPtr latest = source_.latest();
    const bool news = latest != shown_;
    shown_ = std::move(latest);
    if (app_.prepareFrame()) {
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {static_cast<float>(options_.width), static_cast<float>(options_.height)};
    io.DisplayFramebufferScale = {1, 1};
    io.MousePos = {-1e6F, -1e6F};
    target_.bind();
    drawFrame(app_, source_, shown_, options_.width, options_.height, &watchdog_);
    released_ = !pressed_.empty();
    if (released_) feedKeys(std::exchange(pressed_, {}), false);
    source_.drew(begin_ns, nowNs(), !app_.settled());
    const bool quiet = !news && source_.idle() && shown_->status.state != JobState::kWorking && app_.settled();
    quiet_frames_ = quiet ? quiet_frames_ + 1 : 0;
  }
  bool settled() const { return quiet_frames_ >= kFramesAfterEvent; }
  void disturb() { quiet_frames_ = 0; }
  bool released() const { return released_; }
  // Presses keys for the next frame; false if there are no such keys.
  bool press(const std::string& keys) {
    if (!feedKeys(keys, true)) return false;
    pressed_ = keys;
    disturb();
    return true;
  }
  const StudioSnapshot& shown() const { return *shown_; }
  FrameStatistics statistics() const { return watchdog_.statistics(); }
  std::string png() const { return encodePng(options_.width, options_.height, target_.pixels()); }
  Picture picture() const { return {options_.width, options_.height, target_.pixels()}; }
  void save(const std::string& path) const { writeFileAtomically(path, png()); }

 private:
  static constexpr double kWait_s = 0.05;
  static constexpr std::int64_t kLongestTimed_ns = 2'000'000'000;

  const WindowOptions& options_;
  App& app_;
  SnapshotSource& source_;
  const OffscreenTarget target_;
  FrameWatchdog watchdog_;
  SnapshotPtr shown_;
  int quiet_frames_ = 0;
  std::string pressed_;    // keys that are down; empty: none
  bool released_ = false;  // true: keys have just been released, which the next frame sees
};

// Draws until nothing changes any more, then writes the picture and the report that the options ask for.
void savePictures(const WindowOptions& options, const App& app, OffscreenRunner& runner) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestScreenshot;
  while (!runner.settled()) {
    runner.frame();
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(ExitCode::kFailure,
                  "The job did not end within ten minutes, so no screenshot was taken; use a smaller model.");
    }
  }
  if (!options.screenshot_path.empty()) runner.save(options.screenshot_path);
  if (options.report_path.empty()) return;
  const ReportCommand report = app.reportOf(runner.shown(), options.report_path);
  writeFileAtomically(options.report_path,
                      screenReportHtml(runner.shown(), {report.table, report.selected, runner.png()}));
}

void runScript(Script script, App& app, SnapshotSource& source, OffscreenRunner& runner) {
  for (bool more = true; more;) {
    runner.frame();
    if (runner.released()) continue;
    const FrameStatistics statistics = runner.statistics();
    const std::uint64_t selection = app.selection().generation();
    const std::int32_t stage = app.selection().after_stage;
    bool disturbed = false;
    const Script::Frame frame{runner.shown(),
                              app.selection(),
                              statistics,
                              runner.settled(),
                              [&](Command command) {
                                disturbed = true;
                                source.post(std::move(command));
                              },
                              [&](const std::string& keys) { return runner.press(keys); },
                              [&](const std::string& path) { runner.save(path); },
                              [&](const std::string& path) {
                                ReportCommand report = app.reportOf(runner.shown(), path);
                                report.made_up = false;
                                report.picture = std::make_shared<const Picture>(runner.picture());
                                disturbed = true;
                                source.post(std::move(report));
                              }};
    more = script.advance(frame);
    if (disturbed || selection != app.selection().generation() || stage != app.selection().after_stage ||
        app.selection().hasRequests())
      runner.disturb();
  }
}

}  // namespace

std::vector<std::string> panelNames() {
  std::vector<std::string> names;
  for (const PanelEntry* panel : allPanels()) names.emplace_back(panel->name);
  return names;
}

int runWindow(const WindowOptions& options, SnapshotSource& source) {
  if (options.width < 64 || options.height < 64 || options.width > 16384 || options.height > 16384) {
    throw Error(ExitCode::kUsage, "A window is between 64 and 16384 pixels wide and high; choose another --size.");
  }
  const bool stays = staysOpen(options);
  AppOptions app_options;
  if (stays && !options.settings_path.empty()) app_options.settings = readSettings(options.settings_path);
  const std::string& remembered = app_options.settings.theme;
  app_options.theme = !options.theme.empty() ? options.theme : !remembered.empty() ? remembered : "dark";
  app_options.panel = options.panel;
  App::check(app_options);
  const GlfwLibrary library;
  const WindowPtr window = openWindow(options);
  WindowState state{&source};
  noteInput(window.get(), &state);
  const ImguiScope imgui(window.get());
  app_options.scale = chooseScale(options, window.get());
  App app(app_options, [] { glfwPostEmptyEvent(); });
  const WakeScope wake(source);
  if (stays) {
    runInteractive(options, window.get(), app, source);
    // A failure to write the settings loses only the settings.
    if (!(app.settings() == app_options.settings)) writeSettings(options.settings_path, app.settings());
  } else {
    OffscreenRunner runner(options, app, source);
    if (!options.script_path.empty()) runScript(Script::read(options.script_path), app, source, runner);
    if (!options.screenshot_path.empty() || !options.report_path.empty()) savePictures(options, app, runner);
  }
  return 0;
}

}  // namespace ipex_studio

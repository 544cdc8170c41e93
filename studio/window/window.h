// The studio's window: GLFW and OpenGL around App. The only file, with its .cpp, that knows them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"
#include "studio/window/frame_watchdog.h"

namespace ipex_studio {

struct WindowOptions {
  int width = 1600;  // size of the window in pixels
  int height = 1000;
  double scale = 0;             // size of everything drawn; 0: as the display asks
  std::string theme;            // name of the theme: "dark", "light", "contrast"; empty: the one chosen last, else dark
  std::string settings_path;    // file that keeps the arrangement between starts; empty: none. Screenshots ignore it.
  std::string screenshot_path;  // path of a PNG to write once everything is settled, and return; empty: none
  std::string report_path;      // path of an HTML file with the picture and its numbers to write likewise; empty: none
  std::string script_path;      // path of a script (script.h) to carry out off-screen before returning; empty: none
  std::string panel;  // name of the panel that alone fills the window (see panelNames()); empty: the whole studio
  std::string title = "ipex-studio";
  // Called on the drawing thread after each frame is on the screen; false closes the window. May be empty; screenshots
  // do not call it.
  std::function<bool(const FrameStatistics&)> after_frame;
};

// Names that WindowOptions::panel accepts.
std::vector<std::string> panelNames();

// Runs until the window is closed, or the screenshot is written; returns the exit code. Must be called on the main
// thread, which draws; `source` works on threads of its own. A screenshot waits until the source's job is not kWorking
// (at most ten minutes), then until all layouts are done.
// Throws Error(kUnsupported) without a display or OpenGL 3, Error(kUsage) for an unknown theme or panel,
// Error(kFailure) when the PNG cannot be written or a script's expectation is not met.
int runWindow(const WindowOptions& options, SnapshotSource& source);

}  // namespace ipex_studio

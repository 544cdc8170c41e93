// Settings that the window remembers between starts: sizes of the parts, what is hidden, theme, scale, and files.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

struct WindowSettings {
  // Sizes in points; negative: as the window's size suggests.
  float left = -1;
  float right = -1;
  float bottom = -1;
  bool hide_left = false;
  bool hide_right = false;
  bool hide_bottom = false;
  bool measure_at_once = false;     // models are optimized when they are opened
  std::string theme;                // name of the chosen theme; empty: none was chosen
  float scale = 0;                  // size of everything drawn; 0: as the display asks
  std::vector<std::string> recent;  // files that were opened, absolute paths, the newest first

  bool operator==(const WindowSettings& other) const;
};

constexpr std::size_t kMaxRecent = 12;
// Puts `path` first among the recent files; false if it is there already. Paths with line ends are not kept.
bool rememberRecent(WindowSettings* settings, const std::string& path);

// Path of the settings: $XDG_CONFIG_HOME/ipex-studio/window.conf, else under ~/.config; empty if neither is known.
std::string settingsPath();

// Reads settings; whatever is missing or impossible stays at its default. Never throws.
WindowSettings readSettings(const std::string& path);
// Writes settings, and makes their folder; false if that fails.
bool writeSettings(const std::string& path, const WindowSettings& settings);

}  // namespace ipex_studio

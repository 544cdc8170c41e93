// See settings.h.
#include "studio/window/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ipex_studio {
namespace {

constexpr float kMinSize = 60;
constexpr float kMaxSize = 4000;

float fontSizeOf(const std::string& text) {
  const float size = std::strtof(text.c_str(), nullptr);
  return std::isfinite(size) && size >= kMinSize && size <= kMaxSize ? size : -1;
}

}  // namespace

bool WindowSettings::operator==(const WindowSettings& other) const {
  return left == other.left && right == other.right && bottom == other.bottom && hide_left == other.hide_left &&
         hide_right == other.hide_right && hide_bottom == other.hide_bottom &&
         measure_at_once == other.measure_at_once && theme == other.theme && scale == other.scale &&
         recent == other.recent;
}

bool rememberRecent(WindowSettings* settings, const std::string& path) {
  if (path.empty() || path.find_first_of("\r\n") != std::string::npos) return false;
  std::vector<std::string>& recent = settings->recent;
  if (!recent.empty() && recent.front() == path) return false;
  recent.erase(std::remove(recent.begin(), recent.end(), path), recent.end());
  recent.insert(recent.begin(), path);
  if (recent.size() > kMaxRecent) recent.resize(kMaxRecent);
  return true;
}

std::string settingsPath() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return std::string(config) + "/ipex-studio/window.conf";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::string(home) + "/.config/ipex-studio/window.conf";
}

WindowSettings readSettings(const std::string& path) {
  WindowSettings settings;
  std::ifstream file(path);
  std::string line;
  for (int lines = 0; lines < 100 && std::getline(file, line); ++lines) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (key == "left") settings.left = fontSizeOf(value);
    if (key == "right") settings.right = fontSizeOf(value);
    if (key == "bottom") settings.bottom = fontSizeOf(value);
    if (key == "hide-left") settings.hide_left = value == "1";
    if (key == "hide-right") settings.hide_right = value == "1";
    if (key == "hide-bottom") settings.hide_bottom = value == "1";
    if (key == "measure-at-once") settings.measure_at_once = value == "1";
    if (key == "theme" && (value == "dark" || value == "light" || value == "contrast")) settings.theme = value;
    const bool known = std::find(settings.recent.begin(), settings.recent.end(), value) != settings.recent.end();
    if (key == "recent" && !value.empty() && value[0] == '/' && !known && settings.recent.size() < kMaxRecent)
      settings.recent.push_back(value);
    if (key == "scale") {
      const float scale = std::strtof(value.c_str(), nullptr);
      settings.scale = scale >= 0.5F && scale <= 4 ? scale : 0;
    }
  }
  return settings;
}

bool writeSettings(const std::string& path, const WindowSettings& settings) {
  if (path.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return false;
  // The rename is one step, so that two windows that close at once leave one whole file.
  const std::string fresh = path + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << fmt::format("left={}\nright={}\nbottom={}\nhide-left={:d}\nhide-right={:d}\nhide-bottom={:d}\n",
                        settings.left, settings.right, settings.bottom, settings.hide_left, settings.hide_right,
                        settings.hide_bottom)
         << fmt::format("measure-at-once={:d}\ntheme={}\nscale={}\n", settings.measure_at_once, settings.theme,
                        settings.scale);
    for (const std::string& path : settings.recent) file << "recent=" << path << '\n';
    if (!file.flush()) return false;
  }
  std::filesystem::rename(fresh, path, error);
  return !error;
}

}  // namespace ipex_studio

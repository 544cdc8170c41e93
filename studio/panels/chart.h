// Shared by all charts: a scale from values to pixels, its ticks, and text beside them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studio/ui/widgets.h"

namespace ipex_studio {

// Values from `low` to `high` on pixels from `begin` to `end` (which may be less than `begin`, for axes that go up).
struct ChartScale {
  double low = 0;
  double high = 1;
  float begin = 0;
  float end = 1;
  bool logarithmic = false;  // `low` and `high` are positive then

  float at(double value) const;
  double value(float pixel) const;
};

// 1, 2 or 5 times a power of ten, so that about `ticks` fit into `range`.
double niceStep(double range, double ticks);
// Round values between the scale's ends, at most about `ticks`; powers of ten for logarithmic scales.
std::vector<double> ticksOf(const ChartScale& scale, double ticks);
// "0", "5", "2.5", "1e+06" never: as short as tells neighbours apart.
std::string tickText(double value);

// Hairlines at the ticks with their texts below (or left of) the area.
void drawAxisX(const Ui& ui, const ChartScale& x, float top, float bottom,
               const std::function<std::string(double)>& text);
void drawAxisY(const Ui& ui, const ChartScale& y, float left, float right,
               const std::function<std::string(double)>& text);

// One line of small text; `align` 0: begins at `at`, 0.5: centred, 1: ends there.
void chartText(const Ui& ui, ImVec2 at, ImU32 color, const std::string& text, float align = 0, ImFont* font = nullptr);

// Key and text in two columns at the cursor; the key is dim. For lists beside charts.
void keyValue(const Ui& ui, const std::string& key, const std::string& text, float key_points, float width,
              ImU32 color);

}  // namespace ipex_studio

// Parts of all charts: scales from values to pixels, their ticks, and text beside them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studio/ui/widgets.h"

namespace ipex_studio {

// A scale that maps values from `low` to `high` to pixels from `begin` to `end` (less than `begin` for axes that go
// up).
struct ChartScale {
  double low = 0;
  double high = 1;
  float begin = 0;
  float end = 1;
  bool logarithmic = false;  // true: `low` and `high` are positive

  float at(double value) const;
  double value(float pixel) const;
};

// Distance of ticks so that about `ticks` fit into `range`: 1, 2 or 5 times a power of ten.
double niceStep(double range, double ticks);
// Round values between the scale's ends, at most about `ticks`; powers of ten for logarithmic scales.
std::vector<double> ticksOf(const ChartScale& scale, double ticks);
// Text of a tick, as short as tells neighbours apart: "0", "5", "2.5"; never with an exponent.
std::string tickText(double value);

// Draws hairlines at the ticks, with texts below (or left of) the area.
void drawAxisX(const Ui& ui, const ChartScale& x, float top, float bottom,
               const std::function<std::string(double)>& text);
void drawAxisY(const Ui& ui, const ChartScale& y, float left, float right,
               const std::function<std::string(double)>& text);

// Draws a line of small text. `align` 0: it begins at `at`; 0.5: centred; 1: it ends there.
void chartText(const Ui& ui, ImVec2 at, ImU32 color, const std::string& text, float align = 0, ImFont* font = nullptr);

// A list at the right of a chart.
struct ListBeside {
  const char* id;
  float points;        // its width
  float chart_points;  // width that the chart has at least; narrower windows have no list
  ImVec2 padding;
};

// Fills the window with a chart and, where there is room, a list beside it. A function is called where its area is
// seen.
void drawChartBesideList(const Ui& ui, const ListBeside& beside, const std::function<void()>& draw_chart,
                         const std::function<void()>& draw_list);

// Draws a dim key and its text in two columns at the cursor, for lists beside charts.
void keyValue(const Ui& ui, const std::string& key, const std::string& text, float key_points, float width,
              ImU32 color);

}  // namespace ipex_studio

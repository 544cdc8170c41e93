// The report's charts as inline SVG. Colors come from report.css, so charts follow the reader's theme.
#pragma once

#include <string>
#include <vector>

#include "core/record/noise.h"
#include "core/record/records.h"
#include "profiler/database.h"
#include "profiler/summary.h"

namespace ipex_studio {

// CSS class of an operation kind, of the plan ("convolution") or of TorchScript ("aten::conv2d"): "k-convolution" …
// "k-other".
std::string kindClass(const std::string& kind);

// The lamp beside a ratio: whether the machine was quiet; empty where that is unknown.
std::string noiseHtml(const NoiseVerdict& noise);

// A bar that fills `share` (0..1) of its width.
std::string barSvg(double share, const std::string& css_class);

// Latencies of baseline and optimized on one axis. Either may be null. The slowest 1 % is counted, not drawn, if it
// would squeeze the rest.
std::string histogramSvg(const RunRecord* baseline, const RunRecord* optimized);

// One strip of a run's time, divided by kind, with its legend; the unattributed rest is hatched.
std::string kindStripHtml(const RunDigest& digest);

// Medians of one model's optimized runs over time, oldest first; empty text for fewer than two.
std::string historySvg(const std::vector<JobSummary>& newest_first);

}  // namespace ipex_studio

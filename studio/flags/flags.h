// Flags that several commands share.
#pragma once

#include <CLI/CLI.hpp>

#include "studio/flags/command_line.h"

namespace ipex_studio {

// Groups of --help.
inline constexpr char kSharedGroup[] = "Model and inputs";
inline constexpr char kMeasureGroup[] = "Measuring";
inline constexpr char kRewriteGroup[] = "Rewriting";
inline constexpr char kWindowGroup[] = "Window";
inline constexpr char kDataGroup[] = "Data";

void addModelFlags(CLI::App& app, CommandLine& line);
void addRewriteFlags(CLI::App& app, CommandLine& line);
void addDataFlags(CLI::App& app, CommandLine& line, bool required);
void addMetricFlag(CLI::App& app, CommandLine& line);
void addExportFlags(CLI::App& app, CommandLine& line);
void addCosineFlag(CLI::App& app, CommandLine& line);
void addCalibrationFlags(CLI::App& app, CommandLine& line);
void addRecipeFlag(CLI::App& app, CommandLine& line);
void addMeasureFlags(CLI::App& app, CommandLine& line);

}  // namespace ipex_studio

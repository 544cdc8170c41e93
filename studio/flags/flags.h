// The flags of a request, made from the table of its fields.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>

#include "core/record/request_fields.h"

namespace ipex_studio {

// Groups of --help.
inline constexpr char kSharedGroup[] = "Model and inputs";
inline constexpr char kMeasureGroup[] = "Measuring";
inline constexpr char kRewriteGroup[] = "Rewriting";
inline constexpr char kWindowGroup[] = "Window";
inline constexpr char kDataGroup[] = "Data";

// Adds the flags of these sets, one set after another; they write into `request`, which must outlive the app.
void addFlags(CLI::App& app, Request& request, std::initializer_list<FlagSet> sets);

}  // namespace ipex_studio

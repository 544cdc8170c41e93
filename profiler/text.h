// Numbers and hostile names as text, for terminal and report. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ipex_studio {

// Names come from model files. Bytes that are not UTF-8, control characters (terminal escapes) and characters that
// reverse the writing direction become U+FFFD.
std::string printable(std::string_view text);

// Applies printable(), then writes & < > " ' as entities: safe in HTML text and in quoted attributes.
std::string htmlText(std::string_view text);

// Number of code points, which equals terminal columns for the texts shown here.
std::size_t displayWidth(std::string_view text);
// Cuts to at most `width` columns; the cut is marked by "…".
std::string ellipsized(std::string_view text, std::size_t width);

// Nanoseconds as milliseconds with three or four significant digits: "124.1", "64.70", "0.082"; "–" for nothing.
std::string msText(double ns);
std::string shareText(double share);  // 0.0331: "3.3 %"
std::string ratioText(double ratio);  // 1.918: "1.92×"
std::string megabytes(std::int64_t bytes);
std::string dateText(std::int64_t unix_ns);  // "2026-11-21 14:03 UTC"
std::string fileName(std::string_view path);
// "optimized bf16", and where it did not run on the processor "optimized bf16 on opencl:1"; printable.
std::string runName(std::string_view variant, std::string_view precision, std::string_view device);
std::string accuracyText(double sqnr_db);  // "117.9 dB", "equal", "not finite"

}  // namespace ipex_studio

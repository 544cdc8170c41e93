// Difference of two texts line by line: lines in both, lines only in the first, lines only in the second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ipex_studio {

// Lines of a text, without line ends; they point into it.
std::vector<std::string_view> linesOf(const std::string& text);

// One row of the two texts side by side: an index into the lines of each, -1 where the other side has no such line.
struct DiffRow {
  std::int32_t before = -1;
  std::int32_t after = -1;
};

// Matches lines that occur once in each text and in the same order, and equal lines next to them ("patience diff", B.
// Cohen). Linear but for a sort; deterministic.
std::vector<DiffRow> diffLines(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after);

}  // namespace ipex_studio

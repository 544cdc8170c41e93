#include "profiler/aligned_rows.h"

#include <algorithm>

#include "profiler/text.h"

namespace ipex_studio {

std::string alignedRows(const TextRows& rows, const std::vector<std::size_t>& left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], displayWidth(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - displayWidth(row[c]), ' ');
      const bool is_left = std::find(left.begin(), left.end(), c) != left.end();
      line += (c == 0 ? "" : "  ") + (is_left ? row[c] + padding : padding + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace ipex_studio

// Rows of cells as lines of a terminal.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

using TextRows = std::vector<std::vector<std::string>>;

// Aligns the columns of `left` to the left, others to the right.
std::string alignedRows(const TextRows& rows, const std::vector<std::size_t>& left = {0});

}  // namespace ipex_studio

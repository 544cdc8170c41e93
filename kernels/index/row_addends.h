// Rows of a table that are added up.
#pragma once

#include <cstdint>

namespace ipex_studio {

template <typename T>
struct RowAddends {
  const T* const* rows = nullptr;
  std::int64_t count = 0;
  const T* const* upcoming = nullptr;  // as many rows that are read soon, and fetched meanwhile; may be null
  const T* factors = nullptr;          // of the rows; may be null: all 1
};

}  // namespace ipex_studio

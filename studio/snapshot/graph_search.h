// Finds nodes of a graph by their texts, fast enough for every keystroke.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

class GraphSearch {
 public:
  // Reads names, kinds, scopes and result types of all nodes, unless `graph` was read last.
  void read(const GraphSnapshot& graph);
  // Indexes of the nodes that contain all words of `query`, ascending; case is ignored. Empty for an empty query.
  const std::vector<std::int32_t>& find(const std::string& query);
  const std::vector<std::int32_t>& hits() const { return hits_; }

 private:
  bool contains(std::size_t node, const std::string& word) const;

  std::string text_;  // the texts of all nodes, in lower case
  std::vector<std::size_t> begin_;
  std::string query_;
  std::vector<std::int32_t> hits_;
};

}  // namespace ipex_studio

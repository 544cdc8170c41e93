// See graph_search.h.
#include "studio/snapshot/graph_search.h"

#include <algorithm>
#include <string_view>

namespace ipex_studio {
namespace {

// Number of bytes searched of each text.
constexpr std::size_t kMaxSearchedBytes = 200;

void appendLowered(std::string* text, const std::string& part) {
  for (std::size_t i = 0; i < std::min(part.size(), kMaxSearchedBytes); ++i) {
    const char c = part[i];
    text->push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  text->push_back('\n');
}

}  // namespace

void GraphSearch::read(const GraphSnapshot& graph) {
  text_.clear();
  begin_.clear();
  query_.clear();
  hits_.clear();
  for (const GraphNode& node : graph.nodes) {
    begin_.push_back(text_.size());
    appendLowered(&text_, node.name);
    appendLowered(&text_, node.kind);
    appendLowered(&text_, node.scope);
    if (node.outputs.empty() || node.outputs.front() < 0) continue;
    const auto output = static_cast<std::size_t>(node.outputs.front());
    if (output < graph.values.size()) appendLowered(&text_, graph.values[output].type);
  }
  begin_.push_back(text_.size());
}

bool GraphSearch::contains(std::size_t node, const std::string& word) const {
  const std::string_view text(text_.data() + begin_[node], begin_[node + 1] - begin_[node]);
  return text.find(word) != std::string_view::npos;
}

const std::vector<std::int32_t>& GraphSearch::find(const std::string& query) {
  std::string lowered;
  appendLowered(&lowered, query);
  lowered.pop_back();
  if (lowered == query_) return hits_;
  query_ = lowered;
  hits_.clear();
  std::vector<std::string> words;
  for (std::size_t at = 0; at < lowered.size();) {
    const std::size_t end = std::min(lowered.find(' ', at), lowered.size());
    if (end > at) words.push_back(lowered.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty() || begin_.size() < 2) return hits_;
  // The longest word is the rarest: one search through the whole text finds the nodes that have it.
  std::stable_sort(words.begin(), words.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (std::size_t at = text_.find(words.front()); at != std::string::npos;) {
    const auto after = std::upper_bound(begin_.begin(), begin_.end(), at);
    const auto node = static_cast<std::size_t>(after - begin_.begin()) - 1;
    if (at + words.front().size() > *after) {
      at = text_.find(words.front(), at + 1);
      continue;
    }
    const bool all =
        std::all_of(words.begin() + 1, words.end(), [&](const std::string& word) { return contains(node, word); });
    if (all) hits_.push_back(static_cast<std::int32_t>(node));
    at = text_.find(words.front(), *after);
  }
  return hits_;
}

}  // namespace ipex_studio

// See text_diff.h.
#include "studio/snapshot/text_diff.h"

#include <algorithm>
#include <unordered_map>

namespace ipex_studio {
namespace {

struct Occurrence {
  std::int32_t before = -1;
  std::int32_t after = -1;
  bool unique = true;
};

// Pairs of lines that are unique in both texts, ascending in both: the longest increasing subsequence.
std::vector<DiffRow> anchorsOf(const std::vector<std::string_view>& before,
                               const std::vector<std::string_view>& after) {
  std::unordered_map<std::string_view, Occurrence> lines;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Occurrence& line = lines[before[i]];
    line.unique = line.unique && line.before < 0;
    line.before = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    Occurrence& line = lines[after[i]];
    line.unique = line.unique && line.after < 0;
    line.after = static_cast<std::int32_t>(i);
  }
  std::vector<DiffRow> pairs;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Occurrence& line = lines[before[i]];
    if (line.unique && line.after >= 0) pairs.push_back({static_cast<std::int32_t>(i), line.after});
  }
  std::vector<std::int32_t> tails;  // indexes into pairs
  std::vector<std::int32_t> previous(pairs.size(), -1);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto place = std::lower_bound(tails.begin(), tails.end(), pairs[p].after,
                                        [&](std::int32_t tail, std::int32_t at) { return pairs[tail].after < at; });
    if (place != tails.begin()) previous[p] = *(place - 1);
    if (place == tails.end()) {
      tails.push_back(static_cast<std::int32_t>(p));
    } else {
      *place = static_cast<std::int32_t>(p);
    }
  }
  std::vector<DiffRow> chain;
  for (std::int32_t p = tails.empty() ? -1 : tails.back(); p >= 0; p = previous[p]) chain.push_back(pairs[p]);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

std::vector<std::string_view> linesOf(const std::string& text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<DiffRow> diffLines(const std::vector<std::string_view>& before,
                               const std::vector<std::string_view>& after) {
  std::vector<DiffRow> anchors = anchorsOf(before, after);
  anchors.push_back({static_cast<std::int32_t>(before.size()), static_cast<std::int32_t>(after.size())});
  std::vector<DiffRow> rows;
  std::int32_t b = 0;
  std::int32_t a = 0;
  for (const DiffRow& anchor : anchors) {
    while (b < anchor.before && a < anchor.after && before[b] == after[a]) rows.push_back({b++, a++});
    std::int32_t equal = 0;
    while (anchor.before - equal > b && anchor.after - equal > a &&
           before[anchor.before - equal - 1] == after[anchor.after - equal - 1])
      ++equal;
    while (b < anchor.before - equal) rows.push_back({b++, -1});
    while (a < anchor.after - equal) rows.push_back({-1, a++});
    while (b < anchor.before) rows.push_back({b++, a++});
    if (static_cast<std::size_t>(b) < before.size()) rows.push_back({b++, a++});
  }
  return rows;
}

}  // namespace ipex_studio

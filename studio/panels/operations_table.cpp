// See operations_table.h.
#include "studio/panels/operations_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace ipex_studio {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// True if `text` contains `wanted`, which is in lower case; case is ignored.
bool contains(std::string_view text, std::string_view wanted) {
  const auto same = [](char a, char b) { return lower(a) == b; };
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

enum class Field { kAny, kKind, kKernel, kLayout, kOutput, kPrecision, kModule, kTimeAbove, kTimeBelow, kShareAbove };

struct Term {
  Field field = Field::kAny;
  bool inverted = false;
  std::string word;
  double number = 0;
};

Term parseTerm(std::string word) {
  Term term;
  if (word.size() > 1 && word[0] == '-') {
    term.inverted = true;
    word.erase(0, 1);
  }
  constexpr std::pair<const char*, Field> kPrefixes[] = {
      {"kind:", Field::kKind},     {"kernel:", Field::kKernel},       {"layout:", Field::kLayout},
      {"output:", Field::kOutput}, {"precision:", Field::kPrecision}, {"module:", Field::kModule},
      {"ms>", Field::kTimeAbove},  {"ms<", Field::kTimeBelow},        {"share>", Field::kShareAbove},
  };
  for (const auto& [prefix, field] : kPrefixes) {
    const std::string_view text = prefix;
    if (word.compare(0, text.size(), text) != 0) continue;
    term.field = field;
    word.erase(0, text.size());
    break;
  }
  term.number = std::strtod(word.c_str(), nullptr);
  term.word = std::move(word);
  return term;
}

std::vector<Term> parseTerms(const std::string& words) {
  std::vector<Term> terms;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    std::string word = words.substr(at, end - at);
    std::transform(word.begin(), word.end(), word.begin(), lower);
    if (!word.empty()) terms.push_back(parseTerm(std::move(word)));
    at = end + 1;
  }
  return terms;
}

bool holds(const Term& term, const OperationRow& row) {
  switch (term.field) {
    case Field::kKind:
      return contains(row.kind, term.word) || contains(kindGroupName(row.group), term.word);
    case Field::kKernel:
      return contains(row.kernel, term.word);
    case Field::kLayout:
      return contains(row.layout, term.word);
    case Field::kOutput:
      return contains(row.output, term.word);
    case Field::kPrecision:
      return contains(row.precision, term.word);
    case Field::kModule:
      return contains(moduleOf(row.name), term.word);
    case Field::kTimeAbove:
      return row.time.p50_ns > term.number * 1e6;
    case Field::kTimeBelow:
      return row.time.p50_ns < term.number * 1e6;
    case Field::kShareAbove:
      return row.share * 100 > term.number;
    case Field::kAny:
      break;
  }
  return contains(row.name, term.word) || contains(row.kind, term.word) || contains(row.kernel, term.word) ||
         contains(row.layout, term.word) || contains(row.output, term.word) || contains(row.precision, term.word);
}

const std::string* textOf(const OperationRow& row, OperationColumn column) {
  switch (column) {
    case OperationColumn::kName:
      return &row.name;
    case OperationColumn::kKind:
      return &row.kind;
    case OperationColumn::kKernel:
      return &row.kernel;
    case OperationColumn::kLayout:
      return &row.layout;
    case OperationColumn::kOutput:
      return &row.output;
    case OperationColumn::kPrecision:
      return &row.precision;
    default:
      return nullptr;
  }
}

double numberOf(const OperationRow& row, OperationColumn column) {
  switch (column) {
    case OperationColumn::kSpread:
      return row.time.half_width_ns;
    case OperationColumn::kSpeed:
      return row.gflops_per_s;
    case OperationColumn::kBaseline:
      return row.time.p50_ns > 0 ? row.baseline_ns / row.time.p50_ns : 0;
    default:
      return row.time.p50_ns;
  }
}

// Eight bytes as a number that sorts as they do, which decides most comparisons.
std::uint64_t prefixOf(const std::string& text, std::size_t begin) {
  std::uint64_t prefix = 0;
  for (std::size_t i = begin; i < begin + 8; ++i)
    prefix = prefix << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  return prefix;
}

// Length in bytes of the prefix that all texts share.
std::size_t commonBytes(const RunIndex& run, OperationColumn column, const std::vector<std::int32_t>& order) {
  const std::string& first = *textOf(run.rows[static_cast<std::size_t>(order.front())], column);
  std::size_t common = first.size();
  for (const std::int32_t r : order) {
    const std::string& text = *textOf(run.rows[static_cast<std::size_t>(r)], column);
    common = std::min(common, text.size());
    for (std::size_t i = 0; i < common; ++i) {
      if (text[i] != first[i]) common = i;
    }
  }
  return common;
}

void sortByText(const RunIndex& run, const OperationQuery& query, std::vector<std::int32_t>* order) {
  struct Key {
    std::array<std::uint64_t, 2> prefix;
    const std::string* text;
    std::int32_t row;
  };
  std::vector<Key> keys;
  keys.reserve(order->size());
  const std::size_t common = commonBytes(run, query.sort, *order);
  for (const std::int32_t r : *order) {
    const std::string* text = textOf(run.rows[static_cast<std::size_t>(r)], query.sort);
    keys.push_back({{prefixOf(*text, common), prefixOf(*text, common + 8)}, text, r});
  }
  const bool down = query.descending;
  std::sort(keys.begin(), keys.end(), [down](const Key& a, const Key& b) {
    if (a.prefix != b.prefix) return down ? a.prefix > b.prefix : a.prefix < b.prefix;
    const int texts = a.text->compare(*b.text);
    if (texts != 0) return down ? texts > 0 : texts < 0;
    return a.row < b.row;
  });
  for (std::size_t i = 0; i < keys.size(); ++i) (*order)[i] = keys[i].row;
}

void sortByNumber(const RunIndex& run, const OperationQuery& query, std::vector<std::int32_t>* order) {
  std::vector<std::pair<double, std::int32_t>> keys;
  keys.reserve(order->size());
  for (const std::int32_t r : *order) {
    const double number = numberOf(run.rows[static_cast<std::size_t>(r)], query.sort);
    keys.emplace_back(query.descending ? -number : number, r);
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < keys.size(); ++i) (*order)[i] = keys[i].second;
}

std::string_view groupName(const OperationRow& row, OperationGrouping grouping) {
  switch (grouping) {
    case OperationGrouping::kKind:
      return kindGroupName(row.group);
    case OperationGrouping::kModule: {
      const std::string_view module = moduleOf(row.name);
      return module.empty() ? "no module" : module;
    }
    case OperationGrouping::kKernel:
      return row.kernel.empty() ? "unknown" : std::string_view(row.kernel);
    case OperationGrouping::kPrecision:
      return row.precision.empty() ? "unknown" : std::string_view(row.precision);
    case OperationGrouping::kNone:
      break;
  }
  return {};
}

// Fills the groups of `rows` and returns the group of each row. Rows are visited in the order of memory, which is
// fast.
std::vector<std::int32_t> groupRows(const RunIndex& run, OperationGrouping grouping,
                                    const std::vector<std::int32_t>& rows, OperationList* list) {
  std::unordered_map<std::string_view, std::int32_t> known;
  std::vector<std::int32_t> group_of(run.rows.size(), -1);
  std::vector<double> slowest;
  for (const std::int32_t r : rows) {
    const OperationRow& row = run.rows[static_cast<std::size_t>(r)];
    const auto [at, fresh] = known.emplace(groupName(row, grouping), static_cast<std::int32_t>(slowest.size()));
    if (fresh) {
      slowest.push_back(-1);
      list->groups.push_back({std::string(at->first), 0, 0, 0, row.group, false});
    }
    const auto g = static_cast<std::size_t>(at->second);
    group_of[static_cast<std::size_t>(r)] = at->second;
    OperationGroup& own = list->groups[g];
    ++own.rows;
    own.total_ns += row.time.p50_ns;
    own.share += row.share;
    if (row.time.p50_ns <= slowest[g]) continue;
    slowest[g] = row.time.p50_ns;
    own.kind = row.group;
  }
  return group_of;
}

// Lists all groups and the sorted rows of the open ones: the group with most time first, or in the order of names.
void listGroups(const OperationQuery& query, const std::vector<std::string>& open_groups,
                const std::vector<std::int32_t>& order, const std::vector<std::int32_t>& group_of,
                OperationList* list) {
  std::vector<std::vector<std::int32_t>> members(list->groups.size());
  for (const std::int32_t r : order)
    members[static_cast<std::size_t>(group_of[static_cast<std::size_t>(r)])].push_back(r);
  std::vector<std::int32_t> groups(members.size());
  std::iota(groups.begin(), groups.end(), 0);
  const bool by_name = query.sort == OperationColumn::kName;
  std::stable_sort(groups.begin(), groups.end(), [&](std::int32_t a, std::int32_t b) {
    const OperationGroup& x = list->groups[static_cast<std::size_t>(query.descending ? a : b)];
    const OperationGroup& y = list->groups[static_cast<std::size_t>(query.descending ? b : a)];
    return by_name ? x.name > y.name : x.total_ns > y.total_ns;
  });
  for (const std::int32_t g : groups) {
    OperationGroup& own = list->groups[static_cast<std::size_t>(g)];
    own.open = std::find(open_groups.begin(), open_groups.end(), own.name) != open_groups.end();
    list->widest_share = std::max(list->widest_share, own.share);
    list->lines.push_back({-1, g});
    if (!own.open) continue;
    for (const std::int32_t r : members[static_cast<std::size_t>(g)]) list->lines.push_back({r, g});
  }
}

}  // namespace

std::string_view moduleOf(std::string_view name) {
  const std::size_t end = std::min(name.find(' '), name.size());
  const std::size_t dot = end == 0 ? std::string_view::npos : name.rfind('.', end - 1);
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

OperationList listOperations(const RunIndex& run, const OperationQuery& query,
                             const std::vector<std::string>& open_groups) {
  const std::vector<Term> terms = parseTerms(query.words);
  std::vector<std::int32_t> order;
  OperationList list;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    const OperationRow& row = run.rows[r];
    if (query.kinds != 0 && (query.kinds >> static_cast<unsigned>(row.group) & 1U) == 0) continue;
    const bool all =
        std::all_of(terms.begin(), terms.end(), [&](const Term& term) { return holds(term, row) != term.inverted; });
    if (!all) continue;
    order.push_back(static_cast<std::int32_t>(r));
    list.total_ns += row.time.p50_ns;
    list.widest_share = std::max(list.widest_share, row.share);
  }
  list.rows = static_cast<std::int32_t>(order.size());
  std::vector<std::int32_t> group_of;
  if (query.grouping != OperationGrouping::kNone) group_of = groupRows(run, query.grouping, order, &list);
  if (!order.empty() && textOf(run.rows.front(), query.sort) != nullptr) {
    sortByText(run, query, &order);
  } else {
    sortByNumber(run, query, &order);
  }
  if (query.grouping != OperationGrouping::kNone) {
    listGroups(query, open_groups, order, group_of, &list);
    return list;
  }
  list.lines.reserve(order.size());
  for (const std::int32_t r : order) list.lines.push_back({r, -1});
  return list;
}

}  // namespace ipex_studio

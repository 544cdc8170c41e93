// Reads operators.txt into a table, and lists of operators that users write.
#include "core/file/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <sstream>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/string_util.h"

namespace ipex_studio {

extern const char kOperatorText[];

namespace {

constexpr std::size_t kMaxListed = 100000;

class OperatorTable {
 public:
  OperatorTable() {
    std::istringstream text(kOperatorText);
    for (std::string line; std::getline(text, line);) readLine(line);
  }

  const OperatorRisk* find(const std::string& name) const {
    const auto found = risks_.find(name);
    return found == risks_.end() ? nullptr : found->second;
  }
  bool isStock(const std::string& name) const { return stock_.count(name) != 0; }
  bool isExtension(const std::string& name) const { return extension_.count(name) != 0; }
  const std::set<std::string>& own() const { return own_; }
  bool isClass(const std::string& name) const { return classes_.count(name) != 0; }

 private:
  void readLine(const std::string& line) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '[') return beginSection(line);
    const std::size_t colon = line.find(": ");
    IPEX_CHECK(colon != std::string::npos, "operators.txt: " + line);
    const std::string head = line.substr(0, colon);
    std::istringstream names(line.substr(colon + 1));
    for (std::string name; names >> name;) {
      if (head == "stock") {
        stock_.insert(name);
      } else if (head == "extension") {
        extension_.insert(name);
      } else if (head == "own") {
        own_.insert(name);
      } else if (startsWith(head, "class ")) {
        classes_.insert(head.substr(6) + "::" + name);
      } else {
        IPEX_CHECK(!sections_.empty() && risks_.emplace(head + "::" + name, &sections_.back()).second,
                   fmt::format("operators.txt lists {}::{} once, in a section", head, name));
      }
    }
  }

  void beginSection(const std::string& line) {
    const std::size_t end = line.find(']'), blank = line.find(' ');
    IPEX_CHECK(end != std::string::npos, "operators.txt: " + line);
    sections_.emplace_back();
    if (blank > end) return;  // [harmless]
    sections_.back().kind = line.substr(1, blank - 1);
    sections_.back().dangerous = line.substr(blank + 1, end - blank - 1) == "danger";
    sections_.back().sentence = line.substr(std::min(end + 2, line.size()));
  }

  std::deque<OperatorRisk> sections_;
  std::unordered_map<std::string, const OperatorRisk*> risks_;
  std::set<std::string> stock_, extension_, own_, classes_;
};

const OperatorTable& operatorTable() {
  static const OperatorTable table;
  return table;
}

bool isWord(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

const OperatorRisk* operatorRisk(const std::string& name) { return operatorTable().find(name); }
bool isStockNamespace(const std::string& name) { return operatorTable().isStock(name); }
bool isExtensionNamespace(const std::string& name) { return operatorTable().isExtension(name); }
const std::set<std::string>& ownOperators() { return operatorTable().own(); }
bool isListedClass(const std::string& name) { return operatorTable().isClass(name); }

std::vector<std::string> parseOperatorList(std::string_view text, const std::string& path) {
  std::set<std::string> names;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, more;
    if (!(words >> name)) continue;
    name = name.substr(0, name.find('.'));
    const std::size_t colons = name.find("::");
    const bool operator_name = colons != std::string::npos && isWord(std::string_view(name).substr(0, colons)) &&
                               isWord(std::string_view(name).substr(colons + 2));
    if (!operator_name || words >> more) {
      throw Error(
          ExitCode::kUsage,
          fmt::format("{}, line {}: a line is one operator, such as aten::relu; # begins a comment.", path, number));
    }
    names.insert(name);
    if (names.size() > kMaxListed) {
      throw Error(ExitCode::kUsage, fmt::format("{} lists more than {} operators.", path, kMaxListed));
    }
  }
  if (names.empty()) {
    throw Error(ExitCode::kUsage, fmt::format("{} lists no operator; write one a line, such as aten::relu.", path));
  }
  return {names.begin(), names.end()};
}

}  // namespace ipex_studio

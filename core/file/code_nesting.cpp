// Counts of what is open at a place in code.
#include "core/file/code_nesting.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

namespace ipex_studio {
namespace {

constexpr int kMaxBrackets = 300, kMaxLinks = 1000, kMaxBlocks = 300;

}  // namespace

std::string CodeNesting::link() {
  ++chains_.back();
  return ++links_ > kMaxLinks ? fmt::format("chains more than {} operators", kMaxLinks) : "";
}

std::string CodeNesting::punctuation(char c, char before) {
  const bool open = c == '(' || c == '[' || c == '{', close = c == ')' || c == ']' || c == '}';
  if (open) {
    // A bracket behind a value is a call or an index, and a link of its chain.
    const bool follows_value =
        before == 'a' || before == ')' || before == ']' || before == '}' || before == '"' || before == '\'';
    const std::string complaint = follows_value ? link() : "";
    chains_.push_back(0);
    if (depth() > kMaxBrackets) return fmt::format("nests brackets deeper than {} levels", kMaxBrackets);
    return complaint;
  }
  if (close || c == ',') {
    links_ -= chains_.back();
    chains_.back() = 0;
    if (close && chains_.size() > 1) chains_.pop_back();
    return "";
  }
  return std::strchr("+-*/%@<>=!&|^~.", c) != nullptr ? link() : "";
}

std::string CodeNesting::word(const std::string& word) {
  static const std::set<std::string> operators = {"not", "and", "or", "if", "else", "is", "in", "lambda", "await"};
  if (word == "elif") {
    // Each is parsed inside of the one before.
    return ++else_branches_ > kMaxBlocks ? fmt::format("chains more than {} branches", kMaxBlocks) : "";
  }
  return operators.count(word) != 0 ? link() : "";
}

std::string CodeNesting::line(std::size_t indent) {
  if (chains_.size() == 1) {
    links_ = 0;
    chains_.back() = 0;
  }
  return indent > 2 * kMaxBlocks ? fmt::format("nests blocks deeper than {} levels", kMaxBlocks) : "";
}

}  // namespace ipex_studio

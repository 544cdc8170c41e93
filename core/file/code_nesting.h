// Bounds what libtorch's parser and compiler do by recursion over code: brackets, chains of operators, else-branches.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

// Follows the code of a member, token by token. Every function returns a complaint as a clause; empty: none.
class CodeNesting {
 public:
  // A character outside of words, texts and comments. `before`: the last one that is no blank, 'a' for a word.
  std::string punctuation(char c, char before);
  std::string word(const std::string& word);
  // A line begins, indented by so many blanks.
  std::string line(std::size_t indent);

  int depth() const { return static_cast<int>(chains_.size()) - 1; }  // of open brackets

 private:
  std::string link();

  // Links of the expression that is open at each depth of brackets, and their sum. A chain, 1 + 1 + 1 or x.T.T.T, is a
  // tree as deep as it is long.
  std::vector<int> chains_ = {0};
  int links_ = 0;
  int else_branches_ = 0;
};

}  // namespace ipex_studio

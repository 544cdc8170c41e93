// A reader of the constant lists in a call of as_strided.
#include "core/file/strided_call.h"

#include <vector>

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxStrided = std::int64_t{1} << 48;

class StridedArguments {
 public:
  explicit StridedArguments(std::string_view text) : text_(text) {}

  bool take(char c) {
    skipBlanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Moves behind the comma that ends the next argument.
  bool skipArgument() {
    for (int depth = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'' || c == '#') return false;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && --depth < 0) return false;
      if (c == ',' && depth == 0) return ++at_, true;
    }
    return false;
  }

  std::optional<std::int64_t> number() {
    skipBlanks();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > kMaxStrided) return std::nullopt;
    }
    return at_ == begin ? std::nullopt : std::optional<std::int64_t>(value);
  }

  std::optional<std::vector<std::int64_t>> list() {
    if (!take('[')) return std::nullopt;
    std::vector<std::int64_t> values;
    while (!take(']')) {
      const auto value = number();
      if (!value || values.size() > 64) return std::nullopt;
      values.push_back(*value);
      if (!take(',')) return take(']') ? std::optional(values) : std::nullopt;
    }
    return values;
  }

 private:
  void skipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> lastElementReached(std::string_view arguments, bool method) {
  StridedArguments read(arguments);
  if (!read.take('(') || (!method && !read.skipArgument())) return std::nullopt;
  const auto sizes = read.list();
  if (!sizes || !read.take(',')) return std::nullopt;
  const auto strides = read.list();
  if (!strides || strides->size() != sizes->size()) return std::nullopt;
  std::int64_t last = 0;
  if (read.take(',') && !read.take(')')) {
    const auto offset = read.number();
    if (!offset || (!read.take(')') && !read.take(','))) return std::nullopt;
    last = *offset;
  }
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] == 0) return -1;
    if ((*strides)[i] != 0 && (*sizes)[i] - 1 > (kMaxStrided - last) / (*strides)[i]) return std::nullopt;
    last += ((*sizes)[i] - 1) * (*strides)[i];
  }
  return last;
}

}  // namespace ipex_studio

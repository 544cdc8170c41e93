// Parser of .npy headers, and of .npz archives through ZipReader.
#include "core/file/npy_file.h"

#include <fmt/format.h>

#include <charconv>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxHeader = 1 << 16;
constexpr std::size_t kMaxDims = 32;
constexpr std::uint64_t kMaxMember = std::uint64_t{1} << 34;

struct DescrRow {
  const char* descr;  // without the byte order
  const char* dtype;
  std::int64_t bytes;
};
constexpr DescrRow kDescrs[] = {{"f2", "float16", 2}, {"f4", "float32", 4}, {"f8", "float64", 8},
                                {"i1", "int8", 1},    {"i2", "int16", 2},   {"i4", "int32", 4},
                                {"i8", "int64", 8},   {"u1", "uint8", 1},   {"b1", "bool", 1}};

// Reads the header, a Python dict literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;

  void read() {
    expect('{');
    int seen = 0;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && (seen & 1) == 0) {
        seen |= 1;
        if (peek() == '[') refuse("it is a structured array");
        descr = quoted();
      } else if (key == "fortran_order" && (seen & 2) == 0) {
        seen |= 2;
        fortran = boolean();
      } else if (key == "shape" && (seen & 4) == 0) {
        seen |= 4;
        readShape();
      } else {
        refuse("its header is damaged");
      }
      if (!accept(',') && peek() != '}') refuse("its header is damaged");
    }
    space();
    if (seen != 7 || at_ != text_.size()) refuse("its header is damaged");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kUsage,
                fmt::format("{} cannot be used as input: {}; save it again with numpy.save.", where_, why));
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("its header is damaged");
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("its header is damaged");
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) refuse("its header is damaged");
    const std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    refuse("its header is damaged");
  }
  void readShape() {
    expect('(');
    while (!accept(')')) {
      space();
      std::int64_t size = 0;
      const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (problem != std::errc() || size < 0 || shape.size() == kMaxDims) refuse("its sizes are out of range");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      shape.push_back(size);
      if (!accept(',') && peek() != ')') refuse("its header is damaged");
    }
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

std::uint32_t little(std::string_view bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)])) << (8 * i);
  return value;
}

const DescrRow& typeOf(const HeaderReader& header) {
  const std::string& descr = header.descr;
  if (!descr.empty() && descr[0] == '>') header.refuse("its numbers are big-endian");
  for (const DescrRow& row : kDescrs) {
    const bool ordered = descr.size() == 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=');
    if (ordered && descr.compare(1, 2, row.descr) == 0) return row;
  }
  header.refuse(fmt::format("its type '{}' is no tensor type", descr.substr(0, 20)));
}

}  // namespace

NpyArray parseNpy(std::string_view bytes, const std::string& where) {
  HeaderReader none({}, where);
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6)) none.refuse("it is no numpy array");
  const int version = bytes[6];
  if (version < 1 || version > 3) none.refuse("its format version is unknown");
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) none.refuse("it is cut off");
  const std::size_t length = little(bytes, 8, version == 1 ? 2 : 4);
  if (length > kMaxHeader) none.refuse("its header is too long");
  if (bytes.size() < begin + length) none.refuse("it is cut off");
  HeaderReader header(bytes.substr(begin, length), where);
  header.read();
  const DescrRow& row = typeOf(header);
  const std::string_view data = bytes.substr(begin + length);
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t size : header.shape) {
    empty = empty || size == 0;
    const std::int64_t factor = size == 0 ? 1 : size;
    if (count > (std::int64_t{1} << 48) / factor) header.refuse("its sizes are out of range");
    count *= factor;
  }
  if (data.size() != static_cast<std::size_t>(empty ? 0 : count * row.bytes))
    header.refuse("its data does not fill its sizes");
  return {row.dtype, std::move(header.shape), header.fortran, std::string(data)};
}

std::vector<std::pair<std::string, NpyArray>> readNpz(const ZipReader& zip, const std::string& path) {
  constexpr std::string_view kSuffix = ".npy";
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (const ZipMember& member : zip.members()) {
    const std::string& name = member.name;
    const std::string where = fmt::format("'{}', member '{}'", path, name);
    if (name.size() <= kSuffix.size() || name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) {
      throw Error(ExitCode::kUsage,
                  fmt::format("{} cannot be used as input: it is no numpy array; save the file again with numpy.savez.",
                              where));
    }
    arrays.emplace_back(name.substr(0, name.size() - kSuffix.size()), parseNpy(zip.read(member, kMaxMember), where));
  }
  return arrays;
}

}  // namespace ipex_studio

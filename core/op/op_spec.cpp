// Text form of OpSpec: names of post-operations, writer and parser.
#include "core/op/op_spec.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "core/base/error.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {
namespace {

struct PostOpRow {
  PostOpKind kind;
  const char* name;
  int parameters;  // how many of alpha, beta are written
};
constexpr PostOpRow kPostOps[] = {
    {PostOpKind::kRelu, "relu", 0},
    {PostOpKind::kClip, "clip", 2},
    {PostOpKind::kSigmoid, "sigmoid", 0},
    {PostOpKind::kTanh, "tanh", 0},
    {PostOpKind::kGeluErf, "gelu_erf", 0},
    {PostOpKind::kGeluTanh, "gelu_tanh", 0},
    {PostOpKind::kSilu, "silu", 0},
    {PostOpKind::kHardSwish, "hardswish", 0},
    {PostOpKind::kHardSigmoid, "hardsigmoid", 0},
    {PostOpKind::kLeakyRelu, "leaky_relu", 1},
    {PostOpKind::kElu, "elu", 1},
    {PostOpKind::kMish, "mish", 0},
    {PostOpKind::kAbs, "abs", 0},
    {PostOpKind::kExp, "exp", 0},
    {PostOpKind::kLog, "log", 0},
    {PostOpKind::kSqrt, "sqrt", 0},
    {PostOpKind::kRsqrt, "rsqrt", 0},
    {PostOpKind::kSquare, "square", 0},
    {PostOpKind::kNeg, "neg", 0},
    {PostOpKind::kReciprocal, "reciprocal", 0},
    {PostOpKind::kErf, "erf", 0},
    {PostOpKind::kSoftplus, "softplus", 2},
    {PostOpKind::kFloor, "floor", 0},
    {PostOpKind::kRound, "round", 0},
    {PostOpKind::kPow, "pow", 1},
    {PostOpKind::kSin, "sin", 0},
    {PostOpKind::kCos, "cos", 0},
    {PostOpKind::kLinear, "linear", 2},
    {PostOpKind::kAdd, "add", 1},
    {PostOpKind::kSub, "sub", 1},
    {PostOpKind::kRsub, "rsub", 1},
    {PostOpKind::kMul, "mul", 0},
    {PostOpKind::kDiv, "div", 0},
    {PostOpKind::kRdiv, "rdiv", 0},
    {PostOpKind::kMax, "max", 0},
    {PostOpKind::kMin, "min", 0},
    {PostOpKind::kFill, "fill", 1},
    {PostOpKind::kKeep, "keep", 1},
    {PostOpKind::kEq, "eq", 0},
    {PostOpKind::kNe, "ne", 0},
    {PostOpKind::kLt, "lt", 0},
    {PostOpKind::kLe, "le", 0},
    {PostOpKind::kGt, "gt", 0},
    {PostOpKind::kGe, "ge", 0},
};

static_assert(std::size(kPostOps) == kPostOpKindCount, "a post-operation without a row");

const PostOpRow& row(PostOpKind kind) { return kPostOps[static_cast<int>(kind)]; }

// Shortest text that reads back to the same double, always recognisable as a float.
std::string floatText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string valueText(const AttrValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return floatText(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return fmt::format("[{}]", fmt::join(std::get<std::vector<std::int64_t>>(value), ","));
}

std::string postOpText(const PostOp& op) {
  const PostOpRow& info = row(op.kind);
  if (isBinary(op.kind)) {
    const bool plain = info.parameters == 0 || op.alpha == 1;
    return plain ? fmt::format("{}({})", info.name, op.operand)
                 : fmt::format("{}({},{})", info.name, op.operand, floatText(op.alpha));
  }
  if (info.parameters == 0) return info.name;
  if (info.parameters == 1) return fmt::format("{}({})", info.name, floatText(op.alpha));
  return fmt::format("{}({},{})", info.name, floatText(op.alpha), floatText(op.beta));
}

constexpr std::size_t kMaxText = 1 << 16;
constexpr std::size_t kMaxPostOps = 64;
constexpr std::size_t kMaxListLength = 64;

// Recursive-descent reader of the text form; every step is bounded by the text's length.
class SpecReader {
 public:
  explicit SpecReader(const std::string& text) : text_(text) {}

  OpSpec read() {
    if (text_.size() > kMaxText) fail("it is longer than 64 KiB");
    OpSpec spec;
    if (!opKindFromName(word(), &spec.kind)) fail("its operation is unknown");
    expect('{');
    while (!accept('}')) {
      if (!spec.attributes.empty()) expect(',');
      const std::string name = word();
      expect('=');
      if (!spec.attributes.emplace(name, value()).second) fail("an attribute is given twice");
    }
    while (accept('|')) {
      if (spec.post_ops.size() == kMaxPostOps) fail("it has more than 64 post-operations");
      spec.post_ops.push_back(postOp());
    }
    if (at_ != text_.size()) fail("text follows its end");
    return spec;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(
        ExitCode::kBadModel,
        fmt::format("The operation description is damaged at character {}: {}; export the model again.", at_, why));
  }

  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' expected", c));
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (at_ == begin || std::isdigit(static_cast<unsigned char>(text_[begin]))) fail("a name expected");
    return text_.substr(begin, at_ - begin);
  }

  bool atNumber() const {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_];
    return std::isdigit(static_cast<unsigned char>(c)) || c == '-' || text_.compare(at_, 3, "inf") == 0 ||
           text_.compare(at_, 3, "nan") == 0;
  }

  AttrValue number() {
    const char* begin = text_.c_str() + at_;
    char* end_integer = nullptr;
    char* end_float = nullptr;
    errno = 0;
    const std::int64_t integer = std::strtoll(begin, &end_integer, 10);
    const bool integer_fits = errno == 0;
    const double real = std::strtod(begin, &end_float);
    if (end_float == begin) fail("a number expected");
    at_ += static_cast<std::size_t>(end_float - begin);
    if (end_integer == end_float) {
      if (!integer_fits) fail("an integer is too large");
      return integer;
    }
    return real;
  }

  double real() {
    const AttrValue read = number();
    if (const auto* integer = std::get_if<std::int64_t>(&read)) return static_cast<double>(*integer);
    return std::get<double>(read);
  }

  std::int64_t integer() {
    const AttrValue read = number();
    if (const auto* value = std::get_if<std::int64_t>(&read)) return *value;
    fail("an integer expected");
  }

  AttrValue value() {
    if (accept('[')) {
      std::vector<std::int64_t> list;
      while (!accept(']')) {
        if (!list.empty()) expect(',');
        if (list.size() == kMaxListLength) fail("a list is longer than 64");
        list.push_back(integer());
      }
      return list;
    }
    if (atNumber()) return number();
    return word();
  }

  PostOp postOp() {
    const std::string name = word();
    for (const PostOpRow& info : kPostOps) {
      if (name == info.name) return postOpArguments(info);
    }
    fail("a post-operation is unknown");
  }

  PostOp postOpArguments(const PostOpRow& info) {
    PostOp op = unaryPostOp(info.kind);
    if (isBinary(info.kind)) {
      expect('(');
      const std::int64_t operand = integer();
      if (operand < 0 || operand >= static_cast<std::int64_t>(kMaxPostOps)) fail("an operand is out of range");
      op = binaryPostOp(info.kind, static_cast<std::int32_t>(operand));
      if (info.parameters == 1 && accept(',')) op.alpha = real();
      expect(')');
      return op;
    }
    if (info.parameters == 0) return op;
    expect('(');
    op.alpha = real();
    if (info.parameters == 2) {
      expect(',');
      op.beta = real();
    }
    expect(')');
    return op;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

template <typename T>
const T* find(const OpSpec& spec, const std::string& name) {
  const auto found = spec.attributes.find(name);
  return found == spec.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

PostOp unaryPostOp(PostOpKind kind, double alpha, double beta) { return {kind, alpha, beta, -1}; }
PostOp binaryPostOp(PostOpKind kind, std::int32_t operand, double factor) {
  return {kind, row(kind).parameters == 1 ? factor : 0, 0, operand};
}
bool isBinary(PostOpKind kind) { return kind >= PostOpKind::kAdd; }
const char* postOpName(PostOpKind kind) { return row(kind).name; }

bool namedPostOp(const OpSpec& spec, const std::string& name, PostOp* op) {
  const std::string wanted = spec.stringOr(name, "");
  for (const PostOpRow& info : kPostOps) {
    if (wanted != info.name || isBinary(info.kind)) continue;
    *op = unaryPostOp(info.kind, spec.floatOr(name + "_alpha", 0), spec.floatOr(name + "_beta", 0));
    return true;
  }
  return false;
}

void setNamedPostOp(const std::string& name, const PostOp& op, OpSpec* spec) {
  const PostOpRow& info = row(op.kind);
  spec->attributes[name] = std::string(info.name);
  if (info.parameters > 0) spec->attributes[name + "_alpha"] = op.alpha;
  if (info.parameters > 1) spec->attributes[name + "_beta"] = op.beta;
}

std::int64_t OpSpec::intOr(const std::string& name, std::int64_t otherwise) const {
  const auto* value = find<std::int64_t>(*this, name);
  return value ? *value : otherwise;
}

double OpSpec::floatOr(const std::string& name, double otherwise) const {
  if (const auto* value = find<double>(*this, name)) return *value;
  const auto* integer = find<std::int64_t>(*this, name);
  return integer ? static_cast<double>(*integer) : otherwise;
}

std::string OpSpec::stringOr(const std::string& name, const std::string& otherwise) const {
  const auto* value = find<std::string>(*this, name);
  return value ? *value : otherwise;
}

std::vector<std::int64_t> OpSpec::ints(const std::string& name) const {
  const auto* value = find<std::vector<std::int64_t>>(*this, name);
  return value ? *value : std::vector<std::int64_t>{};
}

std::string OpSpec::text() const {
  std::string text = std::string(opKindName(kind)) + "{";
  for (const auto& [name, value] : attributes) {
    if (text.back() != '{') text += ",";
    text += name + "=" + valueText(value);
  }
  text += "}";
  for (const PostOp& op : post_ops) text += "|" + postOpText(op);
  return text;
}

OpSpec parseOpSpec(const std::string& text) { return SpecReader(text).read(); }

}  // namespace ipex_studio

// A recursive reader of literals, its inverse, and the conversion by types.
#include "core/model/input_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

constexpr int kMaxDepth = 16;

class ValueReader {
 public:
  ValueReader(const std::string& text, at::Generator& generator, double at)
      : text_(text), generator_(generator), at_(at) {}

  IValue whole() {
    IValue result = value(0);
    skipSpace();
    if (next_ != text_.size()) refuse(fmt::format("'{}' is left over", text_.substr(next_, 40)));
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(
        ExitCode::kUsage,
        fmt::format("The value '{}' is not understood ({}); write None, true, 5, 1.5, 1+2j, \"text\", a tensor as "
                    "2x3:float32, or [a, b], (a, b) and {{\"key\": a}} of these.",
                    text_.substr(0, 100), why));
  }

  void skipSpace() {
    while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_])) != 0) ++next_;
  }

  bool take(char wanted) {
    skipSpace();
    if (next_ == text_.size() || text_[next_] != wanted) return false;
    ++next_;
    return true;
  }

  IValue value(int depth) {
    if (depth > kMaxDepth) refuse("it nests too deep");
    if (take('[')) return listOf(']', depth);
    if (take('(')) {
      const auto list = listOf(')', depth);
      return c10::ivalue::Tuple::create(std::vector<IValue>(list.begin(), list.end()));
    }
    if (take('{')) return dict(depth);
    return word(/*key=*/false);
  }

  c10::impl::GenericList listOf(char close, int depth) {
    c10::impl::GenericList list(c10::AnyType::get());
    while (!take(close)) {
      list.push_back(value(depth + 1));
      if (take(',')) continue;
      if (!take(close)) refuse(fmt::format("a ',' or '{}' is missing", close));
      break;
    }
    return list;
  }

  IValue dict(int depth) {
    std::vector<std::pair<IValue, IValue>> entries;
    while (!take('}')) {
      IValue key = word(/*key=*/true);
      if (!key.isString() && !key.isInt() && !key.isDouble() && !key.isBool()) refuse("a key is a text or a number");
      if (!take(':')) refuse("a ':' is missing behind a key");
      entries.emplace_back(std::move(key), value(depth + 1));
      if (take(',')) continue;
      if (!take('}')) refuse("a ',' or '}' is missing");
      break;
    }
    const c10::TypePtr key_type = entries.empty() ? c10::TypePtr(c10::StringType::get()) : entries[0].first.type();
    c10::impl::GenericDict made(key_type, c10::AnyType::get());
    for (auto& [key, entry] : entries) {
      if (*key.type() != *key_type) refuse("the keys of a dictionary have one type");
      made.insert_or_assign(std::move(key), std::move(entry));
    }
    return made;
  }

  // Number, text, None, boolean or tensor; a key ends at its colon.
  IValue word(bool key) {
    skipSpace();
    if (next_ < text_.size() && (text_[next_] == '"' || text_[next_] == '\'')) return quoted();
    const std::size_t begin = next_;
    while (next_ < text_.size() && std::string_view(",]}) \t\n").find(text_[next_]) == std::string_view::npos) {
      if (key && text_[next_] == ':') break;
      if (text_[next_] == '[') {  // bounds of a tensor's values
        next_ = std::min(text_.find(']', next_), text_.size() - 1);
      }
      ++next_;
    }
    const std::string read = text_.substr(begin, next_ - begin);
    if (read.empty()) refuse("a value is missing");
    return meaning(read);
  }

  IValue quoted() {
    const char end = text_[next_++];
    std::string read;
    while (next_ < text_.size() && text_[next_] != end) {
      if (text_[next_] == '\\' && next_ + 1 < text_.size()) {
        ++next_;
        read += text_[next_] == 'n' ? '\n' : text_[next_];
      } else {
        read += text_[next_];
      }
      ++next_;
    }
    if (next_ == text_.size()) refuse("a text does not end");
    ++next_;
    return read;
  }

  // "2j", "1+2j", "-0.5-1e3j".
  static std::optional<c10::complex<double>> complexNumber(const std::string& read) {
    char* stop = nullptr;
    const double first = std::strtod(read.c_str(), &stop);
    if (stop == read.c_str()) return std::nullopt;
    if (std::string(stop) == "j") return c10::complex<double>(0, first);
    const char* const sign = stop;
    const double second = std::strtod(sign, &stop);
    if ((*sign != '+' && *sign != '-') || stop == sign || std::string(stop) != "j") return std::nullopt;
    return c10::complex<double>(first, second);
  }

  IValue meaning(const std::string& read) {
    if (read == "None") return {};
    if (read == "true" || read == "True") return true;
    if (read == "false" || read == "False") return false;
    std::int64_t integer = 0;
    const auto [end, problem] = std::from_chars(read.data(), read.data() + read.size(), integer);
    if (problem == std::errc() && end == read.data() + read.size()) return integer;
    const bool tensor = (std::isdigit(static_cast<unsigned char>(read[0])) != 0 || read.rfind("scalar", 0) == 0) &&
                        read.find_first_of("x:") != std::string::npos;
    if (tensor) return makeTensor(parseInputSpec(":" + read), generator_, at_);
    char* stop = nullptr;
    const double real = std::strtod(read.c_str(), &stop);
    if (*stop == '\0') return real;
    if (const auto complex = complexNumber(read)) return *complex;
    const bool name = std::all_of(read.begin(), read.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c >= 0x80 ||
             std::string_view("_-.+/").find(static_cast<char>(c)) != std::string::npos;
    });
    if (!name) refuse(fmt::format("'{}' is none of them", read.substr(0, 40)));
    return read;
  }

  const std::string& text_;
  at::Generator& generator_;
  double at_;
  std::size_t next_ = 0;
};

std::string quotedText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? "\\n" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string realText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

// The argument that a value is for.
struct Taker {
  const std::string& name;
  const c10::TypePtr& type;
};

// `type`: of the argument, or of a value inside of it.
[[noreturn]] void refuseType(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  std::string text = inputValueText(value);
  if (text.size() > 60) text = text.substr(0, 60) + "…";
  const bool tensor = taker.type->kind() == c10::TypeKind::TensorType;
  throw Error(ExitCode::kUsage,
              fmt::format("The input '{}' takes {}, and {} is no {}; give another with --input {}{}.", taker.name,
                          taker.type->repr_str(), text, type->repr_str(), taker.name, tensor ? ":SIZES" : "=VALUE"));
}

IValue converted(const IValue& value, const c10::TypePtr& type, const Taker& taker);

std::vector<IValue> elementsOf(const IValue& value) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::vector<IValue>(elements.begin(), elements.end());
  }
  return value.toListRef().vec();
}

bool fits(const IValue& value, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::NumberType:
      return value.isScalar() && !value.isBool();
    default:
      return value.type()->isSubtypeOf(type);
  }
}

IValue tupleOf(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  const auto tuple = type->expect<c10::TupleType>();
  if (!value.isTuple() && !value.isList()) refuseType(value, type, taker);
  std::vector<IValue> elements = elementsOf(value);
  if (elements.size() != tuple->elements().size()) refuseType(value, type, taker);
  for (std::size_t e = 0; e < elements.size(); ++e) elements[e] = converted(elements[e], tuple->elements()[e], taker);
  return tuple->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), tuple)
                       : c10::ivalue::Tuple::create(std::move(elements));
}

IValue listAs(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  if (!value.isTuple() && !value.isList()) refuseType(value, type, taker);
  const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
  c10::impl::GenericList list(element);
  for (const IValue& given : elementsOf(value)) list.push_back(converted(given, element, taker));
  return list;
}

IValue dictAs(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  if (!value.isGenericDict()) refuseType(value, type, taker);
  const auto& dict = type->expectRef<c10::DictType>();
  c10::impl::GenericDict made(dict.getKeyType(), dict.getValueType());
  for (const auto& entry : value.toGenericDict()) {
    made.insert_or_assign(converted(entry.key(), dict.getKeyType(), taker),
                          converted(entry.value(), dict.getValueType(), taker));
  }
  return made;
}

// An optional or another union: the first member that takes the value.
IValue unionAs(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  if (type->kind() == c10::TypeKind::OptionalType && value.isNone()) return value;
  for (const c10::TypePtr& member : type->containedTypes()) {
    if (fits(value, *member)) return value;
  }
  for (const c10::TypePtr& member : type->containedTypes()) {
    try {
      return converted(value, member, taker);
    } catch (const Error&) {
      continue;
    }
  }
  refuseType(value, type, taker);
}

IValue converted(const IValue& value, const c10::TypePtr& type, const Taker& taker) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
      return unionAs(value, type, taker);
    case c10::TypeKind::FloatType:
      if (value.isInt()) return static_cast<double>(value.toInt());
      break;
    case c10::TypeKind::ComplexType:
      if (value.isInt()) return c10::complex<double>(static_cast<double>(value.toInt()));
      if (value.isDouble()) return c10::complex<double>(value.toDouble());
      break;
    case c10::TypeKind::DeviceObjType:
      if (value.isString()) return at::Device(value.toStringRef());
      break;
    case c10::TypeKind::TupleType:
      return tupleOf(value, type, taker);
    case c10::TypeKind::ListType:
      return listAs(value, type, taker);
    case c10::TypeKind::DictType:
      return dictAs(value, type, taker);
    default:
      break;
  }
  if (!fits(value, *type)) refuseType(value, type, taker);
  return value;
}

}  // namespace

IValue parseInputValue(const std::string& text, at::Generator& generator, double at) {
  return ValueReader(text, generator, at).whole();
}

std::string inputValueText(const IValue& value) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return "None";
    std::string text = fmt::format("{}", fmt::join(value.toTensor().sizes(), "x"));
    return (text.empty() ? "scalar" : text) + ":" + dtypeText(value.toTensor().scalar_type());
  }
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return realText(value.toDouble());
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return fmt::format("{}{:+}j", number.real(), number.imag());
  }
  if (value.isString()) return quotedText(value.toStringRef());
  if (value.isDevice()) return quotedText(value.toDevice().str());
  std::vector<std::string> parts;
  if (value.isList() || value.isTuple()) {
    for (const IValue& element : elementsOf(value)) parts.push_back(inputValueText(element));
    const std::string joined = fmt::format("{}", fmt::join(parts, ", "));
    if (value.isList()) return "[" + joined + "]";
    return "(" + joined + (parts.size() == 1 ? ",)" : ")");
  }
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      parts.push_back(inputValueText(entry.key()) + ": " + inputValueText(entry.value()));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  return value.isNone() ? "None" : value.type()->str();
}

IValue asType(const IValue& value, const c10::TypePtr& type, const std::string& name) {
  return converted(value, type, Taker{name, type});
}

}  // namespace ipex_studio

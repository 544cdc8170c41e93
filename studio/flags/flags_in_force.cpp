// See flags_in_force.h.
#include "studio/flags/flags_in_force.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <type_traits>

#include "core/record/option_names.h"
#include "core/record/request_fields.h"
#include "studio/flags/command_line.h"

namespace ipex_studio {
namespace {

// What a program is started with when no flag is given.
const Request& defaults() {
  static const CommandLine line;
  return line;
}

bool hasOwnControl(const std::string& name) {
  constexpr const char* kShown[] = {"--input", "--inputs", "--threads", "--precision"};
  return std::find(std::begin(kShown), std::end(kShown), name) != std::end(kShown);
}

// Words as a command line takes them: quoted where they hold spaces.
std::string quoted(const std::string& word) {
  return word.find_first_of(" \t") == std::string::npos ? word : '"' + word + '"';
}

template <class T>
std::string valueText(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return enumName(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return quoted(value);
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
std::string wordsOf(const Flag& flag, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return flag.name;
  } else {
    return fmt::format("{} {}", flag.name, valueText(value));
  }
}

template <class T>
std::string wordsOf(const Flag& flag, const std::vector<T>& values) {
  std::string words;
  for (const T& value : values) {
    if (flag.commas && !words.empty()) {
      words += ',' + valueText(value);
    } else {
      words += fmt::format("{}{} {}", words.empty() ? "" : " ", flag.name, valueText(value));
    }
  }
  return words;
}

template <class T>
std::string wordsOf(const Flag& flag, const ListField<T>& list) {
  std::string words = fmt::format("{} ", flag.name);
  for (const T& value : *list.others) words += valueText(value) + ',';
  return words + valueText(*list.last);
}

template <class T>
bool differ(const T& a, const T& b) {
  return a != b;
}

template <class T>
bool differ(const ListField<T>& a, const ListField<T>& b) {
  return *a.last != *b.last || *a.others != *b.others;
}

template <class T>
void assign(T& to, const T& from) {
  to = from;
}

template <class T>
void assign(ListField<T>& to, const ListField<T>& from) {
  *to.last = *from.last;
  *to.others = *from.others;
}

// Calls use(flag, member) for the fields that have a flag and no control of their own.
template <class Use>
class FlagVisitor {
 public:
  explicit FlagVisitor(Use use) : use_(std::move(use)) {}
  template <class Place, class T, class... Parts>
  void operator()(const Place&, T&& member, const Parts&... parts) {
    const Flag* flag = nullptr;
    (take(parts, &flag), ...);
    if (flag != nullptr && !hasOwnControl(flag->name)) use_(*flag, member);
  }

 private:
  static void take(const Form&, const Flag**) {}
  static void take(const Flag& flag, const Flag** first) {
    if (*first == nullptr) *first = &flag;
  }
  Use use_;
};

template <class Use>
void visitFlags(Request* request, const Use& use) {
  FlagVisitor<Use> visitor(use);
  describe(visitor, *request);
}

// Calls use(flag, member, default) for each flag.
template <class Use>
void forEachFlag(Request* request, const Use& use) {
  Request plain = defaults();
  std::vector<std::any> members;  // of `plain`, in the order of the table
  visitFlags(&plain, [&](const Flag&, const auto& member) { members.emplace_back(member); });
  std::size_t at = 0;
  visitFlags(request, [&](const Flag& flag, auto& member) {
    use(flag, member, *std::any_cast<std::decay_t<decltype(member)>>(&members[at++]));
  });
}

}  // namespace

std::vector<FlagInForce> flagsInForce(const Request& request) {
  Request copy = request;
  std::vector<FlagInForce> flags;
  forEachFlag(&copy, [&](const Flag& flag, const auto& member, const auto& plain) {
    if (differ(member, plain)) flags.push_back({flag.name, wordsOf(flag, member)});
  });
  return flags;
}

bool resetFlag(const std::string& name, Request* request) {
  bool found = false;
  forEachFlag(request, [&](const Flag& flag, auto& member, const auto& plain) {
    if (name != flag.name) return;
    assign(member, plain);
    found = true;
  });
  return found;
}

}  // namespace ipex_studio

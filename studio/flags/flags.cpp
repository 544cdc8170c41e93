// Binds rows of the table of fields to flags with their checks.
#include "studio/flags/flags.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <type_traits>

#include "core/record/option_names.h"

namespace ipex_studio {
namespace {

// Checks a list such as "fp32" or "fp32,bf16,fp16,int8"; returns what is wrong, or an empty text.
std::string checkPrecisions(const std::string& text) {
  std::istringstream names(text);
  std::string name;
  bool any = false;
  while (std::getline(names, name, ',')) {
    any = true;
    if (!precisionFromName(name)) return name + " is no precision; use fp32, bf16, fp16 or int8";
  }
  return any ? "" : "use fp32, bf16, fp16, int8, or several with commas between";
}

template <class T, class Read>
void setList(const ListField<T>& list, const std::string& text, const Read& read) {
  std::istringstream names(text);
  list.others->clear();
  for (std::string name; std::getline(names, name, ',');) list.others->push_back(read(name));
  *list.last = list.others->back();
  list.others->pop_back();
}

void setPrecisions(const PrecisionList& list, const std::string& text) {
  setList(list, text, [](const std::string& name) { return precisionFromName(name).value_or(Precision::kFp32); });
}

// checkRequest() says which devices are unknown, since workers and scripts name them too.
void setDevices(const DeviceChoices& list, const std::string& text) {
  setList(list, text.empty() ? "," : text, [](const std::string& name) { return name; });
}

// Group of --help for a set of flags; empty for sets that --help lists under "Options".
const char* groupOf(FlagSet set) {
  switch (set) {
    case FlagSet::kModel:
      return kSharedGroup;
    case FlagSet::kMeasure:
    case FlagSet::kDraw:
    case FlagSet::kCompare:
      return kMeasureGroup;
    case FlagSet::kRewrite:
      return kRewriteGroup;
    case FlagSet::kSearchPrecision:
    case FlagSet::kData:
    case FlagSet::kRecipe:
    case FlagSet::kCalibration:
    case FlagSet::kMetric:
    case FlagSet::kCosine:
      return kDataGroup;
    case FlagSet::kJudgedPrecision:
    case FlagSet::kSearch:
    case FlagSet::kExport:
    case FlagSet::kTarget:
    case FlagSet::kGate:
    case FlagSet::kCurves:
    case FlagSet::kTrain:
    case FlagSet::kGenerate:
      return "";
  }
  return "";
}

std::vector<std::string> wordsOf(const Flag& flag) { return {flag.words.begin(), flag.words.end()}; }

template <class T>
struct ElementOf {
  using Type = T;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

// Adds the flags of one set while the table is visited.
class FlagAdder {
 public:
  FlagAdder(CLI::App& app, FlagSet set) : app_(app), set_(set) {}
  template <class Place, class T, class... Parts>
  void operator()(const Place&, T&& member, const Parts&... parts) {
    (add(member, parts), ...);
  }

 private:
  template <class T>
  void add(const T&, const Form&) {}
  template <class T>
  void add(T& member, const Flag& flag) {
    if (flag.set != set_) return;
    CLI::Option* option = bind(member, flag);
    if (*flag.kind != 0) option->type_name(flag.kind);
    if (*groupOf(set_) != 0) option->group(groupOf(set_));
    for (const char* other : flag.excluded) option->excludes(app_.get_option(other));
  }

  CLI::Option* bind(bool& member, const Flag& flag) {
    if (!flag.turns_off) return app_.add_flag(flag.name, member, flag.help);
    return app_.add_flag_callback(
        flag.name, [&member] { member = false; }, flag.help);
  }

  CLI::Option* bind(DeviceChoices& list, const Flag& flag) {
    CLI::Option* option = app_.add_option_function<std::string>(
        flag.name, [list](const std::string& text) { setDevices(list, text); }, flag.help);
    return option->default_str(*list.last);
  }

  CLI::Option* bind(PrecisionList& list, const Flag& flag) {
    CLI::Option* option = app_.add_option_function<std::string>(
        flag.name, [list](const std::string& text) { setPrecisions(list, text); }, flag.help);
    option->check(flag.limit == Flag::Limit::kOneOf ? CLI::Validator(CLI::IsMember(wordsOf(flag)))
                                                    : CLI::Validator(checkPrecisions, ""));
    return flag.shows_default ? option->default_str(enumName(*list.last)) : option;
  }

  template <class T>
  CLI::Option* bind(T& member, const Flag& flag) {
    if constexpr (std::is_enum_v<T>) {
      return bindEnum(member, flag);
    } else {
      CLI::Option* option = app_.add_option(flag.name, member, flag.help);
      if (flag.commas) option->delimiter(',');
      // Without this a flag with several values would take the words after it, too.
      if constexpr (!std::is_same_v<T, typename ElementOf<T>::Type>) option->allow_extra_args(false);
      check<typename ElementOf<T>::Type>(option, flag);
      return flag.shows_default ? option->capture_default_str() : option;
    }
  }

  template <class T>
  CLI::Option* bindEnum(T& member, const Flag& flag) {
    if (flag.limit == Flag::Limit::kOneOf) {
      std::map<std::string, T> values;
      for (const char* word : flag.words) values[word] = enumFromName<T>(word).value();
      return app_.add_option(flag.name, member, flag.help)->transform(CLI::CheckedTransformer(values).description(""));
    }
    std::vector<std::string> names;
    for (const auto& entry : EnumNames<T>::kTable) names.push_back(entry.second);
    CLI::Option* option = app_.add_option_function<std::string>(
        flag.name, [&member](const std::string& text) { member = enumFromName<T>(text).value(); }, flag.help);
    option->check(CLI::IsMember(names));
    return flag.shows_default ? option->default_str(enumName(member)) : option;
  }

  template <class T>
  static void check(CLI::Option* option, const Flag& flag) {
    switch (flag.limit) {
      case Flag::Limit::kNone:
        return;
      case Flag::Limit::kPositive:
        option->check(CLI::PositiveNumber);
        return;
      case Flag::Limit::kNotNegative:
        option->check(CLI::NonNegativeNumber);
        return;
      case Flag::Limit::kBetween:
        checkRange<T>(option, flag);
        return;
      case Flag::Limit::kOneOf:
        checkWords<T>(option, flag);
        return;
    }
  }

  template <class T>
  static void checkRange(CLI::Option* option, const Flag& flag) {
    using Number = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    option->check(CLI::Range(static_cast<Number>(flag.low), static_cast<Number>(flag.high)));
  }

  template <class T>
  static void checkWords(CLI::Option* option, const Flag& flag) {
    if constexpr (std::is_arithmetic_v<T>) {
      std::vector<int> numbers;
      for (const char* word : flag.words) numbers.push_back(std::atoi(word));
      option->check(CLI::IsMember(numbers));
    } else {
      option->check(CLI::IsMember(wordsOf(flag)));
    }
  }

  CLI::App& app_;
  FlagSet set_;
};

}  // namespace

void addFlags(CLI::App& app, Request& request, std::initializer_list<FlagSet> sets) {
  for (const FlagSet set : sets) {
    FlagAdder adder(app, set);
    describe(adder, request);
  }
}

}  // namespace ipex_studio

#include "core/record/request_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

namespace ipex_studio {
namespace {

// Collects the rows that have a form.
class FormCollector {
 public:
  template <class Place, class T, class... Parts>
  void operator()(const Place&, T&& member, const Parts&... parts) {
    (add(member, parts), ...);
  }
  std::vector<FormField> take() { return std::move(fields_); }

 private:
  template <class T>
  void add(const T&, const Flag&) {}
  template <class T>
  void add(T& member, const Form& form) {
    fields_.push_back({form, &member});
  }

  std::vector<FormField> fields_;
};

}  // namespace

void FormField::set(const std::string& text) const {
  std::visit(
      [&](auto* target) {
        using T = std::decay_t<decltype(*target)>;
        if constexpr (std::is_same_v<T, std::string>) *target = text;
        if constexpr (std::is_same_v<T, std::int64_t>) *target = std::strtoll(text.c_str(), nullptr, 10);
        if constexpr (std::is_same_v<T, double>) *target = std::strtod(text.c_str(), nullptr);
        if constexpr (std::is_same_v<T, bool>) *target = text != "no";
      },
      value);
}

std::string FormField::text() const {
  return std::visit([](const auto* source) { return fmt::format("{}", *source); }, value);
}

std::vector<FormField> formFields(Request& request) {
  FormCollector collector;
  describe(collector, request);
  return collector.take();
}

std::vector<FormField> formFields(Request& request, TuneGoal goal) {
  std::vector<FormField> fields = formFields(request);
  const auto other = [&](const FormField& field) { return (field.form.goals & goalBit(goal)) == 0; };
  fields.erase(std::remove_if(fields.begin(), fields.end(), other), fields.end());
  return fields;
}

void copyFormFields(const Request& from, Request* to) {
  Request source = from;
  const std::vector<FormField> values = formFields(source), targets = formFields(*to);
  for (std::size_t f = 0; f < values.size(); ++f) {
    std::visit([&](auto* target) { *target = *std::get<std::decay_t<decltype(target)>>(values[f].value); },
               targets[f].value);
  }
}

}  // namespace ipex_studio

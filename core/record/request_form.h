// Fields of a request that the window's dialog for jobs on data and its scripts offer. Pure functions, thread-safe.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/record/request.h"
#include "core/record/request_fields.h"

namespace ipex_studio {

// `value` points into the request that it was made of.
struct FormField {
  Form form;
  std::variant<std::string*, std::int64_t*, double*, bool*> value;

  // Sets the value from a text: numbers as far as they are numbers, "no" is false. Checks nothing.
  void set(const std::string& text) const;
  // The value as a text: "0.01".
  std::string text() const;
};

// In the table's order.
std::vector<FormField> formFields(Request& request);

// The same for those that a job takes.
std::vector<FormField> formFields(Request& request, TuneGoal goal);

// Copies these fields; all others of `to` stay.
void copyFormFields(const Request& from, Request* to);

}  // namespace ipex_studio

// What a value of a model holds, for people.
#pragma once

#include <string>
#include <vector>

#include "core/record/value_record.h"

namespace ipex_studio {

// A fact about the value, one text per form.
struct ValueFact {
  const char* name;  // "minimum"
  std::vector<std::string> texts;
};
std::vector<ValueFact> valueFacts(const ValueRecord& record);

// "The optimized value differs by at most 1.2e-06 (0.53 instead of 0.52 at [0, 3]); SQNR 131 dB." Empty: not compared.
std::string valueDifferenceText(const ValueRecord& record);

// The record as a page of text.
std::string valueText(const ValueRecord& record);

}  // namespace ipex_studio

// The forms that a description of an input has: InputRecord::description, and what stands behind NAME: or NAME= of
// --input.
#pragma once

#include <string>

namespace ipex_studio {

// True for sizes and a dtype, "1x3:float32", "scalar:int64"; false for a value, "5", "[2x3:float32]", "{\"a\": 1}".
inline bool describesTensor(const std::string& description) {
  const std::size_t colon = description.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::string sizes = description.substr(0, colon);
  return sizes == "scalar" || sizes.find_first_not_of("0123456789x.") == std::string::npos;
}

// The value of --input for an argument of this name and description.
inline std::string inputText(const std::string& name, const std::string& description) {
  return name + (describesTensor(description) ? ":" : "=") + description;
}

}  // namespace ipex_studio

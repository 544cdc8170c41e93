// The result of a check as text, Markdown, JUnit's XML and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "studio/job/session_check.h"

namespace ipex_studio {

struct CheckPage {
  std::string old_path, new_path;
  double max_slowdown = 0;  // what was allowed
  ModelCheck check;
};

// "1.052 [1.047, 1.058] of the time before, 1.02 allowed"
std::string speedText(const CheckPage& page);

std::string textPage(const CheckPage& page);
std::string markdownPage(const CheckPage& page);
std::string junitPage(const CheckPage& page);  // one suite with the cases speed and accuracy
nlohmann::json jsonPage(const CheckPage& page);

}  // namespace ipex_studio

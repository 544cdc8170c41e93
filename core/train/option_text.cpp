// See option_text.h.
#include "core/train/option_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

std::optional<double> numberOf(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

OptionText::OptionText(std::string flag, std::string text) : flag_(std::move(flag)), text_(std::move(text)) {
  const std::size_t colon = text_.find(':');
  name_ = text_.substr(0, colon);
  if (colon == std::string::npos) return;
  std::istringstream parts(text_.substr(colon + 1));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    std::string key = part.substr(0, equals);
    if (key.empty()) refuse("after the colon come settings such as lr=0.01, with commas between");
    const bool twice = std::any_of(settings_.begin(), settings_.end(), [&](const auto& s) { return s.first == key; });
    if (twice) refuse(fmt::format("{} is set twice", key));
    settings_.emplace_back(std::move(key), equals == std::string::npos ? "true" : part.substr(equals + 1));
  }
}

void OptionText::refuse(const std::string& why) const {
  throw Error(ExitCode::kUsage, fmt::format("{} {}: {}.", flag_, text_, why));
}

const std::string* OptionText::find(const char* key) {
  known_.emplace_back(key);
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const auto& s) { return s.first == key; });
  return found == settings_.end() ? nullptr : &found->second;
}

double OptionText::number(const char* key, double otherwise, double low, double high) {
  const std::string* text = find(key);
  if (text == nullptr) return otherwise;
  const auto value = numberOf(*text);
  if (!value || *value < low || *value > high) refuse(fmt::format("{} is a number from {} to {}", key, low, high));
  return *value;
}

double OptionText::whole(const char* key, double otherwise, double low, double high) {
  const double value = number(key, otherwise, low, high);
  if (value != std::floor(value)) refuse(fmt::format("{} is a whole number", key));
  return value;
}

bool OptionText::flag(const char* key, bool otherwise) {
  const std::string* text = find(key);
  if (text == nullptr) return otherwise;
  const bool on = *text == "true" || *text == "1";
  if (!on && *text != "false" && *text != "0") refuse(fmt::format("{} is true or false", key));
  return on;
}

std::vector<double> OptionText::numbers(const char* key, double low, double high) {
  std::vector<double> values;
  const std::string* text = find(key);
  if (text == nullptr) return values;
  std::istringstream parts(*text);
  for (std::string part; std::getline(parts, part, '/');) {
    const auto value = numberOf(part);
    if (!value || *value < low || *value > high)
      refuse(fmt::format("{} takes numbers from {} to {} with slashes between, as 30/60", key, low, high));
    values.push_back(*value);
  }
  return values;
}

void OptionText::finish() const {
  for (const auto& [key, value] : settings_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    refuse(known_.empty() ? fmt::format("{} has no settings", name_)
                          : fmt::format("{} has no setting {}; it has {}", name_, key, fmt::join(known_, ", ")));
  }
}

}  // namespace ipex_studio

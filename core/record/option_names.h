// Names of enumerated options: command line, window, protocol and records spell them so. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/record/options.h"

namespace ipex_studio {

// kNoun: what such a value is called in an error; kTable: every value with its name.
template <class Enum>
struct EnumNames;

template <>
struct EnumNames<Precision> {
  static constexpr const char* kNoun = "precision";
  static constexpr std::pair<Precision, const char*> kTable[] = {
      {Precision::kFp32, "fp32"}, {Precision::kBf16, "bf16"}, {Precision::kFp16, "fp16"}, {Precision::kInt8, "int8"}};
};

template <>
struct EnumNames<TuneMode> {
  static constexpr const char* kNoun = "tuning mode";
  static constexpr std::pair<TuneMode, const char*> kTable[] = {
      {TuneMode::kOff, "off"}, {TuneMode::kQuick, "quick"}, {TuneMode::kFull, "full"}};
};

template <>
struct EnumNames<NewSizesMode> {
  static constexpr const char* kNoun = "way to meet new sizes";
  static constexpr std::pair<NewSizesMode, const char*> kTable[] = {{NewSizesMode::kAtOnce, "at-once"},
                                                                    {NewSizesMode::kReturning, "returning"},
                                                                    {NewSizesMode::kBackground, "background"}};
};

template <>
struct EnumNames<Hint> {
  static constexpr const char* kNoun = "hint";
  static constexpr std::pair<Hint, const char*> kTable[] = {
      {Hint::kNone, "none"}, {Hint::kLatency, "latency"}, {Hint::kThroughput, "throughput"}};
};

template <>
struct EnumNames<ExportForm> {
  static constexpr const char* kNoun = "export form";
  static constexpr std::pair<ExportForm, const char*> kTable[] = {{ExportForm::kCompiled, "compiled"},
                                                                  {ExportForm::kPortable, "portable"}};
};

// Empty for a value without a name.
template <class Enum>
const char* enumName(Enum value) {
  for (const auto& [candidate, name] : EnumNames<Enum>::kTable) {
    if (candidate == value) return name;
  }
  return "";
}

// Empty for a name that is unknown.
template <class Enum>
std::optional<Enum> enumFromName(const std::string& text) {
  for (const auto& [value, name] : EnumNames<Enum>::kTable) {
    if (text == name) return value;
  }
  return std::nullopt;
}

inline const char* precisionName(Precision precision) { return enumName(precision); }
inline std::optional<Precision> precisionFromName(const std::string& name) { return enumFromName<Precision>(name); }

}  // namespace ipex_studio

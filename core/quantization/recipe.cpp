// JSON form of recipes, with its checks.
#include "core/quantization/recipe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <unordered_set>

#include "core/base/error.h"
#include "core/op/woq_weights.h"
#include "core/record/records_json.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr const char kFormat[] = "ipex-studio-recipe";
constexpr std::size_t kMaxEntries = 200'000;

bool isPrecision(const std::string& name) {
  return name == "auto" || name == "int8" || name == "fp32" || name == "bf16";
}

json valueToJson(const RecipeValue& value) {
  json out = {{"key", value.key},    {"least", value.least}, {"greatest", value.greatest},     {"low", value.low},
              {"high", value.high},  {"scale", value.scale}, {"zero_point", value.zero_point}, {"dtype", "u8"},
              {"count", value.count}};
  if (value.nan != 0) out["nan"] = value.nan;
  if (value.inf != 0) out["inf"] = value.inf;
  if (!value.channel_mean.empty()) out["channel_mean"] = value.channel_mean;
  if (!value.channel_absmax.empty()) out["channel_absmax"] = value.channel_absmax;
  return out;
}

RecipeValue valueFromJson(const json& entry) {
  RecipeValue value;
  value.key = entry.at("key").get<std::string>();
  value.least = entry.at("least").get<double>();
  value.greatest = entry.at("greatest").get<double>();
  value.low = entry.at("low").get<double>();
  value.high = entry.at("high").get<double>();
  value.scale = entry.at("scale").get<double>();
  value.zero_point = entry.at("zero_point").get<std::int64_t>();
  value.count = entry.value("count", std::int64_t{0});
  value.nan = entry.value("nan", std::int64_t{0});
  value.inf = entry.value("inf", std::int64_t{0});
  value.channel_mean = entry.value("channel_mean", std::vector<double>{});
  value.channel_absmax = entry.value("channel_absmax", std::vector<double>{});
  return value;
}

bool allFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// The fault of a value, as the end of a sentence; empty if it has none.
std::string faultOf(const RecipeValue& value) {
  if (!allFinite({value.least, value.greatest, value.low, value.high, value.scale}))
    return "has a number that is not finite";
  if (!(value.scale > 0)) return "has a scale that is not positive";
  constexpr double kMinScale = std::numeric_limits<float>::min();
  if (value.scale < kMinScale || value.scale > 1 / kMinScale)
    return "has a scale that FP32 cannot multiply and divide by";
  if (value.count < 0) return "has a count below zero";
  if (value.zero_point < 0 || value.zero_point > 255) return "has a zero point outside of 0 to 255";
  if (value.low > value.high || value.least > value.greatest) return "has a range that ends before it begins";
  if (!allFinite(value.channel_mean) || !allFinite(value.channel_absmax)) return "has a channel that is not finite";
  return {};
}

constexpr const char* kModes[] = {"static", "dynamic", "weight-only"};

[[noreturn]] void refuseRecipe(const std::string& name, const std::string& why) {
  throw Error(ExitCode::kUsage, fmt::format("{} cannot be used: {}; calibrate again.", name, why));
}

void check(const Recipe& recipe, const std::string& name) {
  const bool whole = recipe.group >= 0 && recipe.group <= kLargestGroup && recipe.group % kNibbleBlock == 0;
  if (!whole)
    refuseRecipe(name, fmt::format("its groups of {} weights are no multiple of {}", recipe.group, kNibbleBlock));
  if (recipe.weight_bits != 8 && (recipe.weight_bits != 4 || recipe.group == 0))
    refuseRecipe(name, "its weights have neither 8 bits nor 4 in groups");
  if (nibbleLevels(recipe.weight_levels) == nullptr || (recipe.weight_bits != 4 && recipe.weight_levels != "even"))
    refuseRecipe(name, "the levels of its weights are neither even nor nf4, which has 4 bits");
  if (recipe.mode != QuantizationMode::kWeightOnly && (recipe.weight_bits != 8 || recipe.group != 0))
    refuseRecipe(name, "groups of weights are for the mode weight-only");
  std::unordered_set<std::string> keys;
  for (const RecipeValue& value : recipe.values) {
    const std::string fault = faultOf(value);
    if (!fault.empty()) refuseRecipe(name, fmt::format("the value '{}' {}", value.key, fault));
    if (!keys.insert(value.key).second) refuseRecipe(name, fmt::format("the value '{}' stands in it twice", value.key));
  }
  keys.clear();
  for (const RecipeNode& node : recipe.nodes) {
    if (!isPrecision(node.precision))
      refuseRecipe(name, fmt::format("'{}' is no precision of '{}'", node.precision, node.key));
    if (!keys.insert(node.key).second)
      refuseRecipe(name, fmt::format("the operation '{}' stands in it twice", node.key));
  }
}

}  // namespace

const RecipeValue* Recipe::value(const std::string& key) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const RecipeValue& value) { return value.key == key; });
  return found == values.end() ? nullptr : &*found;
}

const RecipeNode* Recipe::node(const std::string& key) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const RecipeNode& node) { return node.key == key; });
  return found == nodes.end() ? nullptr : &*found;
}

RecipeNode* Recipe::node(const std::string& key) {
  return const_cast<RecipeNode*>(static_cast<const Recipe*>(this)->node(key));
}

std::string recipeToText(const Recipe& recipe) {
  json out = {{"format", kFormat},
              {"version", kRecipeVersion},
              {"mode", kModes[static_cast<int>(recipe.mode)]},
              {"origin", recipe.origin},
              {"observer", observerName(recipe.observer.kind)},
              {"percentile", recipe.observer.percentile},
              {"samples", recipe.samples},
              {"bias_correction", recipe.bias_correction},
              {"equalization", recipe.equalization},
              {"smooth_alpha", recipe.smooth_alpha}};
  if (recipe.mode == QuantizationMode::kWeightOnly) {
    out["weight_bits"] = recipe.weight_bits;
    out["group"] = recipe.group;
    if (recipe.weight_levels != "even") out["weight_levels"] = recipe.weight_levels;
  }
  if (recipe.quantized_tensors) out["quantized_tensors"] = true;
  out["values"] = json::array();
  for (const RecipeValue& value : recipe.values) out["values"].push_back(valueToJson(value));
  out["nodes"] = json::array();
  for (const RecipeNode& node : recipe.nodes) {
    json entry = {{"key", node.key}, {"module", node.module_path}, {"kind", node.kind}, {"precision", node.precision}};
    if (!node.reason.empty()) entry["reason"] = node.reason;
    out["nodes"].push_back(std::move(entry));
  }
  return dumpJson(out);
}

Recipe recipeFromText(const std::string& text, const std::string& name) {
  Recipe recipe;
  try {
    const json in = parseRecordText(text);
    if (!in.is_object() || in.value("format", "") != kFormat) refuseRecipe(name, "it is no recipe of this program");
    if (in.at("version").get<int>() != kRecipeVersion) {
      refuseRecipe(
          name, fmt::format("its version is {}, this program reads {}", in.at("version").get<int>(), kRecipeVersion));
    }
    const auto* mode = std::find(std::begin(kModes), std::end(kModes), in.value("mode", std::string(kModes[0])));
    if (mode == std::end(kModes)) refuseRecipe(name, "its mode is neither static, dynamic nor weight-only");
    recipe.mode = static_cast<QuantizationMode>(mode - std::begin(kModes));
    recipe.origin = in.value("origin", recipe.origin);
    recipe.observer.kind = observerFromName(in.value("observer", "auto"));
    recipe.observer.percentile = in.value("percentile", recipe.observer.percentile);
    recipe.samples = in.value("samples", std::int64_t{0});
    recipe.bias_correction = in.value("bias_correction", true);
    recipe.equalization = in.value("equalization", false);
    recipe.smooth_alpha = in.value("smooth_alpha", 0.0);
    if (!(recipe.smooth_alpha >= 0 && recipe.smooth_alpha <= 1))
      refuseRecipe(name, "its exponent of SmoothQuant is outside of 0 to 1");
    recipe.weight_bits = in.value("weight_bits", 8);
    recipe.weight_levels = in.value("weight_levels", recipe.weight_levels);
    recipe.group = in.value("group", std::int64_t{0});
    recipe.quantized_tensors = in.value("quantized_tensors", false);
    if (in.at("values").size() > kMaxEntries || in.at("nodes").size() > kMaxEntries)
      refuseRecipe(name, "it is too long");
    for (const json& entry : in.at("values")) recipe.values.push_back(valueFromJson(entry));
    for (const json& entry : in.at("nodes")) {
      RecipeNode node;
      node.key = entry.at("key").get<std::string>();
      node.module_path = entry.value("module", "");
      node.kind = entry.value("kind", "");
      node.precision = entry.at("precision").get<std::string>();
      node.reason = entry.value("reason", "");
      recipe.nodes.push_back(std::move(node));
    }
  } catch (const json::exception&) {
    refuseRecipe(name, "a field is missing or of another type");
  } catch (const Error& problem) {
    if (problem.code() == ExitCode::kUsage) throw;
    refuseRecipe(name, "it is no JSON text");
  }
  check(recipe, name);
  return recipe;
}

Recipe readRecipe(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ExitCode::kUsage, fmt::format("'{}' cannot be read; check the path.", path));
  std::stringstream text;
  text << file.rdbuf();
  return recipeFromText(text.str(), fmt::format("'{}'", path));
}

void writeRecipe(const Recipe& recipe, const std::string& path) {
  const std::string part = fmt::format("{}.{}.part", path, ::getpid());
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << recipeToText(recipe) << '\n';
    file.flush();
    if (!file) {
      std::remove(part.c_str());
      throw Error(ExitCode::kFailure,
                  fmt::format("'{}' could not be written; check the folder and the free space.", path));
    }
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    std::remove(part.c_str());
    throw Error(ExitCode::kFailure,
                fmt::format("'{}' could not be written; check the folder and the free space.", path));
  }
}

void forcePrecision(Recipe& recipe, const std::vector<std::string>& keys, const std::string& precision,
                    const std::string& reason) {
  if (!isPrecision(precision))
    throw Error(ExitCode::kUsage, fmt::format("There is no precision '{}'; use int8, bf16, fp32 or auto.", precision));
  for (const std::string& key : keys) {
    RecipeNode* node = recipe.node(key);
    if (node == nullptr) throw Error(ExitCode::kUsage, fmt::format("The recipe has no operation '{}'.", key));
    node->precision = precision;
    node->reason = reason;
  }
}

}  // namespace ipex_studio

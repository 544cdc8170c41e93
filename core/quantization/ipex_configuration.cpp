// Reader and writer of Intel Extension for PyTorch's configuration files.
#include "core/quantization/ipex_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/record/records_json.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

[[noreturn]] void refuseConfiguration(const std::string& name, const std::string& why) {
  throw Error(ExitCode::kUsage, fmt::format("{} cannot be used: {}.", name, why));
}

// Returns a number, or the first of a list; nullopt if there is none.
std::optional<double> firstNumber(const json& entry) {
  const json* at = &entry;
  for (int depth = 0; at->is_array() && depth < 3; ++depth) {
    if (at->empty()) return std::nullopt;
    at = &at->front();
  }
  if (!at->is_number()) return std::nullopt;
  return at->get<double>();
}

bool isQuantized(const std::string& dtype) {
  return dtype.find("quint8") != std::string::npos || dtype.find("qint8") != std::string::npos;
}

// The entry of one tensor in a configuration file.
struct TensorInfo {
  bool quantized = false;
  std::optional<AffineParameters> affine;  // of u8
};

TensorInfo makeInfo(bool quantized, std::optional<double> scale, std::optional<double> zero, bool is_signed,
                    const std::string& name) {
  TensorInfo info{quantized, std::nullopt};
  if (!scale) return info;
  const double point = zero.value_or(0) + (is_signed ? 128 : 0);
  if (!std::isfinite(*scale) || !(*scale > 0) || !(point >= 0 && point <= 255))
    refuseConfiguration(name, "it holds a scale or zero point that no u8 tensor has");
  info.affine = AffineParameters{*scale, static_cast<std::int64_t>(point)};
  return info;
}

// One operation of a configuration file.
struct FileOperation {
  std::string fqn;   // 2.x
  std::string type;  // "convolution", "linear", "matmul", or the word of the file
  std::vector<TensorInfo> inputs, outputs;
};

std::string typeOf(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("onv") && !has("ranspose")) return "convolution";
  if (has("inear")) return "linear";
  if (has("matmul") || has("bmm")) return "matmul";
  return text;
}

std::vector<TensorInfo> dictionaryTensors(const json& operation, const char* field, const std::string& name) {
  std::vector<TensorInfo> infos;
  for (const json& entry : operation.value(field, json::array())) {
    if (!entry.is_object() || entry.empty()) {
      infos.emplace_back();
      continue;
    }
    const auto word = [&](const char* key) {
      return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : std::string();
    };
    const std::string forced = word("force_dtype"), inferred = word("inf_dtype");
    const std::string& decides = forced.empty() ? inferred : forced;
    infos.push_back(makeInfo(
        isQuantized(decides), firstNumber(entry.value("scale", json())), firstNumber(entry.value("zero_point", json())),
        decides.find("quint8") == std::string::npos && decides.find("qint8") != std::string::npos, name));
  }
  return infos;
}

std::vector<FileOperation> readDictionary(const json& in, const std::string& name) {
  std::vector<FileOperation> operations;
  for (const auto& [module, entry] : in.items()) {
    if (!entry.is_object() || !entry.contains("q_op_infos")) continue;
    // The keys are numbers in text form: order them as numbers, not as text.
    std::map<long, const json*> ordered;
    for (const auto& [number, operation] : entry["q_op_infos"].items())
      ordered[std::strtol(number.c_str(), nullptr, 10)] = &operation;
    for (const auto& [number, operation] : ordered) {
      FileOperation made;
      made.fqn = operation->value("fqn", "");
      made.type = typeOf(operation->value("op_type", ""));
      made.inputs = dictionaryTensors(*operation, "input_tensor_infos", name);
      made.outputs = dictionaryTensors(*operation, "output_tensor_infos", name);
      operations.push_back(std::move(made));
    }
  }
  return operations;
}

std::vector<TensorInfo> listTensors(const json& entry, const std::string& side, const std::string& name) {
  const json flags = entry.value(side + "s_quantized", json::array()),
             scales = entry.value(side + "_scales", json::array());
  const json zeros = entry.value(side + "_zero_points", json::array()),
             dtypes = entry.value(side + "_quantized_dtypes", json::array());
  std::vector<TensorInfo> infos;
  for (std::size_t i = 0; i < std::max(flags.size(), scales.size()); ++i) {
    const bool quantized = i < flags.size() && flags[i].is_boolean() ? flags[i].get<bool>() : i < scales.size();
    const std::string dtype = i < dtypes.size() && dtypes[i].is_string() ? dtypes[i].get<std::string>() : "uint8";
    infos.push_back(makeInfo(quantized, i < scales.size() ? firstNumber(scales[i]) : std::nullopt,
                             i < zeros.size() ? firstNumber(zeros[i]) : std::nullopt,
                             dtype.find("uint8") == std::string::npos, name));
  }
  return infos;
}

std::vector<FileOperation> readList(const json& in, const std::string& name) {
  std::vector<FileOperation> operations;
  for (const json& entry : in) {
    FileOperation made;
    made.type = typeOf(entry.at("name").get<std::string>());
    made.inputs = listTensors(entry, "input", name);
    made.outputs = listTensors(entry, "output", name);
    operations.push_back(std::move(made));
  }
  return operations;
}

bool isList(const json& in) {
  return in.is_array() && !in.empty() && in[0].is_object() && in[0].contains("id") && in[0].contains("name");
}

bool isDictionary(const json& in) {
  return in.is_object() && std::any_of(in.begin(), in.end(), [](const json& entry) {
           return entry.is_object() && entry.contains("q_op_infos");
         });
}

class Builder {
 public:
  Builder(const CalibrationPlan& plan, const Recipe& observed, const std::string& name)
      : plan_(plan), recipe_(observed), name_(name) {
    recipe_.origin = "int8_conf.json";
    recipe_.nodes = plan.candidates;
  }

  Recipe build(const std::vector<FileOperation>& operations, bool by_order) {
    by_order ? matchByOrder(operations) : matchByName(operations);
    if (matched_ == 0)
      refuseConfiguration(name_, "it belongs to another model: it names none of this one's operations");
    return std::move(recipe_);
  }

 private:
  void matchByName(const std::vector<FileOperation>& operations) {
    std::map<std::string, const FileOperation*> named;
    for (const FileOperation& operation : operations) {
      if (!operation.fqn.empty()) named.emplace(operation.fqn, &operation);
    }
    for (std::size_t n = 0; n < recipe_.nodes.size(); ++n) {
      if (recipe_.nodes[n].precision != "int8") continue;
      const auto found = named.find(recipe_.nodes[n].module_path);
      apply(n, found == named.end() ? nullptr : found->second);
    }
  }

  void matchByOrder(const std::vector<FileOperation>& operations) {
    std::map<std::string, std::vector<const FileOperation*>> by_type;
    for (const FileOperation& operation : operations) by_type[operation.type].push_back(&operation);
    std::map<std::string, std::size_t> next;
    for (std::size_t n = 0; n < recipe_.nodes.size(); ++n) {
      if (recipe_.nodes[n].precision != "int8") continue;
      const auto& same = by_type[recipe_.nodes[n].kind];
      const std::size_t at = next[recipe_.nodes[n].kind]++;
      apply(n, at < same.size() ? same[at] : nullptr);
    }
    for (const char* type : {"convolution", "linear"}) {
      if (next[type] != by_type[type].size()) {
        refuseConfiguration(name_,
                            fmt::format("it belongs to another model: it has {} operations of kind {}, this one {}",
                                        by_type[type].size(), type, next[type]));
      }
    }
  }

  void apply(std::size_t n, const FileOperation* operation) {
    RecipeNode& node = recipe_.nodes[n];
    if (operation != nullptr) ++matched_;
    const bool quantized = operation != nullptr && !operation->inputs.empty() && operation->inputs[0].quantized;
    if (!quantized) {
      node.precision = "fp32";
      node.reason = fmt::format("{} does not quantize it", name_);
      return;
    }
    for (std::size_t i = 0; i < operation->inputs.size() && i < plan_.reads[n].size(); ++i)
      setValue(plan_.reads[n][i], operation->inputs[i]);
    if (!operation->outputs.empty() && operation->outputs[0].quantized)
      setValue(plan_.writes[n], operation->outputs[0]);
  }

  void setValue(int point, const TensorInfo& info) {
    if (point < 0 || !info.affine) return;
    const std::string& key = plan_.points[static_cast<std::size_t>(point)].key;
    auto found = std::find_if(recipe_.values.begin(), recipe_.values.end(),
                              [&](const RecipeValue& value) { return value.key == key; });
    if (found == recipe_.values.end()) {
      recipe_.values.emplace_back();
      found = std::prev(recipe_.values.end());
      found->key = key;
    }
    found->scale = info.affine->scale;
    found->zero_point = info.affine->zero_point;
    found->low = -found->scale * static_cast<double>(found->zero_point);
    found->high = found->scale * static_cast<double>(255 - found->zero_point);
    if (found->count > 0) return;
    found->least = found->low;
    found->greatest = found->high;
  }

  const CalibrationPlan& plan_;
  Recipe recipe_;
  const std::string& name_;
  std::size_t matched_ = 0;
};

json parsed(const std::string& text) {
  try {
    return parseRecordText(text);
  } catch (const Error&) {
    return {};
  }
}

// Writes a tensor as 2.x does.
json tensorInfo(const Recipe& recipe, const CalibrationPlan& plan, int point, bool quantized) {
  json info = {{"id", point}, {"orig_dtype", "torch.float32"}};
  const RecipeValue* value = point < 0 ? nullptr : recipe.value(plan.points[static_cast<std::size_t>(point)].key);
  const char* dtype = quantized && value != nullptr ? "torch.quint8" : "torch.float32";
  info["inf_dtype"] = info["force_dtype"] = dtype;
  if (value != nullptr) {
    info["scale"] = json::array({value->scale});
    info["zero_point"] = json::array({value->zero_point});
  }
  return info;
}

const char* moduleClass(const std::string& kind) {
  if (kind == "convolution") return "<class 'torch.nn.modules.conv.Conv2d'>";
  if (kind == "linear") return "<class 'torch.nn.modules.linear.Linear'>";
  return "<built-in method matmul of type object>";
}

}  // namespace

bool looksLikeIpexConfiguration(const std::string& text) {
  const json in = parsed(text);
  return isList(in) || isDictionary(in);
}

Recipe recipeFromIpexConfiguration(const std::string& text, const CalibrationPlan& plan, const Recipe& observed,
                                   const std::string& name) {
  const json in = parsed(text);
  const bool is_list = isList(in);
  if (!is_list && !isDictionary(in)) refuseConfiguration(name, "it is no configuration of Intel Extension for PyTorch");
  try {
    return Builder(plan, observed, name).build(is_list ? readList(in, name) : readDictionary(in, name), is_list);
  } catch (const json::exception&) {
    refuseConfiguration(name, "a field is missing or of another type");
  }
}

namespace {

bool isInt8(const Recipe& recipe, const std::string& key) {
  const RecipeNode* node = recipe.node(key);
  return node != nullptr && node->precision == "int8";
}

// Points that a product reads, as its base operands.
std::vector<int> operandsOf(const CalibrationPlan& plan, std::size_t candidate) {
  const std::vector<int>& reads = plan.reads[candidate];
  const std::size_t base = plan.candidates[candidate].kind == "matmul" ? 2 : 1;
  return {reads.begin(), reads.begin() + static_cast<std::ptrdiff_t>(std::min(base, reads.size()))};
}

json dictionaryOf(const Recipe& recipe, const CalibrationPlan& plan) {
  json operations = json::object();
  std::size_t number = 0;
  for (std::size_t n = 0; n < plan.candidates.size(); ++n) {
    const RecipeNode& candidate = plan.candidates[n];
    if (candidate.precision != "int8") continue;
    const bool quantized = isInt8(recipe, candidate.key);
    json entry = {{"op_type", moduleClass(candidate.kind)},
                  {"op_type_is_module", candidate.kind != "matmul"},
                  {"fqn", candidate.module_path}};
    entry["input_tensor_infos"] = json::array();
    for (const int point : operandsOf(plan, n))
      entry["input_tensor_infos"].push_back(tensorInfo(recipe, plan, point, quantized));
    entry["weight_tensor_infos"] = json::array();
    if (candidate.kind != "matmul") {
      const char* dtype = quantized ? "torch.qint8" : "torch.float32";
      entry["weight_tensor_infos"].push_back({{"orig_dtype", "torch.float32"}, {"inf_dtype", dtype}});
    }
    entry["output_tensor_infos"] = json::array({tensorInfo(recipe, plan, plan.writes[n], false)});
    operations[std::to_string(number++)] = std::move(entry);
  }
  json module = {
      {"q_op_infos", std::move(operations)}, {"nonq_op_infos", json::object()}, {"layer_output_infos", json::array()}};
  return json{{" ", std::move(module)}};
}

// Writes the tensors of one side of an operation in the list.
void listSide(const Recipe& recipe, const CalibrationPlan& plan, const std::vector<int>& points, bool quantized,
              const std::string& side, json* entry) {
  for (const char* field : {"_scales", "_zero_points", "_quantized_dtypes"}) (*entry)[side + field] = json::array();
  (*entry)[side + "s_quantized"] = json::array();
  for (const int point : points) {
    const RecipeValue* value = point < 0 ? nullptr : recipe.value(plan.points[static_cast<std::size_t>(point)].key);
    (*entry)[side + "_scales"].push_back(value == nullptr ? 1 : value->scale);
    (*entry)[side + "_zero_points"].push_back(value == nullptr ? 0 : value->zero_point);
    (*entry)[side + "_quantized_dtypes"].push_back("uint8");
    (*entry)[side + "s_quantized"].push_back(quantized && value != nullptr);
  }
}

const char* listName(const std::string& kind) { return kind == "convolution" ? "conv2d" : kind.c_str(); }

json listOf(const Recipe& recipe, const CalibrationPlan& plan) {
  json operations = json::array();
  std::map<int, std::string> producers;  // of points, as "3.0": result 0 of operation 3
  for (std::size_t n = 0; n < plan.candidates.size(); ++n) {
    const RecipeNode& candidate = plan.candidates[n];
    if (candidate.precision != "int8") continue;
    const std::size_t id = operations.size();
    json entry = {{"id", id},
                  {"name", listName(candidate.kind)},
                  {"algorithm", "min_max"},
                  {"weight_granularity", "per_channel"},
                  {"weight_scales", json::array()}};
    const std::vector<int> reads = operandsOf(plan, n);
    listSide(recipe, plan, reads, isInt8(recipe, candidate.key), "input", &entry);
    listSide(recipe, plan, {plan.writes[n]}, false, "output", &entry);
    entry["inputs_flow"] = json::array();
    for (const int point : reads) {
      const auto producer = producers.find(point);
      entry["inputs_flow"].push_back(producer == producers.end() ? "" : producer->second);
    }
    const std::string flow = fmt::format("{}.0", id);
    entry["outputs_flow"] = json::array({flow});
    producers[plan.writes[n]] = flow;
    operations.push_back(std::move(entry));
  }
  return operations;
}

}  // namespace

std::string ipexConfigurationText(const Recipe& recipe, const CalibrationPlan& plan, IpexForm form) {
  return (form == IpexForm::kList ? listOf(recipe, plan) : dictionaryOf(recipe, plan)).dump(4);
}

}  // namespace ipex_studio

// Text form of PlanSpec: JSON writer, and the reader that checks every number.
#include "core/op/plan_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr const char* kIntOpNames[] = {"literal", "size", "add", "sub", "mul", "floordiv", "mod", "neg", "max", "min"};
constexpr int kIntOpArity[] = {0, 1, 2, 2, 2, 2, 2, 1, 2, 2};
constexpr std::size_t kMaxNodes = 100000;
constexpr std::size_t kMaxOperands = 100000;

[[noreturn]] void damaged(const std::string& why) {
  throw Error(ExitCode::kBadModel,
              fmt::format("The plan inside this file is damaged ({}); export the model again.", why));
}

json toJson(const PlanNode& node) {
  if (node.is_int) {
    return {{"int", kIntOpNames[static_cast<int>(node.int_op)]},
            {"literal", node.literal},
            {"src", node.src},
            {"dst", node.dst}};
  }
  json out = {
      {"op", node.op.text()}, {"src", node.src}, {"dst", node.dst}, {"name", node.name}, {"origins", node.origins}};
  for (const AttrRef& ref : node.refs) out["refs"].push_back({ref.attribute, ref.index, ref.value});
  return out;
}

template <typename T>
T field(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) damaged(fmt::format("'{}' is missing", name));
  return found->get<T>();
}

std::vector<std::int32_t> indexList(const json& object, const char* name) {
  const auto& list = object.at(name);
  if (!list.is_array() || list.size() > kMaxOperands) damaged(fmt::format("'{}' is no short list", name));
  std::vector<std::int32_t> values;
  for (const json& entry : list) {
    const auto value = entry.get<std::int64_t>();
    if (!entry.is_number_integer() || value < -1 || value > (1 << 30)) damaged("a value number is out of range");
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

PlanNode nodeFromJson(const json& object) {
  PlanNode node;
  node.src = indexList(object, "src");
  node.dst = indexList(object, "dst");
  if (object.contains("int")) {
    node.is_int = true;
    const auto name = field<std::string>(object, "int");
    const auto found = std::find(std::begin(kIntOpNames), std::end(kIntOpNames), name);
    if (found == std::end(kIntOpNames)) damaged("an integer operation is unknown");
    const auto op = found - std::begin(kIntOpNames);
    node.int_op = static_cast<IntOp>(op);
    node.literal = field<std::int64_t>(object, "literal");
    if (static_cast<int>(node.src.size()) != kIntOpArity[op] || node.dst.size() != 1)
      damaged("an integer operation has wrong operands");
    return node;
  }
  node.op = parseOpSpec(field<std::string>(object, "op"));
  node.name = field<std::string>(object, "name");
  node.origins = field<std::vector<OriginId>>(object, "origins");
  if (node.dst.empty() || node.dst.size() > 2) damaged("an operation has no result");
  if (!object.contains("refs")) return node;
  for (const json& ref : object.at("refs")) {
    node.refs.push_back({ref.at(0).get<std::string>(), ref.at(1).get<std::int32_t>(), ref.at(2).get<std::int32_t>()});
  }
  return node;
}

// The meaning of each value number, filled in the order of definition.
class ValueTable {
 public:
  void define(std::int32_t value, bool is_int) {
    if (value != static_cast<std::int32_t>(is_int_.size())) damaged("values are not numbered in order");
    is_int_.push_back(is_int);
  }
  void use(std::int32_t value, bool is_int) const {
    if (value < 0 || value >= static_cast<std::int32_t>(is_int_.size()))
      damaged("a value is used before it is defined");
    if (is_int_[value] != is_int) damaged("a tensor and an integer are confused");
  }

 private:
  std::vector<bool> is_int_;
};

void checkRef(const PlanNode& node, const AttrRef& ref, const ValueTable& values) {
  values.use(ref.value, true);
  const auto found = node.op.attributes.find(ref.attribute);
  if (found == node.op.attributes.end()) damaged("an attribute is missing");
  if (ref.index < 0) {
    if (ref.index != -1 || !std::holds_alternative<std::int64_t>(found->second)) damaged("an attribute is no integer");
    return;
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second);
  if (list == nullptr || ref.index >= static_cast<std::int32_t>(list->size()))
    damaged("an attribute list is too short");
}

void check(const PlanSpec& spec) {
  ValueTable values;
  std::int32_t next = 0;
  for (const auto& input : spec.inputs) values.define(next++, input.is_int);
  for (std::size_t c = 0; c < spec.constants.size(); ++c) values.define(next++, false);
  for (const PlanNode& node : spec.nodes) {
    const bool int_operands = node.is_int && node.int_op != IntOp::kSize;
    for (std::int32_t src : node.src) {
      if (src == -1 && !node.is_int) continue;
      values.use(src, int_operands);
    }
    for (const AttrRef& ref : node.refs) checkRef(node, ref, values);
    for (std::int32_t dst : node.dst) values.define(dst, node.is_int);
  }
  for (std::int32_t output : spec.outputs) values.use(output, false);
}

TensorDesc constantFromJson(const json& object) {
  const DType dtype = dtypeFromName(field<std::string>(object, "dtype"));
  const auto sizes = field<std::vector<std::int64_t>>(object, "sizes");
  if (dtype == DType::kNone || sizes.size() > kMaxRank) damaged("a constant has no type or too many dimensions");
  std::int64_t count = 1;
  for (std::int64_t size : sizes) {
    if (size < 0 || size > (std::int64_t{1} << 40) || (size > 0 && count > (std::int64_t{1} << 40) / size)) {
      damaged("a constant's sizes are out of range");
    }
    count *= size;
  }
  return contiguousDesc(dtype, Dims(sizes));
}

PlanSpec fromJson(const json& object) {
  PlanSpec spec;
  if (field<int>(object, "plan") != kPlanSpecVersion) {
    throw Error(ExitCode::kBadModel,
                fmt::format("The plan inside this file has version {}, this build reads version {}; "
                            "export the model again with this version.",
                            object.at("plan").dump(), kPlanSpecVersion));
  }
  for (const json& entry : object.at("inputs")) {
    PlanSpec::Input input;
    input.is_int = entry.is_string();
    if (!input.is_int) {
      input.dtype = dtypeFromName(entry.at(0).get<std::string>());
      input.rank = entry.at(1).get<std::int32_t>();
      if (input.dtype == DType::kNone || input.rank < 0 || input.rank > kMaxRank) damaged("an input has no type");
    }
    spec.inputs.push_back(input);
  }
  for (const json& entry : object.at("constants")) spec.constants.push_back(constantFromJson(entry));
  const json& nodes = object.at("nodes");
  if (!nodes.is_array() || nodes.size() > kMaxNodes) damaged("it has too many nodes");
  for (const json& entry : nodes) spec.nodes.push_back(nodeFromJson(entry));
  spec.outputs = indexList(object, "outputs");
  return spec;
}

}  // namespace

std::int32_t PlanSpec::valueCount() const {
  std::size_t count = inputs.size() + constants.size();
  for (const PlanNode& node : nodes) count += node.dst.size();
  return static_cast<std::int32_t>(count);
}

std::string planSpecToText(const PlanSpec& spec) {
  json out = {{"plan", kPlanSpecVersion}, {"outputs", spec.outputs}};
  out["inputs"] = json::array();
  out["constants"] = json::array();
  out["nodes"] = json::array();
  for (const auto& input : spec.inputs) {
    out["inputs"].push_back(input.is_int ? json("int") : json{dtypeName(input.dtype), input.rank});
  }
  for (const TensorDesc& constant : spec.constants) {
    out["constants"].push_back({{"dtype", dtypeName(constant.dtype)}, {"sizes", constant.dims.toVector()}});
  }
  for (const PlanNode& node : spec.nodes) out["nodes"].push_back(toJson(node));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

PlanSpec planSpecFromText(const std::string& text) {
  try {
    PlanSpec spec = fromJson(json::parse(text));
    check(spec);
    return spec;
  } catch (const json::exception& problem) {
    damaged(problem.what());
  }
}

}  // namespace ipex_studio

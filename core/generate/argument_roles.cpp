// See argument_roles.h.
#include "core/generate/argument_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/torch/tensor_types.h"

namespace ipex_studio {
namespace {

constexpr std::pair<const char*, ArgumentRole> kRoles[] = {
    {"ids", ArgumentRole::kIds},
    {"cache", ArgumentRole::kCache},
    {"mask", ArgumentRole::kMask},
    {"positions", ArgumentRole::kPositions},
    {"cache-positions", ArgumentRole::kCachePositions},
    {"other", ArgumentRole::kOther},
};

c10::TypePtr withoutOptional(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::OptionalType ? type->expectRef<c10::OptionalType>().getElementType() : type;
}

bool isTensor(const c10::TypePtr& type) { return withoutOptional(type)->kind() == c10::TypeKind::TensorType; }
bool isInteger(const c10::TypePtr& type) { return withoutOptional(type)->kind() == c10::TypeKind::IntType; }

std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// True if one of the words is in the name.
bool names(const std::string& name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

// "k", "v3", "k_cache", "key_0", "values.1".
bool namesKeyOrValue(const std::string& name) {
  for (const char* word : {"keys", "values", "key", "value", "k", "v"}) {
    if (name.rfind(word, 0) != 0) continue;
    const std::string rest = name.substr(std::string(word).size());
    return rest.empty() || std::isalpha(static_cast<unsigned char>(rest[0])) == 0;
  }
  return false;
}

std::optional<ArgumentRole> roleByName(const std::string& name, const c10::TypePtr& type) {
  const bool place = isTensor(type) || isInteger(type);
  if (place && names(name, {"cache_pos", "input_pos", "start_pos", "cache_len", "offset"}))
    return ArgumentRole::kCachePositions;
  if (place && names(name, {"position", "pos_ids"})) return ArgumentRole::kPositions;
  if (place && (name == "pos" || (isInteger(type) && names(name, {"past_len"})))) return ArgumentRole::kPositions;
  if (!holdsTensors(*type)) return ArgumentRole::kOther;
  if (names(name, {"mask"})) return ArgumentRole::kMask;
  if (names(name, {"past", "cache", "kv", "mems", "hidden", "state"}) || namesKeyOrValue(name))
    return ArgumentRole::kCache;
  if (!isTensor(type)) return ArgumentRole::kCache;
  if (names(name, {"type", "lang", "segment", "embed"})) return ArgumentRole::kOther;
  return std::nullopt;  // a tensor of no telling name
}

ArgumentRole roleNamed(const std::string& text, const std::string& role) {
  for (const auto& [word, known] : kRoles) {
    if (role == word) return known;
  }
  throw Error(ExitCode::kUsage,
              fmt::format("--role {}: a role is ids, cache, mask, positions, cache-positions or other.", text));
}

// The role that `given` says; throws for a text that is none.
std::pair<std::size_t, ArgumentRole> givenRole(const c10::FunctionSchema& schema, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw Error(ExitCode::kUsage, fmt::format("--role {}: write ARGUMENT=ROLE, as in --role x=ids.", text));
  const std::string name = text.substr(0, equals);
  for (std::size_t a = 1; a < schema.arguments().size(); ++a) {
    if (schema.arguments()[a].name() == name) return {a - 1, roleNamed(text, text.substr(equals + 1))};
  }
  throw Error(ExitCode::kUsage, fmt::format("--role {}: the model has no input '{}'.", text, name));
}

// The argument of ids: one whose name says so, else the first tensor of no telling name.
std::optional<std::size_t> idsAmong(const c10::FunctionSchema& schema,
                                    const std::vector<std::optional<ArgumentRole>>& roles) {
  std::optional<std::size_t> first;
  for (std::size_t a = 0; a < roles.size(); ++a) {
    if (roles[a]) continue;
    if (names(lowerCase(schema.arguments()[a + 1].name()), {"ids", "tok", "input"})) return a;
    if (!first) first = a;
  }
  return first;
}

}  // namespace

std::vector<ArgumentRole> argumentRoles(const c10::FunctionSchema& schema, const std::vector<std::string>& given) {
  std::vector<std::optional<ArgumentRole>> roles;
  for (std::size_t a = 1; a < schema.arguments().size(); ++a)
    roles.push_back(roleByName(lowerCase(schema.arguments()[a].name()), schema.arguments()[a].type()));
  for (const std::string& text : given) {
    const auto [argument, role] = givenRole(schema, text);
    roles[argument] = role;
  }
  if (std::find(roles.begin(), roles.end(), ArgumentRole::kIds) == roles.end()) {
    if (const auto ids = idsAmong(schema, roles)) roles[*ids] = ArgumentRole::kIds;
  }
  std::vector<ArgumentRole> all;
  for (const auto& role : roles) all.push_back(role.value_or(ArgumentRole::kOther));
  if (std::count(all.begin(), all.end(), ArgumentRole::kIds) != 1)
    throw Error(ExitCode::kUnsupported,
                "generate needs a model with one input of token ids; say which it is by --role ARGUMENT=ids.");
  return all;
}

}  // namespace ipex_studio

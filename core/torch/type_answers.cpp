#include "core/torch/type_answers.h"

#include <map>
#include <string>

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;

struct Question {
  AskedFact asked;
  IValue (*answer)(at::ScalarType dtype);  // nullptr: the rank
};

template <bool kAnswer>
IValue always(at::ScalarType) {
  return kAnswer;
}

const std::map<std::string, Question>& questions() {
  static const std::map<std::string, Question> table = {
      {"prim::dtype", {AskedFact::kDtype, [](at::ScalarType t) -> IValue { return static_cast<std::int64_t>(t); }}},
      {"aten::is_floating_point",
       {AskedFact::kDtype, [](at::ScalarType t) -> IValue { return at::isFloatingType(t); }}},
      {"aten::is_complex", {AskedFact::kDtype, [](at::ScalarType t) -> IValue { return at::isComplexType(t); }}},
      {"aten::element_size",
       {AskedFact::kDtype, [](at::ScalarType t) -> IValue { return static_cast<std::int64_t>(c10::elementSize(t)); }}},
      {"aten::dim", {AskedFact::kRank, nullptr}},
      {"prim::device", {AskedFact::kKind, [](at::ScalarType) -> IValue { return at::Device(at::kCPU); }}},
      {"prim::is_cpu", {AskedFact::kKind, &always<true>}},
      {"prim::is_cuda", {AskedFact::kKind, &always<false>}},
      {"prim::is_meta", {AskedFact::kKind, &always<false>}},
      {"prim::is_mps", {AskedFact::kKind, &always<false>}},
      {"prim::is_nested", {AskedFact::kKind, &always<false>}},
      {"prim::is_vulkan", {AskedFact::kKind, &always<false>}},
      {"prim::is_xpu", {AskedFact::kKind, &always<false>}},
      {"prim::requires_grad", {AskedFact::kKind, &always<false>}},
  };
  return table;
}

}  // namespace

AskedFact askedFact(const Node* node) {
  const auto found = questions().find(node->kind().toQualString());
  return found == questions().end() ? AskedFact::kNone : found->second.asked;
}

const std::vector<const char*>& tensorQuestions() {
  static const std::vector<const char*> kinds = [] {
    std::vector<const char*> names;
    for (const auto& [name, question] : questions()) names.push_back(name.c_str());
    return names;
  }();
  return kinds;
}

std::optional<IValue> answerByType(const Node* node, const c10::TensorType& type) {
  const auto found = questions().find(node->kind().toQualString());
  if (found == questions().end() || !type.scalarType()) return std::nullopt;
  if (found->second.answer != nullptr) return found->second.answer(*type.scalarType());
  return type.dim() ? std::optional<IValue>(static_cast<std::int64_t>(*type.dim())) : std::nullopt;
}

}  // namespace ipex_studio

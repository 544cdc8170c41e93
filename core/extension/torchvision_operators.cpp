// Declares operators with libtorch's interpreter alone, which forgets them again; its dispatcher does not learn of
// them.
#include "core/extension/torchvision_operators.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <mutex>
#include <set>

#include "core/file/operator_table.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Module;
using torch::jit::Node;

namespace {

constexpr char kTheirs[] = "torchvision::", kOurs[] = "ipex_studio::";

std::string withNamespace(const char* space, const std::string& full) {
  return space + full.substr(full.rfind(':') + 1);
}

bool isDefined(const std::string& name) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty();
}

// The names that live objects declare.
struct Declared {
  std::mutex mutex;
  int users = 0;
  std::vector<c10::FunctionSchema> schemas;

  static Declared& instance() {
    static Declared declared;
    return declared;
  }
};

// Gives nodes of these kinds the same names in another namespace; returns the old or new names of torchvision.
std::set<std::string> exchangeNames(Graph& graph, const std::set<std::string>& kinds, const char* space) {
  std::set<std::string> names;
  for (Node* node : allNodes(graph)) {
    const std::string kind = node->kind().toQualString();
    if (kinds.count(kind) == 0) continue;
    node->replaceWithNewSymbol(c10::Symbol::fromQualString(withNamespace(space, kind)));
    node->destroy();
    names.insert(withNamespace(kTheirs, kind));
  }
  return names;
}

}  // namespace

TorchvisionNames::TorchvisionNames() {
  Declared& declared = Declared::instance();
  const std::lock_guard<std::mutex> lock(declared.mutex);
  if (declared.users++ > 0) return;
  for (const std::string& name : ownOperators()) {
    const auto own = c10::Dispatcher::singleton().findSchema({withNamespace(kOurs, name), ""});
    if (!own || isDefined(name)) continue;
    const c10::OperatorHandle handle = *own;
    declared.schemas.push_back(own->schema().cloneWithName(name, ""));
    torch::jit::registerOperator(torch::jit::Operator(
        toString(declared.schemas.back()), [handle](torch::jit::Stack& stack) { handle.callBoxed(&stack); },
        c10::AliasAnalysisKind::FROM_SCHEMA));
  }
}

TorchvisionNames::~TorchvisionNames() {
  Declared& declared = Declared::instance();
  const std::lock_guard<std::mutex> lock(declared.mutex);
  if (--declared.users > 0) return;
  for (const c10::FunctionSchema& schema : declared.schemas) torch::jit::deregisterOperator(schema);
  declared.schemas.clear();
}

std::vector<std::string> takeOwnOperators(const Module& module) {
  std::set<std::string> declared, names;
  {
    const std::lock_guard<std::mutex> lock(Declared::instance().mutex);
    for (const c10::FunctionSchema& schema : Declared::instance().schemas) declared.insert(schema.name());
  }
  forEachGraph(module, [&](Graph& graph) { names.merge(exchangeNames(graph, declared, kOurs)); });
  return {names.begin(), names.end()};
}

std::vector<std::string> nameTorchvision(Graph& graph) {
  std::set<std::string> kinds;
  for (const std::string& name : ownOperators()) {
    if (isDefined(name)) kinds.insert(withNamespace(kOurs, name));
  }
  const std::set<std::string> names = exchangeNames(graph, kinds, kTheirs);
  return {names.begin(), names.end()};
}

}  // namespace ipex_studio

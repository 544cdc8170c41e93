// See weight_work.h.
#include "core/model/weight_work.h"

#include <fmt/format.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <vector>

#include "core/graph/origins.h"
#include "core/torch/silent_writes.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kNamed = 3;

bool isView(const std::string& kind) {
  static const std::set<std::string> views = {"t",      "transpose", "permute", "view",        "unsqueeze", "squeeze",
                                              "detach", "expand",    "slice",   "select",      "numpy_T",   "alias",
                                              "chunk",  "split",     "size",    "__getitem__", "dim",       "len"};
  return views.count(kind) > 0;
}

bool drawsOrWrites(const Node* node, const std::string& kind) {
  return kind.find("rand") != std::string::npos || kind.find("dropout") != std::string::npos || kind.back() == '_' ||
         node->hasSideEffects() || writesOperands(node);
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// Walks forward in order: a value is known if it is made of weights and constants alone.
class WeightWork {
 public:
  void read(const Node* node) {
    const std::string kind = node->kind().toUnqualString();
    const bool attribute = node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::Constant;
    const bool list = node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::TupleConstruct;
    if (!attribute && !list && !node->kind().is_aten()) return;
    if (!node->blocks().empty() || drawsOrWrites(node, kind)) return;
    if (!attribute && !std::all_of(node->inputs().begin(), node->inputs().end(),
                                   [&](const Value* input) { return known_.count(input) > 0; }))
      return;
    for (const Value* output : node->outputs()) known_.insert(output);
    const bool reads_tensor = std::any_of(node->inputs().begin(), node->inputs().end(), isTensor);
    if (attribute || list || !reads_tensor || isView(kind) || node->outputs().size() != 1 || !isTensor(node->output()))
      return;
    ++count_;
    if (std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) kinds_.push_back(kind);
  }

  std::string sentence() const {
    if (count_ == 0) return {};
    const bool more = kinds_.size() > kNamed;
    const std::vector<std::string> named(kinds_.begin(), kinds_.begin() + (more ? kNamed : kinds_.size()));
    return fmt::format(
        "{} operation{} on weights alone ({}{}) {} done anew in each run of the file; here {} done once, before the "
        "first.",
        count_, count_ == 1 ? "" : "s", fmt::join(named, ", "), more ? " …" : "", count_ == 1 ? "is" : "are",
        count_ == 1 ? "it is" : "they are");
  }

 private:
  std::unordered_set<const Value*> known_;
  std::vector<std::string> kinds_;
  std::int64_t count_ = 0;
};

}  // namespace

std::string weightWorkSentence(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  WeightWork work;
  for (const Node* node : allNodes(*graph, /*with_constants=*/true)) work.read(node);
  return work.sentence();
}

}  // namespace ipex_studio

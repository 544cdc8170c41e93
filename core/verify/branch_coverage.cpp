// Counting of the blocks that a run enters.
#include "core/verify/branch_coverage.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/model/run_mode.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr const char* kEntriesAttribute = "ipex_studio_entries";  // int64 [blocks + 1]; the last one: all together
constexpr const char* kOnesAttribute = "ipex_studio_ones";        // int64 [most entries], one element in memory
constexpr std::int64_t kFirstMostEntries = 1'000'000;
constexpr std::int64_t kLargestInteger = 4096;

bool isCounted(const Block* block) {
  const Node* owner = block->owningNode();
  if (owner == nullptr || (owner->kind() != c10::prim::If && owner->kind() != c10::prim::Loop)) return false;
  return std::none_of(block->nodes().begin(), block->nodes().end(),
                      [](const Node* node) { return node->kind() == c10::prim::RaiseException; });
}

std::int32_t countedBlocks(const Block* block) {
  std::int32_t count = isCounted(block) ? 1 : 0;
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) count += countedBlocks(inner);
  }
  return count;
}

// counts[at] += one
void insertAdd(torch::jit::Graph& graph, Value* counts, Value* at, Value* one) {
  Value* zero = graph.insertConstant(std::int64_t{0});
  Value* count = graph.insert(c10::aten::select, {counts, zero, at});
  graph.insert(c10::aten::add_, {count, one});
}

}  // namespace

BranchCoverage::BranchCoverage(const torch::jit::Module& original) : module_(freezeForPasses(original, {})) {
  Block* body = module_.get_method("forward").graph()->block();
  collectIntegers(body);
  std::sort(compared_integers_.begin(), compared_integers_.end());
  compared_integers_.erase(std::unique(compared_integers_.begin(), compared_integers_.end()), compared_integers_.end());
  const std::int32_t blocks = countedBlocks(body);
  module_.register_attribute(kEntriesAttribute, c10::TensorType::get(), at::zeros({blocks + 1}, at::kLong));
  module_.register_attribute(kOnesAttribute, c10::TensorType::get(),
                             at::ones({1}, at::kLong).expand({kFirstMostEntries}));
  countEntries(body);
}

// The total of all entries is the index of the one that is added, so that a run ends with an error of that look-up when
// it has more entries than there are ones.
void BranchCoverage::countEntries(Block* block) {
  if (isCounted(block)) {
    torch::jit::Graph& graph = *block->owningGraph();
    const torch::jit::WithInsertPoint point(*block->nodes().begin());
    Value* self = graph.inputs()[0];
    Value* counts = graph.insertGetAttr(self, kEntriesAttribute);
    Value* ones = graph.insertGetAttr(self, kOnesAttribute);
    Value* zero = graph.insertConstant(std::int64_t{0});
    Value* last = graph.insertConstant(std::int64_t{-1});
    Value* total = graph.insert(c10::aten::select, {counts, zero, last});
    Value* one = graph.insert(c10::aten::select, {ones, zero, graph.insert(c10::aten::Int, {total})});
    insertAdd(graph, counts, last, one);
    insertAdd(graph, counts, graph.insertConstant(std::int64_t{blocks_++}), one);
  }
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) countEntries(inner);
  }
}

void BranchCoverage::collectIntegers(const Block* block) {
  static const std::unordered_set<std::string_view> kKinds = {"aten::lt",
                                                              "aten::le",
                                                              "aten::gt",
                                                              "aten::ge",
                                                              "aten::eq",
                                                              "aten::ne",
                                                              "aten::mod",
                                                              "aten::floordiv",
                                                              "aten::remainder",
                                                              "aten::div",
                                                              "prim::min",
                                                              "prim::max",
                                                              "aten::__range_length"};
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) collectIntegers(inner);
    if (kKinds.count(node->kind().toQualString()) == 0) continue;
    for (const Value* input : node->inputs()) {
      const auto integer = constantInt(input);
      if (integer && *integer >= 0 && *integer <= kLargestInteger) compared_integers_.push_back(*integer);
    }
  }
}

std::optional<BranchCoverage::Entries> BranchCoverage::run(const Inputs& inputs) {
  const RunMode mode(module_);
  const torch::jit::GraphOptimizerEnabledGuard as_written(false);  // inputs of every size would be optimized for
  torch::jit::Module copy = module_.deepcopy();
  if (most_entries_ > 0) copy.setattr(kOnesAttribute, at::ones({1}, at::kLong).expand({most_entries_}));
  try {
    Inputs own;
    for (const torch::jit::IValue& input : inputs) own.push_back(copyValue(input));
    copy.forward(std::move(own));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const at::Tensor counts = copy.attr(kEntriesAttribute).toTensor();
  const auto* count = counts.data_ptr<std::int64_t>();
  if (most_entries_ == 0) most_entries_ = 20 * count[blocks_] + 1000;
  Entries entries;
  for (std::int32_t block = 0; block < blocks_; ++block)
    entries.push_back(static_cast<std::uint8_t>(std::min<std::int64_t>(count[block], 2)));
  return entries;
}

}  // namespace ipex_studio

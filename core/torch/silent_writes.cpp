// One table row an operator. libtorch's own alias analysis knows two of them, batch_norm and instance_norm.
#include "core/torch/silent_writes.h"

#include <string>
#include <unordered_map>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr std::size_t kAlways = ~std::size_t{0};

struct SilentWrite {
  std::vector<std::size_t> operands;
  std::size_t flag = kAlways;  // the operand that has to be true
};

const SilentWrite* silentWrite(c10::Symbol kind) {
  static const SilentWrite kStatistics = {{3, 4}, 5};
  static const std::unordered_map<std::string, SilentWrite> kTable = {
      {"aten::batch_norm", kStatistics},
      {"aten::_batch_norm_impl_index", kStatistics},
      {"aten::native_batch_norm", kStatistics},
      {"aten::cudnn_batch_norm", kStatistics},
      {"aten::miopen_batch_norm", kStatistics},
      {"aten::instance_norm", kStatistics},
      {"aten::batch_norm_update_stats", {{1, 2}, kAlways}},
      {"aten::batch_norm_gather_stats", {{3, 4}, kAlways}},
      {"aten::batch_norm_gather_stats_with_counts", {{3, 4}, kAlways}},
      {"aten::_no_grad_embedding_renorm_", {{0}, kAlways}},
      {"aten::rrelu_with_noise", {{1}, 4}},
      {"aten::rrelu_with_noise_", {{1}, 4}},
  };
  const auto found = kTable.find(kind.toQualString());
  return found == kTable.end() ? nullptr : &found->second;
}

bool isNone(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isNone();
}

bool isFalse(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isBool() && !constant->toBool();
}

}  // namespace

bool mayWriteSilently(c10::Symbol kind) { return silentWrite(kind) != nullptr; }

std::vector<Value*> silentlyWritten(const Node* node) {
  const SilentWrite* write = silentWrite(node->kind());
  std::vector<Value*> written;
  if (write == nullptr) return written;
  if (write->flag < node->inputs().size() && isFalse(node->input(write->flag))) return written;
  for (const std::size_t operand : write->operands) {
    if (operand >= node->inputs().size() || isNone(node->input(operand))) continue;
    written.push_back(const_cast<Value*>(node->input(operand)));
  }
  return written;
}

bool writesOperands(const Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  return schema != nullptr && (schema->is_mutable() || !silentlyWritten(node).empty());
}

}  // namespace ipex_studio

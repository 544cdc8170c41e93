// Labels from origins and post-operations.
#include "core/graph/labels.h"

#include "core/base/error.h"

namespace ipex_studio {

std::string operationLabel(const OriginTable& origins, const std::vector<OriginId>& ids, const OpSpec& spec) {
  std::string name;
  for (const OriginId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= origins.origins().size()) continue;  // of another table
    name = origins.origins()[static_cast<std::size_t>(id)].module_path;
    if (!name.empty()) break;
  }
  const bool chain = spec.kind == OpKind::kPointwise && !spec.post_ops.empty();
  if (name.empty() && !chain) name = opKindName(spec.kind);
  for (const PostOp& op : spec.post_ops) name += (name.empty() ? "" : " + ") + std::string(postOpName(op.kind));
  return name;
}

std::string fusedNodeLabel(const OriginTable& origins, const torch::jit::Node* node) {
  const std::string kind = node->kind().toQualString();
  if (kind.rfind("ipex_studio::", 0) != 0 || node->inputs().empty()) return "";
  const auto spec = torch::jit::toIValue(node->inputs().back());
  if (!spec || !spec->isString()) return "";  // no plan operator, such as ipex_studio::nms
  try {
    return operationLabel(origins, origins.of(node), parseOpSpec(spec->toStringRef()));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace ipex_studio

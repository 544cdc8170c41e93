// Matching of precision overrides against the origins of a node.
#include "core/quantization/precision_overrides.h"

namespace ipex_studio {
namespace {

bool isIn(const std::string& path, const std::string& module) {
  return path.compare(0, module.size(), module) == 0 && (path.size() == module.size() || path[module.size()] == '.');
}

// The name that recipes and searches use for an operation: "layer1.0.conv1:aten::_convolution#0".
std::string keyOf(const Origin& origin) {
  return origin.module_path + ":" + origin.kind + "#" + std::to_string(origin.ordinal);
}

}  // namespace

std::string decidedPrecision(const std::vector<std::string>& overrides, const OriginTable& origins,
                             const torch::jit::Node* node, const std::string& kind) {
  std::string decided;
  if (overrides.empty()) return decided;
  const std::vector<OriginId> ids = origins.of(node);
  for (const std::string& text : overrides) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string what = text.substr(0, equals);
    bool fits = what == "*" || what == "kind:" + kind;
    for (std::size_t i = 0; i < ids.size() && !fits; ++i) {
      for (const Origin& origin : origins.origins()) {
        if (origin.id == ids[i]) fits = fits || isIn(origin.module_path, what) || what == keyOf(origin);
      }
    }
    if (fits) decided = text.substr(equals + 1);
  }
  return decided;
}

}  // namespace ipex_studio

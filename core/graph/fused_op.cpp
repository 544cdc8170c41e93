// Reads aten and ipex_studio nodes as operations with post-ops, and writes such operations as nodes.
#include "core/graph/fused_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

using Attributes = std::map<std::string, AttrValue>;

constexpr const char kNamespace[] = "ipex_studio::";

bool acceptsPostOps(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kDeconvolution || kind == OpKind::kLinear ||
         kind == OpKind::kMatmul || kind == OpKind::kPointwise || kind == OpKind::kSqueezeExcite;
}

void explain(std::string* why, std::string text) {
  if (why) *why = std::move(text);
}

// Reads a list attribute of a convolution; one number stands for all axes.
bool readList(const Value* value, std::size_t axes, const char* name, Attributes* attributes, std::string* why) {
  auto list = constantInts(value);
  if (!list || list->empty()) {
    explain(why, fmt::format("{} is not constant", name));
    return false;
  }
  if (list->size() == 1) list->resize(axes, list->front());
  if (list->size() != axes) {
    explain(why, fmt::format("{} has {} numbers for {} axes", name, list->size(), axes));
    return false;
  }
  (*attributes)[name] = std::move(*list);
  return true;
}

std::optional<FusedOp> readConvolution(Node* node, std::string* why) {
  if (node->inputs().size() != 9) return std::nullopt;
  const auto weight_sizes = knownSizes(node->input(1));
  const auto transposed = constantBool(node->input(6));
  const auto groups = constantInt(node->input(8));
  if (!weight_sizes || weight_sizes->size() < 3) {
    explain(why, "the rank of its weights is not known");
    return std::nullopt;
  }
  if (!transposed || !groups) {
    explain(why, "groups or transposed is not constant");
    return std::nullopt;
  }
  FusedOp op;
  op.spec.kind = *transposed ? OpKind::kDeconvolution : OpKind::kConvolution;
  op.base = {node->input(0), node->input(1), node->input(2)};
  op.spec.attributes["groups"] = *groups;
  const std::size_t axes = weight_sizes->size() - 2;
  Attributes& attributes = op.spec.attributes;
  if (!readList(node->input(3), axes, "stride", &attributes, why)) return std::nullopt;
  if (!readList(node->input(4), axes, "padding", &attributes, why)) return std::nullopt;
  if (!readList(node->input(5), axes, "dilation", &attributes, why)) return std::nullopt;
  if (*transposed && !readList(node->input(7), axes, "output_padding", &attributes, why)) return std::nullopt;
  return op;
}

std::optional<FusedOp> readLinear(Node* node) {
  if (node->inputs().size() != 3) return std::nullopt;
  FusedOp op;
  op.spec.kind = OpKind::kLinear;
  op.base = {node->input(0), node->input(1), node->input(2)};
  return op;
}

std::optional<FusedOp> readMatmul(Node* node, std::string* why) {
  if (node->inputs().size() != 2) return std::nullopt;
  FusedOp op;
  op.spec.kind = OpKind::kMatmul;
  op.base = {node->input(0), node->input(1)};
  for (const Value* side : op.base) {
    const auto sizes = knownSizes(side);
    if (sizes && sizes->size() >= 2) continue;
    explain(why, sizes ? "an operand is a vector" : "the rank of an operand is not known");
    return std::nullopt;
  }
  return op;
}

std::optional<FusedOp> readOwn(Node* node, OpKind kind, std::string* why) {
  const auto base = static_cast<std::size_t>(baseSourceCount(kind));
  if (node->inputs().size() != base + 2) return std::nullopt;
  const auto text = torch::jit::toIValue(node->input(base + 1));
  Node* list = node->input(base)->node();
  if (!text || !text->isString() || list->kind() != torch::jit::prim::ListConstruct) {
    explain(why, "its description or its operands are not written out in the graph");
    return std::nullopt;
  }
  FusedOp op;
  op.spec = parseOpSpec(text->toStringRef());
  IPEX_CHECK(op.spec.kind == kind, "the description of a fused operator belongs to another operator");
  op.base.assign(node->inputs().begin(), node->inputs().begin() + static_cast<std::ptrdiff_t>(base));
  op.post_args.assign(list->inputs().begin(), list->inputs().end());
  return op;
}

}  // namespace

std::optional<FusedOp> readFusedOp(Node* node, std::string* why) {
  const char* name = node->kind().toQualString();
  if (std::strncmp(name, kNamespace, sizeof(kNamespace) - 1) == 0) {
    OpKind kind;
    if (!opKindFromName(name + sizeof(kNamespace) - 1, &kind) || !acceptsPostOps(kind)) return std::nullopt;
    return readOwn(node, kind, why);
  }
  if (std::strcmp(name, "aten::convolution") == 0) return readConvolution(node, why);
  if (std::strcmp(name, "aten::linear") == 0) return readLinear(node);
  if (std::strcmp(name, "aten::matmul") == 0 || std::strcmp(name, "aten::bmm") == 0 ||
      std::strcmp(name, "aten::mm") == 0) {
    return readMatmul(node, why);
  }
  return std::nullopt;
}

bool mayBeFusedOp(c10::Symbol kind) {
  namespace aten = torch::jit::aten;
  const bool product = kind == aten::linear || kind == aten::matmul || kind == aten::bmm || kind == aten::mm;
  return product || kind == aten::convolution ||
         std::strncmp(kind.toQualString(), kNamespace, sizeof(kNamespace) - 1) == 0;
}

Node* writeFusedOp(Rewriter& rewriter, const FusedOp& op, Node* before) {
  const OpKind kind = op.spec.kind;
  IPEX_CHECK(op.base.size() == static_cast<std::size_t>(baseSourceCount(kind)), "wrong number of fixed operands");
  std::vector<Value*> inputs = op.base;
  if (acceptsPostOps(kind)) {
    Node* list = rewriter.create("prim::ListConstruct", op.post_args, before);
    list->output()->setType(c10::ListType::ofTensors());
    inputs.push_back(list->output());
  } else {
    IPEX_CHECK(op.post_args.empty(), "this operation takes no post-operations");
  }
  inputs.push_back(rewriter.constant(op.spec.text(), before));
  const bool two_results = op.spec.intOr("sum_output", 0) != 0;
  const std::string name = two_results ? "add_layer_norm" : opKindName(kind);
  return rewriter.create((kNamespace + name).c_str(), inputs, before, two_results ? 2 : 1);
}

}  // namespace ipex_studio

// Writes encoders that pack a batch with paddings into a nested tensor as what they compute from the tokens alone.
//   before  %n = aten::_nested_tensor_from_mask(%x, %kept, False)   %a = aten::_transformer_encoder_layer_fwd(%n, …)
//           %y = aten::to_padded_tensor(%a, 0, None)
//   after   %c = sum(float(%kept), 1)   %longest = Int(max(%c))
//           %rows = select(nonzero(flatten(lt(arange(size(%x, 1)), %c))), 1, 0)
//           %t = index_select(reshape(%x, [-1, %width]), 0, %rows)   the layers on %t, where attention alone sees a
//           batch of the longest sequence   %y = masked_fill(index_select(…), %hidden, 0)
// The mask says how many tokens of a sequence come first, whatever their places, as libtorch reads it; no product is
// computed for paddings. nn.TransformerEncoder leaves these operators where it is given src_key_padding_mask.
// Declines: other-uses (the nested tensor is read elsewhere), unsupported-attribute (masks that are checked, other
// sizes asked for), what canonicalize-attention declines.
// Runs before canonicalize-attention, which takes the layers of whole batches. Numerics: as that pass.
#include <optional>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/attention/attention_writer.h"
#include "passes/match/nested_values.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

struct NestedEncoder {
  Value *x = nullptr, *kept = nullptr;  // [batch, tokens, width], [batch, tokens]
  std::vector<Node*> nodes;             // the packing, its layers, and the padding at the end, in order
  std::vector<EncoderLayer> layers;
  Value* padding = nullptr;
  bool all_tokens = false;  // the result has as many tokens as x, else as many as the longest sequence
};

// True for the sizes of `x`, as a list or one by one.
bool areSizesOf(const Value* list, const Value* x) {
  const Node* node = list->node();
  if (isKind(node, "aten::size") && node->inputs().size() == 1) return node->input(0) == x;
  if (!isKind(node, "prim::ListConstruct") || node->inputs().size() != 3) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Node* size = node->input(axis)->node();
    const auto width = constantInt(node->input(axis));
    if (axis == 2 && width && width == knownSizes(x)->back()) continue;
    if (!isKind(size, "aten::size") || size->inputs().size() != 2 || size->input(0) != x) return false;
    const auto asked = constantInt(size->input(1));
    if (!asked || (*asked < 0 ? *asked + 3 : *asked) != static_cast<std::int64_t>(axis)) return false;
  }
  return true;
}

// The packing, its layers and the padding at the end, in order; empty if anything else reads them.
std::vector<Node*> followLayers(Node* packing) {
  std::vector<Node*> nodes{packing};
  while (!isKind(nodes.back(), "aten::to_padded_tensor")) {
    const auto& uses = nodes.back()->output()->uses();
    if (uses.size() != 1 || uses[0].offset != 0 || uses[0].user->owningBlock() != packing->owningBlock()) return {};
    const bool known =
        isKind(uses[0].user, "aten::to_padded_tensor") || isKind(uses[0].user, "aten::_transformer_encoder_layer_fwd");
    if (!known) return {};
    nodes.push_back(uses[0].user);
  }
  return nodes;
}

Decline readLayers(NestedEncoder* encoder) {
  for (std::size_t n = 1; n + 1 < encoder->nodes.size(); ++n) {
    Node* node = encoder->nodes[n];
    EncoderLayer layer;
    Decline why = readEncoderLayer(node, &layer);
    if (!why && !isNone(node->input(18)))
      why = {reasons::kUnsupportedAttribute, "A layer of packed sequences has a mask of its own."};
    if (!why) why = checkAttention(layer.attention, constantInt(node->input(1)), encoder->x);
    if (why) return why;
    encoder->layers.push_back(layer);
  }
  return {};
}

Decline readEncoder(PassContext& context, Node* packing, NestedEncoder* encoder) {
  encoder->x = packing->input(0);
  encoder->kept = packing->input(1);
  const auto x = knownSizes(encoder->x), kept = knownSizes(encoder->kept);
  const bool fits = x && x->size() == 3 && kept && kept->size() == 2 && knownDtype(encoder->kept) == at::kBool;
  if (!fits) return {reasons::kUnknownShape, "The sizes of a padded batch and its mask are not known."};
  if (constantBool(packing->input(2)) != false)
    return {reasons::kUnsupportedAttribute, "The places of the paddings are checked at run time."};
  encoder->nodes = followLayers(packing);
  if (encoder->nodes.empty()) return {reasons::kOtherUses, "More than encoder layers reads packed sequences."};
  Node* const end = encoder->nodes.back();
  encoder->padding = end->input(1);
  encoder->all_tokens = !isNone(end->input(2));
  if (encoder->all_tokens && !areSizesOf(end->input(2), encoder->x))
    return {reasons::kUnsupportedAttribute, "Packed sequences are padded to other sizes than they came in."};
  if (Decline why = readLayers(encoder)) return why;
  for (const Node* node : encoder->nodes) {
    for (const Value* input : node->inputs()) {
      if (input->type()->kind() == c10::TypeKind::TensorType && context.mayBeWritten(input))
        return {reasons::kAliased, "The graph writes to an operand of this encoder."};
    }
  }
  return {};
}

std::optional<NestedEncoder> matchEncoder(PassContext& context, Node* packing, Decline* why) {
  NestedEncoder encoder;
  *why = readEncoder(context, packing, &encoder);
  return encoder;
}

// Which of `tokens` places of each sequence hold a token, and where it stands among all.
struct Layout {
  Value *hidden = nullptr, *kept = nullptr;  // [batch, tokens]
  Value* places = nullptr;                   // [batch · tokens]
};

class EncoderWriter {
 public:
  EncoderWriter(Rewriter& rewriter, Node* before, const NestedEncoder& encoder)
      : rewriter_(rewriter),
        before_(before),
        encoder_(encoder),
        sizes_(*knownSizes(encoder.x)),
        write_(rewriter, before, at::kFloat),
        whole_(rewriter, before, at::kLong),
        flags_(rewriter, before, at::kBool) {}

  Value* write() {
    // Counted in floats, which plans sum.
    Value* flags = write_.make("aten::to", {encoder_.kept, dtype(at::kFloat), write_.no(), write_.no(), write_.none()},
                               *knownSizes(encoder_.kept));
    counts_ = write_.make("aten::sum", {flags, write_.ints({1}), write_.no(), write_.none()}, {sizes_[0]});
    tokens_.batch = write_.size(encoder_.x, 0);
    tokens_.tokens = write_.integer("aten::Int", {write_.make("aten::max", {counts_}, {})});
    tokens_.sizes = {sizes_[0], sizes_[1]};
    const Layout packed = layout(tokens_.tokens);
    tokens_.places = packed.places;
    // Found among the places of all tokens, the rows wait for no other region than the counts do.
    Value* const width = write_.size(encoder_.x, 1);
    const Layout all = layout(width);
    Value* found = whole_.make("aten::nonzero", {flat(flags_, all.kept)}, {count(), 1});
    found = whole_.make("aten::select", {found, write_.number(1), write_.number(0)}, {count()});
    tokens_.rows = amongLongest(found, width);
    Value* x = packedTokens(found);
    for (const EncoderLayer& read : encoder_.layers) {
      EncoderLayer layer = read;
      layer.attention.x = x;
      layer.attention.hidden = packed.hidden;
      x = AttentionWriter(rewriter_, before_, at::kFloat, &tokens_).layer(layer);
    }
    return encoder_.all_tokens ? padded(x, all, width) : padded(x, packed, tokens_.tokens);
  }

 private:
  std::int64_t count() const { return sizes_[0] * sizes_[1]; }  // for types

  Value* dtype(at::ScalarType type) { return write_.number(static_cast<std::int64_t>(type)); }

  Value* flat(NodeWriter& write, Value* x) { return write.make("aten::reshape", {x, write.ints({-1})}, {count()}); }

  Layout layout(Value* tokens) {
    Layout made;
    Value* none = write_.none();
    Value* steps = write_.make("aten::arange", {tokens, dtype(at::kFloat), none, none, none}, {sizes_[1]});
    Value* counts = write_.make("aten::unsqueeze", {counts_, write_.number(1)}, {sizes_[0], 1});
    made.kept = flags_.make("aten::lt", {steps, counts}, tokens_.sizes);
    made.hidden = flags_.make("aten::logical_not", {made.kept}, tokens_.sizes);
    Value* so_far = whole_.make("aten::cumsum", {flat(flags_, made.kept), write_.number(0), none}, {count()});
    // A padding stands where the token before it stands: a number of the same sequence, which nothing looks at.
    Value* places = whole_.make("aten::sub", {so_far, write_.number(1), write_.number(1)}, {count()});
    made.places = whole_.make("aten::clamp", {places, write_.number(0), none}, {count()});
    return made;
  }

  // Rows of sequences of `tokens` places as those of sequences as long as the longest.
  Value* amongLongest(Value* rows, Value* tokens) {
    Value* const sequence = whole_.make("aten::floor_divide", {rows, tokens}, {count()});
    Value* const shorter = write_.integer("aten::sub", {tokens, tokens_.tokens});
    Value* const before = whole_.make("aten::mul", {sequence, shorter}, {count()});
    return whole_.make("aten::sub", {rows, before, write_.number(1)}, {count()});
  }

  Value* packedTokens(Value* found) {
    const Ints rows{count(), sizes_[2]};
    Value* flat = write_.make("aten::reshape", {encoder_.x, write_.ints({-1, sizes_[2]})}, rows);
    return write_.make("aten::index_select", {flat, write_.number(0), found}, rows);
  }

  Value* padded(Value* x, const Layout& layout, Value* tokens) {
    Value* rows = write_.make("aten::index_select", {x, write_.number(0), layout.places}, {count(), sizes_[2]});
    Value* shape = write_.list({tokens_.batch, tokens, write_.number(sizes_[2])});
    Value* batch = write_.make("aten::reshape", {rows, shape}, sizes_);
    Value* hidden = flags_.make("aten::unsqueeze", {layout.hidden, write_.number(2)}, {sizes_[0], sizes_[1], 1});
    return write_.make("aten::masked_fill", {batch, hidden, encoder_.padding}, sizes_);
  }

  Rewriter& rewriter_;
  Node* before_;
  const NestedEncoder& encoder_;
  Ints sizes_;
  NodeWriter write_, whole_, flags_;
  Value* counts_ = nullptr;  // [batch], tokens of each sequence
  PackedTokens tokens_;
};

void rewriteEncoder(Rewriter& rewriter, Node*, const NestedEncoder& encoder) {
  Value* const from = encoder.nodes.back()->output();
  Value* made = EncoderWriter(rewriter, encoder.nodes.back(), encoder).write();
  if (knownSizes(from)) made->setType(from->type());
  rewriter.replace(encoder.nodes, from, made, "written out for the tokens alone");
}

bool canonicalizeNested(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeNested.needs), matchEncoder, rewriteEncoder);
}

}  // namespace

const Pass kCanonicalizeNested = {"canonicalize-nested",
                                  "Writes encoders of packed sequences as what they compute from the tokens alone.",
                                  &canonicalizeNested,
                                  {"aten::_nested_tensor_from_mask"}};

}  // namespace ipex_studio

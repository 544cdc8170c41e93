// Writes LSTM and GRU over packed sequences as layers over the padded batch.
//   before  %d, %s = aten::_pack_padded_sequence(%x, %n, True)   %y, %h, %c = aten::lstm(%d, %s, [%h0, %c0], …)
//           %z, %m = aten::_pad_packed_sequence(%y, %s, True, 0, %longest)
//   after   %y, … = aten::lstm(%x[:, :%longest], [%h0, %c0], …)   %z = masked_fill(%y, %hidden, 0)
//           %h = index_select(flatten(%y), 0, %last)
// A layer that goes backwards gets each sequence reversed within its length, and its results are turned round again.
// Steps behind the end of a sequence compute what nothing reads: a plan of whole batches costs less than steps of
// batches that shrink.
// Declines: other-uses (the packed data or their batch sizes are read elsewhere, or the last cells, which whole batches
// do not keep), unsupported-attribute (dropout, another length asked for), not-constant, unknown-shape,
// unsupported-dtype. Runs after fold-constants and before all that looks for views. Numerics: the same products.
#include <algorithm>
#include <optional>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

struct PackedLayers {
  Node *pack = nullptr, *layers = nullptr, *pad = nullptr;
  std::vector<Node*> width_questions, length_questions, batch_questions;  // whose answers are sizes of the batch
  std::vector<Value*> states;  // h, and c of LSTM; of a constant list: to be made of
  std::vector<at::Tensor> constant_states;
  bool batch_first = false, is_lstm = false, biased = false;
  std::size_t count = 0, directions = 1, weights_each = 0;
  std::vector<at::Tensor> weights;
  Ints sizes;  // of the padded batch in the example run, cut to the longest sequence

  Value* x() const { return pack->input(0); }
  Value* lengths() const { return pack->input(1); }
  std::size_t timeAxis() const { return batch_first ? 1 : 0; }
};

bool isLayer(const Node* node) { return isKind(node, "aten::lstm") || isKind(node, "aten::gru"); }

bool asksForSize(const Node* node, std::int64_t axis, std::int64_t rank) {
  if (!isKind(node, "aten::size") || node->inputs().size() != 2) return false;
  const auto asked = constantInt(node->input(1));
  return asked && (*asked < 0 ? *asked + rank : *asked) == axis;
}

// True for the number of sequences, read from the first of the batch sizes.
bool asksForBatch(const Node* node) {
  if (!isKind(node, "aten::select") || constantInt(node->input(1)) != 0 || constantInt(node->input(2)) != 0)
    return false;
  const auto& uses = node->output()->uses();
  return std::all_of(uses.begin(), uses.end(), [](const Use& use) { return isKind(use.user, "aten::Int"); });
}

// Sorts the readers of the packed data and of its batch sizes; false if there are others than layers, padding and
// questions for sizes.
bool readUses(PackedLayers* found) {
  for (const Use& use : found->pack->output(0)->uses()) {
    if (use.user == found->layers) continue;
    if (!asksForSize(use.user, 1, 2)) return false;
    found->width_questions.push_back(use.user);
  }
  for (const Use& use : found->pack->output(1)->uses()) {
    if (use.user == found->layers || use.user == found->pad) continue;
    if (asksForSize(use.user, 0, 1)) {
      found->length_questions.push_back(use.user);
    } else if (asksForBatch(use.user)) {
      found->batch_questions.push_back(use.user);
    } else {
      return false;
    }
  }
  return true;
}

// The layers and the padding behind the packing; false if there is not one of each.
bool findNodes(Node* pack, PackedLayers* found) {
  found->pack = pack;
  for (const Use& use : pack->output(0)->uses()) {
    if (use.offset == 0 && isLayer(use.user) && use.user->input(1) == pack->output(1)) found->layers = use.user;
  }
  if (found->layers == nullptr || found->layers->owningBlock() != pack->owningBlock()) return false;
  found->is_lstm = isKind(found->layers, "aten::lstm");
  const auto& uses = found->layers->output(0)->uses();
  if (uses.size() != 1 || !isKind(uses[0].user, "aten::_pad_packed_sequence")) return false;
  found->pad = uses[0].user;
  return found->pad->owningBlock() == pack->owningBlock() && found->pad->input(1) == pack->output(1);
}

// The constant tensors of a list; empty if there is another one.
std::vector<at::Tensor> constantsOf(const Value* list) {
  if (const auto whole = torch::jit::toIValue(list); whole && whole->isTensorList()) return whole->toTensorVector();
  std::vector<at::Tensor> tensors;
  const auto elements = decidedElements(list);
  for (const Value* element : elements.value_or(c10::ArrayRef<const Value*>())) {
    const auto constant = constantTensor(element);
    if (!constant) return {};
    tensors.push_back(*constant);
  }
  return tensors;
}

Decline readAttributes(PackedLayers* found) {
  const Node *layers = found->layers, *pad = found->pad;
  const auto first = constantBool(found->pack->input(2)), biased = constantBool(layers->input(4)),
             train = constantBool(layers->input(7)), both = constantBool(layers->input(8));
  const auto count = constantInt(layers->input(5));
  const auto dropout = constantNumber(layers->input(6));
  found->weights = constantsOf(layers->input(3));
  if (!first || !biased || !both || !count || *count < 1 || found->weights.empty())
    return {reasons::kNotConstant, "The form of layers over packed sequences is decided at run time."};
  if (train != false && dropout != 0.0)
    return {reasons::kUnsupportedAttribute, "Dropout between layers stays in the interpreter."};
  if (constantBool(pad->input(2)) != first || !constantNumber(pad->input(3)))
    return {reasons::kUnsupportedAttribute, "Packed sequences are padded to another form than they came in."};
  const auto asked = constantInt(pad->input(4));
  const bool longest = asksForSize(pad->input(4)->node(), 0, 1) && pad->input(4)->node()->input(0) == pad->input(1);
  if (!longest && !(asked && *asked <= 0))
    return {reasons::kUnsupportedAttribute, "Packed sequences are padded to a length of their own."};
  found->batch_first = *first;
  found->biased = *biased;
  found->count = static_cast<std::size_t>(*count);
  found->directions = *both ? 2 : 1;
  const std::size_t all = found->weights.size(), each = all / (found->count * found->directions);
  found->weights_each = each;
  const std::size_t plain = *biased ? 4 : 2;
  const bool fits =
      each * found->count * found->directions == all && (each == plain || (each == plain + 1 && found->is_lstm));
  return fits ? Decline() : Decline{reasons::kUnsupportedAttribute, "The layer has other weights."};
}

// Reads [h, c] or h.
Decline readStates(PackedLayers* found) {
  Value* const initial = found->layers->input(2);
  if (!found->is_lstm) {
    found->states = {initial};
  } else if (const auto constant = torch::jit::toIValue(initial); constant && constant->isTensorList()) {
    found->constant_states = constant->toTensorVector();
    return {};
  } else if (decidedElements(initial)) {
    found->states = initial->node()->inputs().vec();
  }
  const bool known =
      !found->states.empty() && std::all_of(found->states.begin(), found->states.end(),
                                            [](Value* state) { return knownSizes(state) && isFloat(state); });
  return known ? Decline() : Decline{reasons::kUnknownShape, "The states of a recurrent layer were not seen."};
}

Decline readPacked(PassContext& context, Node* pack, PackedLayers* found) {
  if (!readUses(found)) return {reasons::kOtherUses, "More than recurrent layers reads packed sequences."};
  if (found->is_lstm && found->layers->output(2)->hasUses())
    return {reasons::kOtherUses, "The last cells of packed sequences are read."};
  if (Decline why = readAttributes(found)) return why;
  if (Decline why = readStates(found)) return why;
  const auto x = knownSizes(found->x()), result = knownSizes(found->pad->output(0));
  if (!x || x->size() != 3 || !result || result->size() != 3 || !knownSizes(found->lengths()))
    return {reasons::kUnknownShape, "The sizes of packed sequences were not seen in the example run."};
  if (!isFloat(found->x()) || knownDtype(found->lengths()) != at::kLong)
    return {reasons::kUnsupportedDtype, "Only layers in float32 are written out."};
  std::vector<Value*> read = found->states;
  read.insert(read.end(), {found->x(), found->lengths()});
  for (const Value* input : read) {
    if (context.mayBeWritten(input)) return {reasons::kAliased, "The graph writes to packed sequences."};
  }
  found->sizes = *result;
  return {};
}

std::optional<PackedLayers> matchPacked(PassContext& context, Node* pack, Decline* why) {
  PackedLayers found;
  if (!findNodes(pack, &found)) return std::nullopt;
  *why = readPacked(context, pack, &found);
  return found;
}

class LayerWriter {
 public:
  LayerWriter(Rewriter& rewriter, const PackedLayers& packed)
      : rewriter_(rewriter),
        packed_(packed),
        states_(packed.states),
        early_(rewriter, packed.pack, at::kLong),
        write_(rewriter, packed.layers, at::kFloat),
        whole_(rewriter, packed.layers, at::kLong),
        flags_(rewriter, packed.layers, at::kBool) {
    steps_ = packed.sizes[packed.timeAxis()];
    batch_ = packed.sizes[1 - packed.timeAxis()];
    for (const at::Tensor& state : packed.constant_states) states_.push_back(rewriter.constant(state, packed.layers));
    // Before the packing, behind which the questions stand that these answer.
    longest_ = early_.integer("aten::Int", {early_.make("aten::max", {packed.lengths()}, {})});
    rows_ = early_.size(packed.x(), 1 - packed.timeAxis());
    width_ = early_.size(packed.x(), 2);
  }

  // The padded result.
  Value* write() {
    makeIndices();
    Ints sizes = *knownSizes(packed_.x());
    sizes[packed_.timeAxis()] = steps_;
    Value* x = write_.make("aten::slice",
                           {packed_.x(), write_.number(static_cast<std::int64_t>(packed_.timeAxis())), write_.number(0),
                            longest_, write_.number(1)},
                           sizes);
    for (std::size_t layer = 0; layer < packed_.count; ++layer) x = oneLayer(x, layer);
    Value* hidden = flags_.make("aten::unsqueeze", {hidden_, write_.number(2)}, grid({1}));
    return write_.make("aten::masked_fill", {x, hidden, packed_.pad->input(3)}, *knownSizes(x));
  }

  // The last states of all layers and directions.
  Value* lastStates() {
    Ints sizes = *knownSizes(last_states_[0]);
    std::vector<Value*> parts;
    for (Value* state : last_states_) {
      Ints one = sizes;
      one.insert(one.begin(), 1);
      parts.push_back(write_.make("aten::unsqueeze", {state, write_.number(0)}, one));
    }
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(parts.size()));
    Node* list = rewriter_.create("prim::ListConstruct", parts, packed_.layers);
    list->output()->setType(c10::ListType::ofTensors());
    return write_.make("aten::cat", {list->output(), write_.number(0)}, sizes);
  }

  Value* longest() const { return longest_; }
  Value* rows() const { return rows_; }
  Value* width() const { return width_; }
  Value* lengths() { return whole_.make("aten::clone", {packed_.lengths(), write_.none()}, {batch_}); }

 private:
  // Sizes [batch, time] or [time, batch], and those behind.
  Ints grid(const Ints& behind) const {
    Ints sizes = packed_.batch_first ? Ints{batch_, steps_} : Ints{steps_, batch_};
    sizes.insert(sizes.end(), behind.begin(), behind.end());
    return sizes;
  }
  Value* gridShape(Value* width) {
    return write_.list(packed_.batch_first ? std::vector<Value*>{rows_, longest_, width}
                                           : std::vector<Value*>{longest_, rows_, width});
  }

  Value* counted(Value* end, std::int64_t seen) {
    Value* none = write_.none();
    return whole_.make("aten::arange", {end, write_.number(static_cast<std::int64_t>(at::kLong)), none, none, none},
                       {seen});
  }
  // [batch] beside time, or [time] beside batch
  Value* placed(Value* line, bool is_time) {
    const std::size_t axis = packed_.timeAxis(), other = is_time ? 1 - axis : axis;
    Ints sizes{is_time ? steps_ : batch_};
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(other), 1);
    return whole_.make("aten::unsqueeze", {line, write_.number(static_cast<std::int64_t>(other))}, sizes);
  }
  Value* sum(Value* a, Value* b, std::int64_t factor, const Ints& sizes) {
    return whole_.make("aten::add", {a, b, write_.number(factor)}, sizes);
  }

  // The row of step `time` of sequence `row`, in the batch as rows.
  Value* flatIndex(Value* time, Value* row, const Ints& sizes) {
    Value* outer = packed_.batch_first ? row : time;
    Value* inner = packed_.batch_first ? time : row;
    Value* scaled = whole_.make("aten::mul", {outer, packed_.batch_first ? longest_ : rows_}, *knownSizes(outer));
    return sum(inner, scaled, 1, sizes);
  }

  void makeIndices() {
    Value *time = placed(counted(longest_, steps_), true), *lengths = placed(packed_.lengths(), false);
    Value* rows = counted(rows_, batch_);
    hidden_ = flags_.make("aten::ge", {time, lengths}, grid({}));
    Value* ends = whole_.make("aten::sub", {packed_.lengths(), write_.number(1), write_.number(1)}, {batch_});
    last_ = flatIndex(ends, rows, {batch_});
    if (packed_.directions == 1) return;
    Value* back = sum(placed(ends, false), time, -1, grid({}));
    back = whole_.make("aten::clamp", {back, write_.number(0), write_.none()}, grid({}));
    Value* flat = flatIndex(back, placed(rows, false), grid({}));
    reversed_ = whole_.make("aten::reshape", {flat, write_.ints({-1})}, {batch_ * steps_});
  }

  Value* asRows(Value* x) {
    const std::int64_t width = knownSizes(x)->back();
    return write_.make("aten::reshape", {x, write_.ints({-1, width})}, {batch_ * steps_, width});
  }
  // Each sequence reversed within its length.
  Value* turned(Value* x) {
    const std::int64_t width = knownSizes(x)->back();
    Value* rows = write_.make("aten::index_select", {asRows(x), write_.number(0), reversed_}, {batch_ * steps_, width});
    return write_.make("aten::reshape", {rows, gridShape(write_.number(width))}, grid({width}));
  }

  Value* oneLayer(Value* x, std::size_t layer) {
    std::vector<Value*> sides;
    std::int64_t width = 0;
    for (std::size_t direction = 0; direction < packed_.directions; ++direction) {
      Value* y = oneDirection(direction == 0 ? x : turned(x), layer * packed_.directions + direction);
      const std::int64_t own = knownSizes(y)->back();
      last_states_.push_back(write_.make("aten::index_select", {asRows(y), write_.number(0), last_}, {batch_, own}));
      sides.push_back(direction == 0 ? y : turned(y));
      width += own;
    }
    if (sides.size() == 1) return sides[0];
    Node* list = rewriter_.create("prim::ListConstruct", sides, packed_.layers);
    list->output()->setType(c10::ListType::ofTensors());
    return write_.make("aten::cat", {list->output(), write_.number(2)}, grid({width}));
  }

  Value* stateOf(Value* states, std::size_t at) {
    Ints sizes = *knownSizes(states);
    sizes[0] = 1;
    const auto index = static_cast<std::int64_t>(at);
    return write_.make("aten::slice",
                       {states, write_.number(0), write_.number(index), write_.number(index + 1), write_.number(1)},
                       sizes);
  }

  Value* oneDirection(Value* x, std::size_t at) {
    const auto begin = packed_.weights.begin() + static_cast<std::ptrdiff_t>(at * packed_.weights_each);
    const std::vector<at::Tensor> own(begin, begin + static_cast<std::ptrdiff_t>(packed_.weights_each));
    const auto flag = [&](bool value) { return rewriter_.constant(value, packed_.layers); };
    Value* states = stateOf(states_[0], at);
    if (packed_.is_lstm) {
      Node* list = rewriter_.create("prim::ListConstruct", {states, stateOf(states_[1], at)}, packed_.layers);
      states = list->output()->setType(c10::ListType::ofTensors());
    }
    Node* made =
        rewriter_.create(packed_.is_lstm ? "aten::lstm" : "aten::gru",
                         {x, states, rewriter_.constant(own, packed_.layers), flag(packed_.biased), write_.number(1),
                          write_.real(0), flag(false), flag(false), flag(packed_.batch_first)},
                         packed_.layers, packed_.is_lstm ? 3 : 2);
    const std::int64_t width = own[1].size(1), units = own[1].size(0) / (packed_.is_lstm ? 4 : 3);
    const auto typed = [&](std::size_t output, const Ints& sizes) {
      made->output(output)->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, sizes));
    };
    typed(0, grid({width}));
    typed(1, {1, batch_, width});
    if (packed_.is_lstm) typed(2, {1, batch_, units});
    return made->output(0);
  }

  Rewriter& rewriter_;
  const PackedLayers& packed_;
  std::vector<Value*> states_;
  NodeWriter early_, write_, whole_, flags_;
  std::int64_t steps_ = 0, batch_ = 0;
  Value *longest_ = nullptr, *rows_ = nullptr, *width_ = nullptr;  // integers
  Value* hidden_ = nullptr;                      // the batch without width, true behind the end of a sequence
  Value *last_ = nullptr, *reversed_ = nullptr;  // rows of the batch
  std::vector<Value*> last_states_;              // [batch, states]
};

void rewritePacked(Rewriter& rewriter, Node*, const PackedLayers& packed) {
  LayerWriter writer(rewriter, packed);
  std::vector<Node*> consumed{packed.pack};
  std::vector<Value*> from, to;
  const auto answer = [&](Node* question, Value* by) {
    consumed.push_back(question);
    from.push_back(question->output());
    to.push_back(by);
  };
  for (Node* question : packed.width_questions) answer(question, writer.width());
  for (Node* question : packed.length_questions) answer(question, writer.longest());
  for (Node* question : packed.batch_questions) {
    consumed.push_back(question);
    for (const Use& use : question->output()->uses()) answer(use.user, writer.rows());
  }
  consumed.insert(consumed.end(), {packed.layers, packed.pad});
  from.insert(from.end(), {packed.pad->output(0), packed.pad->output(1)});
  to.push_back(writer.write());
  to.push_back(writer.lengths());
  if (packed.layers->output(1)->hasUses()) {
    from.push_back(packed.layers->output(1));
    to.push_back(writer.lastStates());
  }
  rewriter.replaceAll(consumed, from, to, "layers over a padded batch");
}

bool canonicalizePackedSequences(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizePackedSequences.needs), matchPacked, rewritePacked);
}

}  // namespace

const Pass kCanonicalizePackedSequences = {
    "canonicalize-packed-sequences",
    "Writes recurrent layers over packed sequences as layers over whole batches.",
    &canonicalizePackedSequences,
    {"aten::_pack_padded_sequence"}};

}  // namespace ipex_studio

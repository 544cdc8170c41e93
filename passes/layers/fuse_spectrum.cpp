// Writes Fourier transforms of real signals, whose complex numbers plans do not know, as operations on real ones.
//   before  %z = aten::stft(%x, 400, 160, 400, %window, False, True, True)   %s = slice(%z, …)   %y = aten::abs(%s)
//   after   %m = ipex_studio::fourier(%x, %window, "fourier{frame=400,hop=160,result=magnitude}")
//           %y = slice(%m, …)
// Where more than the magnitude is read, the result is pairs of real and imaginary parts, which view_as_real hands out
// and of which aten::real and aten::imag select one. Views between the transform and its readers become views of the
// real result. aten::stft and aten::fft_rfft over the last axis are taken.
// Declines: unsupported-operator (a reader without a real form), unsupported-attribute, unsupported-dtype,
// unknown-shape, operand-not-constant, value-may-be-aliased-or-written. Runs after fold-constants, which makes windows
// and sizes constant, and before fuse-pointwise, which takes what is computed of parts. Numerics: the order of sums.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <map>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

struct Spectrum {
  Value* x = nullptr;
  at::Tensor window;                  // undefined: none
  OpSpec spec;                        // without the form of the result
  std::vector<Node*> views, readers;  // of the complex numbers, each behind what it reads
  bool is_complex = true;             // else the node gives pairs by itself
  bool magnitude = false;             // nothing reads more than the lengths of the complex numbers
};

bool isView(const Node* node) {
  return isKind(node, "aten::slice") || isKind(node, "aten::select") || isKind(node, "aten::transpose") ||
         isKind(node, "aten::unsqueeze") || isKind(node, "aten::permute");
}

bool isReshape(const Node* node) { return isKind(node, "aten::reshape") || isKind(node, "aten::view"); }

bool isReader(const Node* node) {
  return isKind(node, "aten::abs") || isKind(node, "aten::view_as_real") || isKind(node, "aten::real") ||
         isKind(node, "aten::imag") || (isKind(node, "aten::size") && node->inputs().size() == 2);
}

bool readsLength(const Node* reader) { return isKind(reader, "aten::abs") || isKind(reader, "aten::size"); }

bool hasConstantAxes(const Node* node) {
  if (isKind(node, "aten::permute")) return constantInts(node->input(1)).has_value();
  const std::size_t axes = isKind(node, "aten::transpose") ? 2 : 1;
  for (std::size_t axis = 1; axis <= axes; ++axis) {
    if (!constantInt(node->input(axis))) return false;
  }
  return true;
}

// Lists what reads the complex numbers, views before their readers.
Decline followReaders(PassContext& context, Value* complex, Spectrum* spectrum) {
  if (!knownSizes(complex)) return {reasons::kUnknownShape, "The sizes of a spectrum are not known."};
  if (context.mayBeWritten(complex)) return {reasons::kAliased, "The graph may write to a spectrum."};
  for (const auto& use : complex->uses()) {
    Node* const user = use.user;
    const bool is_view = isView(user) || isReshape(user), is_reader = isReader(user);
    if (use.offset != 0 || (!is_view && !is_reader))
      return {reasons::kUnsupportedOperator, "Something reads a spectrum that has no form for real numbers."};
    if (!isReshape(user) && (is_view || isKind(user, "aten::size")) && !hasConstantAxes(user))
      return {reasons::kNotConstant, "A view of a spectrum is chosen at run time."};
    (is_view ? spectrum->views : spectrum->readers).push_back(user);
    if (!is_view) continue;
    if (Decline why = followReaders(context, user->output(), spectrum)) return why;
  }
  return {};
}

// The window over the whole frame, as libtorch pads it.
std::optional<at::Tensor> wholeWindow(const Value* window, std::int64_t length, std::int64_t frame) {
  at::Tensor given = at::ones({length});
  if (!isNone(window)) {
    const auto constant = constantTensor(window);
    if (!constant || constant->dim() != 1 || constant->size(0) != length || constant->scalar_type() != at::kFloat)
      return std::nullopt;
    given = *constant;
  }
  const std::int64_t left = (frame - length) / 2;
  return at::constant_pad_nd(given, {left, frame - length - left}).contiguous();
}

// aten::stft(x, n_fft, hop_length?, win_length?, window?, normalized, onesided?, return_complex?[, align_to_window?]);
// the form that pads by itself has more operands.
Decline readStft(const Node* node, Spectrum* spectrum) {
  const std::size_t operands = node->inputs().size();
  const auto frame = constantInt(node->input(1));
  if ((operands != 8 && operands != 9) || !frame || (operands == 9 && !isNone(node->input(8))))
    return {reasons::kUnsupportedAttribute, "This form of stft stays as it is."};
  const auto whole = [&](std::size_t input, std::int64_t otherwise) {
    return isNone(node->input(input)) ? std::optional<std::int64_t>(otherwise) : constantInt(node->input(input));
  };
  const auto hop = whole(2, *frame / 4), length = whole(3, *frame);
  const auto normalized = constantBool(node->input(5)), complex = constantBool(node->input(7));
  const bool half = isNone(node->input(6)) || constantBool(node->input(6)) == true;
  if (!hop || !length || !normalized || !complex || *frame < 1 || *hop < 1 || *length > *frame)
    return {reasons::kNotConstant, "The form of an stft is decided at run time."};
  if (!half)
    return {reasons::kUnsupportedAttribute, "Only the half of a spectrum that determines the other is planned."};
  if (!isNone(node->input(4)) || *length < *frame) {
    const auto window = wholeWindow(node->input(4), *length, *frame);
    if (!window) return {reasons::kNotConstant, "The window of an stft is not constant."};
    spectrum->window = *window;
  }
  spectrum->spec.attributes["frame"] = *frame;
  spectrum->spec.attributes["hop"] = *hop;
  if (*normalized) spectrum->spec.attributes["norm"] = std::string("ortho");
  spectrum->is_complex = *complex;
  return {};
}

// aten::fft_rfft(x, n?, dim, norm?)
Decline readRfft(const Node* node, Spectrum* spectrum) {
  const auto sizes = knownSizes(node->input(0));
  const auto axis = constantInt(node->input(2));
  const auto norm = torch::jit::toIValue(node->input(3));
  const auto last = sizes ? static_cast<std::int64_t>(sizes->size()) - 1 : 0;
  if (!sizes || !axis || (*axis != -1 && *axis != last) || !isNone(node->input(1)) || !norm)
    return {reasons::kUnsupportedAttribute, "Only transforms of the whole last axis are planned."};
  if (norm->isString()) spectrum->spec.attributes["norm"] = norm->toStringRef();
  return {};
}

std::optional<Spectrum> matchSpectrum(PassContext& context, Node* node, Decline* why) {
  Spectrum spectrum;
  spectrum.spec.kind = OpKind::kFourier;
  spectrum.x = node->input(0);
  *why = isKind(node, "aten::stft") ? readStft(node, &spectrum) : readRfft(node, &spectrum);
  if (!*why && (knownDtype(spectrum.x) != at::kFloat || !knownSizes(node->output())))
    *why = {reasons::kUnsupportedDtype, "Only spectra of numbers known to be float32 are planned."};
  if (!*why && context.mayBeWritten(spectrum.x))
    *why = {reasons::kAliased, "The graph may write to the source of a spectrum."};
  if (*why || !spectrum.is_complex) return spectrum;
  *why = followReaders(context, node->output(), &spectrum);
  spectrum.magnitude = std::all_of(spectrum.readers.begin(), spectrum.readers.end(), readsLength);
  if (!*why && !spectrum.magnitude && std::any_of(spectrum.views.begin(), spectrum.views.end(), isReshape))
    *why = {reasons::kUnsupportedOperator, "The pairs of a spectrum are given another shape."};
  return spectrum;
}

// Writes what reads complex numbers for the real result.
class SpectrumWriter {
 public:
  SpectrumWriter(Rewriter& rewriter, Node* node, const Spectrum& spectrum)
      : rewriter_(rewriter), node_(node), spectrum_(spectrum) {}

  void write() {
    FusedOp op;
    op.spec = spectrum_.spec;
    if (spectrum_.magnitude) op.spec.attributes["result"] = std::string("magnitude");
    op.base = {spectrum_.x,
               spectrum_.window.defined() ? rewriter_.constant(spectrum_.window, node_) : rewriter_.none(node_)};
    Value* result = writeFusedOp(rewriter_, op, node_)->output();
    Ints sizes = *knownSizes(node_->output());
    if (spectrum_.is_complex && !spectrum_.magnitude) sizes.push_back(2);
    result->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, sizes));
    if (!spectrum_.is_complex) {
      rewriter_.replace({node_}, node_->output(), result, "written for real numbers");
      return;
    }
    real_[node_->output()] = result;
    for (Node* view : spectrum_.views) real_[view->output()] = viewOf(view);
    std::vector<Node*> consumed{node_};
    consumed.insert(consumed.end(), spectrum_.views.begin(), spectrum_.views.end());
    consumed.insert(consumed.end(), spectrum_.readers.begin(), spectrum_.readers.end());
    std::vector<Value*> from, to;
    for (Node* reader : spectrum_.readers) {
      from.push_back(reader->output());
      to.push_back(readOf(reader));
    }
    rewriter_.replaceAll(consumed, from, to, "written for real numbers");
  }

 private:
  // The axis of the node's operand, or of the result that it adds it to, from the front.
  Value* axisOf(NodeWriter& write, const Node* node, std::size_t input) const {
    const auto rank = static_cast<std::int64_t>(knownSizes(node->input(0))->size()) + isKind(node, "aten::unsqueeze");
    const std::int64_t axis = *constantInt(node->input(input));
    return write.number(axis < 0 ? axis + rank : axis);
  }

  Value* viewOf(Node* view) {
    NodeWriter write(rewriter_, view, at::kFloat);
    std::vector<Value*> inputs = view->inputs().vec();
    inputs[0] = real_.at(view->input(0));
    Ints sizes = *knownSizes(view->output());
    if (!spectrum_.magnitude) sizes.push_back(2);
    if (isKind(view, "aten::permute")) {
      const auto rank = static_cast<std::int64_t>(knownSizes(view->input(0))->size());
      Ints order = *constantInts(view->input(1));
      for (std::int64_t& axis : order) axis += axis < 0 ? rank : 0;
      if (!spectrum_.magnitude) order.push_back(rank);
      inputs[1] = write.ints(order);
    } else if (!isReshape(view)) {
      inputs[1] = axisOf(write, view, 1);
      if (isKind(view, "aten::transpose")) inputs[2] = axisOf(write, view, 2);
    }
    return write.make(view->kind().toQualString(), inputs, sizes);
  }

  Value* readOf(Node* reader) {
    NodeWriter write(rewriter_, reader, at::kFloat);
    Value* const value = real_.at(reader->input(0));
    if (isKind(reader, "aten::size")) return write.integer("aten::size", {value, axisOf(write, reader, 1)});
    if (spectrum_.magnitude || isKind(reader, "aten::view_as_real")) return value;
    const Ints sizes = *knownSizes(reader->input(0));
    const auto part = [&](std::int64_t which) {
      return write.make("aten::select",
                        {value, write.number(static_cast<std::int64_t>(sizes.size())), write.number(which)}, sizes);
    };
    if (!isKind(reader, "aten::abs")) return part(isKind(reader, "aten::imag") ? 1 : 0);
    Value *real = part(0), *imaginary = part(1);
    Value* sum = write.make("aten::add",
                            {write.make("aten::mul", {real, real}, sizes),
                             write.make("aten::mul", {imaginary, imaginary}, sizes), write.number(1)},
                            sizes);
    return write.make("aten::sqrt", {sum}, sizes);
  }

  Rewriter& rewriter_;
  Node* node_;
  const Spectrum& spectrum_;
  std::map<const Value*, Value*> real_;  // of complex values
};

void rewriteSpectrum(Rewriter& rewriter, Node* node, const Spectrum& spectrum) {
  SpectrumWriter(rewriter, node, spectrum).write();
}

bool fuseSpectrum(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFuseSpectrum.needs), matchSpectrum, rewriteSpectrum);
}

}  // namespace

const Pass kFuseSpectrum = {"fuse-spectrum",
                            "Writes Fourier transforms of real signals for real numbers.",
                            &fuseSpectrum,
                            {"aten::stft", "aten::fft_rfft"}};

}  // namespace ipex_studio

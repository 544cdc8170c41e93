// See node_values.h.
#include "passes/node_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

#include "core/base/error.h"
#include "core/model/input_values.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/quantization/quantized_value.h"
#include "core/verify/reference_results.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kBins = 64;
constexpr std::int64_t kChunk = std::int64_t{1} << 20;  // elements that are looked at together
constexpr std::int64_t kPicturePixels = 64;             // of a side
constexpr std::int64_t kTiles = 4;                      // channels in a row of a picture of many

// The value of a graph when it was computed last; undefined if it never is, or is no tensor.
at::Tensor valueAt(const Module& module, const Value* wanted, const Inputs& inputs) {
  const RunMode mode(module);
  at::Tensor seen;
  std::unique_ptr<NodeRunner> runner;
  runner = std::make_unique<NodeRunner>(*module.get_method("forward").graph(), [&](Node* node, auto, auto) {
    if (node != wanted->node()) return;
    const IValue& value = runner->valueOf(wanted);
    const std::vector<at::Tensor> tensors = tensorsOf(value);
    if (!tensors.empty() && tensors.front().defined()) seen = tensors.front().detach().clone();
  });
  runner->begin(copiedArguments(module, copyModule(module), inputs));
  while (!seen.defined() && runner->step() != nullptr) {
  }
  return seen;
}

// The elements as plain numbers, in rows as they stand.
at::Tensor numbersOf(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.is_quantized() ? tensor.dequantize()
                           : tensor.is_sparse()  ? tensor.to_dense()
                                                 : tensor;
  return plain.is_complex() ? plain.abs() : plain;
}

template <class Visit>
void forChunks(const at::Tensor& numbers, const Visit& visit) {
  const at::Tensor flat = numbers.reshape({-1});
  for (std::int64_t at = 0; at < flat.numel(); at += kChunk) {
    const at::Tensor chunk = flat.narrow(0, at, std::min(kChunk, flat.numel() - at)).to(at::kDouble).contiguous();
    const double* elements = chunk.data_ptr<double>();
    for (std::int64_t i = 0; i < chunk.numel(); ++i) visit(elements[i]);
  }
}

void count(const at::Tensor& numbers, ValueForm* form) {
  form->elements = numbers.numel();
  form->least = std::numeric_limits<double>::infinity();
  form->greatest = -form->least;
  std::int64_t finite = 0;
  double squares = 0;
  forChunks(numbers, [&](double x) {
    form->nans += std::isnan(x) ? 1 : 0;
    form->infinities += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) return;
    form->zeros += x == 0 ? 1 : 0;
    form->least = std::min(form->least, x);
    form->greatest = std::max(form->greatest, x);
    // Welford's update, which does not lose small deviations from a large mean.
    const double distance = x - form->mean;
    form->mean += distance / static_cast<double>(++finite);
    squares += distance * (x - form->mean);
  });
  form->deviation = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  if (finite > 0) return;
  form->least = form->greatest = form->mean = form->deviation = std::numeric_limits<double>::quiet_NaN();
}

void fillHistogram(const at::Tensor& numbers, double low, double high, ValueForm* form) {
  form->histogram.assign(kBins, 0);
  const double per_bin = high > low ? static_cast<double>(kBins) / (high - low) : 0;
  forChunks(numbers, [&](double x) {
    if (!std::isfinite(x)) return;
    // NaN where the range is wider than a number can be.
    const double place = (x - low) * per_bin;
    ++form->histogram[place > 0 ? static_cast<std::size_t>(std::min(place, double{kBins - 1})) : 0];
  });
}

// Channels by rows by columns of what looks like an image; undefined otherwise.
at::Tensor imageOf(const at::Tensor& numbers) {
  constexpr std::int64_t kMinSide = 4;
  at::Tensor image = numbers;
  if (image.dim() == 4 && image.size(0) > 0) image = image[0];
  if (image.dim() != 3 || image.size(0) == 0 || image.size(1) < kMinSide || image.size(2) < kMinSide) return {};
  return image.narrow(0, 0, std::min(image.size(0), kTiles * kTiles)).to(at::kDouble);
}

// Rows of bytes, from the picture's least to its greatest value; NaN is black.
void fillPicture(const at::Tensor& numbers, ValueForm* form) {
  const at::Tensor image = imageOf(numbers);
  if (!image.defined() || !std::isfinite(form->least)) return;
  const std::int64_t channels = image.size(0);
  const bool tiles = channels != 1 && channels != 3;
  const std::int64_t across = tiles ? std::min(channels, kTiles) : 1;
  const std::int64_t side = kPicturePixels / across;
  const std::int64_t longest = std::max({image.size(1), image.size(2), std::int64_t{1}});
  const std::int64_t rows = std::max<std::int64_t>(1, std::min(image.size(1), image.size(1) * side / longest));
  const std::int64_t columns = std::max<std::int64_t>(1, std::min(image.size(2), image.size(2) * side / longest));
  const at::Tensor finite = image.nan_to_num(form->least, form->greatest, form->least);
  at::Tensor small = at::adaptive_avg_pool2d(finite.unsqueeze(0), {rows, columns})[0].contiguous();
  const double least = small.min().item<double>(), greatest = small.max().item<double>();
  small = ((small - least) / (greatest > least ? greatest - least : 1)).nan_to_num(0).clamp(0, 1);
  const double* pixel = small.data_ptr<double>();
  const auto shade = [&](std::int64_t channel, std::int64_t y, std::int64_t x) {
    return static_cast<std::int32_t>(std::lround(pixel[(channel * rows + y) * columns + x] * 255));
  };
  const std::int64_t down = tiles ? (channels + across - 1) / across : 1;
  form->colors = channels == 3 ? 3 : 1;
  form->width = static_cast<std::int32_t>(columns * across);
  form->height = static_cast<std::int32_t>(rows * down);
  for (std::int64_t y = 0; y < form->height; ++y) {
    for (std::int64_t x = 0; x < form->width; ++x) {
      const std::int64_t tile = y / rows * across + x / columns;
      for (std::int64_t color = 0; color < form->colors; ++color) {
        const std::int64_t channel = tiles ? tile : color;
        form->picture.push_back(channel < channels ? shade(channel, y % rows, x % columns) : 0);
      }
    }
  }
}

ValueForm formOf(const char* name, std::string node, const at::Tensor& tensor) {
  ValueForm form;
  form.form = name;
  form.name = std::move(node);
  form.type = fmt::format("{}:{}", tensor.dim() == 0 ? "1" : fmt::format("{}", fmt::join(tensor.sizes(), "x")),
                          dtypeText(tensor.scalar_type()));
  const at::Tensor numbers = numbersOf(tensor);
  count(numbers, &form);
  fillPicture(numbers, &form);
  return form;
}

bool holdsWords(const std::string& text, const std::string& words) {
  std::istringstream list(words);
  for (std::string word; list >> word;)
    if (text.find(word) == std::string::npos) return false;
  return true;
}

const Value* firstTensor(const Node* node) {
  for (const Value* output : node->outputs())
    if (output->type()->isSubtypeOf(*c10::TensorType::get())) return output;
  return node->outputs().empty() ? nullptr : node->output(0);
}

class Values {
 public:
  Values(const FrozenOriginal& original, const OptimizedModel& optimized, const Inputs& inputs,
         const AccuracyRule& rule, OriginId origin)
      : original_(original), optimized_(optimized), inputs_(inputs), rule_(rule) {
    choose(origin);
  }

  ValueRecord run() {
    const torch::NoGradGuard no_gradients;
    const Origin& origin = original_.table.origins().at(static_cast<std::size_t>(node_origin_));
    record_.name = nodeName(origin);
    const at::Tensor right = valueAt(original_.module, value_, inputs_);
    if (!right.defined()) throw Error(ExitCode::kUsage, record_.name + " gives no tensor for these inputs.");
    add("original", record_.name, right);
    if (pair_.other != nullptr) addOptimized(right);
    addDouble();
    range();
    for (std::size_t f = 0; f < tensors_.size(); ++f)
      fillHistogram(numbersOf(tensors_[f]), record_.low, record_.high, &record_.forms[f]);
    return std::move(record_);
  }

 private:
  // Finds the value of the node, and its counterpart; where only a fused node stands for it, takes what that gives.
  void choose(OriginId origin) {
    const Node* node = nodeOf(origin);
    if (node == nullptr) throw Error(ExitCode::kUsage, "The model has no such node.");
    take(node);
    auto rewritten = optimized_.rewritten.get_method("forward").graph();
    const auto pairs = pairsByOrigins(original_.graph(), original_.table, *rewritten, optimized_.rewritten_origins,
                                      optimized_.divisors);
    for (const ValuePair& pair : pairs)
      if (pair.original == value_) pair_ = pair;
    if (pair_.other != nullptr) return fuse(pair_.other->node());
    const Node* fused = rewrittenOf(*rewritten, origin);
    for (const ValuePair& pair : pairs) {
      if (fused == nullptr || pair.other->node() != fused || pair_.other != nullptr) continue;
      pair_ = pair;
      take(pair.original->node());
      fuse(fused);
      record_.remark = "The optimized model computes this node and others at once; shown is what they give together.";
    }
    if (pair_.other == nullptr) record_.remark = "The optimized model has no such value: it was folded, or never made.";
  }

  void take(const Node* node) {
    const std::vector<OriginId> ids = original_.table.of(node);
    node_origin_ = ids.empty() ? 0 : ids.front();
    value_ = firstTensor(node);
    record_.origins = ids;
  }

  const Node* nodeOf(OriginId origin) const {
    for (const Node* node : allNodes(original_.graph())) {
      const std::vector<OriginId> ids = original_.table.of(node);
      if (std::find(ids.begin(), ids.end(), origin) != ids.end()) return node;
    }
    return nullptr;
  }

  template <class Visit>
  void visitRewritten(Graph& graph, const Visit& visit) const {
    std::size_t place = 0;
    for (const Node* node : graph.nodes()) {
      if (node->kind() == c10::prim::Constant || place >= optimized_.rewritten_origins.size()) continue;
      visit(node, optimized_.rewritten_origins[place++]);
    }
  }

  const Node* rewrittenOf(Graph& graph, OriginId origin) const {
    const Node* last = nullptr;
    visitRewritten(graph, [&](const Node* node, const std::vector<OriginId>& ids) {
      if (std::binary_search(ids.begin(), ids.end(), origin)) last = node;
    });
    return last;
  }

  void fuse(const Node* node) {
    visitRewritten(*optimized_.rewritten.get_method("forward").graph(),
                   [&](const Node* other, const std::vector<OriginId>& ids) {
                     if (other == node) record_.origins = ids;
                   });
  }

  void add(const char* form, const std::string& name, const at::Tensor& tensor) {
    record_.forms.push_back(formOf(form, name, tensor));
    tensors_.push_back(tensor);
  }

  void addOptimized(const at::Tensor& right) {
    at::Tensor now = valueAt(optimized_.rewritten, pair_.other, inputs_);
    if (!now.defined()) return;
    const bool integers = now.scalar_type() == at::kByte || now.scalar_type() == at::kChar;
    if (integers && at::isFloatingType(right.scalar_type())) {
      const auto real = realValue(pair_.other, now);
      if (!real) return;
      now = *real;
    }
    const at::Tensor& divisor = pair_.divisor;
    if (divisor.defined() && now.dim() >= divisor.dim() && now.size(-divisor.dim()) == divisor.size(0))
      now = now * divisor;
    const std::string kind = pair_.other->node()->kind().toQualString();
    add("optimized", fmt::format("{} ({})", original_.table.label(record_.origins), kind), now);
    if (now.sizes().equals(right.sizes())) {
      record_.differences.push_back(differenceOf(now, right, ValueTolerance{rule_}));
      record_.differences.back().name = record_.name;
    } else {
      record_.remark = "The optimized model keeps this value in another order, so it is not compared.";
    }
  }

  // In double precision, where the model can run so.
  void addDouble() {
    try {
      const auto module = doubleCopy(original_.module);
      if (!module) return;
      const Value* wanted = sameValue(*module->get_method("forward").graph());
      Inputs wide;
      for (const IValue& input : inputs_) wide.push_back(toDouble(input));
      const at::Tensor exact = wanted == nullptr ? at::Tensor() : valueAt(*module, wanted, wide);
      const bool is_exact = exact.defined() && exact.scalar_type() == at::kDouble;
      if (is_exact) add("fp64", record_.name, exact);
    } catch (const std::exception&) {
      // An operator has no FP64, which the original does not need.
    }
  }

  // The value at the same place of a copy of the graph.
  const Value* sameValue(Graph& copy) const {
    std::size_t place = 0;
    for (const Node* node : allNodes(original_.graph())) {
      if (node == value_->node()) break;
      ++place;
    }
    for (const Node* node : allNodes(copy)) {
      if (place-- == 0) return node->kind() == value_->node()->kind() ? node->output(value_->offset()) : nullptr;
    }
    return nullptr;
  }

  void range() {
    record_.low = std::numeric_limits<double>::infinity();
    record_.high = -record_.low;
    for (const ValueForm& form : record_.forms) {
      if (!std::isfinite(form.least)) continue;
      record_.low = std::min(record_.low, form.least);
      record_.high = std::max(record_.high, form.greatest);
    }
    if (record_.low > record_.high) record_.low = record_.high = 0;
  }

  const FrozenOriginal& original_;
  const OptimizedModel& optimized_;
  const Inputs& inputs_;
  const AccuracyRule& rule_;
  const Value* value_ = nullptr;
  OriginId node_origin_ = 0;
  ValuePair pair_;
  ValueRecord record_;
  std::vector<at::Tensor> tensors_;  // of record_.forms
};

}  // namespace

OriginId originNamed(const OriginTable& table, const std::string& name) {
  const std::vector<Origin>& origins = table.origins();
  if (!name.empty() && name.front() == '#') {
    for (const Origin& origin : origins)
      if (std::to_string(origin.id) == name.substr(1)) return origin.id;
  }
  for (const Origin& origin : origins)
    if (nodeName(origin) == name) return origin.id;
  for (auto origin = origins.rbegin(); origin != origins.rend(); ++origin)
    if (origin->module_path == name && !name.empty()) return origin->id;
  for (const Origin& origin : origins)
    if (!name.empty() && holdsWords(nodeName(origin), name)) return origin.id;
  throw Error(
      ExitCode::kUsage,
      fmt::format("The model has no node \"{}\"; name a module or an operator, as the tab Operations shows them.",
                  name.substr(0, 200)));
}

ValueRecord nodeValues(const FrozenOriginal& original, const OptimizedModel& optimized, const Inputs& inputs,
                       const AccuracyRule& rule, OriginId origin) {
  return Values(original, optimized, inputs, rule, origin).run();
}

}  // namespace ipex_studio

// Lowering of aten::im2col and aten::col2im: images as columns of windows, and back.
#include <algorithm>
#include <limits>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxWindowPixels = 256;  // each is a part of a concatenation

Ints pairOf(Value* value, const char* what) {
  Ints pair = needInts(value, what);
  if (pair.size() == 1) pair.push_back(pair[0]);
  if (pair.size() != 2) decline(reasons::kUnsupportedAttribute, std::string("'") + what + "' has another length.");
  return pair;
}

struct Windows {
  Ints kernel, dilation, padding, stride;

  // Reads kernel, dilation, padding and stride from operand `first` on.
  Windows(Node* node, std::size_t first)
      : kernel(pairOf(node->input(first), "kernel_size")),
        dilation(pairOf(node->input(first + 1), "dilation")),
        padding(pairOf(node->input(first + 2), "padding")),
        stride(pairOf(node->input(first + 3), "stride")) {
    const auto least = [](const Ints& pair) { return std::min(pair[0], pair[1]); };
    if (least(kernel) < 1 || least(dilation) < 1 || least(padding) < 0 || least(stride) < 1 ||
        pixels() > kMaxWindowPixels)
      decline(reasons::kUnsupportedAttribute, "Windows of this size stay in the interpreter.");
  }
  std::int64_t pixels() const { return kernel[0] * kernel[1]; }
  std::int64_t countIn(std::size_t axis, std::int64_t size) const {
    return (size + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }
};

LoweredOperand sliceOf(Steps& steps, const LoweredOperand& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                       std::int64_t step = 1) {
  return steps.add(OpKind::kSlice, {{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}}, {x});
}

LoweredOperand flattened(Steps& steps, const LoweredOperand& x, std::int64_t begin) {
  return steps.add(OpKind::kReshape, {{"flatten_begin", begin}, {"flatten_end", begin + 1}}, {x});
}

// aten::im2col(x, kernel, dilation, padding, stride): pixel (i, j) of all windows is a slice with steps.
LoweredNode lowerIm2Col(Node* node) {
  Value* const x = node->input(0);
  needFloat(x);
  if (needRank(x) != 4) decline(reasons::kUnsupportedAttribute, "Images without a batch stay in the interpreter.");
  const Windows windows(node, 1);
  Steps steps;
  LoweredOperand padded = use(x);
  if (windows.padding[0] + windows.padding[1] > 0) {
    const Ints sides{0, 0, windows.padding[0], windows.padding[1]};
    padded = steps.add(OpKind::kPad,
                       {{"begin", sides}, {"end", sides}, {"mode", std::string("constant")}, {"value", 0.0}}, {padded});
  }
  const auto cut = [&](const LoweredOperand& image, std::size_t axis, std::int64_t k) {
    const std::int64_t behind = windows.dilation[axis] * (windows.kernel[axis] - 1 - k);
    return sliceOf(steps, image, static_cast<std::int64_t>(axis) + 2, k * windows.dilation[axis],
                   behind == 0 ? kAll : -behind, windows.stride[axis]);
  };
  std::vector<LoweredOperand> parts;
  for (std::int64_t i = 0; i < windows.kernel[0]; ++i) {
    const LoweredOperand rows = cut(padded, 0, i);
    for (std::int64_t j = 0; j < windows.kernel[1]; ++j)
      parts.push_back(steps.add(OpKind::kUnsqueeze, {{"axis", std::int64_t{2}}}, {cut(rows, 1, j)}));
  }
  const LoweredOperand all = steps.add(OpKind::kConcat, {{"axis", std::int64_t{2}}}, std::move(parts));
  flattened(steps, flattened(steps, all, 3), 1);
  return steps.finish(node);
}

// The place in the padded image of each pixel of each window, in the order of the columns.
std::vector<std::int64_t> placesOf(const Windows& windows, const Ints& output) {
  const std::int64_t rows = windows.countIn(0, output[0]), columns = windows.countIn(1, output[1]);
  const std::int64_t width = output[1] + 2 * windows.padding[1];
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < windows.kernel[0]; ++i) {
    for (std::int64_t j = 0; j < windows.kernel[1]; ++j) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column)
          places.push_back((row * windows.stride[0] + i * windows.dilation[0]) * width + column * windows.stride[1] +
                           j * windows.dilation[1]);
      }
    }
  }
  return places;
}

// For places that are each named once: what stands at each of them; empty: some are named never, or several times.
std::vector<std::int64_t> inverseOf(const std::vector<std::int64_t>& places, std::int64_t count) {
  if (static_cast<std::int64_t>(places.size()) != count) return {};
  std::vector<std::int64_t> inverse(places.size(), -1);
  for (std::size_t i = 0; i < places.size(); ++i)
    inverse[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i);
  return std::find(inverse.begin(), inverse.end(), -1) == inverse.end() ? inverse : std::vector<std::int64_t>();
}

// aten::col2im(x, output_size, kernel, dilation, padding, stride): sums where windows overlap.
LoweredNode lowerCol2Im(Node* node) {
  Value* const x = node->input(0);
  if (knownDtype(x) != at::kFloat) decline(reasons::kUnsupportedDtype, "Images of windows are planned in FP32.");
  if (needRank(x) != 3) decline(reasons::kUnsupportedAttribute, "Images without a batch stay in the interpreter.");
  const Ints output = pairOf(node->input(1), "output_size");
  const Windows windows(node, 2);
  const std::int64_t channels = (*knownSizes(x))[1] / windows.pixels(),
                     per_channel = windows.pixels() * (*knownSizes(x))[2];
  const std::int64_t height = output[0] + 2 * windows.padding[0], width = output[1] + 2 * windows.padding[1];
  const std::vector<std::int64_t> places = placesOf(windows, output);
  if (static_cast<std::int64_t>(places.size()) != per_channel || channels < 1)
    decline(reasons::kShapeMismatch, "The windows do not fit the image.");
  const auto indices = [](const std::vector<std::int64_t>& numbers) {
    return use(at::tensor(numbers, at::TensorOptions(at::kLong)));
  };
  Steps steps;
  // The sizes below hold for this number of channels alone.
  const std::int64_t rows = (*knownSizes(x))[1];
  const LoweredOperand checked = steps.add(
      OpKind::kSlice,
      {{"axis", std::int64_t{1}}, {"begin", std::int64_t{0}}, {"end", rows}, {"of", rows}, {"step", std::int64_t{1}}},
      {use(x)});
  const LoweredOperand planes = steps.add(OpKind::kReshape, {{"shape", Ints{-1, per_channel}}}, {checked});
  LoweredOperand image;
  const std::vector<std::int64_t> inverse = inverseOf(places, height * width);
  if (inverse.empty()) {
    LoweredOperand zeros = steps.chain({binaryPostOp(PostOpKind::kFill, 0, 0)},
                                       {sliceOf(steps, planes, 1, 0, 1), use(at::ones({}, at::kFloat))});
    zeros = steps.add(OpKind::kExpand, {{"shape", Ints{-1, height * width}}}, {zeros});
    image = steps.add(OpKind::kScatterElements, {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}},
                      {zeros, indices(places), planes});
  } else {
    image = steps.add(OpKind::kGather, {{"axis", std::int64_t{1}}}, {planes, indices(inverse)});
  }
  image = steps.add(OpKind::kReshape, {{"shape", Ints{-1, channels, height, width}}}, {image});
  if (windows.padding[0] > 0) image = sliceOf(steps, image, 2, windows.padding[0], windows.padding[0] + output[0]);
  if (windows.padding[1] > 0) image = sliceOf(steps, image, 3, windows.padding[1], windows.padding[1] + output[1]);
  return steps.finish(node);
}

}  // namespace

void addWindowLowerings(Table& table) {
  table["aten::im2col"] = lowerIm2Col;
  table["aten::col2im"] = lowerCol2Im;
}

}  // namespace ipex_studio::lowering

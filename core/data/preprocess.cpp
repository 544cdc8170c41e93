// TOML reader and writer of Preprocess, and its application to images.
#include "core/data/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kLargestResult = 1 << 14;
constexpr std::int64_t kLargestShift = 1024;
constexpr std::array<std::string_view, 10> kKeys{"resize", "crop", "pad",    "channels", "scale",
                                                 "mean",   "std",  "layout", "flip",     "shift"};

// Reads the table [image] of one file key by key.
class ImageTable {
 public:
  ImageTable(const toml::table& table, const std::string& name) : table_(table), name_(name) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ExitCode::kUsage, fmt::format("{}: {}.", name_, what));
  }

  void checkKeys() const {
    for (const auto& [key, value] : table_) {
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end()) {
        refuse(fmt::format("there is no setting \"{}\" in [image]; known are {}", std::string(key.str()).substr(0, 40),
                           fmt::join(kKeys, ", ")));
      }
    }
  }

  std::vector<double> numbers(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    std::vector<double> values;
    if (const toml::array* array = node->as_array()) {
      for (const toml::node& element : *array) values.push_back(number(element, key));
    } else {
      values.push_back(number(*node, key));
    }
    return values;
  }

  std::vector<std::int64_t> sides(const char* key) const {
    std::vector<std::int64_t> result;
    for (const double value : numbers(key)) {
      if (value < 1 || value > kLargestResult || value != std::floor(value))
        refuse(fmt::format("{} must be whole pixels from 1 to {}", key, kLargestResult));
      result.push_back(static_cast<std::int64_t>(value));
    }
    if (result.size() > 2) refuse(fmt::format("{} takes one number, or [height, width]", key));
    return result;
  }

  double one(const char* key, double otherwise) const {
    const std::vector<double> values = numbers(key);
    if (values.size() > 1) refuse(fmt::format("{} takes one number", key));
    return values.empty() ? otherwise : values.front();
  }

  std::string text(const char* key, const char* otherwise) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return otherwise;
    if (!node->is_string()) refuse(fmt::format("{} must be a text in quotes", key));
    return **node->as_string();
  }

  bool yes(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) refuse(fmt::format("{} must be true or false", key));
    return **node->as_boolean();
  }

 private:
  double number(const toml::node& node, const char* key) const {
    const auto value = node.value<double>();
    if (!value || !std::isfinite(*value)) refuse(fmt::format("{} must be a number, or a list of numbers", key));
    return *value;
  }

  const toml::table& table_;
  const std::string& name_;
};

Preprocess fromTable(const ImageTable& table) {
  Preprocess result;
  table.checkKeys();
  result.resize = table.sides("resize");
  result.crop = table.sides("crop");
  if (result.crop.size() == 1) result.crop.push_back(result.crop.front());
  const double pad = table.one("pad", 0), channels = table.one("channels", 0);
  if (pad < 0 || pad > 1024 || pad != std::floor(pad)) table.refuse("pad must be whole pixels from 0 to 1024");
  if (channels != 0 && channels != 1 && channels != 3) table.refuse("channels must be 1 or 3");
  result.pad = static_cast<std::int64_t>(pad);
  result.channels = static_cast<std::int64_t>(channels);
  result.scale = table.one("scale", result.scale);
  result.mean = table.numbers("mean");
  result.deviation = table.numbers("std");
  for (const auto* list : {&result.mean, &result.deviation}) {
    const bool fits = list->size() <= 1 || (list->size() == 3 && result.channels != 1);
    if (!fits) table.refuse("mean and std take one number, or one per channel");
  }
  if (std::any_of(result.deviation.begin(), result.deviation.end(), [](double value) { return value <= 0; }))
    table.refuse("std must be greater than 0");
  const std::string layout = table.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc") table.refuse("layout must be \"nchw\" or \"nhwc\"");
  result.channels_last = layout == "nhwc";
  result.flip = table.yes("flip");
  const double shift = table.one("shift", 0);
  if (shift < 0 || shift > kLargestShift || shift != std::floor(shift))
    table.refuse(fmt::format("shift must be whole pixels from 0 to {}", kLargestShift));
  result.shift = static_cast<std::int64_t>(shift);
  return result;
}

at::Tensor resized(const Preprocess& preprocess, const at::Tensor& image) {
  if (preprocess.resize.empty()) return image;
  std::vector<std::int64_t> size = preprocess.resize;
  if (size.size() == 1) {
    const std::int64_t height = image.size(1), width = image.size(2), side = size.front();
    const auto longer = [side](std::int64_t greater, std::int64_t smaller) {
      return std::min(kLargestResult, (2 * side * greater + smaller) / (2 * smaller));  // rounded
    };
    size = height < width ? std::vector<std::int64_t>{side, longer(width, height)}
                          : std::vector<std::int64_t>{longer(height, width), side};
  }
  if (image.size(1) == size[0] && image.size(2) == size[1]) return image;
  return at::upsample_bilinear2d(image.unsqueeze(0), size, false).squeeze(0);
}

at::Tensor cropped(const Preprocess& preprocess, const at::Tensor& image) {
  if (preprocess.crop.empty()) return image;
  const std::int64_t height = preprocess.crop[0], width = preprocess.crop[1];
  if (image.size(1) < height || image.size(2) < width) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("An image of {}x{} pixels is smaller than the crop of {}x{}; add a resize to the preprocessing.",
                    image.size(1), image.size(2), height, width));
  }
  return image.narrow(1, (image.size(1) - height) / 2, height).narrow(2, (image.size(2) - width) / 2, width);
}

// Mirrors and shifts an image (C, H, W) by the bits of `variation`.
at::Tensor varied(const Preprocess& preprocess, const at::Tensor& image, std::uint64_t variation) {
  if (variation == 0) return image;
  at::Tensor x = image;
  const std::int64_t shift = preprocess.shift, places = 2 * shift + 1;
  if (shift > 0) {
    const auto down = static_cast<std::int64_t>((variation >> 8) % static_cast<std::uint64_t>(places));
    const auto right = static_cast<std::int64_t>((variation >> 32) % static_cast<std::uint64_t>(places));
    x = at::constant_pad_nd(x, {shift, shift, shift, shift})
            .narrow(1, down, image.size(1))
            .narrow(2, right, image.size(2));
  }
  return preprocess.flip && (variation & 2) != 0 ? x.flip(2) : x;
}

at::Tensor perChannel(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).to(at::kFloat).view({-1, 1, 1});
}

}  // namespace

Preprocess preprocessFromText(const std::string& text, const std::string& name) {
  try {
    const toml::table document = toml::parse(text);
    const toml::table* image = document.get_as<toml::table>("image");
    if (image == nullptr || document.size() != 1) {
      throw Error(ExitCode::kUsage,
                  fmt::format("{}: one table [image] with resize, crop, channels, mean, std … is expected.", name));
    }
    return fromTable(ImageTable(*image, name));
  } catch (const toml::parse_error& problem) {
    throw Error(ExitCode::kUsage, fmt::format("{} is no TOML: line {}: {}.", name, problem.source().begin.line,
                                              std::string(problem.description())));
  }
}

std::string preprocessToText(const Preprocess& preprocess) {
  std::string text = "[image]\n";
  if (preprocess.resize.size() == 1) text += fmt::format("resize = {}\n", preprocess.resize.front());
  if (preprocess.resize.size() == 2) text += fmt::format("resize = [{}]\n", fmt::join(preprocess.resize, ", "));
  if (!preprocess.crop.empty()) text += fmt::format("crop = [{}]\n", fmt::join(preprocess.crop, ", "));
  if (preprocess.pad > 0) text += fmt::format("pad = {}\n", preprocess.pad);
  if (preprocess.channels > 0) text += fmt::format("channels = {}\n", preprocess.channels);
  text += fmt::format("scale = {:.17g}\n", preprocess.scale);
  const auto list = [&text](const char* key, const std::vector<double>& values) {
    if (values.empty()) return;
    std::vector<std::string> numbers;
    for (const double value : values) numbers.push_back(fmt::format("{:.17g}", value));
    text += fmt::format("{} = [{}]\n", key, fmt::join(numbers, ", "));
  };
  list("mean", preprocess.mean);
  list("std", preprocess.deviation);
  text += fmt::format("layout = \"{}\"\n", preprocess.channels_last ? "nhwc" : "nchw");
  if (preprocess.flip) text += "flip = true\n";
  if (preprocess.shift > 0) text += fmt::format("shift = {}\n", preprocess.shift);
  return text;
}

at::Tensor preprocessImage(const Preprocess& preprocess, const at::Tensor& image, std::uint64_t variation) {
  at::Tensor x = varied(preprocess, cropped(preprocess, resized(preprocess, image.to(at::kFloat))), variation);
  if (preprocess.pad > 0) x = at::constant_pad_nd(x, {preprocess.pad, preprocess.pad, preprocess.pad, preprocess.pad});
  if (preprocess.channels == 3 && x.size(0) == 1) x = x.expand({3, -1, -1});
  // Weights of Rec. 601, with which libjpeg and PIL also turn colour into grey.
  if (preprocess.channels == 1 && x.size(0) == 3) x = (x * perChannel({0.299, 0.587, 0.114})).sum(0, true);
  x = x * preprocess.scale;
  if (preprocess.mean.size() > 1 && x.size(0) == 1) {
    throw Error(ExitCode::kUsage, "A grey image meets a mean per channel; add channels = 3 to the preprocessing.");
  }
  if (!preprocess.mean.empty()) x = x - perChannel(preprocess.mean);
  if (!preprocess.deviation.empty()) x = x / perChannel(preprocess.deviation);
  return (preprocess.channels_last ? x.permute({1, 2, 0}) : x).contiguous();
}

}  // namespace ipex_studio

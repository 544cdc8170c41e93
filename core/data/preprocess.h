// Preprocess: the steps that turn a decoded image into a model's input tensor, read from a small TOML file that travels
// with the model.
//
//   [image]
//   resize = 256                    # shorter side to 256, other in proportion; or [height, width]; left out: as it is
//   crop = 224                      # from the middle; or [height, width]
//   pad = 2                         # zeros on every side, before scaling
//   channels = 3                    # 1: grey, 3: colour; grey is repeated; left out: as it is
//   scale = 0.00392156862745098     # 1/255 when left out
//   mean = [0.485, 0.456, 0.406]    # subtracted after scaling; a number counts for every channel
//   std = [0.229, 0.224, 0.225]     # then divided by
//   layout = "nchw"                 # or "nhwc"
//   flip = true                     # training alone: half of the images are mirrored, others in each epoch
//   shift = 4                       # training alone: moved by up to so many pixels, with zeros behind
//
// Plain values, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct Preprocess {
  std::vector<std::int64_t> resize;  // empty: not; one: the shorter side; two: height, width
  std::vector<std::int64_t> crop;    // empty: not; height, width
  std::int64_t pad = 0;
  std::int64_t channels = 0;  // 0: as they are
  double scale = 1.0 / 255;
  std::vector<double> mean, deviation;  // empty, one, or one per channel
  bool channels_last = false;           // the tensor's last dimension is the channel
  bool flip = false;                    // variations while training
  std::int64_t shift = 0;
};

// Reads TOML. Throws Error(kUsage) with one sentence that begins with `name`: no TOML, an unknown key, a value of
// another type or out of range.
Preprocess preprocessFromText(const std::string& text, const std::string& name);
// Writes TOML from which preprocessFromText() reads the same.
std::string preprocessToText(const Preprocess& preprocess);

// Applies the steps to `image`: uint8 (C, H, W) with C 1 or 3. Returns float32 (C, H, W), or (H, W, C). Resizing is
// bilinear without antialiasing, with centres aligned as torch's interpolate does. `variation`: a random number by
// which the image is mirrored and shifted; 0: it is not. Throws Error(kUsage) if the image is smaller than the crop.
at::Tensor preprocessImage(const Preprocess& preprocess, const at::Tensor& image, std::uint64_t variation = 0);

}  // namespace ipex_studio

// Off-screen pictures: a frame buffer of exact size, and its pixels as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

// A frame buffer to draw into. An OpenGL 3 context must be current at construction, use and destruction.
class OffscreenTarget {
 public:
  // Makes a target of this size in pixels. Throws Error(kUnsupported) if the context cannot.
  OffscreenTarget(int width, int height);
  ~OffscreenTarget();
  OffscreenTarget(const OffscreenTarget&) = delete;
  OffscreenTarget& operator=(const OffscreenTarget&) = delete;

  // Directs drawing to this target.
  void bind() const;
  // Pixels as RGBA, top row first, opaque.
  std::vector<std::uint8_t> pixels() const;

 private:
  int width_;
  int height_;
  unsigned frame_buffer_ = 0;
  unsigned color_ = 0;
};

// Pixels of the bound frame buffer, as OffscreenTarget::pixels() gives them.
std::vector<std::uint8_t> readPixels(int width, int height);

// The pixels as bytes of a PNG file.
std::string encodePng(int width, int height, const std::vector<std::uint8_t>& rgba);

}  // namespace ipex_studio

// An off-screen picture: a frame buffer of exact size, and its pixels as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

// Needs a current OpenGL 3 context at construction, use and destruction.
class OffscreenTarget {
 public:
  // Throws Error(kUnsupported) when the context cannot make one.
  OffscreenTarget(int width, int height);
  ~OffscreenTarget();
  OffscreenTarget(const OffscreenTarget&) = delete;
  OffscreenTarget& operator=(const OffscreenTarget&) = delete;

  // Directs drawing to this target.
  void bind() const;
  // RGBA, top row first, alpha opaque.
  std::vector<std::uint8_t> pixels() const;

 private:
  int width_;
  int height_;
  unsigned frame_buffer_ = 0;
  unsigned color_ = 0;
};

// The content of the bound frame buffer, in the form of OffscreenTarget::pixels.
std::vector<std::uint8_t> readPixels(int width, int height);

// The bytes of a PNG file.
std::string encodePng(int width, int height, const std::vector<std::uint8_t>& rgba);
// Throws Error(kFailure) naming the path when it cannot be written.
void writePng(const std::string& path, int width, int height, const std::vector<std::uint8_t>& rgba);

}  // namespace ipex_studio

// See screenshot.h.
#include "studio/ui/screenshot.h"

#include <GLFW/glfw3.h>

// glext.h needs the types of gl.h, which GLFW includes.
#include <GL/glext.h>
#include <stb_image_write.h>

#include <algorithm>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

template <class Function>
Function load(const char* name) {
  const auto function = reinterpret_cast<Function>(glfwGetProcAddress(name));
  if (function == nullptr)
    throw Error(ExitCode::kUnsupported, "This OpenGL cannot draw off-screen; use a display with OpenGL 3.");
  return function;
}

}  // namespace

OffscreenTarget::OffscreenTarget(int width, int height) : width_(width), height_(height) {
  load<PFNGLGENFRAMEBUFFERSPROC>("glGenFramebuffers")(1, &frame_buffer_);
  load<PFNGLGENRENDERBUFFERSPROC>("glGenRenderbuffers")(1, &color_);
  load<PFNGLBINDRENDERBUFFERPROC>("glBindRenderbuffer")(GL_RENDERBUFFER, color_);
  load<PFNGLRENDERBUFFERSTORAGEPROC>("glRenderbufferStorage")(GL_RENDERBUFFER, GL_RGBA8, width, height);
  bind();
  load<PFNGLFRAMEBUFFERRENDERBUFFERPROC>("glFramebufferRenderbuffer")(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0,
                                                                      GL_RENDERBUFFER, color_);
  if (load<PFNGLCHECKFRAMEBUFFERSTATUSPROC>("glCheckFramebufferStatus")(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    throw Error(ExitCode::kUnsupported, "This OpenGL cannot draw a picture of that size; choose a smaller --size.");
  }
}

OffscreenTarget::~OffscreenTarget() {
  load<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer")(GL_FRAMEBUFFER, 0);
  load<PFNGLDELETERENDERBUFFERSPROC>("glDeleteRenderbuffers")(1, &color_);
  load<PFNGLDELETEFRAMEBUFFERSPROC>("glDeleteFramebuffers")(1, &frame_buffer_);
}

void OffscreenTarget::bind() const {
  load<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer")(GL_FRAMEBUFFER, frame_buffer_);
}

std::vector<std::uint8_t> OffscreenTarget::pixels() const {
  bind();
  return readPixels(width_, height_);
}

std::vector<std::uint8_t> readPixels(int width, int height) {
  const std::size_t stride = static_cast<std::size_t>(width) * 4;
  const auto rows = static_cast<std::size_t>(height);
  std::vector<std::uint8_t> bottom_up(stride * rows);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, bottom_up.data());
  std::vector<std::uint8_t> rgba(bottom_up.size());
  for (std::size_t y = 0; y < rows; ++y) {
    std::copy_n(bottom_up.begin() + static_cast<std::ptrdiff_t>((rows - 1 - y) * stride), stride,
                rgba.begin() + static_cast<std::ptrdiff_t>(y * stride));
  }
  for (std::size_t a = 3; a < rgba.size(); a += 4) rgba[a] = 255;
  return rgba;
}

std::string encodePng(int width, int height, const std::vector<std::uint8_t>& rgba) {
  IPEX_CHECK(rgba.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4,
             "a picture has four bytes a pixel");
  std::string bytes;
  const auto append = [](void* context, void* data, int size) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  stbi_write_png_to_func(append, &bytes, width, height, 4, rgba.data(), width * 4);
  return bytes;
}

}  // namespace ipex_studio

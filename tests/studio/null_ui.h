// Dear ImGui without a window or OpenGL: frames are built and thrown away.
#pragma once

#include <imgui.h>

#include <functional>

#include "studio/ui/imgui_compat.h"

namespace ipex_studio::testing {

class NullUi {
 public:
  explicit NullUi(float width = 1280, float height = 800) {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {width, height};
    io.DeltaTime = 1.F / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    mapKeysForTests();
  }
  ~NullUi() { ImGui::DestroyContext(); }
  NullUi(const NullUi&) = delete;
  NullUi& operator=(const NullUi&) = delete;

  // Builds one frame; returns its number of vertices.
  int frame(const std::function<void()>& draw) {
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    ImGui::NewFrame();
    draw();
    ImGui::Render();
    return ImGui::GetDrawData()->TotalVtxCount;
  }

  // Presses and releases the left button at a position, one frame each.
  void click(float x, float y, const std::function<void()>& draw) {
    feedMousePosition(x, y);
    frame(draw);
    feedMouseButton(0, true);
    frame(draw);
    feedMouseButton(0, false);
    frame(draw);
  }

  void press(ImGuiKey key, const std::function<void()>& draw) {
    feedKey(key, true);
    frame(draw);
    feedKey(key, false);
    frame(draw);
  }
};

}  // namespace ipex_studio::testing

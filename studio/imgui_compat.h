// Where Dear ImGui 1.86 and later versions differ: keys and fed input. Nothing else in the studio asks for the version.
#pragma once

#include <imgui.h>

namespace ipex_studio {

#if IMGUI_VERSION_NUM < 18700
inline bool keyPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }
inline void feedMousePosition(float x, float y) { ImGui::GetIO().MousePos = {x, y}; }
inline void feedMouseButton(int button, bool down) { ImGui::GetIO().MouseDown[button] = down; }
inline void feedMouseWheel(float amount) { ImGui::GetIO().MouseWheel = amount; }
inline void feedKey(ImGuiKey key, bool down) { ImGui::GetIO().KeysDown[ImGui::GetIO().KeyMap[key]] = down; }
// Without a window no backend fills the key map.
inline void mapKeysForTests() {
  for (int key = 0; key < ImGuiKey_COUNT; ++key) ImGui::GetIO().KeyMap[key] = key;
}
#else
inline bool keyPressed(ImGuiKey key) { return ImGui::IsKeyPressed(key); }
inline void feedMousePosition(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }
inline void feedMouseButton(int button, bool down) { ImGui::GetIO().AddMouseButtonEvent(button, down); }
inline void feedMouseWheel(float amount) { ImGui::GetIO().AddMouseWheelEvent(0, amount); }
inline void feedKey(ImGuiKey key, bool down) { ImGui::GetIO().AddKeyEvent(key, down); }
inline void mapKeysForTests() {}
#endif

}  // namespace ipex_studio

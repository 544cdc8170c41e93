// Differences between Dear ImGui 1.86 and later versions: keys and fed input. No other file asks for the version.
#pragma once

#include <imgui.h>

namespace ipex_studio {

#if IMGUI_VERSION_NUM < 18700
inline bool keyPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }
inline bool keyPressedOnce(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), false); }
inline void feedMousePosition(float x, float y) { ImGui::GetIO().MousePos = {x, y}; }
inline void feedMouseButton(int button, bool down) { ImGui::GetIO().MouseDown[button] = down; }
inline void feedMouseWheel(float amount) { ImGui::GetIO().MouseWheel = amount; }
inline void feedKey(ImGuiKey key, bool down) { ImGui::GetIO().KeysDown[ImGui::GetIO().KeyMap[key]] = down; }
// True if the key with this character was pressed: 'A'..'Z', '0'..'9' and "-=/,."; GLFW's codes are those characters.
inline bool characterPressed(char key) { return ImGui::IsKeyPressed(static_cast<unsigned char>(key)); }
inline void feedCharacter(char key, bool down) { ImGui::GetIO().KeysDown[static_cast<unsigned char>(key)] = down; }
inline bool functionKeyPressed(int number) { return ImGui::IsKeyPressed(289 + number); }
inline void feedFunctionKey(int number, bool down) { ImGui::GetIO().KeysDown[289 + number] = down; }
inline void feedModifiers(bool ctrl, bool shift) {
  ImGui::GetIO().KeyCtrl = ctrl;
  ImGui::GetIO().KeyShift = shift;
}
// Fills the key map, as no backend does without a window.
inline void mapKeysForTests() {
  for (int key = 0; key < ImGuiKey_COUNT; ++key) ImGui::GetIO().KeyMap[key] = key;
}
#else
inline bool keyPressed(ImGuiKey key) { return ImGui::IsKeyPressed(key); }
inline bool keyPressedOnce(ImGuiKey key) { return ImGui::IsKeyPressed(key, false); }
inline void feedMousePosition(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }
inline void feedMouseButton(int button, bool down) { ImGui::GetIO().AddMouseButtonEvent(button, down); }
inline void feedMouseWheel(float amount) { ImGui::GetIO().AddMouseWheelEvent(0, amount); }
inline void feedKey(ImGuiKey key, bool down) { ImGui::GetIO().AddKeyEvent(key, down); }
inline ImGuiKey keyOfCharacter(char key) {
  if (key >= 'A' && key <= 'Z') return static_cast<ImGuiKey>(ImGuiKey_A + (key - 'A'));
  if (key >= '0' && key <= '9') return static_cast<ImGuiKey>(ImGuiKey_0 + (key - '0'));
  return key == '-'   ? ImGuiKey_Minus
         : key == '=' ? ImGuiKey_Equal
         : key == '/' ? ImGuiKey_Slash
         : key == ',' ? ImGuiKey_Comma
                      : ImGuiKey_Period;
}
inline bool characterPressed(char key) { return ImGui::IsKeyPressed(keyOfCharacter(key)); }
inline void feedCharacter(char key, bool down) { ImGui::GetIO().AddKeyEvent(keyOfCharacter(key), down); }
inline ImGuiKey functionKey(int number) { return static_cast<ImGuiKey>(ImGuiKey_F1 + number - 1); }
inline bool functionKeyPressed(int number) { return ImGui::IsKeyPressed(functionKey(number)); }
inline void feedFunctionKey(int number, bool down) { ImGui::GetIO().AddKeyEvent(functionKey(number), down); }
inline void feedModifiers(bool ctrl, bool shift) {
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, ctrl);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, shift);
}
inline void mapKeysForTests() {}
#endif

}  // namespace ipex_studio

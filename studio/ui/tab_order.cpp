// See tab_order.h. ImGui's own Tab goes from text field to text field of one window, so it is replaced here.
#include "studio/ui/tab_order.h"

#include <imgui_internal.h>

#include <algorithm>

#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

// ID of the window that has the keys: the topmost dialog or menu, else 0.
ImGuiID topmost() {
  const auto& popups = ImGui::GetCurrentContext()->OpenPopupStack;
  return popups.empty() || popups.back().Window == nullptr ? 0 : popups.back().Window->ID;
}

ImGuiID holder() {
  const ImGuiWindow* root = ImGui::GetCurrentWindowRead()->RootWindow;
  return (root->Flags & ImGuiWindowFlags_Popup) != 0 ? root->ID : 0;
}

bool arrowPressed() {
  return keyPressed(ImGuiKey_UpArrow) || keyPressed(ImGuiKey_DownArrow) || keyPressed(ImGuiKey_LeftArrow) ||
         keyPressed(ImGuiKey_RightArrow);
}

}  // namespace

void TabOrder::begin() {
  before_.swap(stops_);
  stops_.clear();
  wanted_ = 0;
  const ImGuiIO& io = ImGui::GetIO();
  window_ = topmost();
  const auto drawn = [&](const Stop& stop) { return stop.id == focus_.id && stop.window == focus_.window; };
  walking_ = walking_ && std::any_of(before_.begin(), before_.end(), drawn);
  for (const bool clicked : io.MouseClicked) walking_ = walking_ && !clicked;
  // In dialogs and menus arrow keys go on from here by themselves.
  if (window_ != 0 && arrowPressed()) walking_ = false;
  if (!keyPressed(ImGuiKey_Tab) || io.KeyCtrl || io.KeyAlt) return;
  ImGui::NavMoveRequestCancel();
  std::vector<ImGuiID> order;
  for (const Stop& stop : before_) {
    if (stop.window == window_) order.push_back(stop.id);
  }
  if (order.empty()) return;
  // From where Tab, an arrow key or the mouse has been before.
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  auto from = order.end();
  for (const ImGuiID id :
       {walking_ ? focus_.id : 0, context.ActiveId, window_ != 0 && io.NavVisible ? context.NavId : 0}) {
    if (from == order.end()) from = std::find(order.begin(), order.end(), id);
  }
  const auto count = static_cast<std::ptrdiff_t>(order.size());
  const std::ptrdiff_t at = from == order.end() ? (io.KeyShift ? count : -1) : from - order.begin();
  wanted_ = order[static_cast<std::size_t>((at + (io.KeyShift ? -1 : 1) + count) % count)];
}

bool TabOrder::stop(TabStop kind) {
  const ImGuiID id = ImGui::GetItemID();
  const bool led = id == wanted_ && id != 0;
  if (led) {
    ImGui::ScrollToItem(ImGuiScrollFlags_KeepVisibleEdgeY);
    if (kind == TabStop::kField) ImGui::SetKeyboardFocusHere(-1);
  }
  const bool reached = stopAt(kind, id);
  if (led && holder() != 0) ImGui::SetFocusID(id, ImGui::GetCurrentWindow());
  return reached;
}

bool TabOrder::stopAt(TabStop kind, ImGuiID id) {
  stops_.push_back({id, holder()});
  if (id == wanted_ && id != 0) {
    wanted_ = 0;
    focus_ = stops_.back();
    kind_ = kind;
    walking_ = true;
    if (ImGui::GetActiveID() != id) ImGui::ClearActiveID();
  }
  return at() != TabStop::kNone && focus_.id == id;
}

bool TabOrder::pressed() const {
  return at() == TabStop::kPress && (keyPressedOnce(ImGuiKey_Enter) || keyPressedOnce(ImGuiKey_Space));
}

const char* TabOrder::action() const {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyCtrl || io.KeyShift || io.KeyAlt) return nullptr;
  if (at() == TabStop::kPress && keyPressed(ImGuiKey_Enter)) return "";
  static constexpr struct {
    TabStop kind;
    ImGuiKey_ key;
    const char* action;
  } kMeanings[] = {{TabStop::kRows, ImGuiKey_UpArrow, "row.previous"},
                   {TabStop::kRows, ImGuiKey_DownArrow, "row.next"},
                   {TabStop::kTabs, ImGuiKey_LeftArrow, "tab.previous"},
                   {TabStop::kTabs, ImGuiKey_RightArrow, "tab.next"},
                   {TabStop::kGraph, ImGuiKey_UpArrow, "graph.producer"},
                   {TabStop::kGraph, ImGuiKey_DownArrow, "graph.consumer"},
                   {TabStop::kInspector, ImGuiKey_UpArrow, "inspector.page-up"},
                   {TabStop::kInspector, ImGuiKey_DownArrow, "inspector.page-down"},
                   {TabStop::kLeftEdge, ImGuiKey_LeftArrow, "panel.passes-narrower"},
                   {TabStop::kLeftEdge, ImGuiKey_RightArrow, "panel.passes-wider"},
                   {TabStop::kLeftEdge, ImGuiKey_Enter, "panel.passes"},
                   {TabStop::kRightEdge, ImGuiKey_LeftArrow, "panel.inspector-wider"},
                   {TabStop::kRightEdge, ImGuiKey_RightArrow, "panel.inspector-narrower"},
                   {TabStop::kRightEdge, ImGuiKey_Enter, "panel.inspector"},
                   {TabStop::kBottomEdge, ImGuiKey_UpArrow, "panel.bottom-taller"},
                   {TabStop::kBottomEdge, ImGuiKey_DownArrow, "panel.bottom-lower"},
                   {TabStop::kBottomEdge, ImGuiKey_Enter, "panel.bottom"}};
  for (const auto& meaning : kMeanings) {
    if (at() == meaning.kind && keyPressed(meaning.key)) return meaning.action;
  }
  return nullptr;
}

}  // namespace ipex_studio

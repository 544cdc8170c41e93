// The order in which Tab goes through the window: its controls as they are drawn, or those of the topmost dialog or
// menu alone while one is open. Tables, the graph and the row of tabs are one stop each, in which arrow keys move.
#pragma once

#include <imgui.h>

#include <vector>

namespace ipex_studio {

// What keys do at a stop.
enum class TabStop {
  kNone,
  kPress,      // Enter and Space press it
  kField,      // it takes text
  kPasses,     // Up and Down go through the passes, as they do everywhere else
  kRows,       // Up and Down go from row to row
  kTabs,       // Left and Right bring other tabs to the front
  kGraph,      // Up and Down walk along the edges
  kInspector,  // Up and Down scroll
  // Edges between parts of the window: arrow keys move them, Enter hides the part.
  kLeftEdge,
  kRightEdge,
  kBottomEdge,
};

class TabOrder {
 public:
  // Follows Tab and Shift+Tab; to be called before a frame's controls are drawn. A click ends it.
  void begin();
  // Makes the item before a stop; true if Tab has led to it, so that it is to be marked.
  bool stop(TabStop kind);
  // Likewise for a part of the window with items of its own.
  bool stopAt(TabStop kind, ImGuiID id);
  // True if Enter or Space is pressed at the stop that Tab has led to.
  bool pressed() const;
  // What the stop is that Tab has led to; kNone: there is none, or keys have left it since.
  TabStop at() const { return walking_ && focus_.window == window_ ? kind_ : TabStop::kNone; }
  // Name of the action that an arrow key or Enter means at this stop; null: what it means elsewhere. Empty: none.
  const char* action() const;
  void leave() { walking_ = false; }
  ImGuiID focus() const { return focus_.id; }
  // Number of stops of the last frame.
  std::size_t stops() const { return stops_.size(); }

 private:
  struct Stop {
    ImGuiID id = 0;
    ImGuiID window = 0;  // ID of the dialog or menu that holds it; 0: the window
  };

  std::vector<Stop> stops_;   // of this frame
  std::vector<Stop> before_;  // of the last frame
  ImGuiID wanted_ = 0;        // the stop that takes the keys once it is drawn; 0: none
  Stop focus_;
  ImGuiID window_ = 0;  // what has the keys in this frame
  TabStop kind_ = TabStop::kNone;
  bool walking_ = false;
};

}  // namespace ipex_studio

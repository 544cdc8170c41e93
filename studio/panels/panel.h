// The interface of panels. A panel sees snapshots only; it changes the selection and posts commands, nothing else.
#pragma once

#include <memory>
#include <vector>

#include "studio/panels/action.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// The place of a panel in the window.
enum class PanelPlace { kTop, kLeft, kCentre, kRight, kBottomTab };

class Panel {
 public:
  virtual ~Panel() = default;
  virtual const char* name() const = 0;   // for --panel: "operations"
  virtual const char* title() const = 0;  // on a tab: "Operations"
  virtual PanelPlace place() const = 0;
  // Draws into the current ImGui window, all of it. Called once a frame while visible.
  virtual void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) = 0;
  // False while work for it is under way elsewhere: another frame will look different.
  virtual bool settled() const { return true; }
};

// All that the rest of the studio knows of a panel. Each panel's file defines one; panel_list.cpp lists them.
struct PanelEntry {
  const char* name;  // Panel::name(), for --panel: "operations"
  std::unique_ptr<Panel> (*make)(const Ui& ui);
  // Fills the table that --json and --csv write and reports hold: columns and rows. It needs no window.
  void (*fill)(const StudioSnapshot& snapshot, PanelTable* table);
  const char* opens = "";  // of a tab: title of the action "tab.NAME" that brings it to the front
  const char* keys = "";   // of that action
  // What this panel alone can do; actions of a tab bring it to the front.
  std::vector<ActionGroup> actions = {};
};

}  // namespace ipex_studio

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
  virtual const char* name() const = 0;   // name for --panel: "operations"
  virtual const char* title() const = 0;  // text on a tab: "Operations"
  virtual PanelPlace place() const = 0;
  // Draws all of the current ImGui window; called once a frame while the panel is visible.
  virtual void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) = 0;
  // False while work for the panel is under way elsewhere, so that another frame will look different.
  virtual bool settled() const { return true; }
};

// The entry of a panel, which is all that the rest of the studio knows of it. The panel's file defines it;
// panel_list.cpp lists it.
struct PanelEntry {
  const char* name;  // Panel::name(), for --panel: "operations"
  std::unique_ptr<Panel> (*make)(const Ui& ui);
  // Fills the table for --json, --csv and reports. Needs no window.
  void (*fill)(const StudioSnapshot& snapshot, PanelTable* table);
  const char* opens = "";  // title of the action "tab.NAME" that opens the tab; empty: no tab
  const char* keys = "";   // keys of that action; empty: none
  // Actions that this panel alone can do; those of a tab bring it to the front.
  std::vector<ActionGroup> actions = {};
};

}  // namespace ipex_studio

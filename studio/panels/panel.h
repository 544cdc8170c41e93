// The interface of panels. A panel sees snapshots only; it changes the selection and posts commands, nothing else.
#pragma once

#include <memory>
#include <vector>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
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

// The list of all panels, in the order of tabs. `ui` must outlive them.
std::vector<std::unique_ptr<Panel>> makePanels(const Ui& ui);

}  // namespace ipex_studio

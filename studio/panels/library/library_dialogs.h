// The two dialogs of the library: one asks for a name, one whether to forget.
#pragma once

#include <array>
#include <string>

#include "studio/snapshot/commands.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class LibraryDialogs {
 public:
  explicit LibraryDialogs(const Ui& ui) : ui_(ui) {}
  // `what`: the item as a sentence has it: "job 12 of net.pt".
  void askName(const LibraryItem& item, const std::string& what, const std::string& name);
  // `loss`: what else goes, as a sentence.
  void askForget(const LibraryItem& item, const std::string& what, const std::string& loss);
  void draw(Commands& commands);

 private:
  void drawName(Commands& commands);
  void drawForget(Commands& commands);

  const Ui& ui_;
  LibraryItem item_;
  std::string what_, loss_;
  std::array<char, 201> name_{};
  bool opens_name_ = false, opens_forget_ = false;
};

}  // namespace ipex_studio

// A graph as Graphviz source and as a drawing.
#pragma once

#include <string>

#include "core/record/records.h"

namespace ipex_studio {

// Names from the model are escaped; nothing in them can leave its quotes.
std::string graphAsDot(const GraphSnapshot& graph);
// A standalone SVG document with the layout the window uses.
std::string graphAsSvg(const GraphSnapshot& graph);

}  // namespace ipex_studio

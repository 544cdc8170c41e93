// Prints a graph as Graphviz source, or as a drawing.
#pragma once

#include <string>

#include "core/record/records.h"

namespace ipex_studio {

// The graph as Graphviz source. Names from the model are escaped, so nothing in them can leave its quotes.
std::string graphAsDot(const GraphSnapshot& graph);
// The graph as a standalone SVG document, in the layout of the window.
std::string graphAsSvg(const GraphSnapshot& graph);

}  // namespace ipex_studio

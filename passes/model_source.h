// The source of a model as far as its file holds it: TorchScript, and the Python that it was made of.
#pragma once

#include "core/model/model.h"
#include "core/record/source_record.h"

namespace ipex_studio {

// The lines that the nodes of `module`'s forward come from, with the text of those files: of a module frozen for the
// passes, before any of them runs. Text beyond some megabytes is left out. `python`: also looks up the Python that the
// code was made of; libtorch does that safely only for a sound file.
SourceRecord modelSource(const torch::jit::Module& module, bool python = true);

}  // namespace ipex_studio

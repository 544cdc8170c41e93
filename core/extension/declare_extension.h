// Names of Intel Extension for PyTorch, so that libtorch reads files that hold them.
#pragma once

namespace ipex_studio {

// Declares the classes and operators that write_out_extension.h takes out of a module again; nothing here runs them.
// Once a process is enough, and names that exist, because the extension itself is loaded, are left alone. Thread-safe.
void declareExtension();

}  // namespace ipex_studio

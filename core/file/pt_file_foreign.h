// Recognizes files that are no TorchScript models, so that the refusal can say how to make one.
#pragma once

#include <string>

#include "core/file/zip_reader.h"

namespace ipex_studio {

// Judges by the first bytes: throws Error(kBadModel) naming ONNX, old checkpoints, safetensors and other known formats,
// and anything that does not begin as a ZIP archive. Returns for ZIP archives.
void refuseForeignFile(int fd, const std::string& path);

// Judges by the member names: throws Error(kBadModel) for archives that are no TorchScript model: pickled state dicts
// and modules, PyTorch 1.0 models, torch.export and torch.package archives, mobile-only models, other ZIP files.
void refuseForeignArchive(const ZipReader& zip, const std::string& path);

}  // namespace ipex_studio

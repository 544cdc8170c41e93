// Names, roles and shapes of the tensors in a scanned module.
#pragma once

#include <string>
#include <vector>

#include "core/file/pickle_scan.h"
#include "core/file/pt_file.h"

namespace ipex_studio {

struct ListedTensor {
  TensorEntry entry;
  bool repeats = false;  // the same data was listed before under another name
};

// Walks the object tree from the root of data.pkl; `report.classes` tells parameters from buffers. Every object is
// entered once, names are cut at 500 characters, and no more than 200,000 tensors are listed.
void listTensors(const PickleScan& scan, const PtFileReport& report, std::vector<ListedTensor>* tensors);

// Lists the tuple of constants.pkl as "CONSTANTS.c0", "CONSTANTS.c1" …
void listConstants(const PickleScan& scan, std::vector<ListedTensor>* tensors);

}  // namespace ipex_studio

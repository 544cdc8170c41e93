// The names that a TorchScript pickle may call for, and the tensor storage types among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/file/pickle_scan.h"

namespace ipex_studio {

struct PickleStorageType {
  const char* name;   // "FloatStorage"
  const char* dtype;  // "float32"
  std::int32_t element_bytes;
};

const PickleStorageType* findStorageType(std::string_view name);  // nullptr when unknown

// True if the text holds letters, digits, '_' and inner dots only.
bool isQualifiedName(std::string_view text);

// The role of the global `module.name`; nullopt if it must be refused.
std::optional<PickleGlobal> allowedGlobal(std::string_view module, std::string_view name);

}  // namespace ipex_studio

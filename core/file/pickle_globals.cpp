// The table of allowed globals and of storage types.
#include "core/file/pickle_globals.h"

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr PickleStorageType kStorageTypes[] = {
    {"ByteStorage", "uint8", 1},
    {"CharStorage", "int8", 1},
    {"ShortStorage", "int16", 2},
    {"IntStorage", "int32", 4},
    {"LongStorage", "int64", 8},
    {"HalfStorage", "float16", 2},
    {"FloatStorage", "float32", 4},
    {"DoubleStorage", "float64", 8},
    {"BoolStorage", "bool", 1},
    {"BFloat16Storage", "bfloat16", 2},
    {"ComplexHalfStorage", "complex32", 4},
    {"ComplexFloatStorage", "complex64", 8},
    {"ComplexDoubleStorage", "complex128", 16},
    {"QInt8Storage", "qint8", 1},
    {"QUInt8Storage", "quint8", 1},
    {"QInt32Storage", "qint32", 4},
    {"QUInt4x2Storage", "quint4x2", 1},
    {"QUInt2x4Storage", "quint2x4", 1},
    {"UInt16Storage", "uint16", 2},
    {"UInt32Storage", "uint32", 4},
    {"UInt64Storage", "uint64", 8},
    {"Float8_e5m2Storage", "float8_e5m2", 1},
    {"Float8_e4m3fnStorage", "float8_e4m3fn", 1},
    {"Float8_e5m2fnuzStorage", "float8_e5m2fnuz", 1},
    {"Float8_e4m3fnuzStorage", "float8_e4m3fnuz", 1},
    {"Float8_e8m0fnuStorage", "float8_e8m0fnu", 1},
};

struct AllowedGlobal {
  const char* module;
  const char* name;
  PickleGlobal kind;
};

constexpr AllowedGlobal kAllowedGlobals[] = {
    {"torch._utils", "_rebuild_tensor_v2", PickleGlobal::kRebuildTensor},
    {"torch._utils", "_rebuild_qtensor", PickleGlobal::kRebuildQuantized},
    {"torch._utils", "_rebuild_sparse_tensor", PickleGlobal::kRebuildSparse},
    {"torch.jit._pickle", "build_intlist", PickleGlobal::kBuildList},
    {"torch.jit._pickle", "build_doublelist", PickleGlobal::kBuildList},
    {"torch.jit._pickle", "build_boollist", PickleGlobal::kBuildList},
    {"torch.jit._pickle", "build_tensorlist", PickleGlobal::kBuildList},
    {"torch.jit._pickle", "restore_type_tag", PickleGlobal::kRestoreTypeTag},
    {"collections", "OrderedDict", PickleGlobal::kOrderedDict},
    {"builtins", "complex", PickleGlobal::kComplex},
    {"torch", "device", PickleGlobal::kDevice},
    {"torch", "per_tensor_affine", PickleGlobal::kQuantScheme},
    {"torch", "per_channel_affine", PickleGlobal::kQuantScheme},
    {"torch", "per_tensor_symmetric", PickleGlobal::kQuantScheme},
    {"torch", "per_channel_symmetric", PickleGlobal::kQuantScheme},
    {"torch", "per_channel_affine_float_qparams", PickleGlobal::kQuantScheme},
};

}  // namespace

const PickleStorageType* findStorageType(std::string_view name) {
  for (const PickleStorageType& type : kStorageTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

bool isQualifiedName(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::optional<PickleGlobal> allowedGlobal(std::string_view module, std::string_view name) {
  for (const AllowedGlobal& allowed : kAllowedGlobals) {
    if (module == allowed.module && name == allowed.name) return allowed.kind;
  }
  if (module == "torch" && findStorageType(name) != nullptr) return PickleGlobal::kStorageType;
  const bool script_class = module == "__torch__" || module.substr(0, 10) == "__torch__.";
  if (script_class && isQualifiedName(module) && isQualifiedName(name)) return PickleGlobal::kClass;
  return std::nullopt;
}

}  // namespace ipex_studio

// scanPickle: reads one pickle of a TorchScript file without running it.
//
// The scanner knows exactly the opcodes and globals that libtorch's pickler writes (protocol 2) and refuses all others.
// It checks everything that libtorch's unpickler trusts: memo numbers, stack depths, the value that a REDUCE calls, the
// element counts of storages against their members, and the reach of every tensor's sizes and strides within its
// storage. Containers are filled once and before anything else holds them, so the values form no cycle and their depth
// is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipex_studio {

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kTuple,
  kList,
  kDict,
  kGlobal,   // index: into PickleScan::globals
  kStorage,  // index: into PickleScan::storages
  kTensor,   // index: into PickleScan::tensors
  kObject,   // index: its class in globals; its only item is its state
  kEnum,     // index: its class in globals; its only item is its value
  kDevice,   // text
  kComplex,
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  bool held = false;                   // a container or object holds it, so it may change no more
  std::uint16_t depth = 0;             // 0: holds nothing
  std::uint32_t first = 0, count = 0;  // PickleScan::items[first … first + count); dict: key, value …
  std::int64_t integer = 0;            // kBool, kInt; index of other kinds
  double real = 0;
  std::string_view text;  // into the scanned bytes
};

enum class PickleGlobal : std::uint8_t {
  kClass,        // "__torch__.…", the file's own or a registered one
  kStorageType,  // "torch FloatStorage"
  kQuantScheme,  // "torch per_tensor_affine"
  kRebuildTensor,
  kRebuildQuantized,
  kRebuildSparse,
  kBuildList,
  kRestoreTypeTag,
  kOrderedDict,
  kDevice,
  kComplex,
};

struct PickleGlobalUse {
  PickleGlobal kind = PickleGlobal::kClass;
  std::string name;  // "__torch__.Net", "torch.FloatStorage"
};

struct PickleStorage {
  std::string key;     // "0": member "<stem of the pickle>/0"
  std::string dtype;   // "float32", "bfloat16", "qint8", as PyTorch names them
  std::string device;  // "cpu", "cuda:0"
  std::int64_t elements = 0;
  std::int32_t element_bytes = 0;
};

struct PickleTensor {
  std::uint32_t storage = 0;  // index into PickleScan::storages; sparse: the storage of its values
  std::int64_t offset = 0;    // in elements
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  // empty where sparse
  std::int64_t elements = 0;
  bool requires_grad = false;
  bool quantized = false;
  bool sparse = false;
};

struct PickleScan {
  std::uint32_t root = 0;  // index into values
  std::vector<PickleValue> values;
  std::vector<std::uint32_t> items;
  std::vector<PickleGlobalUse> globals;
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;

  const PickleValue& item(const PickleValue& of, std::uint32_t index) const { return values[items[of.first + index]]; }
};

struct PickleScanOptions {
  std::string where;  // "'net.pt', member 'net/data.pkl'": begins every complaint
  // Bytes of the member that holds the storage `key`; nullopt when there is none.
  std::function<std::optional<std::uint64_t>(const std::string& key)> storage_bytes;
  bool python_writer = false;          // accept what Python's pickler writes: single items, short whole numbers
  bool storages_may_be_empty = false;  // traced inputs are recorded without their data
  std::size_t max_values = 4u << 20;
  std::size_t max_depth = 400;
  std::size_t max_marks = 1000;
};

// Scans `bytes`, which must outlive the result. Time and memory are linear in bytes. Throws Error(kBadModel).
PickleScan scanPickle(std::string_view bytes, const PickleScanOptions& options);

}  // namespace ipex_studio

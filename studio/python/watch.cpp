#include "studio/python/watch.h"

#include <torch/csrc/autograd/python_variable.h>

namespace ipex_studio {
namespace {

namespace py = pybind11;

// Tensors of inference mode count no writes.
std::int64_t versionOf(const at::Tensor& tensor) { return tensor.is_inference() ? 0 : tensor._version(); }

const void* dataOf(const at::Tensor& tensor) { return tensor.has_storage() ? tensor.data_ptr() : nullptr; }

}  // namespace

Watch::Watch(const py::list& entries, const py::list& empty) {
  entries_.reserve(entries.size());
  for (const py::handle item : entries) {
    const py::tuple triple = item.cast<py::tuple>();
    Entry entry{triple[0].cast<py::dict>(), triple[1], triple[2], {}};
    if (THPVariable_Check(entry.value.ptr())) {
      entry.tensor = THPVariable_Unpack(entry.value.ptr());
      entry.version = versionOf(entry.tensor);
      entry.data = dataOf(entry.tensor);
    }
    entries_.push_back(std::move(entry));
  }
  for (const py::handle dictionary : empty) empty_.push_back(dictionary.cast<py::dict>());
}

bool Watch::same() const {
  for (const Entry& entry : entries_) {
    if (PyDict_GetItemWithError(entry.dictionary.ptr(), entry.key.ptr()) != entry.value.ptr()) return false;
    if (!entry.tensor.defined()) continue;
    if (versionOf(entry.tensor) != entry.version || dataOf(entry.tensor) != entry.data) return false;
  }
  for (const py::dict& dictionary : empty_) {
    if (PyDict_Size(dictionary.ptr()) != 0) return false;
  }
  return true;
}

}  // namespace ipex_studio

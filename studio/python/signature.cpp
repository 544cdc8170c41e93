#include "studio/python/signature.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

namespace py = pybind11;

py::object signatureOf(const py::tuple& arguments, bool sizes) {
  std::string text;
  const bool with_gradients = at::GradMode::is_enabled();
  for (const py::handle argument : arguments) {
    if (!THPVariable_CheckExact(argument.ptr())) return py::none();
    const at::Tensor& tensor = THPVariable_Unpack(argument.ptr());
    if (!tensor.device().is_cpu() || tensor.layout() != at::kStrided) return py::none();
    if (with_gradients && tensor.requires_grad()) return py::none();
    text += static_cast<char>(tensor.scalar_type());
    text += static_cast<char>(tensor.dim());
    if (!sizes) continue;
    for (const std::int64_t size : tensor.sizes()) text.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  return py::bytes(text);
}

}  // namespace ipex_studio

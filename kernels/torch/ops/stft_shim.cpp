// aten::stft with the argument that PyTorch 2.7 added, so that files of PyTorch 2.7 and later load in older libtorch.
//
// align_to_window says where frames begin that are not centred and whose window is shorter than the transform. Files
// hold None there unless their author asks for it.
#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/stft_version.h"

#if IPEX_NEEDS_STFT_SHIM

namespace ipex_studio {
namespace {

using OptionalInt = c10::optional<std::int64_t>;
using OptionalTensor = c10::optional<at::Tensor>;

void refuseAlignment(c10::optional<bool> align_to_window) {
  TORCH_CHECK(!align_to_window.value_or(false), "stft: align_to_window needs libtorch 2.7 or later.");
}

at::Tensor stft(const at::Tensor& self, std::int64_t n_fft, OptionalInt hop_length, OptionalInt win_length,
                const OptionalTensor& window, bool normalized, c10::optional<bool> onesided,
                c10::optional<bool> return_complex, c10::optional<bool> align_to_window) {
  refuseAlignment(align_to_window);
  return at::stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex);
}

at::Tensor centredStft(const at::Tensor& self, std::int64_t n_fft, OptionalInt hop_length, OptionalInt win_length,
                       const OptionalTensor& window, bool center, c10::string_view pad_mode, bool normalized,
                       c10::optional<bool> onesided, c10::optional<bool> return_complex,
                       c10::optional<bool> align_to_window) {
  refuseAlignment(align_to_window);
  return at::stft(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex);
}

}  // namespace

// No defaults: calls without the new argument are those of the stock operator.
TORCH_LIBRARY_FRAGMENT(aten, m) {
  m.def(
      "stft.align(Tensor self, int n_fft, int? hop_length, int? win_length, Tensor? window, bool normalized, "
      "bool? onesided, bool? return_complex, bool? align_to_window) -> Tensor",
      stft);
  m.def(
      "stft.center_align(Tensor self, int n_fft, int? hop_length, int? win_length, Tensor? window, bool center, "
      "str pad_mode, bool normalized, bool? onesided, bool? return_complex, bool? align_to_window) -> Tensor",
      centredStft);
}

}  // namespace ipex_studio

#endif

// OriginalCode: what a region computes, as operators of libtorch. It runs where no plan can take the inputs.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/script.h>

namespace ipex_studio {

// Thread-safe.
class OriginalCode {
 public:
  // `text`: IR of a graph without blocks, as passes/original_code.h describes its inputs; `tensors`: the last of them.
  // Read at the first run. It is untrusted: only operators that compute tensors from tensors and numbers are run.
  OriginalCode(std::string text, std::vector<at::Tensor> tensors);
  ~OriginalCode();
  OriginalCode(const OriginalCode&) = delete;
  OriginalCode& operator=(const OriginalCode&) = delete;

  const std::string& text() const { return text_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  // Computes the results. Throws what its operators throw, and Error(kBadModel) if the text is damaged.
  std::vector<at::Tensor> run(c10::ArrayRef<const at::Tensor*> inputs, at::IntArrayRef sizes,
                              const std::vector<at::Tensor>& constants);

 private:
  struct Program;

  const std::string text_;
  const std::vector<at::Tensor> tensors_;
  std::once_flag read_;
  std::unique_ptr<const Program> program_;
};

}  // namespace ipex_studio

// See load_code.h.
#include "studio/snapshot/load_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/record/input_text.h"

namespace ipex_studio {
namespace {

// A tensor as a description has it: "1..8x3:int64[0,9]".
struct TensorText {
  std::string sizes;  // "1, 3"; of ranges the low end
  std::string dtype;
  std::string low = "0", high = "1";
};

TensorText tensorText(const std::string& description) {
  TensorText text;
  const std::size_t colon = description.find(':');
  const std::string shape = description.substr(0, colon) == "scalar" ? "" : description.substr(0, colon);
  for (std::size_t begin = 0; begin < shape.size();) {
    const std::size_t end = std::min(shape.find('x', begin), shape.size());
    const std::string size = shape.substr(begin, end - begin);
    text.sizes += (text.sizes.empty() ? "" : ", ") + size.substr(0, size.find(".."));
    begin = end + 1;
  }
  text.dtype = description.substr(colon + 1);
  const std::size_t open = text.dtype.find('['), comma = text.dtype.find(',');
  if (open == std::string::npos || comma == std::string::npos) return text;
  text.low = text.dtype.substr(open + 1, comma - open - 1);
  text.high = text.dtype.substr(comma + 1, text.dtype.find(']') - comma - 1);
  text.dtype.resize(open);
  return text;
}

bool isFloating(const std::string& dtype) {
  return dtype.rfind("float", 0) == 0 || dtype.rfind("bfloat", 0) == 0 || dtype.rfind("complex", 0) == 0;
}

// A literal that both languages and --input write alike but for the words of `words`; else the argument's name.
std::string literal(const InputRecord& input, const std::vector<std::pair<const char*, const char*>>& words) {
  for (const auto& [ours, theirs] : words) {
    if (input.description == ours) return theirs;
  }
  const bool number =
      !input.description.empty() && input.description.find_first_not_of("0123456789.-") == std::string::npos;
  const bool quoted = input.description.size() > 1 && input.description[0] == '"';
  return number || quoted ? input.description : input.name;
}

std::string pythonInput(const InputRecord& input) {
  if (!describesTensor(input.description))
    return literal(input, {{"true", "True"}, {"false", "False"}, {"None", "None"}});
  const TensorText text = tensorText(input.description);
  const std::string dtype = text.dtype == "float32" ? "" : ", dtype=torch." + text.dtype;
  if (isFloating(text.dtype)) return fmt::format("torch.randn({}{})", text.sizes.empty() ? "()" : text.sizes, dtype);
  const bool one = !text.sizes.empty() && text.sizes.find(',') == std::string::npos;
  return fmt::format("torch.randint({}, {} + 1, ({}{}){})", text.low, text.high, text.sizes, one ? "," : "",
                     text.dtype == "int64" ? "" : dtype);
}

std::string cppInput(const InputRecord& input) {
  if (!describesTensor(input.description))
    return literal(input, {{"true", "true"}, {"false", "false"}, {"None", "torch::jit::IValue()"}});
  const TensorText text = tensorText(input.description);
  static constexpr std::pair<const char*, const char*> kTypes[] = {{"float64", "torch::kDouble"},
                                                                   {"float16", "torch::kHalf"},
                                                                   {"bfloat16", "torch::kBFloat16"},
                                                                   {"int64", "torch::kLong"},
                                                                   {"int32", "torch::kInt"},
                                                                   {"int16", "torch::kShort"},
                                                                   {"int8", "torch::kChar"},
                                                                   {"uint8", "torch::kByte"},
                                                                   {"bool", "torch::kBool"},
                                                                   {"complex64", "torch::kComplexFloat"},
                                                                   {"complex128", "torch::kComplexDouble"}};
  std::string type;
  for (const auto& [name, cpp] : kTypes) {
    if (text.dtype == name) type = fmt::format(", {}", cpp);
  }
  if (isFloating(text.dtype)) return fmt::format("torch::randn({{{}}}{})", text.sizes, type);
  return fmt::format("torch::randint({}, {} + 1, {{{}}}{})", text.low, text.high, text.sizes, type);
}

std::string joined(const std::vector<InputRecord>& inputs, std::string (*text)(const InputRecord&)) {
  std::string all;
  for (const InputRecord& input : inputs) all += (all.empty() ? "" : ", ") + text(input);
  return all;
}

}  // namespace

std::string pythonCode(const ExportResult& file, const std::vector<InputRecord>& inputs) {
  std::string code = "import torch\n\n";
  if (file.form == ExportForm::kCompiled)
    code +=
        fmt::format("torch.ops.load_library(\"{}\")\n", file.library.empty() ? "libipex_studio_ops.so" : file.library);
  code += fmt::format("model = torch.jit.load(\"{}\")\n", file.path);
  return code + fmt::format("with torch.no_grad():\n    result = model({})\n", joined(inputs, pythonInput));
}

std::string cppCode(const ExportResult& file, const std::vector<InputRecord>& inputs) {
  const bool compiled = file.form == ExportForm::kCompiled;
  std::string code = "#include <torch/script.h>\n";
  // The call keeps the linker from leaving the library out.
  if (compiled)
    code +=
        "#include <kernels/torch/loader/ops.h>  // link ipex_studio::ops\n\n"
        "if (const char* why = ipex_studio_ops_problem()) throw std::runtime_error(why);\n";
  if (!compiled) code += "\n";
  code += fmt::format("torch::NoGradGuard no_grad;\ntorch::jit::Module model = torch::jit::load(\"{}\");\n", file.path);
  return code + fmt::format("torch::jit::IValue result = model.forward({{{}}});\n", joined(inputs, cppInput));
}

}  // namespace ipex_studio

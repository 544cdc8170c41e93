// Extracts the sentence that matters from libtorch's messages.
#include "core/torch/torch_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ipex_studio {
namespace {

// The first line that is not empty.
std::string firstLine(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

// The message of a `raise` in the model's code, "ValueError: three rows"; libtorch puts it last, behind the trace.
std::string raisedMessage(const std::string& text) {
  if (text.rfind("The following operation failed in the TorchScript interpreter", 0) != 0) return firstLine(text);
  const std::size_t end = text.find_last_not_of(" \n");
  const std::size_t begin = text.rfind('\n', end);
  const std::string line = begin == std::string::npos ? text : text.substr(begin + 1, end - begin);
  const std::string scope = "builtins.";
  return line.rfind(scope, 0) == 0 ? line.substr(scope.size()) : line;
}

std::string withoutStop(std::string text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ':' || text.back() == ' ' || text.back() == '\r'))
    text.pop_back();
  return text;
}

// The word after `marker`, up to white space or punctuation.
std::string wordAfter(const std::string& text, const std::string& marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + marker.size();
  return text.substr(begin, text.find_first_of(" .,\n", begin) - begin);
}

// The operator of which no form takes the arguments of a call, "aten::stft"; empty if the text says something else.
std::string misfit(const std::string& text) {
  if (text.find("Arguments for call are not valid") == std::string::npos &&
      text.find(" positional arguments") == std::string::npos)
    return {};
  const std::size_t begin = text.find("aten::");
  if (begin == std::string::npos) return {};
  const std::string op = text.substr(begin, text.find_first_of("( \n", begin) - begin);
  return op.substr(0, op.find('.'));  // without the overload
}

}  // namespace

std::string shortMessage(const std::exception& problem) {
  const std::string text = problem.what();
  const std::string marker = "RuntimeError: ";
  const std::size_t last = text.rfind(marker);
  return withoutStop(last == std::string::npos ? raisedMessage(text) : firstLine(text.substr(last + marker.size())));
}

Error loadError(const std::string& path, const std::exception& problem) {
  const std::string text = problem.what();
  std::string op = wordAfter(text, "Unknown builtin op: ");
  if (op.empty()) op = wordAfter(text, "Couldn't find an operator for ");
  if (!op.empty()) {
    return Error(
        ExitCode::kBadModel,
        fmt::format("'{}' uses the operator {}, which libtorch {} does not have; build ipex-studio with the PyTorch "
                    "version that wrote the file, or load the library that defines the operator with --library FILE.",
                    path, op, TORCH_VERSION));
  }
  op = misfit(text);
  if (!op.empty()) {
    return Error(ExitCode::kBadModel,
                 fmt::format("'{}' calls the operator {} with arguments that libtorch {} does not have for it; build "
                             "ipex-studio with the PyTorch version that wrote the file.",
                             path, op, TORCH_VERSION));
  }
  return Error(ExitCode::kBadModel,
               fmt::format("'{}' cannot be loaded by libtorch {}: {}.", path, TORCH_VERSION, shortMessage(problem)));
}

Error runError(const std::exception& problem) {
  if (const auto* ours = dynamic_cast<const Error*>(&problem)) return *ours;
  const std::string message = shortMessage(problem);
  static const std::array<const char*, 9> kInputWords = {
      "size", "shape", "dimension", "dtype", "Expected", "expected", "mat1", "index out of range", "scalar type"};
  for (const char* word : kInputWords) {
    if (message.find(word) == std::string::npos) continue;
    return Error(
        ExitCode::kUsage,
        fmt::format("The model refused these inputs: {}; give the right sizes and types with --input.", message));
  }
  return Error(ExitCode::kFailure, fmt::format("The model failed while running: {}.", message));
}

}  // namespace ipex_studio

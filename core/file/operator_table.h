// Table of what operators can reach, by name: the reviewed list core/file/operators.txt.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipex_studio {

// The risk of an operator: what files that call it can do with it.
struct OperatorRisk {
  std::string kind;        // of the finding; empty: nothing beyond computing on its arguments
  std::string sentence;    // "Calls {}: writes any file it names."; {} stands for the operator
  bool dangerous = false;  // as in Finding
};

// Returns nullptr for an operator that the list lacks. `name`: "aten::relu", without overload. Thread-safe.
const OperatorRisk* operatorRisk(const std::string& name);

// True for namespaces of PyTorch itself ("aten"); operators of others need a library. Thread-safe.
bool isStockNamespace(const std::string& name);

// True for a namespace of Intel Extension for PyTorch. Thread-safe.
bool isExtensionNamespace(const std::string& name);

// Operators of other libraries that are computed here under our name ("torchvision::nms"). Thread-safe.
const std::set<std::string>& ownOperators();

// True if the list names the class of C++ ("quantized::LinearPackedParamsBase"). Thread-safe.
bool isListedClass(const std::string& name);

// Reads operators, one a line ("aten::relu"); '#' begins a comment, an overload (".Tensor") is dropped. `path` begins
// complaints. Throws Error(kUsage) for a line that is no operator, for a list without any, and beyond 100,000.
std::vector<std::string> parseOperatorList(std::string_view text, const std::string& path);

}  // namespace ipex_studio

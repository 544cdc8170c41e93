// The equation of an einsum: labels of dimensions, and their sizes for the given operands. Private to passes/.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/pass.h"

namespace ipex_studio {

// A tensor whose dimension i carries the label labels[i].
struct EinsumTerm {
  torch::jit::Value* value = nullptr;
  std::string labels;
};

struct EinsumEquation {
  std::vector<EinsumTerm> terms;
  std::string result;
  std::map<char, std::int64_t> sizes;                          // in the example
  std::map<char, std::pair<torch::jit::Value*, int>> sources;  // where a label's size can be read: tensor, dimension
};

// Reads aten::einsum(equation, operands, …). `...` becomes digits, counted from the right; a missing "->" its meaning.
Decline readEinsum(torch::jit::Node* node, EinsumEquation* equation);

inline bool hasLabel(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

template <typename Test>
std::string selectLabels(const std::string& labels, const Test& test) {
  std::string chosen;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(chosen), test);
  return chosen;
}

}  // namespace ipex_studio

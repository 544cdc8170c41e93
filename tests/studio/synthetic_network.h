// ResNet-50 as a list of operations with shapes, which made-up passes rewrite.
#pragma once

#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio::testing {

struct Shape {
  int channels = 0;
  int side = 0;
  std::string text() const;  // "1, 64, 56, 56"
  std::string dims() const;  // "1x64x56x56"
};

struct Op {
  std::string kind;
  std::string name;
  std::string scope;
  std::vector<OriginId> origins;
  std::vector<int> inputs;  // ops; -1: the model's input
  Shape shape;
  int in_channels = 0;
  int kernel = 0;
  int stride = 1;
  std::vector<std::string> post;  // operations fused onto it
  bool gone = false;

  double flops() const;
};

class Network {
 public:
  Network();

  std::vector<Origin> origins() const;
  int users(int of) const;
  // Merges `op` into `into`, which takes its place.
  void merge(int op, int into);

  std::vector<Op> ops;

 private:
  int add(Op op);
  int conv(const std::string& path, int x, int in, Shape shape, int kernel, int stride);
  int bn(const std::string& path, int x);
  int relu(const std::string& path, int x);
};

// Returns the operations in an order that respects their inputs.
std::vector<int> ordered(const Network& net);

}  // namespace ipex_studio::testing

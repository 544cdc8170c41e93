// ArgumentRecord: one argument of forward, as known before anything runs.
#pragma once

#include <string>

namespace ipex_studio {

struct ArgumentRecord {
  std::string name;
  std::string type;     // "Tensor", "List[Tensor]"
  std::string example;  // a value of the type as --input takes it behind NAME: or NAME=, such as "[1x3x224x224]"
};

}  // namespace ipex_studio

// Which flags a request has beyond the defaults of the command line, as words that give them again, and how one of them
// is taken back.
#pragma once

#include <string>
#include <vector>

#include "core/record/request.h"

namespace ipex_studio {

struct FlagInForce {
  std::string name;   // "--instances"
  std::string words;  // "--instances 2"; several values of one flag are given one after the other
};

// In the order of --help. Left out are the flags that the window's own controls show: inputs, threads and precision.
std::vector<FlagInForce> flagsInForce(const Request& request);

// Sets the flag back to its default. False if there is none of that name.
bool resetFlag(const std::string& name, Request* request);

}  // namespace ipex_studio

// Attacks on TorchScript files that were published for `.pt`, ZIP or pickle, each as a maker of mutants: files that
// differ in spelling, place and packing and still attack.
#pragma once

#include <string>
#include <vector>

#include "tests/core/op/random_spec.h"

namespace ipex_studio::testing {

struct Attack {
  std::string name;
  std::string kind;  // of the dangerous finding that must name it; empty: the file must be refused
  std::string (*make)(Random& random);
};

std::vector<Attack> codeAttacks();
std::vector<Attack> pickleAttacks();
std::vector<Attack> zipAttacks();

// Harmless files, packed as the mutants are: with other code, with other values.
std::string harmlessFile(Random& random);
std::string harmlessPickles(Random& random);

}  // namespace ipex_studio::testing

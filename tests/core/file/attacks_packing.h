// Packs a file as different writers do, so that attacks do not depend on one layout.
#pragma once

#include <string>

#include "tests/core/file/pt_file_fixture.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio::testing {

inline ZipWriter packing(Random& random) {
  ZipWriter zip;
  zip.descriptors = random.chance(50);
  zip.zip64_end = random.chance(50);
  zip.padding = random.chance(50);
  return zip;
}

// Adds the members of `net`, some compressed, in one of several orders, in a folder of any name.
inline void addMembers(Random& random, const Net& net, ZipWriter* zip) {
  const std::string folder = "f" + std::to_string(random.between(0, 99999)) + "/";
  std::vector<std::pair<std::string, std::string>> members = {
      {"data/0", std::string(24, '\1')}, {"data/1", std::string("\0\0\x80\x3f", 4)}, {"data.pkl", net.data_pkl},
      {"code/__torch__.py", net.code},   {"constants.pkl", net.constants_pkl},       {"version", net.version}};
  members.insert(members.end(), net.more.begin(), net.more.end());
  for (std::size_t i = members.size() - 1; i > 0; --i) std::swap(members[i], members[random.index(i + 1)]);
  for (const auto& [name, data] : members) zip->add(folder + name, data, random.chance(40));
}

inline std::string packed(Random& random, const Net& net) {
  ZipWriter zip = packing(random);
  addMembers(random, net, &zip);
  return zip.finish();
}

}  // namespace ipex_studio::testing

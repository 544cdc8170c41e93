#include "kernels/xpu/program_texts.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/op/op_spec.h"

namespace ipex_studio {

// Texts of the .cl files by name, without an end mark: made by CMake.
extern const std::vector<std::pair<const char*, const char*>> kProgramTexts;

namespace {

constexpr const char* kShared[] = {"chain", "tiles"};

bool isShared(const std::string& name) { return name == kShared[0] || name == kShared[1]; }

std::string sharedText() {
  std::string text;
  for (int kind = 0; kind < kPostOpKindCount; ++kind)
    text += fmt::format("#define OP_{} {}\n", postOpName(static_cast<PostOpKind>(kind)), kind);
  for (const auto& [name, part] : kProgramTexts) {
    if (isShared(name)) text += part;
  }
  return text;
}

std::vector<DeviceProgram> allPrograms() {
  std::vector<DeviceProgram> programs;
  for (const auto& [name, text] : kProgramTexts) {
    if (!isShared(name)) programs.push_back({name, sharedText() + text});
  }
  return programs;
}

}  // namespace

const std::vector<DeviceProgram>& devicePrograms() {
  static const std::vector<DeviceProgram> programs = allPrograms();
  return programs;
}

const DeviceProgram& deviceProgram(const std::string& name) {
  for (const DeviceProgram& program : devicePrograms()) {
    if (program.name == name) return program;
  }
  IPEX_CHECK(false, "no program has the name " + name);
  return devicePrograms().front();
}

}  // namespace ipex_studio

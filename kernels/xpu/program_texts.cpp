#include "kernels/xpu/program_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/op/op_spec.h"
#include "kernels/xpu/device_chain.h"

namespace ipex_studio {

// Texts of the .cl files by name, without an end mark: made by CMake.
extern const std::vector<std::pair<const char*, const char*>> kProgramTexts;

namespace {

constexpr const char* kShared[] = {"chain", "tiles", "elements"};
// Those whose main operands have one type, by the ends of their names.
constexpr const char* kOfElements[] = {"convolution", "product"};
constexpr std::pair<const char*, const char*> kElements[] = {
    {"", "TYPE_F32"}, {"_bf16", "TYPE_BF16"}, {"_f16", "TYPE_F16"}, {"_bytes", "TYPE_U8"}};

template <std::size_t count>
bool isAmong(const char* const (&names)[count], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string typeName(DType dtype) {
  std::string name = dtypeName(dtype);
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

std::string sharedText(const char* element) {
  std::string text;
  for (const DType dtype : kDeviceTypes)
    text += fmt::format("#define TYPE_{} {}\n", typeName(dtype), deviceType(dtype));
  text += fmt::format("#define ELEMENT {}\n", element);
  for (int kind = 0; kind < kPostOpKindCount; ++kind)
    text += fmt::format("#define OP_{} {}\n", postOpName(static_cast<PostOpKind>(kind)), kind);
  for (const auto& [name, part] : kProgramTexts) {
    if (isAmong(kShared, name)) text += part;
  }
  return text;
}

std::vector<DeviceProgram> allPrograms() {
  std::vector<DeviceProgram> programs;
  for (const auto& [name, text] : kProgramTexts) {
    if (isAmong(kShared, name)) continue;
    for (const auto& [suffix, element] : kElements) {
      if (*suffix == '\0' || isAmong(kOfElements, name))
        programs.push_back({name + std::string(suffix), sharedText(element) + text});
    }
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

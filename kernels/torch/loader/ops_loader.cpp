// libipex_studio_ops: finds out which torch runs in this process and loads the operators that were built for it.
//
// It links no torch. An operator library built for another torch would fail with missing symbols, or worse without;
// this one says what is wrong and registers nothing. The operators lie beside it as libipex_studio_ops_torch<M>.<m>.so.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "kernels/torch/loader/ops.h"

namespace {

// at::show_config() returns a std::string. Both layouts of the standard library's string begin with the pointer to its
// text and are returned through memory, as this is, so it can be read whichever of them that torch was built with.
struct StringHead {
  const char* text;
  char rest[24];
};
using ShowConfig = StringHead (*)();
constexpr const char* kShowConfig[] = {"_ZN2at11show_configB5cxx11Ev", "_ZN2at11show_configEv"};

int noteTorch(dl_phdr_info* info, std::size_t, void* found) {
  const char* name = std::strrchr(info->dlpi_name, '/');
  if (std::strncmp(name != nullptr ? name + 1 : info->dlpi_name, "libtorch_cpu.so", 15) != 0) return 0;
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

// "1.13.0"; empty without a torch in this process.
std::string runningTorch() {
  std::string path;
  dl_iterate_phdr(noteTorch, &path);
  void* torch = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return {};
  void* symbol = nullptr;
  for (const char* name : kShowConfig) symbol = symbol != nullptr ? symbol : dlsym(torch, name);
  std::string version = "of an unknown version";
  if (symbol != nullptr) {
    // "…, TORCH_VERSION=1.13.0, …"
    static const StringHead config = reinterpret_cast<ShowConfig>(symbol)();  // its memory is never given back
    constexpr char kKey[] = "TORCH_VERSION=";
    const char* at = std::strstr(config.text, kKey);
    if (at != nullptr) version.assign(at + sizeof kKey - 1, std::strspn(at + sizeof kKey - 1, "0123456789."));
  }
  dlclose(torch);
  return version;
}

std::string minorVersion(const std::string& version) {
  const std::size_t first = version.find('.');
  return version.substr(0, version.find('.', first == std::string::npos ? first : first + 1));
}

std::string ownFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&ipex_studio_ops_problem), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// Loads the operators; a sentence when that cannot be.
std::string loadOperators() {
  std::string version = runningTorch();
  if (version.empty()) version = IPEX_TORCH_VERSION;  // a program that links no torch of its own gets ours
  const std::string path = ownFolder() + "libipex_studio_ops_torch" + minorVersion(version) + ".so." IPEX_SOVERSION;
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  const std::string why = dlerror();
  if (minorVersion(version) != minorVersion(IPEX_TORCH_VERSION)) {
    return "The operators of ipex-studio " IPEX_STUDIO_VERSION " were built for torch " IPEX_TORCH_VERSION
           " and cannot run in torch " +
           version + "; install those built for it, or run this model with torch " IPEX_TORCH_VERSION ".";
  }
  return "The operators of ipex-studio " IPEX_STUDIO_VERSION " cannot be loaded (" + why + "); install it again.";
}

const std::string& problem() {
  static const std::string text = loadOperators();
  return text;
}

// Loading the library is enough, from torch.ops.load_library or by linking it.
[[maybe_unused]] const bool loaded = [] {
  if (!problem().empty()) std::fprintf(stderr, "%s\n", problem().c_str());
  return problem().empty();
}();

}  // namespace

const char* ipex_studio_ops_problem() { return problem().empty() ? nullptr : problem().c_str(); }

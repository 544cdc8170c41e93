// Runs from the start of a process to a loaded model, or to its first result; startup.py takes the time from outside.
//
//   startup_probe MODEL.pt                        loads it, as any program of libtorch does
//   startup_probe MODEL.pt 1x3x224x224 [LIBRARY]  and runs it once; LIBRARY: that of compiled exports
#include <dlfcn.h>
#include <torch/script.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  if (argc > 3 && dlopen(argv[3], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const torch::NoGradGuard no_grad;
  torch::jit::Module model = torch::jit::load(argv[1], at::kCPU);
  if (argc > 2) {
    std::vector<std::int64_t> dims;
    std::istringstream text(argv[2]);
    for (std::string size; std::getline(text, size, 'x');) dims.push_back(std::stoll(size));
    model.forward({at::ones(dims)});
  }
  std::puts("ready");
  std::fflush(stdout);
  _exit(0);  // freeing memory is no part of a start
} catch (const std::exception& error) {
  std::fprintf(stderr, "startup_probe stopped: %s\n", error.what());
  return 1;
}

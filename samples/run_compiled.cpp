// Runs a `compiled` export from C++ with torch and the operator library, nothing else of ours.
//
//   build/sample_run_compiled fast.pt 1x3x224x224
#include <kernels/torch/loader/ops.h>
#include <torch/script.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Makes random numbers of the sizes in "1x3x224x224".
at::Tensor makeInput(const std::string& sizes) {
  std::vector<std::int64_t> dims;
  std::istringstream text(sizes);
  for (std::string size; std::getline(text, size, 'x');) dims.push_back(std::stoll(size));
  return at::randn(dims);
}

int run(const char* path, const std::vector<std::string>& sizes) {
  const torch::NoGradGuard no_grad;
  const auto load_begin = Clock::now();
  torch::jit::Module model = torch::jit::load(path, at::kCPU);
  std::printf("loaded in %.0f ms\n", milliseconds(load_begin));
  std::vector<torch::jit::IValue> inputs;
  for (const std::string& size : sizes) inputs.emplace_back(makeInput(size));
  for (const char* which : {"first", "second", "third"}) {
    const auto begin = Clock::now();
    const torch::jit::IValue result = model.forward(inputs);
    std::printf("%s run: %.1f ms, result %s\n", which, milliseconds(begin),
                result.isTensor() ? c10::str(result.toTensor().sizes()).c_str() : result.tagKind().c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run_compiled MODEL.pt SIZES…\n");
    return 2;
  }
  if (ipex_studio_ops_problem() != nullptr) return 5;  // the reason was written to stderr
  try {
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_compiled stopped: %s\n", error.what());
    return 1;
  }
}

// Trains a TorchScript ResNet-50 on Fashion-MNIST with plain libtorch:
//
//   export_untrained.py untrained.pt
//   train untrained.pt trained.pt [epochs [highest rate]]
//
// Images are padded to 32x32 and repeated over three channels. Three and a half epochs of SGD with Nesterov momentum
// under a one-cycle rate (L. Smith, "Super-convergence", 2018) take less than a quarter of an hour on two cores with
// BF16 and end near 91 % on the 10,000 test images. Images are not augmented, since so few epochs do not overfit. Every
// 100 steps trained.pt.checkpoint is replaced; a run that starts again continues from it.
#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "core/data/idx_file.h"
#include "core/runtime/machine_facts.h"

namespace {

using torch::jit::Module;

constexpr const char* kData = "/usr/share/datasets/fashion-mnist/";
constexpr std::int64_t kBatch = 128;
constexpr int kStepsPerCheckpoint = 100;

struct Images {
  at::Tensor pixels;  // uint8 (N, 28, 28)
  at::Tensor labels;  // int64 (N)
};

Images read(const std::string& name) {
  return {ipex_studio::readIdx(kData + name + "-images-idx3-ubyte.gz"),
          ipex_studio::readIdx(kData + name + "-labels-idx1-ubyte.gz").to(at::kLong)};
}

// Applies preprocess.toml to a whole batch: scales to 0..1, normalizes by mean and deviation of the set, pads to 32x32,
// repeats to three channels.
at::Tensor prepare(const at::Tensor& pixels) {
  at::Tensor x = pixels.unsqueeze(1).to(at::kFloat).div(255).sub(0.286).div(0.353);
  x = at::constant_pad_nd(x, {2, 2, 2, 2}, -0.286 / 0.353);
  return x.expand({-1, 3, -1, -1}).contiguous(at::MemoryFormat::ChannelsLast);
}

// The one-cycle rate: rises over the first quarter, falls to zero over the rest.
double rateAt(std::int64_t step, std::int64_t steps, double highest_rate) {
  const double peak = 0.25 * static_cast<double>(steps);
  const double at = static_cast<double>(step);
  const double share = at < peak ? at / peak : (static_cast<double>(steps) - at) / (static_cast<double>(steps) - peak);
  return highest_rate * 0.5 * (1 - std::cos(M_PI * share)) + 1e-4;
}

// BF16 autocast, twice as fast where the CPU has BF16; weights, gradients and their sums stay FP32.
class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) {
    if (!on_) return;
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
};

double accuracy(Module& module, const Images& images) {
  const torch::NoGradGuard no_gradients;
  module.eval();
  std::int64_t right = 0;
  for (std::int64_t begin = 0; begin < images.labels.size(0); begin += kBatch) {
    const auto part = [&](const at::Tensor& all) { return all.slice(0, begin, begin + kBatch); };
    const at::Tensor scores = module.forward({prepare(part(images.pixels))}).toTensor();
    right += scores.argmax(1).eq(part(images.labels)).sum().item<std::int64_t>();
  }
  module.train();
  return static_cast<double>(right) / static_cast<double>(images.labels.size(0));
}

// The state that training resumes from; replaced whole or not at all.
struct Checkpoint {
  std::string path;

  void write(const Module& module, const torch::optim::SGD& optimizer, std::int64_t step) const {
    torch::serialize::OutputArchive archive, state;
    for (const auto& value : module.named_parameters()) archive.write("parameter." + value.name, value.value);
    for (const auto& value : module.named_buffers()) archive.write("buffer." + value.name, value.value, true);
    archive.write("step", c10::IValue(step));
    optimizer.save(state);
    archive.write("optimizer", state);
    archive.save_to(path + ".partial");
    std::filesystem::rename(path + ".partial", path);
  }

  // Returns the step to continue with; 0 if there is no checkpoint.
  std::int64_t read(const Module& module, torch::optim::SGD& optimizer) const {
    if (!std::filesystem::exists(path)) return 0;
    const torch::NoGradGuard no_gradients;
    torch::serialize::InputArchive archive, state;
    archive.load_from(path);
    const auto restore = [&archive](const at::Tensor& target, const std::string& key, bool is_buffer) {
      at::Tensor stored;
      archive.read(key, stored, is_buffer);
      target.copy_(stored);
    };
    for (const auto& value : module.named_parameters()) restore(value.value, "parameter." + value.name, false);
    for (const auto& value : module.named_buffers()) restore(value.value, "buffer." + value.name, true);
    archive.read("optimizer", state);
    optimizer.load(state);
    c10::IValue step;
    archive.read("step", step);
    return step.toInt();
  }
};

void train(Module& module, const std::string& target, double epochs, double highest_rate) {
  const Images images = read("train"), test = read("t10k");
  std::vector<at::Tensor> parameters;
  for (at::Tensor parameter : module.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    parameters.push_back(parameter.requires_grad_(true));
  }
  torch::optim::SGD optimizer(parameters,
                              torch::optim::SGDOptions(highest_rate).momentum(0.9).weight_decay(5e-4).nesterov(true));
  const std::int64_t per_epoch = images.labels.size(0) / kBatch,
                     steps = std::llround(epochs * static_cast<double>(per_epoch));
  const Checkpoint checkpoint{target + ".checkpoint"};
  const std::int64_t first = checkpoint.read(module, optimizer);
  if (first > 0)
    std::printf("going on at step %lld of %lld\n", static_cast<long long>(first), static_cast<long long>(steps));
  const bool bf16 = ipex_studio::hasBf16(ipex_studio::machineFacts().isa);
  const auto begin = std::chrono::steady_clock::now();
  at::Tensor order;
  double loss_sum = 0;
  for (std::int64_t step = first; step < steps; ++step) {
    // One order per epoch, the same after a restart.
    if (step % per_epoch == 0 || step == first) {
      torch::manual_seed(static_cast<std::uint64_t>(step / per_epoch));
      order = torch::randperm(images.labels.size(0));
    }
    const at::Tensor chosen = order.slice(0, step % per_epoch * kBatch, (step % per_epoch + 1) * kBatch);
    const at::Tensor x = prepare(images.pixels.index_select(0, chosen));
    at::Tensor scores;
    {
      const Autocast autocast(bf16);
      scores = module.forward({x}).toTensor();
    }
    const at::Tensor loss =
        torch::nn::functional::cross_entropy(scores.to(at::kFloat), images.labels.index_select(0, chosen));
    for (at::Tensor& parameter : parameters)
      parameter.mutable_grad() = at::Tensor();  // new gradients need not be added to zeros
    loss.backward();
    for (auto& group : optimizer.param_groups())
      static_cast<torch::optim::SGDOptions&>(group.options()).lr(rateAt(step, steps, highest_rate));
    optimizer.step();
    loss_sum += loss.item<double>();
    if ((step + 1) % kStepsPerCheckpoint != 0 && step + 1 != steps) continue;
    checkpoint.write(module, optimizer, step + 1);
    const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("step %lld of %lld, loss %.3f, %.0f s\n", static_cast<long long>(step + 1),
                static_cast<long long>(steps), loss_sum / static_cast<double>((step % kStepsPerCheckpoint) + 1),
                elapsed_s);
    std::fflush(stdout);
    loss_sum = 0;
  }
  std::printf("accuracy on the test images: %.2f %%\n", 100 * accuracy(module, test));
  for (at::Tensor parameter : module.parameters()) parameter.set_requires_grad(false);
  module.eval();
  module.save(target + ".partial");
  std::filesystem::rename(target + ".partial", target);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: train UNTRAINED.pt TRAINED.pt [EPOCHS [HIGHEST_RATE]]\n");
    return 2;
  }
  try {
    at::set_num_threads(ipex_studio::usableCores());  // libtorch's default is one thread here
    // Training uses the plain interpreter: its optimizations are for inference, and operators record the gradients.
    torch::jit::setGraphExecutorOptimize(false);
    Module module = torch::jit::load(argv[1]);
    module.train();
    train(module, argv[2], argc > 3 ? std::atof(argv[3]) : 3.5, argc > 4 ? std::atof(argv[4]) : 0.1);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train stopped: %s\n", error.what());
    return 1;
  }
}

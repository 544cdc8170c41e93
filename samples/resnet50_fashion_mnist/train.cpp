// Trains a TorchScript ResNet-50 on Fashion-MNIST, or on the binary files of CIFAR-10:
//
//   export_untrained.py untrained.pt
//   train untrained.pt trained.pt [EPOCHS [DATA [PREPROCESS.toml]]]
//
// Four epochs of SGD with Nesterov momentum under a one-cycle rate (L. Smith, "Super-convergence", 2018) end near 91 %
// on the 10,000 test images of Fashion-MNIST. Where the CPU has BF16 it is used. Every 100 steps trained.pt.checkpoint
// is replaced; a run that starts again continues from it, with the same bits. `ipex-studio train` does the same in a
// sandbox, with records.
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <torch/script.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/data/data_set.h"
#include "core/data/preprocess.h"
#include "core/runtime/machine_facts.h"
#include "core/train/training.h"

namespace {

using ipex_studio::DataSet;
using ipex_studio::DataSetOptions;
using ipex_studio::Training;
using torch::jit::Module;

constexpr std::int64_t kStepsPerCheckpoint = 100;

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("there is no file " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

DataSetOptions dataOptions(const std::string& preprocess) {
  DataSetOptions options;
  options.preprocess = ipex_studio::preprocessFromText(textOf(preprocess), preprocess);
  options.batch = 128;
  return options;
}

// Writes a file whole or not at all.
template <class Write>
void replace(const std::string& path, const Write& write) {
  {
    std::ofstream file(path + ".partial", std::ios::binary);
    write(file);
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }
  std::filesystem::rename(path + ".partial", path);
}

struct Report : ipex_studio::TrainingWatch {
  std::int64_t steps;  // of all epochs
  void onStep(const ipex_studio::TrainingStep& step) override {
    if (step.step % 20 != 0) return;
    std::printf("step %lld of %lld, loss %.3f\n", static_cast<long long>(step.step), static_cast<long long>(steps),
                step.loss);
    std::fflush(stdout);
  }
  void onEpoch(const ipex_studio::TrainingEpoch& epoch) override {
    std::printf("epoch %lld, accuracy on the test images: %.2f %%\n", static_cast<long long>(epoch.epoch),
                100 * epoch.metric);
  }
};

void train(const std::string& source, const std::string& target, std::int64_t epochs, const std::string& data,
           const std::string& preprocess) {
  const std::string checkpoint = target + ".checkpoint";
  const bool resumes = std::filesystem::exists(checkpoint);
  DataSetOptions reading = dataOptions(preprocess);
  const DataSet test(data, reading);
  reading.for_training = true;
  DataSet images(data, reading);
  ipex_studio::TrainingOptions options;
  options.optimizer = "sgd:lr=0.1,momentum=0.9,nesterov,weight_decay=5e-4";
  options.schedule = "one_cycle:warmup=0.25";
  options.epochs = epochs;
  options.bf16 = ipex_studio::hasBf16(ipex_studio::machineFacts().isa);
  Training training(torch::jit::load(resumes ? checkpoint : source), images, &test, options);
  if (resumes) {
    const int file = ::open(checkpoint.c_str(), O_RDONLY | O_CLOEXEC);
    training.resume(ipex_studio::readTrainingState(file, checkpoint));
    ::close(file);
  }
  Report report;
  report.steps = training.total();
  while (!training.run(report, kStepsPerCheckpoint)) {
    replace(checkpoint, [&](std::ostream& stream) { training.saveCheckpoint(stream); });
  }
  replace(target, [&](std::ostream& stream) { training.saveModel(stream, textOf(preprocess)); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: train UNTRAINED.pt TRAINED.pt [EPOCHS [DATA [PREPROCESS.toml]]]\n");
    return 2;
  }
  try {
    at::set_num_threads(ipex_studio::usableCores());  // libtorch's default is one thread here
    train(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 4, argc > 4 ? argv[4] : "/usr/share/datasets/fashion-mnist",
          argc > 5 ? argv[5] : IPEX_SAMPLE_DIR "/preprocess.toml");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train stopped: %s\n", error.what());
    return 1;
  }
}

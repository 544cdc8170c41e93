// The loop: the same numbers as libtorch's own parts, put together by hand; continuation bit for bit; faults.
#include "core/train/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "core/file/zip_reader.h"
#include "core/model/file_descriptor.h"
#include "core/model/module_state.h"
#include "tests/core/data/files.h"

#include <fcntl.h>

namespace ipex_studio::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 50, kFeatures = 6, kClasses = 4;

// A network with a normalization (buffers) and dropout (random numbers).
torch::jit::Module network(const std::string& last = "y") {
  at::manual_seed(3);
  torch::jit::Module module("Net");
  module.register_parameter("w1", at::rand({8, kFeatures}) - 0.5, false);
  module.register_parameter("scale", at::ones({8}), false);
  module.register_parameter("shift", at::zeros({8}), false);
  module.register_buffer("mean", at::zeros({8}));
  module.register_buffer("variance", at::ones({8}));
  module.register_parameter("w2", at::rand({kClasses, 8}) - 0.5, false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(
      "def forward(self, x):\n"
      "  h = torch.linear(x, self.w1)\n"
      "  h = torch.batch_norm(h, self.scale, self.shift, self.mean, self.variance, self.training, 0.1, 1e-5, False)\n"
      "  h = torch.dropout(torch.relu(h), 0.25, self.training)\n"
      "  y = torch.linear(h, self.w2)\n"
      "  return " +
      last + "\n");
  for (const at::Tensor& parameter : module.parameters()) at::Tensor(parameter).set_requires_grad(true);
  return module;
}

struct Files {
  Folder folder;
  std::string path = folder / "data.pt";
  Files() { write(); }
  // `change` may spoil the samples.
  void write(const std::function<void(at::Tensor x, at::Tensor y)>& change = {}) {
    at::manual_seed(7);
    const at::Tensor x = at::rand({kSamples, kFeatures}), y = at::randint(kClasses, {kSamples}, at::kLong);
    if (change) change(x, y);
    const std::vector<char> bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(x, y));
    writeBytes(path, std::string(bytes.begin(), bytes.end()));
  }
  DataSet data(std::int64_t batch = 16) const {
    DataSetOptions options;
    options.batch = batch;
    options.seed = 11;
    options.any_targets = options.for_training = true;
    return DataSet(path, options);
  }
};

TrainingOptions optionsOf(const std::string& optimizer, std::int64_t epochs = 4) {
  TrainingOptions options;
  options.optimizer = optimizer;
  options.seed = 5;
  options.epochs = epochs;
  return options;
}

struct Noted : TrainingWatch {
  std::vector<TrainingStep> steps;
  std::vector<TrainingEpoch> ends;
  void onStep(const TrainingStep& step) override { steps.push_back(step); }
  void onEpoch(const TrainingEpoch& epoch) override { ends.push_back(epoch); }
};

std::string refusal(ExitCode code, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).back(), '.');
    return error.what();
  }
  return "nothing was thrown";
}

void expectSameBits(const torch::jit::Module& a, const torch::jit::Module& b) {
  const auto left = a.named_attributes(), right = b.named_attributes();
  auto other = right.begin();
  for (const auto& attribute : left) {
    ASSERT_TRUE(other != right.end());
    if (attribute.value.isTensor()) {
      EXPECT_TRUE(at::equal(attribute.value.toTensor(), (*other).value.toTensor())) << attribute.name;
    }
    ++other;
  }
}

template <class Options, class Optimizer>
void expectTorch(const std::string& text, const Options& torch_options) {
  const Files files;
  torch::jit::Module ours = network(), theirs = copyModule(ours);
  DataSet data = files.data(), same = files.data();
  TrainingOptions options = optionsOf(text);
  options.by_kernels = false;  // for dropout by libtorch's random numbers
  Training training(ours, data, nullptr, options);
  Noted noted;
  EXPECT_TRUE(training.run(noted));
  ASSERT_EQ(noted.steps.size(), 12u);  // 3 of 16 samples in each of 4 epochs

  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : theirs.parameters()) parameters.push_back(parameter);
  for (at::Tensor& parameter : parameters) parameter.set_requires_grad(true);
  Optimizer optimizer(parameters, torch_options);
  torch::jit::setGraphExecutorOptimize(false);
  theirs.train();
  for (std::int64_t step = 0; step < 12; ++step) {
    if (step % 3 == 0) same.startEpoch(step / 3);
    const DataBatch batch = same.batch(step % 3);
    optimizer.zero_grad();
    at::manual_seed(training.randomSeed(step));
    const at::Tensor loss = at::cross_entropy_loss(theirs.forward(batch.inputs).toTensor(), batch.targets);
    EXPECT_EQ(loss.item<float>(), static_cast<float>(noted.steps[static_cast<std::size_t>(step)].loss));
    loss.backward();
    optimizer.step();
  }
  torch::jit::setGraphExecutorOptimize(true);
  auto mine = ours.parameters().begin();
  for (const at::Tensor& parameter : parameters) {
    EXPECT_LE((parameter - *mine).abs().max().item<double>(), 1e-6);
    ++mine;
  }
}

TEST(Trainings, GiveTheParametersOfLibtorchsOptimizers) {
  expectTorch<torch::optim::SGDOptions, torch::optim::SGD>(
      "sgd:lr=0.1,momentum=0.9,nesterov,weight_decay=0.01",
      torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
  expectTorch<torch::optim::AdamOptions, torch::optim::Adam>("adam:lr=0.01,amsgrad",
                                                             torch::optim::AdamOptions(0.01).amsgrad(true));
  expectTorch<torch::optim::AdamWOptions, torch::optim::AdamW>("adamw:lr=0.01,weight_decay=0.1",
                                                               torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  expectTorch<torch::optim::AdagradOptions, torch::optim::Adagrad>("adagrad:lr=0.1,lr_decay=0.01",
                                                                   torch::optim::AdagradOptions(0.1).lr_decay(0.01));
  expectTorch<torch::optim::RMSpropOptions, torch::optim::RMSprop>(
      "rmsprop:lr=0.01,momentum=0.5,centered", torch::optim::RMSpropOptions(0.01).momentum(0.5).centered(true));
}

TEST(Trainings, LearnWhatCanBeLearned) {
  Files files;
  files.write([](at::Tensor x, at::Tensor y) { y.copy_(x.narrow(1, 0, kClasses).argmax(1)); });
  DataSet data = files.data();
  const DataSet judged = files.data();
  Training training(network(), data, &judged, optionsOf("adamw:lr=0.05", 40));
  EXPECT_EQ(training.record().metric, "top-1");
  EXPECT_EQ(training.record().parameters, 8 * kFeatures + 16 + kClasses * 8);
  Noted noted;
  training.run(noted);
  ASSERT_EQ(noted.ends.size(), 40u);
  EXPECT_GT(noted.ends.back().metric, 0.85);
  EXPECT_LT(noted.ends.back().loss, 0.5 * noted.ends.front().loss);
  EXPECT_GT(noted.steps.front().gradient_norm, 0);
}

TEST(Trainings, GoOnFromACheckpointBitForBit) {
  for (const char* optimizer : {"sgd:lr=0.1,momentum=0.9", "adamw:lr=0.01,amsgrad", "rmsprop:centered,momentum=0.1",
                                "adam", "adagrad", "nadam", "radam", "adamax", "lion", "lamb", "lars"}) {
    SCOPED_TRACE(optimizer);
    const Files files;
    TrainingOptions options = optionsOf(optimizer, 7);
    options.schedule = "cosine:warmup=5";
    options.clip_norm = 0.5;
    torch::jit::Module whole = network(), part = network();
    DataSet data = files.data(), same = files.data(), again = files.data();
    TrainingWatch silent;
    Training uninterrupted(whole, data, nullptr, options);
    EXPECT_FALSE(uninterrupted.run(silent, 20));
    std::stringstream checkpoint;
    {
      Training first(part, same, nullptr, options);
      first.run(silent, 10);
      first.saveCheckpoint(checkpoint);
    }
    const std::string path = files.folder / "net.checkpoint";
    writeBytes(path, checkpoint.str());
    const FileDescriptor file(::open(path.c_str(), O_RDONLY));
    torch::jit::Module loaded = torch::jit::load(path);
    requireSameNetwork(whole, loaded, path);
    Training second(loaded, again, nullptr, options);
    second.resume(readTrainingState(file.get(), path));
    EXPECT_EQ(second.done(), 10);
    second.run(silent, 10);
    whole.eval();
    loaded.eval();
    expectSameBits(whole, loaded);
  }
}

TEST(Trainings, AnotherTrainingsCheckpointIsRefused) {
  const Files files;
  DataSet data = files.data(), other_batch = files.data(8);
  const TrainingOptions options = optionsOf("sgd:lr=0.1");
  Training training(network(), data, nullptr, options);
  TrainingWatch silent;
  training.run(silent, 2);
  std::stringstream checkpoint;
  training.saveCheckpoint(checkpoint);
  const std::string path = files.folder / "net.checkpoint";
  writeBytes(path, checkpoint.str());
  const FileDescriptor file(::open(path.c_str(), O_RDONLY));
  const TrainingState state = readTrainingState(file.get(), path);
  const auto resumed = [&](DataSet& set, TrainingOptions changed) {
    return refusal(ExitCode::kUsage, [&] { Training(network(), set, nullptr, changed).resume(state); });
  };
  EXPECT_THAT(resumed(other_batch, options), HasSubstr("made with other --data, --samples or --batch; give the same"));
  TrainingOptions changed = options;
  changed.seed = 6;
  EXPECT_THAT(resumed(data, changed), HasSubstr("made with --seed 5"));
  changed = options;
  changed.optimizer = "adam";
  EXPECT_THAT(resumed(data, changed), HasSubstr("made with --optimizer sgd"));

  torch::jit::Module other("Net");
  other.register_parameter("w1", at::zeros({8, kFeatures + 1}), false);
  EXPECT_THAT(refusal(ExitCode::kBadModel, [&] { requireSameNetwork(other, network(), path); }),
              HasSubstr("is the checkpoint of another network: its w1 has the sizes 8 x 6 and not 8 x 7; give"));
  network().save(path + ".plain");
  const FileDescriptor plain(::open((path + ".plain").c_str(), O_RDONLY));
  EXPECT_THAT(refusal(ExitCode::kBadModel, [&] { readTrainingState(plain.get(), "x"); }),
              HasSubstr("x is no checkpoint of a training"));
}

TEST(Trainings, ALossThatIsNotFiniteIsPlaced) {
  const Files files;
  DataSet data = files.data();
  torch::jit::Module module = network("torch.log(y * 0. - 1.)");
  torch::jit::Module before = copyModule(module);
  Training training(module, data, nullptr, optionsOf("sgd:lr=0.1"));
  TrainingWatch silent;
  EXPECT_THAT(refusal(ExitCode::kAccuracy, [&] { training.run(silent); }),
              HasSubstr("The loss is NaN at step 1, first out of aten::log"));
  EXPECT_THAT(training.fault(), HasSubstr("step 1: aten::log"));
  EXPECT_EQ(training.done(), 0);
  module.train();
  expectSameBits(module, before);  // the normalization's buffers, too

  torch::jit::Module spoiled = network();
  Training second(spoiled, data, nullptr, optionsOf("sgd:lr=0.1"));
  second.run(silent, 2);
  {
    const at::NoGradGuard no_gradients;
    spoiled.attr("w2").toTensor()[0][0].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  EXPECT_THAT(refusal(ExitCode::kAccuracy, [&] { second.run(silent); }),
              HasSubstr("at step 3, because the parameter w2 is not finite; lower the learning rate"));

  torch::jit::Module steep = network("torch.sqrt(torch.relu(y) * 0.)");
  Training third(steep, data, nullptr, optionsOf("sgd:lr=0.1"));
  EXPECT_THAT(
      refusal(ExitCode::kAccuracy, [&] { third.run(silent); }),
      HasSubstr("is not finite at step 1, first out of SqrtBackward0, the gradient of aten::sqrt, while the loss"));
  EXPECT_EQ(third.fault(), "step 1: SqrtBackward0, the gradient of aten::sqrt");
}

TEST(Trainings, FaultsAreOneSentence) {
  Files files;
  DataSet data = files.data();
  const TrainingOptions options = optionsOf("sgd:lr=0.1");
  const auto of = [&](torch::jit::Module module) {
    return refusal(ExitCode::kUsage, [&] {
      Training training(std::move(module), data, nullptr, options);
      TrainingWatch silent;
      training.run(silent, 1);
    });
  };
  EXPECT_THAT(of(torch::jit::freeze([] {
                auto m = network();
                m.eval();
                return m;
              }())),
              HasSubstr("is frozen or has no parameters"));
  torch::jit::Module fixed = network();
  for (const at::Tensor& parameter : fixed.parameters()) at::Tensor(parameter).set_requires_grad(false);
  EXPECT_THAT(of(fixed), HasSubstr("has no parameter that asks for a gradient"));
  EXPECT_THAT(of(network("y.detach()")), HasSubstr("does not depend on its parameters"));
  EXPECT_THAT(of(network("y.sum(1)")), HasSubstr("takes results of N x classes"));

  const DataSet judged = files.data();
  TrainingOptions cosine = options;
  cosine.metric = "cosine";
  EXPECT_THAT(refusal(ExitCode::kUsage, [&] { Training(network(), data, &judged, cosine); }),
              HasSubstr("cannot be compared with"));

  files.write([](at::Tensor, at::Tensor y) { y[49].fill_(kClasses); });
  DataSet wrong = files.data();
  EXPECT_THAT(refusal(ExitCode::kUsage, [&] { Training(network(), wrong, nullptr, options); }),
              HasSubstr("A label of the data is 4, but the model knows 4 classes, 0 to 3."));
  files.write([](at::Tensor x, at::Tensor) { x[17][2].fill_(std::numeric_limits<float>::quiet_NaN()); });
  DataSet spoiled = files.data();
  EXPECT_THAT(refusal(ExitCode::kUsage,
                      [&] {
                        Training training(network(), spoiled, nullptr, options);
                        TrainingWatch silent;
                        training.run(silent);
                      }),
              HasSubstr("Sample 17 of"));
}

TEST(Trainings, NormsAreClippedAndLossesJudged) {
  Files files;
  files.write();
  at::manual_seed(1);
  const std::vector<char> bytes = torch::jit::pickle_save(
      c10::ivalue::Tuple::create(at::rand({kSamples, kFeatures}), at::rand({kSamples, kClasses})));
  writeBytes(files.path, std::string(bytes.begin(), bytes.end()));
  DataSet data = files.data(), judged = files.data();
  TrainingOptions options = optionsOf("sgd:lr=1", 1);
  options.loss = "mse";
  options.clip_norm = 1e-3;
  torch::jit::Module module = network(), before = copyModule(module);
  Training training(module, data, &judged, options);
  Noted noted;
  training.run(noted);
  EXPECT_EQ(training.record().metric, "loss");
  EXPECT_FALSE(training.record().higher_is_better);
  EXPECT_GT(noted.ends.at(0).metric, 0);
  EXPECT_TRUE(std::isnan(noted.steps.at(0).accuracy));
  double moved = 0;
  auto old = before.parameters().begin();
  for (const at::Tensor& parameter : module.parameters()) {
    moved += (parameter - *old).square().sum().item<double>();
    ++old;
  }
  EXPECT_LE(std::sqrt(moved), 3 * 1.01e-3);  // three steps of at most that
}

TEST(Trainings, Bf16KeepsParametersInFp32) {
  const Files files;
  DataSet data = files.data();
  TrainingOptions options = optionsOf("sgd:lr=0.1", 2);
  options.bf16 = true;
  torch::jit::Module module = network();
  Training training(module, data, nullptr, options);
  Noted noted;
  EXPECT_TRUE(training.run(noted));
  for (const at::Tensor& parameter : module.parameters()) EXPECT_EQ(parameter.scalar_type(), at::kFloat);
  EXPECT_EQ(training.record().precision, "bf16");
  DataSet same = files.data();
  options.bf16 = false;
  Training wide(network(), same, nullptr, options);
  Noted in_fp32;
  wide.run(in_fp32);
  EXPECT_NE(noted.steps[1].loss, in_fp32.steps[1].loss);
  EXPECT_NEAR(noted.steps[1].loss, in_fp32.steps[1].loss, 0.02);
}

}  // namespace
}  // namespace ipex_studio::testing

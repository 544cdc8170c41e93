// A small residual network with seeded weights, for those who have no model at hand.
#include <torch/script.h>
#include <unistd.h>
#include <ext/stdio_filebuf.h>

#include <cmath>
#include <ostream>

#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

// Widths of the stages; each but the first halves the image.
constexpr std::int64_t kWidths[] = {24, 48, 96, 192};
constexpr std::int64_t kClasses = 100;

class SampleNetwork {
 public:
  Module make() {
    Module network("SampleNetwork");
    network.register_module("stem", unit(3, kWidths[0], 7, 4));
    std::string body = "def forward(self, x):\n  x = torch.relu(self.stem.forward(x))\n";
    std::int64_t channels = kWidths[0];
    for (std::size_t stage = 0; stage < std::size(kWidths); ++stage) {
      const std::string name = "layer" + std::to_string(stage + 1);
      network.register_module(name, block(channels, kWidths[stage], stage == 0 ? 1 : 2));
      body += "  x = self." + name + ".forward(x)\n";
      channels = kWidths[stage];
    }
    network.register_module("fc", linear(channels, kClasses));
    network.define(body +
                   "  x = torch.flatten(torch.adaptive_avg_pool2d(x, [1, 1]), 1)\n  return self.fc.forward(x)\n");
    network.eval();
    return network;
  }

 private:
  // Weights that keep the size of what they multiply.
  at::Tensor weights(std::vector<std::int64_t> sizes) {
    std::int64_t inputs = 1;
    for (std::size_t axis = 1; axis < sizes.size(); ++axis) inputs *= sizes[axis];
    return at::randn(sizes, generator_) * std::sqrt(2.0 / static_cast<double>(inputs));
  }

  // A convolution with batch normalization.
  Module unit(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    Module made("Unit");
    made.register_parameter("weight", weights({out, in, kernel, kernel}), false);
    made.register_parameter("scale", at::rand({out}, generator_) * 0.5 + 0.5, false);
    made.register_parameter("shift", at::randn({out}, generator_) * 0.1, false);
    made.register_buffer("mean", at::randn({out}, generator_) * 0.1);
    made.register_buffer("variance", at::rand({out}, generator_) + 0.5);
    const std::string step = std::to_string(stride), pad = std::to_string(kernel / 2);
    made.define("def forward(self, x):\n  x = torch.conv2d(x, self.weight, None, [" + step + ", " + step + "], [" +
                pad + ", " + pad + "])\n" +
                "  return torch.batch_norm(x, self.scale, self.shift, self.mean, self.variance, False, 0.1, 1e-5, "
                "True)\n");
    return made;
  }

  Module block(std::int64_t in, std::int64_t out, std::int64_t stride) {
    Module made("Block");
    made.register_module("conv1", unit(in, out, 3, stride));
    made.register_module("conv2", unit(out, out, 3, 1));
    const bool plain = in == out && stride == 1;
    if (!plain) made.register_module("shortcut", unit(in, out, 1, stride));
    made.define(
        "def forward(self, x):\n  y = self.conv2.forward(torch.relu(self.conv1.forward(x)))\n  return torch.relu(y + " +
        std::string(plain ? "x" : "self.shortcut.forward(x)") + ")\n");
    return made;
  }

  Module linear(std::int64_t in, std::int64_t out) {
    Module made("Linear");
    made.register_parameter("weight", weights({out, in}), false);
    made.register_parameter("bias", at::zeros({out}), false);
    made.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
    return made;
  }

  at::Generator generator_ = at::detail::createCPUGenerator(/*seed_val=*/0);
};

}  // namespace

void runSampleJob(Channel& channel) {
  __gnu_cxx::stdio_filebuf<char> buffer(::dup(kEngineExportFd), std::ios::out | std::ios::binary);
  std::ostream stream(&buffer);
  SampleNetwork().make().save(stream);
  stream.flush();
  channel.send({{"type", "result"}, {"model_bytes", static_cast<std::int64_t>(::lseek(kEngineExportFd, 0, SEEK_END))}});
}

}  // namespace ipex_studio

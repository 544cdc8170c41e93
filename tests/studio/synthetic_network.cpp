// The layers of ResNet-50, and edits of the list.
#include "tests/studio/synthetic_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ipex_studio::testing {

std::string Shape::text() const {
  return side == 0 ? fmt::format("1, {}", channels) : fmt::format("1, {}, {}, {}", channels, side, side);
}

std::string Shape::dims() const {
  return side == 0 ? fmt::format("1x{}", channels) : fmt::format("1x{}x{}x{}", channels, side, side);
}

double Op::flops() const {
  if (kind.find("conv") != std::string::npos)
    return 2.0 * shape.channels * in_channels * kernel * kernel * shape.side * shape.side;
  if (kind.find("linear") != std::string::npos) return 2.0 * shape.channels * in_channels;
  return 0;
}

Network::Network() {
  int x = conv("conv1", -1, 3, {64, 112}, 7, 2);
  x = bn("bn1", x);
  x = relu("relu", x);
  x = add({"aten::max_pool2d", "maxpool", "maxpool", {}, {x}, {64, 56}, 0, 3, 2, {}, false});
  const int depth[] = {3, 4, 6, 3};
  int channels = 64;
  int side = 56;
  for (int layer = 0; layer < 4; ++layer) {
    const int width = 64 << layer;
    for (int block = 0; block < depth[layer]; ++block) {
      const std::string path = fmt::format("layer{}.{}", layer + 1, block);
      const int stride = block == 0 && layer > 0 ? 2 : 1;
      const int from = side;
      side /= stride;
      int y = relu(path + ".relu", bn(path + ".bn1", conv(path + ".conv1", x, channels, {width, from}, 1, 1)));
      y = relu(path + ".relu", bn(path + ".bn2", conv(path + ".conv2", y, width, {width, side}, 3, stride)));
      y = bn(path + ".bn3", conv(path + ".conv3", y, width, {width * 4, side}, 1, 1));
      int skip = x;
      if (block == 0)
        skip = bn(path + ".downsample.1", conv(path + ".downsample.0", x, channels, {width * 4, side}, 1, stride));
      x = add({"aten::add_", path + ".add", path, {}, {y, skip}, {width * 4, side}, 0, 0, 1, {}, false});
      x = relu(path + ".relu", x);
      channels = width * 4;
    }
  }
  x = add({"aten::adaptive_avg_pool2d", "avgpool", "avgpool", {}, {x}, {2048, 1}, 0, 7, 1, {}, false});
  x = add({"aten::flatten", "flatten", "", {}, {x}, {2048, 0}, 0, 0, 1, {}, false});
  add({"aten::linear", "fc", "fc", {}, {x}, {1000, 0}, 2048, 0, 1, {}, false});
}

std::vector<Origin> Network::origins() const {
  std::vector<Origin> result;
  std::map<std::string, int> ordinals;
  for (const Op& op : ops) {
    result.push_back({op.origins.front(), op.scope, op.kind, ordinals[op.scope + op.kind]++,
                      "torchvision/models/resnet.py:" + std::to_string(140 + static_cast<int>(result.size()) % 60)});
  }
  return result;
}

int Network::users(int of) const {
  return static_cast<int>(std::count_if(ops.begin(), ops.end(), [&](const Op& op) {
    return !op.gone && std::find(op.inputs.begin(), op.inputs.end(), of) != op.inputs.end();
  }));
}

void Network::merge(int op, int into) {
  ops[into].origins.insert(ops[into].origins.end(), ops[op].origins.begin(), ops[op].origins.end());
  std::sort(ops[into].origins.begin(), ops[into].origins.end());
  ops[op].gone = true;
  for (Op& user : ops) std::replace(user.inputs.begin(), user.inputs.end(), op, into);
}

int Network::add(Op op) {
  op.origins = {static_cast<OriginId>(ops.size())};
  ops.push_back(std::move(op));
  return static_cast<int>(ops.size()) - 1;
}

int Network::conv(const std::string& path, int x, int in, Shape shape, int kernel, int stride) {
  return add({"aten::conv2d", path, path, {}, {x}, shape, in, kernel, stride, {}, false});
}

int Network::bn(const std::string& path, int x) {
  return add({"aten::batch_norm", path, path, {}, {x}, ops[x].shape, 0, 0, 1, {}, false});
}

int Network::relu(const std::string& path, int x) {
  return add({"aten::relu_", path, path, {}, {x}, ops[x].shape, 0, 0, 1, {}, false});
}

std::vector<int> ordered(const Network& net) {
  std::vector<int> order;
  std::vector<bool> done(net.ops.size(), false);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < net.ops.size(); ++i) {
      const Op& op = net.ops[i];
      if (op.gone || done[i]) continue;
      if (!std::all_of(op.inputs.begin(), op.inputs.end(), [&](int in) { return in < 0 || done[in]; })) continue;
      done[i] = more = true;
      order.push_back(static_cast<int>(i));
    }
  }
  return order;
}

}  // namespace ipex_studio::testing

#include "core/train/layer_times.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/base/clock.h"
#include "core/graph/origins.h"
#include "core/model/node_runner.h"
#include "core/train/memory_meter.h"

namespace ipex_studio {
namespace {

using Ended = std::function<void(const at::RecordFunction&, std::int64_t elapsed_ns)>;

thread_local const Ended* on_gradient = nullptr;

struct GradientBegin : at::ObserverContext {
  std::int64_t ns = nowNs();
};

std::unique_ptr<at::ObserverContext> beginGradient(const at::RecordFunction& /*function*/) {
  return std::make_unique<GradientBegin>();
}

void endGradient(const at::RecordFunction& function, at::ObserverContext* context) {
  if (on_gradient == nullptr || context == nullptr) return;
  (*on_gradient)(function, nowNs() - static_cast<GradientBegin*>(context)->ns);
}

// Follows gradient functions of this thread for its scope.
class GradientWatch {
 public:
  explicit GradientWatch(const Ended& ended)
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(beginGradient, endGradient).scopes({at::RecordScope::BACKWARD_FUNCTION}))) {
    on_gradient = &ended;
  }
  ~GradientWatch() {
    at::removeCallback(handle_);
    on_gradient = nullptr;
  }
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

 private:
  at::CallbackHandle handle_;
};

std::int64_t nextNumber() { return static_cast<std::int64_t>(at::sequence_number::peek()); }

std::int64_t forwardAndBackward(const TrainingLayer& layer) { return layer.forward_ns + layer.backward_ns; }

// "layer1.0.conv1" of "layer1.0.conv1.weight"; the name itself for a parameter of the outermost module.
std::string ownerOf(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

bool addsToParameter(const at::RecordFunction& function) {
  return std::strstr(function.name(), "AccumulateGrad") != nullptr;
}

}  // namespace

LayerTimer::LayerTimer(const std::vector<std::string>& names, const std::vector<at::Tensor>& parameters)
    : names_(names), parameters_(parameters), begin_ns_(nowNs()), meter_(std::make_unique<MemoryMeter>()) {}

LayerTimer::~LayerTimer() = default;

std::size_t LayerTimer::placeOf(const std::string& name) {
  const auto [found, is_new] = places_.emplace(name, layers_.size());
  if (is_new) {
    layers_.emplace_back();
    layers_.back().layer = name;
    squares_.push_back(-1);
  }
  return found->second;
}

std::int64_t LayerTimer::gradientBytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& parameter : parameters_) {
    const at::Tensor& gradient = parameter.grad();
    if (gradient.defined() && !gradient.is_sparse()) bytes += static_cast<std::int64_t>(gradient.nbytes());
  }
  return bytes;
}

void LayerTimer::note(const char* phase, const std::string& layer) {
  memory_.push_back({0, nowNs() - begin_ns_, phase, layer, meter_->bytes() - gradient_bytes_, gradient_bytes_,
                     std::max<std::int64_t>(0, meter_->takePeak())});
}

torch::jit::IValue LayerTimer::forward(torch::jit::Graph& graph, const std::vector<torch::jit::IValue>& arguments) {
  std::int64_t number = nextNumber(), bytes = meter_->bytes();
  NodeRunner runner(graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t elapsed_ns) {
    const bool holds_others = !node->blocks().empty();  // they were timed themselves
    const std::string path = modulePath(node);
    const std::size_t place = placeOf(path.empty() ? node->kind().toQualString() : path);
    if (!holds_others) layers_[place].forward_ns += elapsed_ns;
    for (; number < nextNumber(); ++number) makers_[number] = place;
    if (meter_->bytes() == bytes) return;
    layers_[place].kept_bytes += meter_->bytes() - bytes;
    bytes = meter_->bytes();
    note("forward", layers_[place].layer);
  });
  return runner.run(arguments).at(0);
}

void LayerTimer::backward(const std::function<void()>& run) {
  const Ended ended = [this](const at::RecordFunction& function, std::int64_t elapsed_ns) {
    const auto maker = makers_.find(function.seqNr());
    const bool known = maker != makers_.end();
    if (known) layers_[maker->second].backward_ns += elapsed_ns;
    if (addsToParameter(function)) gradient_bytes_ = gradientBytes();
    note("backward", known ? layers_[maker->second].layer : "");
  };
  {
    const GradientWatch watch(ended);
    run();
  }
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::size_t place = placeOf(ownerOf(names_[i]));
    layers_[place].parameters += parameters_[i].numel();
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    squares_[place] =
        std::max(0.0, squares_[place]) + std::pow(gradient.to_dense().norm(2, at::kDouble).item<double>(), 2);
  }
}

void LayerTimer::update(std::int64_t whole_ns, const std::vector<std::int64_t>& each_ns) {
  const double all = static_cast<double>(std::accumulate(each_ns.begin(), each_ns.end(), std::int64_t{0}));
  if (all <= 0) return;
  for (std::size_t i = 0; i < each_ns.size(); ++i) {
    layers_[placeOf(ownerOf(names_[i]))].update_ns +=
        static_cast<std::int64_t>(static_cast<double>(whole_ns) * static_cast<double>(each_ns[i]) / all);
  }
}

std::string LayerTimer::layerOf(std::int64_t number) const {
  const auto maker = makers_.find(number);
  return maker == makers_.end() ? "" : layers_[maker->second].layer;
}

StepProfile LayerTimer::profile(std::int64_t step) const {
  StepProfile profile{layers_, memory_};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    profile.layers[i].step = step;
    profile.layers[i].gradient_norm =
        squares_[i] < 0 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares_[i]);
  }
  for (TrainingMemory& row : profile.memory) row.step = step;
  std::stable_sort(profile.layers.begin(), profile.layers.end(),
                   [](const TrainingLayer& a, const TrainingLayer& b) { return a.wholeNs() > b.wholeNs(); });
  return profile;
}

std::string layerTimesText(const std::vector<TrainingLayer>& layers) {
  constexpr std::size_t kShown = 5;
  std::int64_t all = 0;
  for (const TrainingLayer& layer : layers) all += forwardAndBackward(layer);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, layers.size()); ++i) {
    const TrainingLayer& layer = layers[i];
    text += fmt::format(
        "{}{} {:.3g} + {:.3g} ms ({:.0f} %)", i > 0 ? ", " : "", layer.layer,
        1e-6 * static_cast<double>(layer.forward_ns), 1e-6 * static_cast<double>(layer.backward_ns),
        100 * static_cast<double>(forwardAndBackward(layer)) / static_cast<double>(std::max<std::int64_t>(1, all)));
  }
  return text;
}

}  // namespace ipex_studio

#include "core/train/layer_times.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/graph/origins.h"
#include "core/model/node_runner.h"

namespace ipex_studio {
namespace {

using Noted = std::unordered_map<std::int64_t, std::int64_t>;  // nanoseconds by the number of a gradient function

thread_local Noted* noted_gradients = nullptr;

struct GradientBegin : at::ObserverContext {
  std::int64_t ns = nowNs();
};

std::unique_ptr<at::ObserverContext> beginGradient(const at::RecordFunction& /*function*/) {
  return std::make_unique<GradientBegin>();
}

void endGradient(const at::RecordFunction& function, at::ObserverContext* context) {
  if (noted_gradients == nullptr || context == nullptr) return;
  (*noted_gradients)[function.seqNr()] += nowNs() - static_cast<GradientBegin*>(context)->ns;
}

// Notes gradient functions of this thread for its scope.
class GradientWatch {
 public:
  explicit GradientWatch(Noted* noted)
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(beginGradient, endGradient).scopes({at::RecordScope::BACKWARD_FUNCTION}))) {
    noted_gradients = noted;
  }
  ~GradientWatch() {
    at::removeCallback(handle_);
    noted_gradients = nullptr;
  }
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

 private:
  at::CallbackHandle handle_;
};

std::int64_t nextNumber() { return static_cast<std::int64_t>(at::sequence_number::peek()); }

std::int64_t wholeTime(const LayerTime& layer) { return layer.forward_ns + layer.backward_ns; }

}  // namespace

std::size_t LayerTimer::placeOf(const std::string& name) {
  const auto [found, is_new] = places_.emplace(name, times_.size());
  if (is_new) times_.push_back({name});
  return found->second;
}

torch::jit::IValue LayerTimer::forward(torch::jit::Graph& graph, const std::vector<torch::jit::IValue>& arguments) {
  std::int64_t number = nextNumber();
  NodeRunner runner(graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t elapsed_ns) {
    const bool holds_others = !node->blocks().empty();  // they were timed themselves
    const std::string path = modulePath(node);
    const std::size_t place = placeOf(path.empty() ? node->kind().toQualString() : path);
    if (!holds_others) times_[place].forward_ns += elapsed_ns;
    for (; number < nextNumber(); ++number) makers_[number] = place;
  });
  return runner.run(arguments).at(0);
}

void LayerTimer::backward(const std::function<void()>& run) {
  Noted noted;
  {
    const GradientWatch watch(&noted);
    run();
  }
  for (const auto& [number, ns] : noted) {
    const auto maker = makers_.find(number);
    if (maker != makers_.end()) times_[maker->second].backward_ns += ns;
  }
}

std::vector<LayerTime> LayerTimer::times() const {
  std::vector<LayerTime> sorted = times_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LayerTime& a, const LayerTime& b) { return wholeTime(a) > wholeTime(b); });
  return sorted;
}

std::string layerTimesText(const std::vector<LayerTime>& times) {
  constexpr std::size_t kShown = 5;
  std::int64_t all = 0;
  for (const LayerTime& layer : times) all += wholeTime(layer);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, times.size()); ++i) {
    const LayerTime& layer = times[i];
    text +=
        fmt::format("{}{} {:.3g} + {:.3g} ms ({:.0f} %)", i > 0 ? ", " : "", layer.name,
                    1e-6 * static_cast<double>(layer.forward_ns), 1e-6 * static_cast<double>(layer.backward_ns),
                    100 * static_cast<double>(wholeTime(layer)) / static_cast<double>(std::max<std::int64_t>(1, all)));
  }
  return text;
}

}  // namespace ipex_studio

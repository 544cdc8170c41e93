// See scene_service.h.
#include "studio/panels/scene_service.h"

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr std::size_t kMostScenes = 24;

}  // namespace

SceneService::SceneService(TextMetrics metrics, std::function<void()> wake)
    : metrics_(metrics), wake_(std::move(wake)), thread_([this] { work(); }) {}

SceneService::~SceneService() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    cancel_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<const GraphScene> SceneService::get(std::int32_t slot, const SceneKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(cache_.begin(), cache_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found != cache_.end()) {
    const Entry entry = *found;
    cache_.erase(found);
    cache_.push_front(entry);
    return entry.scene;
  }
  if (is_running_ && running_.key == key) return nullptr;
  if (is_running_ && running_.slot == slot) cancel_ = true;
  const auto waiting =
      std::find_if(requests_.begin(), requests_.end(), [&](const Request& r) { return r.slot == slot; });
  if (waiting == requests_.end()) {
    requests_.push_back({slot, key});
  } else {
    waiting->key = key;
  }
  changed_.notify_one();
  return nullptr;
}

bool SceneService::busy() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_running_ || !requests_.empty();
}

void SceneService::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !requests_.empty(); });
    if (stop_) return;
    running_ = requests_.front();
    requests_.pop_front();
    is_running_ = true;
    cancel_ = false;
    lock.unlock();
    const JobIndex& index = *running_.key.index;
    auto scene = makeGraphScene(index.graphs[running_.key.graph],
                                running_.key.optimized ? index.optimized : index.baseline, metrics_, &cancel_);
    lock.lock();
    is_running_ = false;
    if (scene) {
      cache_.push_front({running_.key, std::move(scene)});
      if (cache_.size() > kMostScenes) cache_.pop_back();
    }
    running_ = {};
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace ipex_studio

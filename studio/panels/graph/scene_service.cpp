// See scene_service.h.
#include "studio/panels/graph/scene_service.h"

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxScenes = 24;
constexpr std::size_t kMaxLayouts = 6;

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

const SceneService::Placed* SceneService::place(const SceneKey& key) {
  Placed fresh;
  for (const Placed& placed : placed_) {
    if (placed.index != key.index) continue;
    if (placed.fold == key.fold) return &placed;
    fresh = placed;
  }
  fresh.fold = key.fold;
  if (fresh.index == nullptr) {
    // A running job sends several records a second; layouts of older ones are of no more use.
    placed_.clear();
    fresh.index = key.index;
    auto all = std::make_shared<const GraphUnion>(uniteGraphs(*key.index));
    fresh.sizes = sceneSizes(*key.index, *all, metrics_);
    fresh.all = std::move(all);
  }
  auto layout = std::make_shared<UnionLayout>(layoutUnion(*fresh.all, key.fold, *fresh.sizes, &cancel_));
  if (layout->cancelled()) return nullptr;
  fresh.layout = std::move(layout);
  placed_.push_front(std::move(fresh));
  if (placed_.size() > kMaxLayouts) placed_.pop_back();
  return &placed_.front();
}

std::shared_ptr<const GraphScene> SceneService::make(const SceneKey& key) {
  const Placed* placed = place(key);
  if (placed == nullptr) return nullptr;
  return makeGraphScene(*key.job, *key.index, placed->all, *placed->layout, key.picture, &cancel_);
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
    auto scene = make(running_.key);
    lock.lock();
    is_running_ = false;
    if (scene) {
      const auto outdated = [&](const Entry& entry) { return entry.key.index != running_.key.index; };
      cache_.erase(std::remove_if(cache_.begin(), cache_.end(), outdated), cache_.end());
      cache_.push_front({running_.key, std::move(scene)});
      if (cache_.size() > kMaxScenes) cache_.pop_back();
    }
    running_ = {};
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace ipex_studio

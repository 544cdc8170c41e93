// Makes scenes on a thread of its own and keeps the last ones, so that scrubbing back and forth is instant.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "studio/panels/graph/graph_scene.h"

namespace ipex_studio {

struct SceneKey {
  std::shared_ptr<const JobRecord> job;
  std::shared_ptr<const JobIndex> index;  // index over `job`
  ModuleFold fold;
  ScenePicture picture;

  bool operator==(const SceneKey& other) const {
    return index == other.index && picture == other.picture && fold == other.fold;
  }
};

class SceneService {
 public:
  // Starts the thread. `wake` is called from it whenever a scene is done.
  SceneService(TextMetrics metrics, std::function<void()> wake);
  ~SceneService();
  SceneService(const SceneService&) = delete;
  SceneService& operator=(const SceneService&) = delete;

  // The scene if it is made, else null after a request for it. A newer request of the same slot cancels an older one.
  std::shared_ptr<const GraphScene> get(std::int32_t slot, const SceneKey& key);
  // True while a request waits or is worked on.
  bool busy() const;

 private:
  struct Request {
    std::int32_t slot = 0;
    SceneKey key;
  };
  struct Entry {
    SceneKey key;
    std::shared_ptr<const GraphScene> scene;
  };
  // The union of a job's graphs, and its layout for one fold.
  struct Placed {
    std::shared_ptr<const JobIndex> index;
    ModuleFold fold;
    std::shared_ptr<const GraphUnion> all;
    std::shared_ptr<const ItemSizes> sizes;
    std::shared_ptr<const UnionLayout> layout;
  };
  void work();
  std::shared_ptr<const GraphScene> make(const SceneKey& key);
  const Placed* place(const SceneKey& key);

  const TextMetrics metrics_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;  // at most one per slot
  std::deque<Entry> cache_;       // most recently used first
  std::deque<Placed> placed_;     // used by the working thread alone; most recently made first
  Request running_;
  bool is_running_ = false;
  bool stop_ = false;
  std::atomic<bool> cancel_{false};
  std::thread thread_;
};

}  // namespace ipex_studio

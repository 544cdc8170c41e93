// Reports the progress of measuring kernels to the studio, while the first run waits for it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/lower/region_object.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// Reports from its own thread from construction to destruction; nothing else may send on the channel meanwhile.
class TuningWatch {
 public:
  TuningWatch(const torch::jit::IValue& tuning, Channel& channel);
  ~TuningWatch();
  TuningWatch(const TuningWatch&) = delete;
  TuningWatch& operator=(const TuningWatch&) = delete;

 private:
  void watch();

  const torch::jit::IValue& tuning_;
  Channel& channel_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ipex_studio

// Ctrl-C while engines run: the first one cancels the job, a second one ends the program at once.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "studio/job/process.h"

namespace ipex_studio {

// Makes SIGINT and SIGTERM request `cancellation` instead of ending the program, from construction to destruction. To
// be made before any other thread exists, so that all of them leave the signals to it.
class InterruptWatch {
 public:
  // `then` is called after the request, on the watch's own thread.
  explicit InterruptWatch(Cancellation& cancellation, std::function<void()> then = {});
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  sigset_t previous_{};
  UniqueFd signals_;
  Cancellation stop_;
  std::thread thread_;
};

}  // namespace ipex_studio

// Waits for SIGINT and SIGTERM on a thread of its own.
#include "studio/cli/interrupt.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace ipex_studio {

InterruptWatch::InterruptWatch(Cancellation& cancellation, std::function<void()> then) {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGINT);
  ::sigaddset(&watched, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &watched, &previous_);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  thread_ = std::thread([this, &cancellation, then = std::move(then)] {
    std::array<pollfd, 2> entries{{{signals_.get(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
    while (true) {
      if (::poll(entries.data(), entries.size(), -1) < 0) continue;
      if (entries[1].revents != 0) return;
      signalfd_siginfo info{};
      if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
      if (cancellation.requested()) ::_exit(static_cast<int>(kInterrupted));
      cancellation.request();
      if (then) then();
    }
  });
}

InterruptWatch::~InterruptWatch() {
  stop_.request();
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

}  // namespace ipex_studio

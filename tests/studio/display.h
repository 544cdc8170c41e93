// A display for tests of the real window.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace ipex_studio::testing {

// Starts Xvfb if DISPLAY is not set and ends it with the tests. Without Xvfb the tests fail; they are not skipped.
class Display {
 public:
  Display() {
    if (std::getenv("DISPLAY") != nullptr) return;
    int ends[2];
    if (pipe(ends) != 0) return;
    server_ = fork();
    if (server_ == 0) {
      close(ends[0]);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      const std::string number = std::to_string(ends[1]);
      // Without -noreset Xvfb restarts, and refuses connections meanwhile, whenever its last window closes.
      execlp("Xvfb", "Xvfb", "-noreset", "-displayfd", number.c_str(), "-screen", "0", "1280x1024x24", "-nolisten",
             "tcp", nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::string number;
    for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) number += c;
    close(ends[0]);
    if (!number.empty()) setenv("DISPLAY", (":" + number).c_str(), 1);
  }
  ~Display() {
    if (server_ <= 0) return;
    kill(server_, SIGTERM);
    waitpid(server_, nullptr, 0);
    unsetenv("DISPLAY");
  }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  bool ready() const { return std::getenv("DISPLAY") != nullptr; }

 private:
  pid_t server_ = -1;
};

}  // namespace ipex_studio::testing

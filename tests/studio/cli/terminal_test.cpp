// On a terminal, work longer than a second shows a bar, in colours unless NO_COLOR asks for none.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns everything that a command writes to a terminal of its own; interrupts it once `enough` was seen.
std::string onTerminal(const Sandpit& pit, const std::vector<std::string>& arguments, bool color,
                       const std::string& enough) {
  int terminal = -1;
  winsize size{};
  size.ws_col = 100;
  size.ws_row = 30;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    ::setenv("XDG_DATA_HOME", pit.path("data").c_str(), 1);
    ::setenv("TMPDIR", pit.path("tmp").c_str(), 1);
    ::setenv("TERM", "xterm", 1);
    color ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", "1", 1);
    std::vector<std::string> command{programPath()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  std::string text;
  char chunk[4096];
  bool interrupted = false;
  pollfd wait{terminal, POLLIN, 0};
  while (::poll(&wait, 1, 30000) > 0) {
    const ssize_t got = ::read(terminal, chunk, sizeof chunk);
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
    if (interrupted || enough.empty() || text.find(enough) == std::string::npos) continue;
    interrupted = true;
    EXPECT_EQ(::write(terminal, "\x03", 1), 1);  // Ctrl-C, as the terminal turns it into a signal
  }
  const int code = waitFor(pid);
  EXPECT_EQ(code, interrupted ? 130 : 0) << text;
  ::close(terminal);
  return text;
}

TEST(Terminal, BarStageAndColours) {
  const Sandpit pit;
  const std::vector<std::string> endless{"run", modelFile("small.pt"), "--threads", "1", "--duration", "100"};
  const std::string colored = onTerminal(pit, endless, true, "measure");
  EXPECT_THAT(colored, HasSubstr("\x1b[36m"));
  EXPECT_THAT(colored, ::testing::ContainsRegex("[0-9]+%  [a-z]"));
  const std::string plain = onTerminal(pit, endless, false, "measure");
  EXPECT_THAT(plain, Not(HasSubstr("\x1b[3")));
  EXPECT_THAT(plain, HasSubstr("\r\x1b[K[##"));
}

TEST(Terminal, NoBarForWhatIsShort) {
  const Sandpit pit;
  EXPECT_THAT(onTerminal(pit, {"inspect", modelFile("small.pt")}, true, ""), Not(HasSubstr("[K[")));
}

}  // namespace
}  // namespace ipex_studio::testing

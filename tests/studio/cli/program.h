// Runs ipex-studio as a user would, and provides the test files.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace ipex_studio::testing {

struct Outcome {
  int code = 0;  // exit code, or 128 + signal
  std::string out;
  std::string err;
  double seconds = 0;      // from start to end
  double cpu_seconds = 0;  // CPU time of all threads
};

// A new folder, removed at the end, with folders of its own for data and caches, so that no test sees the user's.
class Sandpit {
 public:
  Sandpit();
  ~Sandpit();
  std::string path(const std::string& name = "") const;
  // Runs build/ipex-studio with XDG_DATA_HOME, XDG_CACHE_HOME and TMPDIR inside this folder.
  Outcome run(const std::vector<std::string>& arguments) const;
  // Runs any program in the same environment.
  Outcome runProgram(const std::vector<std::string>& command) const;
  // Starts ipex-studio and returns at once; output goes to path("out") and path("err").
  pid_t start(const std::vector<std::string>& arguments) const;

 private:
  std::string folder_;
};

// Expects the exit code, and one sentence on the last line of the errors with `part` in it.
void expectOneSentence(const Outcome& outcome, int code, const std::string& part);

// Waits for a started program and returns its exit code as in Outcome; stores its resources in `usage` if that is
// given.
int waitFor(pid_t pid, rusage* usage = nullptr);
std::string readText(const std::string& path);
std::string programPath();

// Path of a file of make_models.py, which runs once per test program.
std::string modelFile(const std::string& name);
// FOLDER/victim.txt, the file that the attacking models write to.
std::string victimFile();

}  // namespace ipex_studio::testing

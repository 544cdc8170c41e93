// Runs ipex-studio as a user would, and holds the files that the tests feed to it.
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
  double cpu_seconds = 0;  // of all its threads
};

// A fresh folder, removed at the end, with a data folder of its own in it: no test sees a database of the user's.
class Sandpit {
 public:
  Sandpit();
  ~Sandpit();
  std::string path(const std::string& name = "") const;
  // Runs build/ipex-studio with XDG_DATA_HOME and TMPDIR inside this folder.
  Outcome run(const std::vector<std::string>& arguments) const;
  // Any program in the same surroundings.
  Outcome runProgram(const std::vector<std::string>& command) const;
  // Starts ipex-studio and returns at once; output goes to path("out") and path("err").
  pid_t start(const std::vector<std::string>& arguments) const;

 private:
  std::string folder_;
};

// Exit code of a started program, as in Outcome; what it used goes to `usage` where that is asked for.
int waitFor(pid_t pid, rusage* usage = nullptr);
std::string readText(const std::string& path);
std::string programPath();

// Path of a file that make_models.py wrote; made once per test program.
std::string modelFile(const std::string& name);
// FOLDER/victim.txt: what the attacks among them write to.
std::string victimFile();

}  // namespace ipex_studio::testing

// The sandbox of an engine process: Landlock for files, seccomp for everything else.
//
// TorchScript is a program: code in a model may read and write any file the user can, already while it is loaded. The
// sandbox is prepared by the studio and entered by the child between fork and exec, before any library is loaded, so it
// holds for every thread the engine ever has. It allows reading libraries, the model and its inputs, and writing in
// the job folder; it denies network, new processes, tracing, mounting and changes of owners, modes and times.
//
// Without Landlock in the kernel, opening anything for writing, renaming, linking and removing are denied altogether;
// the export then goes to a descriptor that was opened beforehand.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace ipex_studio {

struct SandboxPolicy {
  std::vector<std::string> readable;  // files and folders; those that do not exist are skipped
  std::vector<int> readable_fds;      // open files that may be opened again through /proc/self/fd
  std::vector<std::string> devices;   // nodes of /dev, and folders of them, that may be read, written and controlled
  std::string executable;             // the only program that may be started, once
  std::string writable_folder;        // empty: none
  bool use_landlock = true;           // false: as on a kernel without it
};

// Highest Landlock version of the running kernel; 0: none.
int landlockVersion();

// A sandbox that is prepared in the parent and entered in the child.
class Sandbox {
 public:
  // Throws Error(kUnsupported) when the kernel has no seccomp filters.
  explicit Sandbox(const SandboxPolicy& policy);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  bool confinesFiles() const { return ruleset_fd_ >= 0; }

  // Restricts the calling thread for good. Async-signal-safe; returns 0 or an errno.
  int enter() const noexcept;

 private:
  int ruleset_fd_ = -1;
  std::vector<sock_filter> filter_;
};

// Denies execve and execveat from now on, in all threads. The engine calls it first, since the sandbox has to let the
// engine itself start. Returns false where seccomp is missing.
bool denyExec() noexcept;

}  // namespace ipex_studio

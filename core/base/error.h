// The two ways to report a fault.
//
//   Error   the user's world is not as needed (bad file, wrong shape, full disk). One sentence that says what
//           happened and what to do. Thrown anywhere, caught only in main functions and in Session.
//   CHECK   the programmer is wrong. Stays on in release; prints the condition and aborts.
//
// A pass or kernel that does not apply is neither: it returns a reason (see Remark, Verdict).
#pragma once

#include <stdexcept>
#include <string>

namespace ipex_studio {

// Exit codes of both programs; scripts rely on them.
enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,      // anything not named below
  kUsage = 2,        // wrong flags, inputs cannot be guessed
  kBadModel = 3,     // missing, damaged, refused or foreign model file
  kAccuracy = 4,     // optimized results are outside the tolerance, and nothing was exported; a loss is not finite
  kUnsupported = 5,  // this machine or this version cannot do what was asked
  kDatabase = 6,     // profile database cannot be opened, read or written
  // 128 + n: the engine process was ended by signal n
};

// A fault that the user can mend: `sentence` says what happened and what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Prints "file:line: CHECK(condition) failed: message" to stderr and aborts.
[[noreturn]] void checkFailed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace ipex_studio

// IPEX_CHECK(condition, "message") aborts if the condition is false, in every build type.
#define IPEX_CHECK(condition, message)                                       \
  do {                                                                       \
    if (!(condition)) {                                                      \
      ::ipex_studio::checkFailed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                        \
  } while (false)

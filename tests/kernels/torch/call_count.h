// Counts a thread's calls of the allocator and of locks. malloc and its kin, operator new included, and
// pthread_mutex_lock are replaced in the test program, so calls from every library are seen.
#pragma once

namespace ipex_studio::testing {

struct CallCount {
  long allocations = 0;
  long locks = 0;
};

// Counts the calling thread's calls while it lives.
class CallCounter {
 public:
  CallCounter();
  ~CallCounter();
  CallCount count() const;
};

// False if the sanitizers bring an allocator of their own.
bool callsAreCounted();

}  // namespace ipex_studio::testing

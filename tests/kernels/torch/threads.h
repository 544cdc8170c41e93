// Sets how many threads torch and OpenMP use, as an application would, and puts the count back.
#pragma once

#include <ATen/Parallel.h>
#include <omp.h>

namespace ipex_studio::testing {

class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { set(count); }
  ~Threads() { set(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  static void set(int count) {
    at::set_num_threads(count);
    omp_set_num_threads(count);
  }

 private:
  int before_;
};

}  // namespace ipex_studio::testing

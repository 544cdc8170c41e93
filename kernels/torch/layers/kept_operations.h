// Operations that are kept for the sizes that networks have at once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace ipex_studio {

// Thread-safe.
template <class Problem, class Operation>
class KeptOperations {
 public:
  using Kept = std::shared_ptr<const Operation>;

  // The operation that make(problem) gives when it is first asked for; it may be null.
  template <class Make>
  Kept of(const Problem& problem, const Make& make) {
    constexpr std::size_t kMost = 1024;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = kept_.find(problem);
    if (found != kept_.end()) return found->second;
    if (kept_.size() >= kMost) kept_.clear();
    return kept_[problem] = make(problem);
  }

 private:
  std::mutex mutex_;
  std::map<Problem, Kept> kept_;
};

}  // namespace ipex_studio

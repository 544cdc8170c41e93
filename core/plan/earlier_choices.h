// EarlierChoices: the kernels chosen and operations prepared for earlier plans of one spec. A later plan takes over
// what is asked for again with equal operands, so that a plan for sizes of which only some are new, as those of a
// decoder with a growing cache, prepares no more than what they change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/plan/kernel_choice.h"

namespace ipex_studio {

// Not thread-safe. Everything that PrepareArgs points to must live until clear(), at the same addresses with the same
// contents.
class EarlierChoices {
 public:
  // `kernel`: its name; empty: the first of the list that takes the operation, the reference only if `ref_allowed`.
  struct Question {
    const PrepareArgs& args;
    std::string kernel;
    bool ref_allowed = false;
  };
  // Null if there is none.
  const KernelChoice* find(const Question& question);
  void keep(const Question& question, const KernelChoice& choice);
  // To be called before each plan. Forgets, once in kPlans plans, what none of the last kPlans asked for.
  static constexpr std::uint64_t kPlans = 4;
  void beginPlan();
  void clear() { items_.clear(); }

  std::size_t size() const { return items_.size(); }
  std::size_t found() const { return found_; }  // by all plans so far

 private:
  struct Item {
    PrepareArgs args;
    std::string kernel;
    bool ref_allowed = false;
    KernelChoice choice;
    std::uint64_t last_plan = 0;
  };

  std::unordered_multimap<std::uint64_t, Item> items_;  // by a hash of the question
  std::uint64_t plan_ = 0;
  std::size_t found_ = 0;
};

}  // namespace ipex_studio

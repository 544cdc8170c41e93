// CallSites: the plans of one operator, found by where it is called from.
//
// A node of a graph passes the same constant string in each call. A call whose string object, weights and types of
// inputs are known finds its plans in a hash table, without a lock and without reading the text. Other calls compare
// texts under a lock of the operator's own; the table then learns the string, unless the call alone holds it.
//
// Strings, weights and their memory go by address. The entries keep weak references to them: while there is one, no
// other object gets the address. What has expired is dropped when any operator next needs a new set of plans.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <torch/script.h>

#include "kernels/torch/plans/lookup.h"
#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {

// One operand of a call.
struct PlanOperand {
  const at::Tensor* tensor = nullptr;  // null: absent
  bool constant = false;               // may be packed and kept: a weight or bias
};

// Thread-safe.
class CallSites {
 public:
  // Sets of plans kept, one for each specification, weights and types of inputs: those used last.
  static constexpr std::size_t kMaxPlans = 256;

  CallSites();
  ~CallSites();
  CallSites(const CallSites&) = delete;
  CallSites& operator=(const CallSites&) = delete;

  // Plans of one step with the operands in order; those that are not constant are the inputs. `spec` is the call's own
  // hold on a string, the text of an OpSpec; a site is remembered if somebody else holds it too. A weight that was
  // written since the last call, or got other memory, is packed anew. Throws Error(kBadModel) when the text is damaged.
  std::shared_ptr<PlanCache> plansFor(const c10::IValue& spec, c10::ArrayRef<PlanOperand> operands);

  struct Sizes {
    std::size_t plans = 0;  // sets of plans
    std::size_t sites = 0;  // strings that lead to one of them
  };
  Sizes sizes() const;

 private:
  struct Request;
  struct Kept;
  struct Site;
  struct Table;
  struct Dropped;

  std::shared_ptr<PlanCache> known(const std::string& text, const Request& request) const;
  // The following need mutex_.
  std::shared_ptr<Kept> sameText(const std::string& text, const Request& request) const;
  void keep(std::shared_ptr<Kept> made, Dropped& dropped);
  void addSite(const c10::IValue& spec, std::shared_ptr<Kept> kept, Dropped& dropped);
  void rebuildTable(Dropped& dropped);
  template <typename Stale>
  void dropStale(const Stale& stale, Dropped& dropped);

  static void dropExpiredEverywhere();

  mutable Readers readers_;  // of table_ and of what it leads to
  std::atomic<Table*> table_;
  std::atomic<std::uint64_t> clock_{1};  // advances with each new set of plans
  mutable std::mutex mutex_;             // writers: guards what follows
  std::vector<std::shared_ptr<Kept>> kept_;
  std::vector<std::unique_ptr<Site>> sites_;
};

}  // namespace ipex_studio

#include "kernels/torch/ops/call_sites.h"

#include <algorithm>
#include <iterator>

#include "core/torch/tensor_bridge.h"

namespace ipex_studio {
namespace {

// Inference tensors count no writes.
constexpr std::uint64_t kNoVersion = ~std::uint64_t{0};

std::uint64_t versionOf(const at::Tensor& tensor) {
  if (tensor.is_inference()) return kNoVersion;
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

// Changes when a tensor takes the memory of another, as by `weight.data = other`, which counts as no write.
std::uint64_t placeOf(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return 0;
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(tensor.storage().unsafeGetStorageImpl());
  mix(hash, static_cast<std::uint64_t>(tensor.storage_offset()));
  for (const std::int64_t size : tensor.sizes()) mix(hash, static_cast<std::uint64_t>(size));
  for (const std::int64_t stride : tensor.strides()) mix(hash, static_cast<std::uint64_t>(stride));
  return hash;
}

// A spec of one node whose inputs are the operands that are no constants.
std::shared_ptr<PlanCache> makePlans(const std::string& text, c10::ArrayRef<PlanOperand> operands) {
  PlanSpec spec;
  PlanNode node;
  std::vector<at::Tensor> constants;
  node.op = parseOpSpec(text);
  node.name = opKindName(node.op.kind);
  for (const PlanOperand& operand : operands) {
    if (operand.tensor == nullptr) continue;
    const TensorDesc desc = descOf(*operand.tensor);
    if (!operand.constant) {
      spec.inputs.push_back({false, desc.dtype, desc.dims.rank});
    } else {
      constants.push_back(operand.tensor->detach().contiguous());
      spec.constants.push_back(descOf(constants.back()));
    }
  }
  std::int32_t next_input = 0;
  std::int32_t next_constant = static_cast<std::int32_t>(spec.inputs.size());
  for (const PlanOperand& operand : operands) {
    node.src.push_back(operand.tensor == nullptr ? -1 : operand.constant ? next_constant++ : next_input++);
  }
  const int results = node.op.intOr("sum_output", 0) != 0 ? 2 : 1;
  for (int r = 0; r < results; ++r) {
    node.dst.push_back(next_constant + r);
    spec.outputs.push_back(next_constant + r);
  }
  spec.nodes.push_back(std::move(node));
  return std::make_shared<PlanCache>(std::move(spec), std::move(constants));
}

// All operators' call sites, so that each can drop what a model of the others left behind. The first of them makes it,
// so it outlives the last.
struct AllCallSites {
  std::mutex mutex;  // locked before that of any of them
  std::vector<CallSites*> all;
};

AllCallSites& allCallSites() {
  static AllCallSites all;
  return all;
}

}  // namespace

// --- what a call brings ----------------------------------------------------------------------------------------------

// A word for each operand – nothing, the type of an input, the address of a weight –, then version and place of each
// weight.
struct CallSites::Request {
  explicit Request(c10::ArrayRef<PlanOperand> operands) : operand_count(operands.size()) {
    for (const PlanOperand& operand : operands) {
      if (operand.tensor == nullptr) {
        words.push_back(0);
      } else if (operand.constant) {
        words.push_back(reinterpret_cast<std::uintptr_t>(operand.tensor->unsafeGetTensorImpl()));  // even
      } else {
        const auto type = static_cast<std::uint64_t>(operand.tensor->scalar_type());
        words.push_back(static_cast<std::uint64_t>(operand.tensor->dim()) << 16 | type << 1 | 1);
      }
    }
    for (const PlanOperand& operand : operands) {
      if (operand.tensor == nullptr || !operand.constant) continue;
      words.push_back(versionOf(*operand.tensor));
      words.push_back(placeOf(*operand.tensor));
    }
  }

  std::uint64_t hashFor(const std::string& text) const {
    std::uint64_t hash = 0;
    mix(hash, reinterpret_cast<std::uintptr_t>(&text));
    for (const std::uint64_t word : words) mix(hash, word);
    return hash;
  }
  bool sameOperands(const Request& other) const {
    return operand_count == other.operand_count && words.size() == other.words.size() &&
           std::equal(words.begin(), words.begin() + operand_count, other.words.begin());
  }
  bool operator==(const Request& other) const { return operand_count == other.operand_count && words == other.words; }

  std::size_t operand_count;
  c10::SmallVector<std::uint64_t, 16> words;
};

// --- what is kept ----------------------------------------------------------------------------------------------------

struct CallSites::Kept {
  Kept(const std::string& text, Request asked, c10::ArrayRef<PlanOperand> operands)
      : text(text), request(std::move(asked)), plans(makePlans(text, operands)) {
    for (const PlanOperand& operand : operands) {
      if (operand.tensor == nullptr || !operand.constant) continue;
      weights.emplace_back(operand.tensor->getIntrusivePtr());
      if (operand.tensor->has_storage()) memory.push_back(operand.tensor->storage().getWeakStorageImpl());
    }
  }
  bool expired() const {
    const auto is_gone = [](const auto& object) { return object.expired(); };
    return std::any_of(weights.begin(), weights.end(), is_gone) || std::any_of(memory.begin(), memory.end(), is_gone);
  }

  const std::string text;
  const Request request;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> weights;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> memory;  // of the weights
  const std::shared_ptr<PlanCache> plans;
  std::atomic<std::uint64_t> last_use{0};  // CallSites::clock_ at the time
  bool dropped = false;                    // guarded by mutex_
};

struct CallSites::Site {
  Site(const c10::IValue& spec, std::shared_ptr<Kept> plans)
      : text(&spec.toStringRef()), holder(spec.toString()), kept(std::move(plans)) {}

  const std::string* const text;                                      // inside its holder
  const c10::weak_intrusive_ptr<c10::ivalue::ConstantString> holder;  // expired: the call site is gone
  const std::shared_ptr<Kept> kept;
};

// Open addressing, at most half full. Writers fill empty slots; to free one they publish another table.
struct CallSites::Table {
  explicit Table(std::size_t sites) {
    std::size_t size = 16;
    while (size < 4 * sites) size *= 2;
    slots = std::vector<std::atomic<const Site*>>(size);
  }
  void insert(const Site* site) {
    std::size_t at = site->kept->request.hashFor(*site->text) & (slots.size() - 1);
    while (slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & (slots.size() - 1);
    slots[at].store(site, std::memory_order_release);
  }
  std::vector<std::atomic<const Site*>> slots;
};

// Taken out, to be freed after the locks are open: freeing tensors may run anybody's code.
struct CallSites::Dropped {
  std::vector<std::shared_ptr<Kept>> kept;
  std::vector<std::unique_ptr<Site>> sites;
  std::vector<std::unique_ptr<Table>> tables;
};

// --- CallSites -------------------------------------------------------------------------------------------------------

CallSites::CallSites() : table_(new Table(0)) {
  const std::lock_guard<std::mutex> lock(allCallSites().mutex);
  allCallSites().all.push_back(this);
}

CallSites::~CallSites() {
  {
    const std::lock_guard<std::mutex> lock(allCallSites().mutex);
    std::vector<CallSites*>& all = allCallSites().all;
    all.erase(std::find(all.begin(), all.end(), this));
  }
  delete table_.load();
}

std::shared_ptr<PlanCache> CallSites::known(const std::string& text, const Request& request) const {
  const std::uint64_t hash = request.hashFor(text);
  const Readers::Guard reading(readers_);
  const std::vector<std::atomic<const Site*>>& slots = table_.load()->slots;
  for (std::size_t at = hash & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1)) {
    const Site* site = slots[at].load(std::memory_order_acquire);
    if (site == nullptr) return nullptr;
    if (site->text != &text || !(site->kept->request == request)) continue;
    const std::uint64_t now = clock_.load(std::memory_order_relaxed);
    std::atomic<std::uint64_t>& last_use = site->kept->last_use;
    if (last_use.load(std::memory_order_relaxed) != now) last_use.store(now, std::memory_order_relaxed);
    return site->kept->plans;
  }
}

std::shared_ptr<PlanCache> CallSites::plansFor(const c10::IValue& spec, c10::ArrayRef<PlanOperand> operands) {
  const std::string& text = spec.toStringRef();
  const Request request(operands);
  if (std::shared_ptr<PlanCache> plans = known(text, request)) return plans;
  Dropped dropped;
  std::shared_ptr<Kept> kept;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::shared_ptr<PlanCache> plans = known(text, request)) return plans;  // another thread was faster
    kept = sameText(text, request);
    const bool is_new = kept == nullptr;
    if (is_new) {
      kept = std::make_shared<Kept>(text, request, operands);
      keep(kept, dropped);
    }
    kept->last_use = clock_.load();
    if (spec.use_count() > 1) addSite(spec, kept, dropped);
    if (!is_new) return kept->plans;
  }
  dropExpiredEverywhere();
  return kept->plans;
}

std::shared_ptr<CallSites::Kept> CallSites::sameText(const std::string& text, const Request& request) const {
  for (const std::shared_ptr<Kept>& kept : kept_) {
    if (kept->request == request && kept->text == text) return kept;
  }
  return nullptr;
}

// Makes room for a new set of plans: its like with older versions of the weights can be asked for no more.
void CallSites::keep(std::shared_ptr<Kept> made, Dropped& dropped) {
  std::size_t live = 0;
  const Kept* oldest = nullptr;
  const auto stale = [&made](const Kept& kept) {
    return kept.expired() || (kept.request.sameOperands(made->request) && kept.text == made->text);
  };
  for (const std::shared_ptr<Kept>& kept : kept_) {
    if (stale(*kept)) continue;
    ++live;
    if (oldest == nullptr || kept->last_use < oldest->last_use) oldest = kept.get();
  }
  dropStale([&](const Kept& kept) { return stale(kept) || (live >= kMaxPlans && &kept == oldest); }, dropped);
  kept_.push_back(std::move(made));
  ++clock_;
}

void CallSites::addSite(const c10::IValue& spec, std::shared_ptr<Kept> kept, Dropped& dropped) {
  if (2 * (sites_.size() + 1) > table_.load()->slots.size()) rebuildTable(dropped);
  sites_.push_back(std::make_unique<Site>(spec, std::move(kept)));
  table_.load()->insert(sites_.back().get());
}

// Without the sites that are gone, and with room for as many again.
void CallSites::rebuildTable(Dropped& dropped) {
  const auto gone = std::partition(sites_.begin(), sites_.end(), [](const std::unique_ptr<Site>& site) {
    return !site->kept->dropped && !site->holder.expired();
  });
  const auto live = static_cast<std::size_t>(gone - sites_.begin());
  auto table = std::make_unique<Table>(live + 1);
  for (std::size_t i = 0; i < live; ++i) table->insert(sites_[i].get());
  std::unique_ptr<Table> before(table_.exchange(table.release()));
  readers_.waitUntilGone();
  dropped.tables.push_back(std::move(before));
  std::move(gone, sites_.end(), std::back_inserter(dropped.sites));
  sites_.erase(gone, sites_.end());
}

template <typename Stale>
void CallSites::dropStale(const Stale& stale, Dropped& dropped) {
  const auto gone = std::stable_partition(kept_.begin(), kept_.end(),
                                          [&stale](const std::shared_ptr<Kept>& kept) { return !stale(*kept); });
  if (gone == kept_.end()) return;
  for (auto at = gone; at != kept_.end(); ++at) (*at)->dropped = true;
  std::move(gone, kept_.end(), std::back_inserter(dropped.kept));
  kept_.erase(gone, kept_.end());
  rebuildTable(dropped);
}

void CallSites::dropExpiredEverywhere() {
  Dropped dropped;
  const std::lock_guard<std::mutex> lock(allCallSites().mutex);
  for (CallSites* sites : allCallSites().all) {
    const std::lock_guard<std::mutex> own(sites->mutex_);
    sites->dropStale([](const Kept& kept) { return kept.expired(); }, dropped);
  }
}

CallSites::Sizes CallSites::sizes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {kept_.size(), sites_.size()};
}

}  // namespace ipex_studio

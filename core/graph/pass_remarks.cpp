// PassRemarks: adding remarks and reading them back.
#include "core/graph/pass_remarks.h"

#include "core/base/fnv.h"

namespace ipex_studio {

void PassRemarks::add(RemarkKind kind, const char* reason, const std::string& text, at::ArrayRef<OriginId> origins) {
  const auto [known, unseen] = text_indices_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (unseen) texts_.push_back(&known->first);
  if (kind == RemarkKind::kMissed) {
    std::uint64_t hash = fnvWith(kFnvBasis, known->second);
    for (const OriginId origin : origins) hash = fnvWith(hash, static_cast<std::uint64_t>(origin));
    if (!origins.empty() && !missed_.insert(hash).second) return;
  }
  entries_.push_back({reason, known->second, static_cast<std::uint32_t>(origins.size()), kind});
  origins_.insert(origins_.end(), origins.begin(), origins.end());
}

void PassRemarks::visit(const std::string& pass, const std::function<void(const Remark&)>& take) const {
  Remark remark;
  remark.pass = pass;
  auto origins = origins_.begin();
  for (const Entry& entry : entries_) {
    remark.kind = entry.kind;
    remark.reason = entry.reason;
    remark.text = *texts_[entry.text];
    remark.origins.assign(origins, origins + entry.origins);
    origins += entry.origins;
    take(remark);
  }
}

void PassRemarks::clear() {
  entries_.clear();
  origins_.clear();
  texts_.clear();
  text_indices_.clear();
  missed_.clear();
}

}  // namespace ipex_studio

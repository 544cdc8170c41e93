// PassRemarks: the remarks of a pass in few bytes. A pass over a large graph leaves the same sentence tens of thousands
// of times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Remarks in the order in which they were added; each text is kept once. A pass that runs again says again why it left
// a node alone: that is kept once, too. Not thread-safe.
class PassRemarks {
 public:
  // `reason` is one of core/graph/reasons.h and is not copied.
  void add(RemarkKind kind, const char* reason, const std::string& text, at::ArrayRef<OriginId> origins);

  // Calls `take` with each remark under the name `pass`; the remark is valid during the call.
  void visit(const std::string& pass, const std::function<void(const Remark&)>& take) const;
  void clear();

 private:
  struct Entry {
    const char* reason;
    std::uint32_t text;     // index into texts_
    std::uint32_t origins;  // number of origins, behind those of the entries before it
    RemarkKind kind;
  };

  std::vector<Entry> entries_;
  std::vector<OriginId> origins_;
  std::unordered_map<std::string, std::uint32_t> text_indices_;
  std::vector<const std::string*> texts_;     // keys of the map, which stay where they are
  std::unordered_set<std::uint64_t> missed_;  // hashes of text and origins
};

}  // namespace ipex_studio

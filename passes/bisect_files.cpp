// Pairs, the first wrong one of them, and its two nodes side by side.
#include "passes/bisect_files.h"

#include <fmt/format.h>

#include "core/compare/node_change.h"
#include "passes/compare_rewritten.h"

namespace ipex_studio {
namespace {

class FileBisection {
 public:
  explicit FileBisection(const TwoModels& models)
      : models_(models),
        inputs_(models.steps.front()),
        original_(models.original, models.preserved),
        other_(models.other, models.preserved),
        reference_(referenceResults(models.original, models.steps, models.reset_method)) {}

  BisectRecord run() {
    torch::jit::Module judged = models_.other;
    record_.results = judge(judged);
    record_.nodes = static_cast<std::int64_t>(other_.table.origins().size());
    if (!record_.results.pass && lookIntoRegions()) return std::move(record_);
    bool sure = false;
    std::vector<ValuePair> pairs = findPairs(&sure);
    const Lockstep graphs(original_.module, other_.module, inputs_, ValueTolerance{models_.rule});
    FirstWrongNode first =
        firstWrongNode(graphs, pairs, namesOf(original_.table, other_.table), {!record_.results.pass, sure});
    record_.compared = first.compared;
    if (!record_.results.pass) {
      const std::vector<ValuePair> inside = pairsInside(pairs);
      lookInside(graphs, pairs, inside, namesOf(original_.table, other_.table), &first);
      pairs.insert(pairs.end(), inside.begin(), inside.end());
    }
    if (!first.wrong) return std::move(record_);
    record_.wrong = {std::move(*first.wrong)};
    record_.feeds = std::move(first.feeds);
    record_.alone = first.alone;
    if (first.pair) explain(*first.pair, pairs);
    return std::move(record_);
  }

 private:
  AccuracyRecord judge(torch::jit::Module& module) const {
    return verifyWorst(reference_, module, models_.steps, models_.reset_method, models_.rule);
  }

  // `sure`: nearly every node of the other file has its counterpart.
  std::vector<ValuePair> findPairs(bool* sure) {
    try {
      recordShapes(original_.module, inputs_);
      recordShapes(other_.module, inputs_);
    } catch (const std::exception&) {
      // The other file may fail, and sizes are only one sign of several.
    }
    std::vector<ValuePair> pairs = pairsByStructure(original_.graph(), other_.graph());
    const auto nodes = std::max(original_.table.origins().size(), other_.table.origins().size());
    *sure = pairs.size() * 2 > nodes;
    if (!*sure)
      addPairsByValue(Lockstep(original_.module, other_.module, inputs_, ValueTolerance{models_.rule}), &pairs);
    return pairs;
  }

  // True if an operation inside of a region of a compiled export is found to be wrong.
  bool lookIntoRegions() {
    const auto found = firstWrongPlanned(original_, other_.module, inputs_, ValueTolerance{models_.rule});
    if (!found) return false;
    record_.wrong = {found->difference};
    record_.feeds = found->feeds;
    record_.cause = "plan";
    record_.blame = found->name;
    record_.why = fmt::format("the planned operation {} ({}) gives it from right values", found->name, found->kind);
    return true;
  }

  void explain(const ValuePair& pair, const std::vector<ValuePair>& pairs) {
    const auto change = changeOf(pair, pairs);
    if (change) {
      record_.cause = change->cause;
      record_.blame = change->blame;
      record_.why = change->why;
    }
    if (!takeBack(pair, pairs)) return;
    const Lockstep graphs(original_.module, other_.module, inputs_, ValueTolerance{models_.rule});
    record_.confirmed = change && graphs.run({}).results.pass;
  }

  const TwoModels& models_;
  const Inputs& inputs_;
  FrozenOriginal original_, other_;
  ReferenceResults reference_;
  BisectRecord record_;
};

}  // namespace

BisectRecord bisectFiles(const TwoModels& models) { return FileBisection(models).run(); }

}  // namespace ipex_studio

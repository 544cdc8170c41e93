// Search for inputs that the model takes and that differ from the example.
#include "core/verify/further_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/base/clock.h"
#include "core/verify/branch_coverage.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

constexpr int kAlwaysTried = 8;  // tries that the time limit does not cut off
constexpr int kMaxSearches = 400;

// --- values inside nested inputs -------------------------------------------------------------------------------------

// Gets the number of a leaf, counted through all inputs, and its value.
using Change = std::function<IValue(std::size_t leaf, const IValue& value)>;

Inputs changedInputs(const Inputs& inputs, const Change& change) {
  Inputs result;
  std::size_t leaf = 0;
  for (const IValue& input : inputs)
    result.push_back(mapLeaves(input, [&](const IValue& value) { return change(leaf++, value); }));
  return result;
}

struct Leaf {
  std::string name;
  IValue value;
};

// Appends the leaves of one argument.
void listLeaves(const std::string& name, const IValue& argument, std::vector<Leaf>& leaves) {
  const std::size_t from = leaves.size();
  mapLeaves(argument, [&](const IValue& leaf) {
    leaves.push_back({name, leaf});
    return leaf;
  });
  if (!argument.isTuple() && !argument.isList() && !argument.isGenericDict()) return;
  for (std::size_t i = 0; from + i < leaves.size(); ++i) leaves[from + i].name += fmt::format("[{}]", i);
}

// --- ways to differ --------------------------------------------------------------------------------------------------

// A size that several axes share, or one integer argument.
struct Extent {
  std::vector<std::pair<std::size_t, std::int64_t>> axes;  // (leaf, axis); axis -1: the leaf is an integer
  std::int64_t size = 0;
};

// Repeats rows from the first on where there are too few, so that indices stay in range.
at::Tensor resized(const at::Tensor& tensor, std::int64_t axis, std::int64_t size) {
  const std::int64_t has = tensor.size(axis);
  if (has == 0) {
    auto sizes = tensor.sizes().vec();
    sizes[static_cast<std::size_t>(axis)] = size;
    return at::zeros(sizes, tensor.options());
  }
  return tensor.index_select(axis, at::arange(size, at::kLong).remainder(has));
}

class Search {
 public:
  Search(const torch::jit::Module& original, const Inputs& example, const FurtherInputsOptions& options)
      : example_(example), options_(options), coverage_(original), begin_ns_(nowNs()) {
    const c10::FunctionSchema schema = original.get_method("forward").function().getSchema();
    for (std::size_t a = 0; a < example.size(); ++a) {
      const bool named = a + 1 < schema.arguments().size();
      names_.push_back(named ? schema.arguments()[a + 1].name() : fmt::format("input {}", a));
      listLeaves(names_.back(), example[a], leaves_);
    }
    most_elements_ =
        options.most_elements > 0 ? options.most_elements : 4 * std::max<std::int64_t>(elements(example), 1024);
  }

  FurtherInputsSearch run() {
    FurtherInputsSearch result;
    const auto example_entries = coverage_.run(example_);
    if (!example_entries) return result;  // nothing to compare with
    note(*example_entries);
    tryValues();
    trySizes();
    tryNumbers();
    tryLists();
    if (!allEntered()) tryWays();
    std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.new_way && !b.new_way; });
    if (kept_.size() > options_.most) kept_.resize(options_.most);
    BranchCoverage::Entries entered = *example_entries;
    for (Kept& kept : kept_) {
      for (std::size_t b = 0; b < entered.size(); ++b) entered[b] = std::max(entered[b], kept.entries[b]);
      result.found.push_back(std::move(kept.further));
    }
    result.run_ns = (nowNs() - begin_ns_) / (tries_ + 1);
    result.ways = coverage_.blocks();
    result.ways_taken = static_cast<std::int32_t>(entered.size() - std::count(entered.begin(), entered.end(), 0));
    return result;
  }

 private:
  struct Kept {
    FurtherInputs further;
    BranchCoverage::Entries entries;
    bool new_way = false;
  };

  std::int64_t elements(const Inputs& inputs) const {
    std::int64_t count = 0;
    changedInputs(inputs, [&](std::size_t, const IValue& value) {
      if (value.isTensor() && value.toTensor().defined()) count += value.toTensor().numel();
      return value;
    });
    return count;
  }

  bool inTime() const {
    return tries_ < kAlwaysTried || nowNs() - begin_ns_ < static_cast<std::int64_t>(1e9 * options_.search_s);
  }

  // True if the entries hold a block, or a number of entries of it, that was not seen before.
  bool note(const BranchCoverage::Entries& entries) {
    bool fresh = false;
    for (std::size_t b = 0; b < entries.size(); ++b) fresh |= seen_.emplace(b, entries[b]).second;
    return fresh;
  }

  bool allEntered() const {
    for (std::size_t b = 0; b < static_cast<std::size_t>(coverage_.blocks()); ++b) {
      if (seen_.count({b, 1}) == 0 && seen_.count({b, 2}) == 0) return false;
    }
    return true;
  }

  // Keeps inputs that the model takes; with `only_new_ways` those that go a way that no others went. True if the model
  // takes them.
  bool attempt(std::string text, Inputs inputs, bool only_new_ways) {
    if (!inTime() || elements(inputs) > most_elements_) return false;
    ++tries_;
    auto entries = coverage_.run(inputs);
    if (!entries) return false;
    const bool fresh = note(*entries);
    if (fresh || !only_new_ways) kept_.push_back({{std::move(text), std::move(inputs)}, std::move(*entries), fresh});
    return true;
  }

  bool attemptLeaf(std::size_t leaf, IValue value, std::string text, bool only_new_ways) {
    return attempt(std::move(text),
                   changedInputs(example_, [&](std::size_t at, const IValue& old) { return at == leaf ? value : old; }),
                   only_new_ways);
  }

  // Elements in reverse order: of the same distribution, so that calibrated scales still fit, and still valid indices.
  // The last quarter of a tensor of one value, as a mask of ones, becomes 0, or 1 where all are 0.
  static at::Tensor otherValues(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.reshape({-1});
    if (flat.numel() == 0) return tensor;
    at::Tensor result = flat.flip({0}).clone();
    if (at::equal(result, flat)) {
      const bool zero = !flat[0].is_nonzero();
      result.narrow(0, flat.numel() - (flat.numel() + 3) / 4, (flat.numel() + 3) / 4).fill_(zero ? 1 : 0);
    }
    return result.reshape(tensor.sizes());
  }

  void tryValues() {
    const auto all = changedInputs(example_, [](std::size_t, const IValue& value) -> IValue {
      return value.isTensor() && value.toTensor().defined() ? IValue(otherValues(value.toTensor())) : value;
    });
    if (attempt("other values", all, false)) return;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      if (!leaves_[leaf].value.isTensor() || !leaves_[leaf].value.toTensor().defined()) continue;
      attemptLeaf(leaf, otherValues(leaves_[leaf].value.toTensor()),
                  fmt::format("other values of {}", leaves_[leaf].name), false);
    }
  }

  Inputs withExtent(const Extent& extent, std::int64_t size) const {
    return changedInputs(example_, [&](std::size_t leaf, const IValue& old) -> IValue {
      IValue value = old;
      for (const auto& [at, axis] : extent.axes) {
        if (at != leaf) continue;
        value = axis < 0 ? IValue(size) : IValue(resized(value.toTensor(), axis, size));
      }
      return value;
    });
  }

  // "x of 2x3x8x8, n = 2"
  std::string textOf(const Extent& extent, std::int64_t size) const {
    std::map<std::size_t, std::vector<std::int64_t>> sizes;
    std::vector<std::string> parts;
    for (const auto& [leaf, axis] : extent.axes) {
      if (axis < 0) {
        parts.push_back(fmt::format("{} = {}", leaves_[leaf].name, size));
      } else {
        auto& of = sizes.emplace(leaf, leaves_[leaf].value.toTensor().sizes().vec()).first->second;
        of[static_cast<std::size_t>(axis)] = size;
      }
    }
    for (const auto& [leaf, of] : sizes)
      parts.push_back(fmt::format("{} of {}", leaves_[leaf].name, fmt::join(of, "x")));
    if (parts.size() > 3) {
      parts.resize(3);
      parts.emplace_back("…");
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  // All axes of one size together, axes of one size at one place, each axis alone.
  std::vector<std::vector<Extent>> extents() const {
    std::map<std::int64_t, Extent> together;
    std::map<std::pair<std::int64_t, std::int64_t>, Extent> by_place;
    std::vector<Extent> alone;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const IValue& value = leaves_[leaf].value;
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      for (std::int64_t axis = 0; axis < value.toTensor().dim(); ++axis) {
        const std::int64_t size = value.toTensor().size(axis);
        const auto add = [&](Extent& extent) {
          extent.size = size;
          extent.axes.emplace_back(leaf, axis);
        };
        add(together[size]);
        add(by_place[{axis, size}]);
        alone.push_back({{{leaf, axis}}, size});
      }
    }
    std::vector<std::vector<Extent>> levels(3);
    for (const auto& [size, extent] : together) levels[0].push_back(extent);
    for (const auto& [place, extent] : by_place) levels[1].push_back(extent);
    levels[2] = std::move(alone);
    return levels;
  }

  // True if the model takes one of the sizes, which is kept.
  bool tryExtent(const Extent& extent, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) {
      if (size == extent.size || size < 1) continue;
      if (attempt(textOf(extent, size), withExtent(extent, size), false)) return true;
    }
    return false;
  }

  void trySizes() {
    std::set<std::pair<std::size_t, std::int64_t>> done;  // axes that the model takes at another size
    for (const std::vector<Extent>& level : extents()) {
      for (const Extent& extent : level) {
        if (std::all_of(extent.axes.begin(), extent.axes.end(), [&](const auto& axis) { return done.count(axis) > 0; }))
          continue;
        const bool longer = tryExtent(extent, {extent.size + 1, 2 * extent.size});
        const bool shorter = tryExtent(extent, {extent.size - 1, extent.size / 2});
        if (longer || shorter) done.insert(extent.axes.begin(), extent.axes.end());
      }
    }
  }

  void tryNumbers() {
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const auto& [name, value] = leaves_[leaf];
      if (value.isBool()) {
        attemptLeaf(leaf, !value.toBool(), fmt::format("{} = {}", name, !value.toBool()), false);
      } else if (value.isInt()) {
        const std::int64_t number = value.toInt();
        attemptLeaf(leaf, number + 1, fmt::format("{} = {}", name, number + 1), false);
        attemptLeaf(leaf, number + 2, fmt::format("{} = {}", name, number + 2), true);
        if (number > 0) attemptLeaf(leaf, number - 1, fmt::format("{} = {}", name, number - 1), false);
      } else if (value.isDouble()) {
        const double number = value.toDouble() == 0 ? 0.5 : 0.75 * value.toDouble();
        attemptLeaf(leaf, number, fmt::format("{} = {}", name, number), false);
      }
    }
  }

  // Lists among the arguments with their last element twice, and without it.
  void tryLists() {
    for (std::size_t a = 0; a < example_.size(); ++a) {
      if (!example_[a].isList() || example_[a].toListRef().empty()) continue;
      const std::string& name = names_[a];
      for (const bool longer : {true, false}) {
        Inputs inputs = example_;
        c10::impl::GenericList list = example_[a].toList().copy();
        if (longer) {
          list.push_back(copyValue(list.get(list.size() - 1)));
        } else {
          list.pop_back();
        }
        const std::size_t count = list.size();
        inputs[a] = std::move(list);
        attempt(fmt::format("{} with {} element{}", name, count, count == 1 ? "" : "s"), std::move(inputs), false);
      }
    }
  }

  // Values, sizes and numbers that take blocks nothing entered so far.
  void tryWays() {
    const std::pair<const char*, std::function<at::Tensor(const at::Tensor&)>> kPatterns[] = {
        {"zeros", [](const at::Tensor& x) { return at::zeros_like(x); }},
        {"ones", [](const at::Tensor& x) { return at::ones_like(x); }},
        {"values of the other sign",
         [](const at::Tensor& x) { return x.scalar_type() == at::kBool ? x.logical_not() : x.neg(); }},
        {"values times 1000", [](const at::Tensor& x) { return at::isFloatingType(x.scalar_type()) ? x * 1000 : x; }},
        {"values times 0.001", [](const at::Tensor& x) { return at::isFloatingType(x.scalar_type()) ? x * 1e-3 : x; }},
    };
    for (const auto& [text, pattern] : kPatterns) {
      attempt(text,
              changedInputs(example_,
                            [make = &pattern](std::size_t, const IValue& value) -> IValue {
                              return value.isTensor() && value.toTensor().defined() ? IValue((*make)(value.toTensor()))
                                                                                    : value;
                            }),
              true);
    }
    std::set<std::int64_t> sizes;
    for (const std::int64_t integer : coverage_.comparedIntegers()) sizes.insert({integer - 1, integer, integer + 1});
    std::vector<Extent> all;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      if (leaves_[leaf].value.isInt()) all.push_back({{{leaf, -1}}, leaves_[leaf].value.toInt()});
    }
    for (std::vector<Extent>& level : extents()) all.insert(all.end(), level.begin(), level.end());
    int left = kMaxSearches;
    for (const std::int64_t size : sizes) {
      for (const Extent& extent : all) {
        const bool number = extent.axes[0].second < 0;
        if (size == extent.size || size < (number ? -1 : 0)) continue;
        if (left-- <= 0 || allEntered()) return;
        attempt(textOf(extent, size), withExtent(extent, size), true);
      }
    }
  }

  const Inputs& example_;
  FurtherInputsOptions options_;
  BranchCoverage coverage_;
  std::int64_t begin_ns_;
  std::int64_t most_elements_ = 0;
  int tries_ = 0;
  std::vector<std::string> names_;  // of arguments
  std::vector<Leaf> leaves_;
  std::vector<Kept> kept_;
  std::set<std::pair<std::size_t, std::uint8_t>> seen_;  // (block, entries)
};

}  // namespace

FurtherInputsSearch findFurtherInputs(const torch::jit::Module& original, const Inputs& example,
                                      const FurtherInputsOptions& options) {
  return Search(original, example, options).run();
}

}  // namespace ipex_studio

#include "kernels/torch/plans/region_loop.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/op/loop_form.h"
#include "core/torch/tensor_bridge.h"
#include "kernels/torch/plans/plan_cache_rounds.h"

namespace ipex_studio {
namespace {

using Slice = LoopForm::Slice;
using Joined = LoopForm::Joined;
using Input = LoopForm::Input;
using Source = LoopForm::Source;

// Plans want their results at multiples of this.
constexpr std::size_t kAlignment = 64;

std::size_t asSize(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t placeIn(const Slice& slice, std::int64_t round) { return slice.start + round * slice.step; }

bool isIn(const Slice& slice, std::int64_t round, std::int64_t size) {
  const std::int64_t place = placeIn(slice, round);
  return place >= 0 && place < size;
}

// Axis `axis` of a row-major tensor as blocks of equal parts: part number i of block b lies at (b * parts + i) * bytes.
struct Parts {
  char* base = nullptr;
  std::int64_t blocks = 1, parts = 0;
  std::size_t bytes = 0;

  // Reads or writes the parts with this number, one after another in `packed`.
  void read(std::int64_t part, char* packed) const {
    for (std::int64_t b = 0; b < blocks; ++b) std::memcpy(packed + asSize(b) * bytes, place(b, part), bytes);
  }
  void write(std::int64_t part, const char* packed) const {
    for (std::int64_t b = 0; b < blocks; ++b) std::memcpy(place(b, part), packed + asSize(b) * bytes, bytes);
  }
  char* place(std::int64_t block, std::int64_t part) const { return base + asSize(block * parts + part) * bytes; }
  // True if each part is one piece of memory that a plan may write a result to.
  bool takesResults() const {
    return blocks == 1 && bytes % kAlignment == 0 && reinterpret_cast<std::uintptr_t>(base) % kAlignment == 0;
  }
};

Parts partsOf(const at::Tensor& whole, std::int64_t axis, std::int64_t parts) {
  Parts made;
  made.base = static_cast<char*>(whole.data_ptr());
  made.parts = parts;
  for (std::int64_t before = 0; before < axis; ++before) made.blocks *= whole.size(before);
  const std::int64_t pieces = made.blocks * parts;
  made.bytes = pieces == 0 ? 0 : whole.nbytes() / asSize(pieces);
  return made;
}

// A slice that a plan reads, in memory of its own where it lies in several pieces.
struct SliceInput {
  Slice slice;
  Parts parts;
  at::Tensor packed;
};

// A value that rounds write to its place in a joined one.
struct JoinedOutput {
  Slice slice;  // the place of each round
  Parts parts;
  bool direct = false;  // the plan writes there itself
};

class LoopRun {
 public:
  LoopRun(Region& body, const LoopForm& form, std::int64_t rounds, c10::ArrayRef<const at::Tensor*> tensors,
          at::IntArrayRef sizes)
      : body_(body), form_(form), rounds_(std::max<std::int64_t>(rounds, 0)), tensors_(tensors), sizes_(sizes) {}

  std::vector<at::Tensor> run(bool may_keep_plan) {
    begin();
    std::int64_t round = 0;
    while (round < rounds_) {
      // At rounds 0, 1, 2, 4 …: sizes may settle, and a plan be prepared, later.
      if (may_keep_plan && (round & (round - 1)) == 0 && runRest(round)) break;
      runRound(round++);
    }
    return results();
  }

 private:
  void begin() {
    carried_.clear();
    for (std::size_t c = 0; c < form_.carried.size(); ++c) carried_.push_back(*tensors_[c]);
    // Once for all rounds: what plans do not take as it lies, and slices of it, would be copied in each.
    given_.clear();
    for (const at::Tensor* tensor : tensors_) given_.push_back(planInput(*tensor));
    sliced_.clear();
    for (const Slice& slice : form_.slices) sliced_.push_back(tensors_[asSize(slice.tensor)]->contiguous());
    pieces_.assign(form_.joined.size(), {});
    joined_.assign(form_.joined.size(), {});
    for (std::size_t j = 0; j < joined_.size(); ++j) {
      if (form_.joined[j].kind == Joined::Kind::kWrite)
        joined_[j] = tensors_[asSize(form_.joined[j].into.tensor)]->clone();
    }
  }

  // With the slices of a round, or memory for them.
  std::vector<at::Tensor> inputsOf(std::optional<std::int64_t> round) const {
    std::vector<at::Tensor> inputs;
    for (const Input& input : form_.inputs) {
      if (input.kind == Input::Kind::kTensor) inputs.push_back(given_[asSize(input.index)]);
      if (input.kind == Input::Kind::kCarried) inputs.push_back(carried_[asSize(input.index)]);
      if (input.kind != Input::Kind::kSlice) continue;
      const Slice& slice = form_.slices[asSize(input.index)];
      const at::Tensor& whole = sliced_[asSize(input.index)];
      TensorDesc desc = descOf(whole);
      if (desc.absent() || slice.axis < 0 || slice.axis >= whole.dim()) {  // the region says what it takes
        inputs.push_back(whole.select(slice.axis, placeIn(slice, round.value_or(0))));
        continue;
      }
      for (auto axis = static_cast<int>(slice.axis); axis + 1 < desc.dims.rank; ++axis)
        desc.dims[axis] = desc.dims[axis + 1];
      --desc.dims.rank;
      inputs.push_back(emptyTensor(desc));
      if (round) inputs.back().copy_(whole.select(slice.axis, placeIn(slice, *round)));
    }
    return inputs;
  }

  const at::Tensor& valueOf(const Source& source) const {
    return source.kind == Source::Kind::kOutput ? outputs_[asSize(source.index)] : carried_[asSize(source.index)];
  }

  void runRound(std::int64_t round) {
    const std::vector<at::Tensor> inputs = inputsOf(round);
    outputs_.assign(body_.plans().spec().outputs.size(), {});
    body_.run(pointersTo(inputs), sizes_, outputs_.data());
    for (std::size_t j = 0; j < joined_.size(); ++j) {
      const Joined& join = form_.joined[j];
      if (join.kind == Joined::Kind::kWrite) {
        joined_[j].select(join.into.axis, placeIn(join.into, round)).copy_(valueOf(join.source));
      } else {
        pieces_[j].push_back(valueOf(join.source));
      }
    }
    for (std::size_t c = 0; c < carried_.size(); ++c) carried_[c] = outputs_[asSize(form_.carried[c])];
  }

  static std::vector<const at::Tensor*> pointersTo(const std::vector<at::Tensor>& tensors) {
    std::vector<const at::Tensor*> pointers;
    for (const at::Tensor& tensor : tensors) pointers.push_back(&tensor);
    return pointers;
  }

  // Runs all rounds from `round` on by one plan. False: there is none, or sizes change; nothing was done.
  bool runRest(std::int64_t round) {
    const bool inside = std::all_of(form_.slices.begin(), form_.slices.end(), [&](const Slice& slice) {
      const at::Tensor& whole = *tensors_[asSize(slice.tensor)];
      if (descOf(whole).absent() || slice.axis < 0 || slice.axis >= whole.dim()) return false;
      return isIn(slice, round, whole.size(slice.axis)) && isIn(slice, rounds_ - 1, whole.size(slice.axis));
    });
    if (!inside || rounds_ > LoopForm::kMaxStep) return false;
    const std::vector<at::Tensor> inputs = inputsOf(std::nullopt);
    const std::vector<const at::Tensor*> pointers = pointersTo(inputs);
    if (!body_.takesAsGiven(pointers)) return false;
    PlanCache::Rounds plan(body_.plans(), pointers, sizes_);
    if (!plan.ready() || !keepsSizes(plan) || !placesFit(plan, round)) return false;
    placeJoined(plan, round);
    placeOutputs(plan);
    placeInputs(inputs);
    for (; round < rounds_; ++round) runPlan(plan, round);
    finish(plan);
    return true;
  }

  // True if what the round gets carried lies as what it hands on.
  bool keepsSizes(const PlanCache::Rounds& plan) const {
    for (std::size_t c = 0; c < carried_.size(); ++c) {
      if (!(descOf(carried_[c]) == plan.outputs()[asSize(form_.carried[c])])) return false;
    }
    return true;
  }

  TensorDesc descOf(const PlanCache::Rounds& plan, const Source& source) const {
    return source.kind == Source::Kind::kOutput ? plan.outputs()[asSize(source.index)]
                                                : descOf(carried_[asSize(source.index)]);
  }
  static TensorDesc descOf(const at::Tensor& tensor) { return ipex_studio::descOf(tensor); }

  // True if each joined value has a place for what each of these rounds gives.
  bool placesFit(const PlanCache::Rounds& plan, std::int64_t round) const {
    for (std::size_t j = 0; j < joined_.size(); ++j) {
      const Joined& join = form_.joined[j];
      const TensorDesc value = descOf(plan, join.source);
      if (join.kind != Joined::Kind::kWrite) {
        const std::int64_t axes = value.dims.rank + (join.kind == Joined::Kind::kStack ? 1 : 0);
        const bool alike = std::all_of(pieces_[j].begin(), pieces_[j].end(), [&](const at::Tensor& piece) {
          const TensorDesc desc = descOf(piece);
          return desc.dims == value.dims && desc.dtype == value.dtype;
        });
        if (!alike || axes > kMaxRank || join.axis < 0 || join.axis >= axes) return false;
        continue;
      }
      const at::Tensor& whole = joined_[j];
      if (join.into.axis < 0 || join.into.axis >= whole.dim() || whole.dim() > kMaxRank || !whole.is_contiguous())
        return false;
      std::vector<std::int64_t> part = whole.sizes().vec();
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(join.into.axis));
      const std::int64_t size = whole.size(join.into.axis);
      if (!(value.dims == Dims(part)) || value.dtype != dtypeOf(whole.scalar_type()) || !isIn(join.into, round, size) ||
          !isIn(join.into, rounds_ - 1, size))
        return false;
    }
    return true;
  }

  // Makes the joined values, and takes what earlier rounds gave into them.
  void placeJoined(const PlanCache::Rounds& plan, std::int64_t round) {
    for (std::size_t j = 0; j < joined_.size(); ++j) {
      const Joined& join = form_.joined[j];
      JoinedOutput place{{0, join.axis, 0, 1}, {}, false};
      if (join.kind == Joined::Kind::kWrite) {
        place.slice = join.into;
        place.parts = partsOf(joined_[j], join.into.axis, joined_[j].size(join.into.axis));
      } else {
        TensorDesc whole = descOf(plan, join.source);
        const auto axis = static_cast<int>(join.axis);
        if (join.kind == Joined::Kind::kStack) {
          for (int moved = whole.dims.rank++; moved > axis; --moved) whole.dims[moved] = whole.dims[moved - 1];
          whole.dims[axis] = rounds_;
        } else {
          whole.dims[axis] *= rounds_;
        }
        joined_[j] = emptyTensor(whole);
        place.parts = partsOf(joined_[j], join.axis, rounds_);
        for (std::int64_t before = 0; before < round; ++before)
          place.parts.write(before, static_cast<const char*>(pieces_[j][asSize(before)].contiguous().data_ptr()));
      }
      places_.push_back(place);
    }
  }

  // Results go to where they are joined, or to memory that takes turns: the next round reads the one and writes the
  // other.
  void placeOutputs(const PlanCache::Rounds& plan) {
    const std::size_t outputs = plan.outputs().size();
    direct_.assign(outputs, nullptr);
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const Source& source = form_.joined[j].source;
      const bool may = source.kind == Source::Kind::kOutput && direct_[asSize(source.index)] == nullptr;
      if (!may || places_[j].slice.step == 0 || !places_[j].parts.takesResults()) continue;
      places_[j].direct = true;
      direct_[asSize(source.index)] = &places_[j];
    }
    for (std::size_t o = 0; o < outputs; ++o) {
      if (direct_[o] != nullptr) continue;
      for (std::vector<at::Tensor>& turn : turns_) {
        turn.resize(outputs);
        turn[o] = emptyTensor(plan.outputs()[o]);
      }
    }
    results_.assign(outputs, nullptr);
    for (const at::Tensor& value : carried_) handed_.push_back(static_cast<char*>(value.data_ptr()));
  }

  void placeInputs(const std::vector<at::Tensor>& inputs) {
    for (std::size_t s = 0; s < form_.slices.size(); ++s) {
      const Slice& slice = form_.slices[s];
      slice_inputs_.push_back({slice, partsOf(sliced_[s], slice.axis, sliced_[s].size(slice.axis)), {}});
    }
    pointers_.assign(inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      pointers_[i] = inputs[i].data_ptr();
      if (form_.inputs[i].kind != Input::Kind::kSlice) continue;
      SliceInput& slice = slice_inputs_[asSize(form_.inputs[i].index)];
      if (slice.parts.blocks != 1) slice.packed = inputs[i];
    }
  }

  void runPlan(PlanCache::Rounds& plan, std::int64_t round) {
    for (const SliceInput& input : slice_inputs_) {
      if (input.packed.defined())
        input.parts.read(placeIn(input.slice, round), static_cast<char*>(input.packed.data_ptr()));
    }
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      const Input& input = form_.inputs[i];
      if (input.kind == Input::Kind::kCarried) pointers_[i] = handed_[asSize(input.index)];
      if (input.kind != Input::Kind::kSlice) continue;
      const SliceInput& slice = slice_inputs_[asSize(input.index)];
      pointers_[i] =
          slice.packed.defined() ? slice.packed.data_ptr() : slice.parts.place(0, placeIn(slice.slice, round));
    }
    std::vector<at::Tensor>& turn = turns_[asSize(round % 2)];
    for (std::size_t o = 0; o < results_.size(); ++o)
      results_[o] = direct_[o] != nullptr ? direct_[o]->parts.place(0, placeIn(direct_[o]->slice, round))
                                          : static_cast<char*>(turn[o].data_ptr());
    plan.run(pointers_.data(), reinterpret_cast<void* const*>(results_.data()));
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const JoinedOutput& place = places_[j];
      if (place.direct) continue;
      const Source& source = form_.joined[j].source;
      const auto& from = source.kind == Source::Kind::kOutput ? results_ : handed_;
      place.parts.write(placeIn(place.slice, round), from[asSize(source.index)]);
    }
    for (std::size_t c = 0; c < handed_.size(); ++c) handed_[c] = results_[asSize(form_.carried[c])];
  }

  // The carried values as tensors of their own.
  void finish(const PlanCache::Rounds& plan) {
    for (std::size_t c = 0; c < carried_.size(); ++c) {
      const std::size_t output = asSize(form_.carried[c]);
      if (direct_[output] == nullptr) {
        carried_[c] = turns_[asSize((rounds_ - 1) % 2)][output];
        continue;
      }
      const at::Tensor own = emptyTensor(plan.outputs()[output]);
      std::memcpy(own.data_ptr(), handed_[c], own.nbytes());
      carried_[c] = own;
    }
    for (std::vector<at::Tensor>& pieces : pieces_) pieces.clear();
    placed_ = true;
  }

  std::vector<at::Tensor> results() {
    std::vector<at::Tensor> results;
    for (const at::Tensor& value : carried_) {
      // Results are no names of inputs, or of each other.
      const bool other = rounds_ == 0 || std::any_of(results.begin(), results.end(),
                                                     [&](const at::Tensor& earlier) { return earlier.is_same(value); });
      results.push_back(other ? value.clone() : value);
    }
    for (std::size_t j = 0; j < joined_.size(); ++j) {
      const Joined& join = form_.joined[j];
      if (!placed_ && join.kind == Joined::Kind::kStack) joined_[j] = at::stack(pieces_[j], join.axis);
      if (!placed_ && join.kind == Joined::Kind::kCat) joined_[j] = at::cat(pieces_[j], join.axis);
      results.push_back(std::move(joined_[j]));
    }
    return results;
  }

  Region& body_;
  const LoopForm& form_;
  const std::int64_t rounds_;
  const c10::ArrayRef<const at::Tensor*> tensors_;
  const at::IntArrayRef sizes_;
  std::vector<at::Tensor> given_, carried_, sliced_, outputs_, joined_;
  std::vector<std::vector<at::Tensor>> pieces_;  // of joined values, from rounds without a kept plan
  bool placed_ = false;                          // true: joined_ holds all rounds
  // With a kept plan:
  std::vector<JoinedOutput> places_;
  std::vector<const JoinedOutput*> direct_;  // per output; null: in turns_
  std::vector<at::Tensor> turns_[2];
  std::vector<SliceInput> slice_inputs_;
  std::vector<const void*> pointers_;
  std::vector<char*> results_, handed_;  // of this round; what it gets carried
};

// The value that a loop begins with.
at::Tensor filled(const LoopForm::Fill& fill, at::IntArrayRef sizes) {
  constexpr at::ScalarType kTypes[] = {at::kFloat, at::kLong, at::kBool};
  const at::ScalarType type = kTypes[static_cast<std::size_t>(fill.type)];
  const bool any_negative = std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
  if (fill.number != 0 || any_negative) return at::full(sizes, fill.number, at::TensorOptions(type));
  at::Tensor zeros(at::detail::empty_cpu(sizes, type));  // no trip through the dispatcher
  std::memset(zeros.data_ptr(), 0, zeros.nbytes());
  return zeros;
}

}  // namespace

std::vector<at::Tensor> runRegionLoop(Region& body, at::IntArrayRef numbers, std::int64_t rounds,
                                      c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef integers) {
  const auto read = LoopForm::fromNumbers(numbers.data(), numbers.size(), tensors.size(),
                                          body.plans().spec().outputs.size(), integers.size());
  if (!read) throw Error(ExitCode::kBadModel, "A loop in this file does not fit its region; export the model again.");
  const LoopForm& form = *read;
  const at::IntArrayRef sizes = integers.slice(0, integers.size() - form.fillSizes());
  std::vector<at::Tensor> made;
  made.reserve(form.fills.size());  // pointers into it stay
  c10::SmallVector<const at::Tensor*, 16> all(tensors.begin(), tensors.end());
  std::size_t next = sizes.size();
  for (const LoopForm::Fill& fill : form.fills) {  // in order of the carried values
    made.push_back(filled(fill, integers.slice(next, asSize(fill.rank))));
    next += asSize(fill.rank);
    all.insert(all.begin() + fill.carried, &made.back());
  }
  try {
    return LoopRun(body, form, rounds, all, sizes).run(/*may_keep_plan=*/true);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    // A step refused the values of a round. The region says what its original code says; nothing was written to.
    return LoopRun(body, form, rounds, all, sizes).run(/*may_keep_plan=*/false);
  }
}

}  // namespace ipex_studio

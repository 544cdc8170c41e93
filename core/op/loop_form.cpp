#include "core/op/loop_form.h"

#include "core/op/tensor_view.h"

namespace ipex_studio {
namespace {

// Reads numbers one after another; what is not there or out of its range spoils the rest.
class Reader {
 public:
  Reader(const std::int64_t* begin, std::size_t count) : at_(begin), left_(count) {}

  std::int64_t any() {
    if (left_ == 0) {
      good_ = false;
      return 0;
    }
    --left_;
    return *at_++;
  }
  std::int64_t below(std::size_t bound) {
    const std::int64_t number = any();
    if (number >= 0 && static_cast<std::uint64_t>(number) < bound) return number;
    good_ = false;
    return 0;
  }
  // One whose product with a number of rounds is no larger than integers are.
  std::int64_t small() {
    const std::int64_t number = any();
    good_ = good_ && number >= -LoopForm::kMaxStep && number <= LoopForm::kMaxStep;
    return good_ ? number : 0;
  }
  // A number of things that follow, of at least one number each.
  std::size_t count() { return static_cast<std::size_t>(below(left_ + 1)); }
  bool good() const { return good_; }
  bool ended() const { return good_ && left_ == 0; }

 private:
  const std::int64_t* at_;
  std::size_t left_;
  bool good_ = true;
};

void put(std::vector<std::int64_t>& to, const LoopForm::Slice& slice) {
  to.insert(to.end(), {slice.tensor, slice.axis, slice.start, slice.step});
}

LoopForm::Slice readSlice(Reader& in, std::size_t tensors) {
  LoopForm::Slice slice;
  slice.tensor = in.below(tensors);
  slice.axis = in.any();
  slice.start = in.small();
  slice.step = in.small();
  return slice;
}

}  // namespace

std::vector<std::int64_t> LoopForm::numbers() const {
  std::vector<std::int64_t> out;
  const auto putCount = [&](std::size_t count) { out.push_back(static_cast<std::int64_t>(count)); };
  putCount(carried.size());
  out.insert(out.end(), carried.begin(), carried.end());
  putCount(fills.size());
  for (const Fill& fill : fills)
    out.insert(out.end(), {fill.carried, fill.rank, fill.number, static_cast<std::int64_t>(fill.type)});
  putCount(slices.size());
  for (const Slice& slice : slices) put(out, slice);
  putCount(inputs.size());
  for (const Input& input : inputs) out.insert(out.end(), {static_cast<std::int64_t>(input.kind), input.index});
  putCount(joined.size());
  for (const Joined& value : joined) {
    out.insert(out.end(), {static_cast<std::int64_t>(value.kind), static_cast<std::int64_t>(value.source.kind),
                           value.source.index, value.axis});
    put(out, value.into);
  }
  return out;
}

std::size_t LoopForm::fillSizes() const {
  std::size_t sizes = 0;
  for (const Fill& fill : fills) sizes += static_cast<std::size_t>(fill.rank);
  return sizes;
}

std::optional<LoopForm> LoopForm::fromNumbers(const std::int64_t* begin, std::size_t count, std::size_t tensors,
                                              std::size_t outputs, std::size_t integers) {
  Reader in(begin, count);
  LoopForm form;
  form.carried.resize(in.count());
  for (std::int64_t& output : form.carried) output = in.below(outputs);
  form.fills.resize(in.count());
  for (std::size_t f = 0; f < form.fills.size(); ++f) {
    Fill& fill = form.fills[f];
    fill.carried = in.below(form.carried.size());
    if (f > 0 && fill.carried <= form.fills[f - 1].carried) return std::nullopt;
    fill.rank = in.below(kMaxRank + 1);
    fill.number = in.small();
    fill.type = static_cast<Fill::Type>(in.below(3));
  }
  tensors += form.fills.size();
  if (form.carried.size() > tensors || form.fillSizes() > integers) return std::nullopt;
  form.slices.resize(in.count());
  for (Slice& slice : form.slices) slice = readSlice(in, tensors);
  form.inputs.resize(in.count());
  for (Input& input : form.inputs) {
    input.kind = static_cast<Input::Kind>(in.below(3));
    const std::size_t sizes[] = {tensors, form.carried.size(), form.slices.size()};
    input.index = in.below(sizes[static_cast<std::size_t>(input.kind)]);
  }
  form.joined.resize(in.count());
  for (Joined& value : form.joined) {
    value.kind = static_cast<Joined::Kind>(in.below(3));
    value.source.kind = static_cast<Source::Kind>(in.below(2));
    value.source.index = in.below(value.source.kind == Source::Kind::kOutput ? outputs : form.carried.size());
    value.axis = in.any();
    value.into = readSlice(in, tensors);
  }
  return in.ended() ? std::optional<LoopForm>(std::move(form)) : std::nullopt;
}

}  // namespace ipex_studio

// The work of a loop around its body, as integers in a graph: written by core/lower, read by kernels/torch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ipex_studio {

// A loop whose body is one region. It has tensors: first the values that the rounds carry, as they are before the first
// one, then those that stay the same. Round number t runs t = 0, 1, … below the number of rounds.
struct LoopForm {
  static constexpr std::int64_t kMaxStep = std::int64_t{1} << 30;
  // A carried value that is made for the loop: one number everywhere. Its sizes stand among the integers, behind those
  // of the region.
  struct Fill {
    enum class Type { kFloat, kLong, kBool };
    std::int64_t carried = 0, rank = 0, number = 0;
    Type type = Type::kFloat;
  };
  // A slice of a tensor in round t: select(tensor, axis, start + t * step), with numbers up to kMaxStep.
  struct Slice {
    std::int64_t tensor = 0, axis = 0, start = 0, step = 1;
  };
  // A tensor input of the region, as it is in a round.
  struct Input {
    enum class Kind { kTensor, kCarried, kSlice };
    Kind kind = Kind::kTensor;
    std::int64_t index = 0;  // of the tensor, the carried value, or in `slices`
  };
  // A result of the region, or a carried value as the round got it.
  struct Source {
    enum class Kind { kOutput, kCarried };
    Kind kind = Kind::kOutput;
    std::int64_t index = 0;
  };
  // The fate of one value of all rounds.
  struct Joined {
    enum class Kind { kStack, kCat, kWrite };
    Kind kind = Kind::kStack;
    Source source;
    std::int64_t axis = 0;
    Slice into;  // kWrite: where each round's value goes, in a copy of a tensor
  };

  std::vector<Fill> fills;  // these values are not given
  std::vector<Slice> slices;
  std::vector<Input> inputs;          // of the region
  std::vector<std::int64_t> carried;  // output of the region that each carried value is after the round
  std::vector<Joined> joined;

  std::vector<std::int64_t> numbers() const;
  std::size_t fillSizes() const;  // integers that are sizes of fills
  // nullopt: no such numbers, or they name what is not there; `tensors`
  // (those that are given), `outputs`, `integers`: how many there are.
  static std::optional<LoopForm> fromNumbers(const std::int64_t* begin, std::size_t count, std::size_t tensors,
                                             std::size_t outputs, std::size_t integers);
};

}  // namespace ipex_studio

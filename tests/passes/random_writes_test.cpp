// Random TorchScript that writes to memory: operators in place, slices, buffers, attributes, branches and loops, under
// several names. Results, inputs, and state of several calls must be those of the original.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

constexpr int kRows = 4;
constexpr int kCalls = 4;

// Values v0 … are tensors [4, 6]; so are self.a and self.b, buffers that are written, and self.h, which is assigned.
class WritingProgram {
 public:
  explicit WritingProgram(std::uint64_t seed) : engine_(seed) {}

  std::string source() {
    text_ = "def forward(self, x, y, n: int):\n    v0 = x\n    v1 = y\n";
    values_ = 2;
    const int statements = 6 + pick(10);
    for (int s = 0; s < statements; ++s) statement(4, 2);
    text_ += "    return " + results() + "\n";
    return text_;
  }

 private:
  int pick(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }

  std::string value() { return fmt::format("v{}", pick(values_)); }

  std::string buffer() { return pick(2) == 0 ? "self.a" : "self.b"; }

  std::string readable() {
    const int kind = pick(8);
    return kind == 0 ? buffer() : kind == 1 ? "self.h" : value();
  }

  std::string computed() {
    const std::string a = readable(), b = readable();
    switch (pick(10)) {
      case 0:
        return fmt::format("torch.relu({})", a);
      case 1:
        return fmt::format("torch.tanh({} + {})", a, b);
      case 2:
        return fmt::format("torch.linear({}, self.w)", a);
      case 3:
        return fmt::format("torch.sigmoid({}) * {}", a, b);
      case 4:
        return fmt::format("torch.softmax({}, -1)", a);
      case 5:
        return fmt::format("torch.cat([{}[0:1], {}[1:4]], 0)", a, b);
      case 6:
        return fmt::format("{} - {} * 0.5", a, b);
      case 7:
        return fmt::format("torch.layer_norm({}, [6])", a);
      case 8:
        return fmt::format("torch.matmul({}, torch.matmul({}.t(), {})) * 0.1", a, b, a);
      default:
        return fmt::format("{}.clone()", a);
    }
  }

  std::string view() {
    const std::string a = readable();
    switch (pick(5)) {
      case 0:
        return a;
      case 1:
        return fmt::format("{}[:, :]", a);
      case 2:
        return fmt::format("{}.view([4, 6])", a + ".contiguous()");
      case 3:
        return fmt::format("{}.t().t()", a);
      default:
        return fmt::format("{}.unsqueeze(0).squeeze(0)", a);
    }
  }

  std::string write() {
    const std::string a = pick(3) == 0 ? value() : buffer(), b = readable();
    switch (pick(7)) {
      case 0:
        return fmt::format("{}.mul_(0.5)", a);
      case 1:
        return fmt::format("{}.add_({}, alpha=0.25)", a, b);
      case 2:
        return fmt::format("{}.copy_(torch.tanh({}))", a, b);
      case 3:
        return fmt::format("{}[{}].copy_({}[{}])", a, pick(kRows), b, pick(kRows));
      case 4:
        return fmt::format("{}[1:3] = torch.tanh({}[0:2])", a, b);
      case 5:
        return fmt::format("{}.relu_()", a);
      default:
        return fmt::format("self.h = {}", pick(2) == 0 ? b : b + ".clone()");
    }
  }

  // Of one element: a sum that is zero but for rounding would decide at random.
  std::string condition() { return fmt::format("if bool({}[{}, {}] > 0.1):", readable(), pick(kRows), pick(6)); }

  void line(int indent, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(indent), ' ') + text + "\n";
  }

  void statement(int indent, int depth) {
    const int kind = pick(depth > 0 ? 12 : 10);
    if (kind < 4) {
      assign(indent, computed());
    } else if (kind < 6) {
      assign(indent, view());
    } else if (kind < 10) {
      line(indent, write());
    } else {
      line(indent, kind == 10 ? condition() : "for i in range(n):");
      loops_ += kind == 10 ? 0 : 1;
      inner(indent + 4, depth - 1);
      loops_ -= kind == 10 ? 0 : 1;
    }
  }

  // Names made inside of a block are not seen behind it; those from outside may be given another value there. Loops
  // hand nothing on: libtorch's alias analysis, by which it freezes, does not follow names from one round into the
  // next.
  void inner(int indent, int depth) {
    const int outside = values_;
    const int statements = 1 + pick(3);
    for (int s = 0; s < statements; ++s) statement(indent, depth);
    const std::string last = value();
    values_ = outside;
    if (loops_ == 0) line(indent, fmt::format("{} = {}", value(), last));
  }

  void assign(int indent, const std::string& expression) {
    line(indent, fmt::format("v{} = {}", values_, expression));
    ++values_;
  }

  std::string results() {
    std::string text = value();
    for (int r = 0; r < 2; ++r) text += ", " + (pick(4) == 0 ? buffer() : value());
    return text;
  }

  std::mt19937_64 engine_;
  std::string text_;
  int values_ = 0;
  int loops_ = 0;  // around the statement
};

Inputs makeInputs(std::int64_t rounds) { return {at::randn({kRows, 6}), at::randn({kRows, 6}), rounds}; }

// The state that the candidate kept: what nothing writes to is a constant there.
IValue stateOf(const Module& module, const Module& candidate) {
  std::vector<IValue> state;
  for (const char* name : {"a", "b", "h"}) {
    if (candidate.hasattr(name)) state.push_back(module.attr(name));
  }
  return IValue(c10::ivalue::Tuple::create(state)).deepcopy();
}

// What is different after some calls; empty: nothing.
std::string wrongAfterCalls(const Module& module, Module& candidate, const std::vector<Inputs>& calls) {
  Module eager = module.deepcopy();
  for (const Inputs& inputs : calls) {
    const Inputs theirs = IValue(c10::ivalue::Tuple::create(inputs)).deepcopy().toTupleRef().elements().vec();
    const Inputs ours = IValue(c10::ivalue::Tuple::create(inputs)).deepcopy().toTupleRef().elements().vec();
    const IValue expected = call(eager, theirs).deepcopy();
    std::string wrong = difference(call(candidate, ours), expected);
    for (std::size_t i = 0; i < 2; ++i) wrong += difference(ours[i], theirs[i]);
    wrong += difference(stateOf(candidate, candidate), stateOf(eager, candidate));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(RandomWrites, SameAsTheOriginal) {
  const char* campaign = std::getenv("IPEX_WRITING_PROGRAMS");
  const int programs = campaign == nullptr ? 120 : std::atoi(campaign);
  const char* first = std::getenv("IPEX_SEED");
  int regions = 0;
  for (int p = 0; p < programs; ++p) {
    const auto seed = static_cast<std::uint64_t>(p) + (first == nullptr ? 1 : std::strtoull(first, nullptr, 10));
    const std::string source = WritingProgram(seed).source();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, source));
    at::manual_seed(seed);
    const Module module =
        scriptModule(source, {{"w", weight({6, 6})}},
                     {{"a", at::randn({kRows, 6})}, {"b", at::randn({kRows, 6})}, {"h", at::randn({kRows, 6})}});
    std::vector<Inputs> calls;
    for (int c = 0; c < kCalls; ++c) calls.push_back(makeInputs(c));
    OptimizedModel result = optimized(module, makeInputs(2));
    regions += regionsIn(result.module);
    const std::string wrong = wrongAfterCalls(module, result.module, calls);
    if (campaign == nullptr)
      ASSERT_EQ(wrong, "");
    else
      EXPECT_EQ(wrong, "");
  }
  EXPECT_GT(regions, programs / 2);
}

}  // namespace
}  // namespace ipex_studio

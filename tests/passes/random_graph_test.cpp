// Random TorchScript through all passes, compared with eager. A failing program is reduced to the statements that
// matter. One concept in spite of its length: the generator, the comparison and the reducer of one kind of program.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>

#include "core/base/error.h"
#include "core/lower/region_object.h"
#include "core/record/device_copy_name.h"
#include "core/runtime/plan_device.h"
#include "kernels/xpu/opencl_device.h"
#include "passes/slow_regions.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

struct Statement {
  std::string result;  // "v7"; a pair for two results
  std::string expression;
  std::vector<std::string> operands;  // values it reads
};

struct Program {
  std::vector<Statement> statements;
  std::vector<std::string> outputs;
  Weights weights;

  std::string source() const {
    std::string text = "def forward(self, x, y):\n";
    for (const Statement& s : statements)
      text += "    " + (s.result.empty() ? s.expression : s.result + " = " + s.expression) + "\n";
    return text + "    return " + fmt::format("{}", fmt::join(outputs, ", ")) + "\n";
  }

  // Returns the program without statement `at` and all that depends on it. Without outputs there is nothing to test.
  Program without(std::size_t at) const {
    Program smaller{{}, {}, weights};
    std::vector<std::string> gone{statements[at].result};
    const auto is_gone = [&](const std::string& name) {
      return std::find(gone.begin(), gone.end(), name) != gone.end();
    };
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const bool dead = s == at || std::any_of(statements[s].operands.begin(), statements[s].operands.end(), is_gone);
      if (!dead) smaller.statements.push_back(statements[s]);
      if (dead && !statements[s].result.empty()) gone.push_back(statements[s].result);
    }
    for (const std::string& output : outputs) {
      if (!is_gone(output)) smaller.outputs.push_back(output);
    }
    return smaller;
  }
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  Program make() {
    channels_ = pick({3, 8, 16, 19});
    height_ = pick({1, 5, 8});
    features_ = pick({4, 16, 24});
    values_.push_back({"x", {2, channels_, height_, 6}});
    values_.push_back({"y", {2, 5, features_}});
    for (std::int64_t s = between(4, 16); s > 0; --s) grow();
    for (std::int64_t o = between(1, 3); o > 0; --o)
      program_.outputs.push_back(
          values_[values_.size() - 1 -
                  static_cast<std::size_t>(between(0, std::min<std::int64_t>(5, values_.size() - 1)))]
              .name);
    program_.outputs.push_back(values_.back().name);
    return std::move(program_);
  }

  Inputs inputs(std::int64_t batch) const {
    return {at::randn({batch, channels_, height_, 6}), at::randn({batch, 5, features_})};
  }

 private:
  // A value and its sizes at a batch of 2.
  struct Known {
    std::string name;
    std::vector<std::int64_t> sizes;
  };

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  std::int64_t pick(const std::vector<std::int64_t>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

  template <typename Fits>
  const Known* find(const Fits& fits) {
    std::vector<const Known*> fitting;
    for (const Known& value : values_) {
      if (fits(value)) fitting.push_back(&value);
    }
    if (fitting.empty()) return nullptr;
    const auto back = std::min<std::int64_t>(static_cast<std::int64_t>(fitting.size()), chance(60) ? 3 : 100);
    return fitting[fitting.size() - 1 - static_cast<std::size_t>(between(0, back - 1))];
  }
  const Known* ofRank(std::size_t rank) {
    return find([=](const Known& value) { return value.sizes.size() == rank; });
  }
  const Known* like(const Known& value) {
    return find([&](const Known& other) { return other.sizes == value.sizes; });
  }

  std::string weighted(std::vector<std::int64_t> sizes, bool positive = false) {
    const std::string name = "w" + std::to_string(program_.weights.size());
    program_.weights.emplace_back(name, positive ? at::rand(sizes) + 0.5 : at::randn(sizes) / 3);
    return "self." + name;
  }

  void add(const std::string& expression, std::vector<std::string> operands, std::vector<std::int64_t> sizes) {
    const std::string name = "v" + std::to_string(next_++);
    program_.statements.push_back({name, expression, std::move(operands)});
    values_.push_back({name, std::move(sizes)});
  }

  void grow() {
    switch (between(0, 15)) {
      case 0:
      case 1:
      case 2:
        return convolution();
      case 3:
        return linear();
      case 4:
        return binary();
      case 5:
        return binary();
      case 6:
      case 7:
        return activation();
      case 8:
        return pool();
      case 9:
        return norm();
      case 10:
        return softmaxOrMatmul();
      case 11:
        return cat();
      case 12:
        return decomposed();
      case 13:
        return inPlace();
      case 14:
        return ordered();
      default:
        return view();
    }
  }

  void convolution() {
    const Known* x = ofRank(4);
    if (x == nullptr) return;
    const std::string name = x->name;
    std::vector<std::int64_t> sizes = x->sizes;
    const std::int64_t in = sizes[1], groups = chance(20) ? in : 1, k = pick({1, 3}),
                       out = groups > 1 || chance(50) ? in : pick({8, 16, 20});
    sizes[1] = out;
    const std::string bias = chance(50) ? weighted({out}) : "None";
    const std::string weight = weighted({out, in / groups, k, k});
    add(fmt::format("torch.conv2d({}, {}, {}, [1, 1], [{}, {}], [1, 1], {})", name, weight, bias, k / 2, k / 2, groups),
        {name}, sizes);
    if (chance(40)) {
      const std::string conv = values_.back().name;
      const std::string gamma = weighted({out}, true), beta = weighted({out}), mean = weighted({out}),
                        var = weighted({out}, true);
      add(fmt::format("torch.batch_norm({}, {}, {}, {}, {}, False, 0.1, 1e-5, True)", conv, gamma, beta, mean, var),
          {conv}, sizes);
    }
  }

  void linear() {
    const Known* x = find([](const Known& value) { return value.sizes.size() >= 2; });
    const std::string name = x->name;
    std::vector<std::int64_t> sizes = x->sizes;
    const std::int64_t in = sizes.back(), out = chance(60) ? in : pick({4, 7, 16});
    sizes.back() = out;
    const std::string bias = chance(60) ? weighted({out}) : "None";
    add(fmt::format("torch.linear({}, {}, {})", name, weighted({out, in}), bias), {name}, sizes);
  }

  void binary() {
    const Known a = *find([](const Known&) { return true; });
    const char* operation = std::vector<const char*>{"{} + {}",       "{} - {}",           "{} * {}",
                                                     "{} + {} * 0.5", "torch.max({}, {})", "torch.add({}, {}, alpha=2)"}
        [static_cast<std::size_t>(between(0, 5))];
    if (chance(60)) {
      const Known b = *like(a);
      return add(fmt::format(fmt::runtime(operation), a.name, b.name), {a.name, b.name}, a.sizes);
    }
    std::vector<std::int64_t> sizes = a.sizes;
    sizes[0] = 1;
    for (std::size_t axis = 1; axis < sizes.size(); ++axis) sizes[axis] = chance(50) ? 1 : sizes[axis];
    add(fmt::format(fmt::runtime(operation), a.name, weighted(sizes)), {a.name}, a.sizes);
  }

  void activation() {
    const Known x = *find([](const Known&) { return true; });
    static const std::vector<const char*> kCalls = {"torch.relu({})",
                                                    "torch.sigmoid({})",
                                                    "torch.tanh({})",
                                                    "torch.gelu({})",
                                                    "torch.silu({})",
                                                    "torch.hardswish({})",
                                                    "torch.hardsigmoid({})",
                                                    "torch.leaky_relu({}, 0.1)",
                                                    "torch.clamp({}, -0.5, 1.0)",
                                                    "torch.mish({})",
                                                    "torch.elu({})",
                                                    "torch.hardtanh({}, 0.0, 6.0)",
                                                    "{} * 0.5",
                                                    "{} + 1",
                                                    "torch.abs({})",
                                                    "torch.neg({})",
                                                    "torch.dropout({}, 0.5, False)",
                                                    "{}.contiguous()",
                                                    "torch.clamp({}, min=0)"};
    add(fmt::format(
            fmt::runtime(kCalls[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(kCalls.size()) - 1))]),
            x.name),
        {x.name}, x.sizes);
  }

  void pool() {
    const Known* found = ofRank(4);
    if (found == nullptr) return;
    const Known x = *found;
    std::vector<std::int64_t> sizes = x.sizes;
    switch (between(0, 3)) {
      case 0:
        return add(fmt::format("torch.max_pool2d({}, [3, 3], [1, 1], [1, 1], [1, 1], False)", x.name), {x.name}, sizes);
      case 1:
        return add(fmt::format("torch.avg_pool2d({}, [3, 3], [1, 1], [1, 1], False, {})", x.name,
                               chance(50) ? "True" : "False"),
                   {x.name}, sizes);
      case 2:
        sizes[2] = sizes[3] = 1;
        return add(fmt::format("torch.adaptive_avg_pool2d({}, [1, 1])", x.name), {x.name}, sizes);
      default:
        sizes.resize(2);
        return add(fmt::format("{}.mean([2, 3])", x.name), {x.name}, sizes);
    }
  }

  void norm() {
    const Known x = *find([](const Known& value) { return value.sizes.size() >= 2; });
    const std::int64_t width = x.sizes.back();
    const std::string gamma = weighted({width}), beta = weighted({width});
    if (chance(50)) {
      const Known residual = *like(x);
      return add(
          fmt::format("torch.layer_norm({} + {}, [{}], {}, {}, 1e-2)", x.name, residual.name, width, gamma, beta),
          {x.name, residual.name}, x.sizes);
    }
    add(fmt::format("torch.layer_norm({}, [{}], {}, {}, 1e-2)", x.name, width, gamma, beta), {x.name}, x.sizes);
  }

  void softmaxOrMatmul() {
    const Known x = *find([](const Known& value) { return value.sizes.size() >= 2; });
    if (chance(50)) return add(fmt::format("torch.softmax({} * 0.5, -1)", x.name), {x.name}, x.sizes);
    const Known other = *like(x);
    std::vector<std::int64_t> sizes = x.sizes;
    sizes.back() = sizes[sizes.size() - 2];
    add(fmt::format("torch.matmul({}, {}.transpose(-1, -2)) / 4", x.name, other.name), {x.name, other.name}, sizes);
  }

  void cat() {
    const Known a = *find([](const Known& value) { return value.sizes.size() >= 2; });
    const Known b = *like(a);
    std::vector<std::int64_t> sizes = a.sizes;
    sizes[1] *= 2;
    if (sizes[1] > 64) return;
    add(fmt::format("torch.cat([{}, {}], 1)", a.name, b.name), {a.name, b.name}, sizes);
  }

  // Adds decomposed forms that passes recognise.
  void decomposed() {
    const Known x = *find([](const Known&) { return true; });
    static const std::vector<const char*> kForms = {"{0} * 0.5 * (1 + torch.erf({0} / 1.4142135623730951))",
                                                    "{0} * torch.sigmoid({0})",
                                                    "{0} * torch.hardtanh({0} + 3, 0.0, 6.0) / 6",
                                                    "({0} - {0}.mean(-1, keepdim=True)) / torch.sqrt(({0} - "
                                                    "{0}.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True) + 0.01)",
                                                    "{0} * torch.rsqrt({0}.pow(2).mean(-1, keepdim=True) + 0.01) * 0.7",
                                                    "{0} / torch.norm({0}, 2, [-1], True).clamp_min(0.1)",
                                                    "torch.sigmoid({0} - torch.logsumexp({0}, [-1], True))"};
    add(fmt::format(
            fmt::runtime(kForms[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(kForms.size()) - 1))]),
            x.name),
        {x.name}, x.sizes);
  }

  // Adds operations that depend on order or on indices, as far as rounding cannot choose another result.
  void ordered() {
    const Known x = *find([](const Known& value) { return value.sizes.size() >= 2; });
    static const std::vector<const char*> kSame = {"torch.sort({0}, -1)[0]",
                                                   "torch.sort({0}, 1, True)[0]",
                                                   "torch.gather({0}, -1, torch.argsort({0}, -1))",
                                                   "torch.cumsum({0}, -1)",
                                                   "torch.cumsum({0} * 0.5, 1)",
                                                   "torch.triu({0}, 1)",
                                                   "torch.tril({0}, -1)",
                                                   "torch.masked_fill({0}, ({0} < 9.0).triu(), 0.5)"};
    if (chance(70))
      return add(fmt::format(fmt::runtime(kSame[static_cast<std::size_t>(between(0, 7))]), x.name), {x.name}, x.sizes);
    if (x.sizes.size() == 4 && x.sizes[1] > 1 && chance(50)) {
      return add(fmt::format("torch.grid_sampler({0}, torch.tanh({0}[:, :2].permute([0, 2, 3, 1])), 0, {1}, {2})",
                             x.name, between(0, 1), chance(50) ? "True" : "False"),
                 {x.name}, x.sizes);
    }
    std::vector<std::int64_t> sizes = x.sizes;
    sizes.back() = std::min<std::int64_t>(sizes.back(), 3);
    add(fmt::format("torch.topk({}, {}, -1, {})[0]", x.name, sizes.back(), chance(50) ? "True" : "False"), {x.name},
        sizes);
  }

  // Adds a write into a new value, visible to later readers.
  void inPlace() {
    const Known* found = find([](const Known& value) { return value.name[0] == 'v'; });
    if (found == nullptr) return;
    const Known x = *found;
    static const std::vector<const char*> kWrites = {"{}.relu_()", "{}.add_(1)", "{}.mul_(0.5)", "{}.clamp_(-1, 1)"};
    program_.statements.push_back(
        {"", fmt::format(fmt::runtime(kWrites[static_cast<std::size_t>(between(0, 3))]), x.name), {x.name}});
  }

  void view() {
    const Known x = *find([](const Known&) { return true; });
    std::vector<std::int64_t> sizes = x.sizes;
    const std::size_t rank = sizes.size();
    switch (between(0, 4)) {
      case 0: {
        if (rank < 3) return;
        std::swap(sizes[1], sizes[2]);
        return add(fmt::format("{}.transpose(1, 2)", x.name), {x.name}, sizes);
      }
      case 1: {
        if (rank < 3) return;
        const std::int64_t tail = sizes[rank - 1] * sizes[rank - 2];
        sizes.resize(rank - 1);
        sizes.back() = tail;
        return add(fmt::format("{}.flatten(-2)", x.name), {x.name}, sizes);
      }
      case 2: {
        const std::int64_t end = (sizes[1] + 1) / 2;
        sizes[1] = end;
        return add(fmt::format("{}[:, :{}]", x.name, end), {x.name}, sizes);
      }
      case 3: {
        if (rank != 3) return;
        sizes.insert(sizes.begin() + 1, 1);
        return add(fmt::format("{}.unsqueeze(1)", x.name), {x.name}, sizes);
      }
      default: {
        if (rank != 3 || sizes[2] % 2 != 0) return;
        return add(fmt::format("{0}.view([{0}.size(0), -1, 2]).reshape([{0}.size(0), {1}, -1])", x.name, sizes[1]),
                   {x.name}, sizes);
      }
    }
  }

  std::mt19937_64 engine_;
  std::int64_t channels_ = 0, height_ = 0, features_ = 0;
  int next_ = 0;
  Program program_;
  std::vector<Known> values_;
};

// The rule for models, loosened for thousands of programs: sums in another order, results close to 0.
bool wrong(const AccuracyRecord& record) {
  const bool close = record.max_abs > 0 && (record.max_rel <= 1e-4 || record.max_abs <= 1e-6);
  return !record.pass && !close;
}

// The text of the rewritten graph and of its regions' plans.
std::string graphsOf(const OptimizedModel& result) {
  std::string text = "\n" + result.rewritten.get_method("forward").graph()->toString(false);
  for (const IValue& region : regionObjects(result.module))
    text += callRegion(region, "__getstate__").toTupleRef().elements()[0].toStringRef() + "\n";
  return text;
}

// Steps of plans by where they ran.
struct StepCounts {
  std::size_t all = 0, on_device = 0, copies = 0;
};

void countSteps(const Module& module, StepCounts* counts) {
  for (const IValue& region : regionObjects(module)) {
    const auto profile = nlohmann::json::parse(callRegion(region, "stop_profile").toStringRef());
    for (const nlohmann::json& step : profile.value("steps", nlohmann::json::array())) {
      const std::string kernel = step.at("kernel");
      ++counts->all;
      counts->copies += kernel == kDeviceCopyName;
      counts->on_device += kernel.find("_xpu") != std::string::npos;
    }
  }
}

// Returns the failure; empty if the optimized program gives eager's results. A program that eager refuses is no
// failure. What runs on another device is not exported. Adds to `counts` the steps of the first inputs' plans.
std::string failure(const Program& program, const std::vector<Inputs>& inputs, const OptimizeOptions& options = {},
                    StepCounts* counts = nullptr) {
  std::optional<Module> module;
  try {
    module = scriptModule(program.source(), program.weights);
    for (const Inputs& given : inputs) call(*module, {given[0].deepcopy(), given[1].deepcopy()});
  } catch (const std::exception&) {
    return {};
  }
  try {
    OptimizedModel result = optimized(*module, {inputs[0][0].deepcopy(), inputs[0][1].deepcopy()}, options);
    for (const Inputs& given : inputs) {
      const bool is_counted = counts != nullptr && &given == &inputs[0];
      if (is_counted)
        for (const IValue& region : regionObjects(result.module)) callRegion(region, "start_profile");
      for (const AccuracyRecord& record : verifyModule(*module, result.module, {given}, "")) {
        if (wrong(record)) return "with regions: " + record.text + graphsOf(result);
      }
      if (is_counted) countSteps(result.module, counts);
      if (options.device != "cpu") continue;
      for (const AccuracyRecord& record : verifyModule(*module, result.rewritten, {given}, "")) {
        if (wrong(record)) return "without regions: " + record.text + graphsOf(result);
      }
    }
    if (options.device != "cpu") return {};
    std::stringstream file;
    exportModule(result, file, ExportForm::kPortable);
    Module portable = torch::jit::load(file);
    for (const AccuracyRecord& record : verifyModule(*module, portable, {inputs[1]}, "")) {
      if (wrong(record)) return "portable: " + record.text + graphsOf(result);
    }
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return {};
}

Program reduced(Program program, const std::vector<Inputs>& inputs, const OptimizeOptions& options = {}) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t s = program.statements.size(); s-- > 0;) {
      const Program candidate = program.without(s);
      if (candidate.outputs.empty() || failure(candidate, inputs, options).empty()) continue;
      program = candidate;
      smaller = true;
      break;
    }
    for (std::size_t o = 0; o < program.outputs.size() && program.outputs.size() > 1; ++o) {
      Program candidate = program;
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<std::ptrdiff_t>(o));
      if (failure(candidate, inputs, options).empty()) continue;
      program = candidate;
      smaller = true;
    }
  }
  return program;
}

// Programs count from seed IPEX_FIRST_SEED on; a campaign runs more of them.
StepCounts checkPrograms(int count, int in_campaign, const OptimizeOptions& options) {
  const bool campaign = std::getenv("IPEX_CAMPAIGN") != nullptr;
  const char* first = std::getenv("IPEX_FIRST_SEED");
  const int begin = first != nullptr ? std::atoi(first) : 0;
  int failures = 0;
  StepCounts counts;
  for (int seed = begin; seed < begin + (campaign ? in_campaign : count) && failures < 8; ++seed) {
    at::manual_seed(static_cast<std::uint64_t>(seed));
    Generator generator(static_cast<std::uint64_t>(seed));
    const Program program = generator.make();
    const std::vector<Inputs> inputs{generator.inputs(2), generator.inputs(1), generator.inputs(3)};
    if (failure(program, inputs, options, &counts).empty()) continue;
    ++failures;
    const Program minimal = reduced(program, inputs, options);
    ADD_FAILURE() << "seed " << seed << ": " << failure(minimal, inputs, options) << "\n" << minimal.source();
  }
  return counts;
}

TEST(RandomGraphs, GiveWhatEagerGives) { checkPrograms(60, 3000, {}); }

// Copies cost nothing at first, so that all that the device has kernels for runs there; then what they cost.
TEST(RandomGraphs, GiveWhatEagerGivesOnADevice) {
  OptimizeOptions options;
  options.device = "opencl";
  OpenClDevice* device = nullptr;
  try {
    device = static_cast<OpenClDevice*>(&openDevice(options.device));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const DeviceProperties copies = device->properties();
  device->assumeCopies(0, 0);
  const StepCounts all = checkPrograms(30, 4000, options);
  device->assumeCopies(copies.copy_latency_ns, copies.copy_bytes_per_ns);
  const StepCounts placed = checkPrograms(10, 1000, options);
  for (const StepCounts& counts : {all, placed})
    std::printf("%zu of %zu steps on the device, %zu copies\n", counts.on_device, counts.all, counts.copies);
  EXPECT_GT(2 * all.on_device, all.all);
}

// Programs of which the interpreter gets all regions back.
TEST(RandomGraphs, GiveWhatEagerGivesWithoutTheirRegions) {
  const RegionTimer everything_loses = [](const IValue&, const std::shared_ptr<torch::jit::Graph>&,
                                          const std::vector<IValue>&, const std::vector<IValue>&, const TrialLimits&) {
    return std::optional<PairedTimes>({2000, 1000, 2, 1.9, 2.1});
  };
  OptimizeOptions options;
  options.tune = TuneMode::kQuick;
  for (int seed = 0; seed < 25; ++seed) {
    at::manual_seed(static_cast<std::uint64_t>(seed));
    Generator generator(static_cast<std::uint64_t>(seed));
    const Program program = generator.make();
    const std::vector<Inputs> inputs{generator.inputs(2), generator.inputs(1), generator.inputs(3)};
    if (!failure(program, inputs).empty()) continue;
    Module module = scriptModule(program.source(), program.weights);
    const Inputs example{inputs[0][0].deepcopy(), inputs[0][1].deepcopy()};
    OptimizedModel model = optimized(module, example, options);
    setTuningBudget(model.tuning, 0.01);
    Observer silent;
    eliminateSlowRegions(model, example, options, silent, everything_loses);
    for (const Inputs& given : inputs) {
      for (const AccuracyRecord& record : verifyModule(module, model.module, {given}, "")) {
        EXPECT_FALSE(wrong(record)) << "seed " << seed << ": " << record.text << "\n"
                                    << program.source() << graphsOf(model);
      }
    }
  }
}

// The reducer keeps the statements that matter and nothing else.
TEST(RandomGraphs, ReducerDropsDependents) {
  const Program program{{{"v0", "torch.relu(x)", {"x"}},
                         {"v1", "torch.tanh(v0)", {"v0"}},
                         {"v2", "torch.neg(x)", {"x"}},
                         {"", "v2.add_(1)", {"v2"}}},
                        {"v1", "v2"},
                        {}};
  EXPECT_EQ(program.without(0).source(),
            "def forward(self, x, y):\n    v2 = torch.neg(x)\n    v2.add_(1)\n    return v2\n");
  EXPECT_EQ(program.without(2).source(),
            "def forward(self, x, y):\n    v0 = torch.relu(x)\n    v1 = torch.tanh(v0)\n    return v1\n");
  EXPECT_EQ(program.without(3).source(),
            "def forward(self, x, y):\n    v0 = torch.relu(x)\n    v1 = torch.tanh(v0)\n    v2 = torch.neg(x)\n    "
            "return v1, v2\n");
}

}  // namespace
}  // namespace ipex_studio

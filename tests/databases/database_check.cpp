// Optimizes the samples of one batch and compares each with its original: database_check BATCH [FIRST]
//
// BATCH.pt is a module whose submodules are the samples, BATCH.in.pt a dictionary from their names to their inputs, and
// BATCH.others.pt, if there is one, to inputs of other sizes and values, which are compared too (databases.py writes
// them). Prints one JSON line a sample, in the order of the names:
//   {"name": …, "verdict": right | wrong | strides | refused | failed | crashed | late | original | unsteady, "why": …,
//    "regions": …, "planned": share of nodes}
// "strides": right but for the order in memory; "original": the original itself fails; "unsteady": it differs from
// itself in a second run. Each process takes samples until one kills it; the next goes on behind that one.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/torch/torch_compat.h"
#include "passes/optimize.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;

constexpr unsigned kLongestSample_s = 60;

Inputs copiesOf(const std::vector<at::Tensor>& tensors) {
  Inputs copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(copyValue(tensor));
  return copies;
}

std::vector<at::Tensor> tensorsOf(const IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> tensors;
  if (!value.isTuple() && !value.isList()) return tensors;
  const auto elements = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
  for (const IValue& element : elements) {
    for (const at::Tensor& tensor : tensorsOf(element)) tensors.push_back(tensor);
  }
  return tensors;
}

// Results of a run, and what it left in its inputs.
struct Outcome {
  std::vector<at::Tensor> results, inputs;
};

Outcome run(Module& module, const std::vector<at::Tensor>& inputs) {
  const torch::NoGradGuard no_grad;
  const Inputs copies = copiesOf(inputs);
  at::manual_seed(1);
  Outcome outcome;
  // Copies, since results may be views of what a next run writes.
  for (const at::Tensor& tensor : tensorsOf(module.forward(copies)))
    outcome.results.push_back(copyValue(tensor).toTensor());
  for (const IValue& copy : copies) outcome.inputs.push_back(copy.toTensor());
  return outcome;
}

// Says how floats differ; empty if they do not. `scale` is the share of the largest element that may be lost.
std::string floatDifference(const at::Tensor& actual, const at::Tensor& expected, double scale) {
  const at::Tensor a = actual.to(at::kDouble).contiguous(), e = expected.to(at::kDouble).contiguous();
  if (!a.isnan().equal(e.isnan())) return "NaN in other places";
  const at::Tensor infinite = e.isinf();
  if (!infinite.equal(a.isinf()) || !a.masked_select(infinite).equal(e.masked_select(infinite)))
    return "infinity in other places";
  const at::Tensor finite = e.isfinite();
  const at::Tensor difference = (a - e).abs().masked_select(finite), size = e.abs().masked_select(finite);
  if (difference.numel() == 0) return {};
  const double largest = size.max().item().toDouble();
  const at::Tensor over = difference - (size * (10 * scale) + scale * largest + 1e-37);
  if (over.max().item().toDouble() <= 0) return {};
  const std::int64_t place = over.argmax().item().toLong();
  return fmt::format("differs by {:.3g} where {:.3g} is right (largest {:.3g})", difference[place].item().toDouble(),
                     e.masked_select(finite)[place].item().toDouble(), largest);
}

double scaleOf(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? 8e-3 : dtype == at::kHalf ? 1e-3 : dtype == at::kDouble ? 1e-12 : 1e-5;
}

// True if memory is laid out alike. Axes of one element and tensors without any have arbitrary strides.
bool sameStrides(const at::Tensor& actual, const at::Tensor& expected) {
  if (expected.layout() != at::kStrided || expected.numel() == 0) return true;
  for (std::int64_t axis = 0; axis < expected.dim(); ++axis) {
    if (expected.size(axis) > 1 && actual.stride(axis) != expected.stride(axis)) return false;
  }
  return true;
}

std::string tensorDifference(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.scalar_type() != expected.scalar_type()) {
    return fmt::format("dtype {} instead of {}", c10::toString(actual.scalar_type()),
                       c10::toString(expected.scalar_type()));
  }
  if (actual.sizes() != expected.sizes()) {
    return fmt::format("sizes [{}] instead of [{}]", fmt::join(actual.sizes(), ", "),
                       fmt::join(expected.sizes(), ", "));
  }
  std::string values;
  if (expected.is_complex()) {
    values = floatDifference(at::view_as_real(actual.resolve_conj()), at::view_as_real(expected.resolve_conj()),
                             scaleOf(c10::toRealValueType(expected.scalar_type())));
  } else if (at::isFloatingType(expected.scalar_type())) {
    values = floatDifference(actual, expected, scaleOf(expected.scalar_type()));
  } else if (!actual.equal(expected)) {
    values = fmt::format("{} of {} integers differ", actual.ne(expected).sum().item().toLong(), expected.numel());
  }
  if (!values.empty()) return "values: " + values;
  if (!sameStrides(actual, expected)) {
    return fmt::format("strides [{}] instead of [{}] of sizes [{}]", fmt::join(actual.strides(), ", "),
                       fmt::join(expected.strides(), ", "), fmt::join(expected.sizes(), ", "));
  }
  return {};
}

std::string listDifference(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected,
                           const char* what) {
  if (actual.size() != expected.size())
    return fmt::format("{} {}s instead of {}", actual.size(), what, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string text = tensorDifference(actual[i], expected[i]);
    if (!text.empty()) return fmt::format("{} {}: {}", what, i, text);
  }
  return {};
}

std::string difference(const Outcome& actual, const Outcome& expected) {
  const std::string results = listDifference(actual.results, expected.results, "result");
  return results.empty() ? listDifference(actual.inputs, expected.inputs, "input") : results;
}

// True if results of FP32 are no further from those of FP64 than verification allows (core/verify/verify.h): where
// the original itself is far off, they differ from its own.
bool isAsExact(Module& module, const std::vector<at::Tensor>& inputs, const Outcome& actual, const Outcome& expected) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& input : inputs)
    wide.push_back(input.scalar_type() == at::kFloat ? input.to(at::kDouble) : input);
  Outcome exact;
  try {
    exact = run(module, wide);
  } catch (const std::exception&) {
    return false;  // constants of the graph are in FP32
  }
  if (exact.results.size() != actual.results.size() || actual.results.size() != expected.results.size()) return false;
  if (!listDifference(actual.inputs, expected.inputs, "input").empty()) return false;
  for (std::size_t r = 0; r < exact.results.size(); ++r) {
    const at::Tensor &ours = actual.results[r], &stock = expected.results[r], &right = exact.results[r];
    if (ours.scalar_type() != stock.scalar_type() || ours.sizes() != stock.sizes() || ours.sizes() != right.sizes())
      return false;
    if (ours.scalar_type() != at::kFloat || ours.numel() == 0) {
      if (!tensorDifference(ours, stock).empty()) return false;
      continue;
    }
    const auto error = [&](const at::Tensor& tensor) {
      return (tensor.to(at::kDouble) - right).abs().max().item<double>();
    };
    if (!(error(ours) <= 2 * error(stock) + 1e-5 * right.abs().max().item<double>())) return false;
  }
  return true;
}

std::string firstLine(const std::string& text) {
  const std::size_t reason = text.find("Error: ");  // the interpreter puts its trace before it
  const std::string tail = reason == std::string::npos ? text : text.substr(reason);
  return tail.substr(0, std::min<std::size_t>(tail.find('\n'), 400));
}

struct Sample {
  std::string name;
  Module module;
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> others;  // empty: there are none
};

// What the original does with the other inputs, if it takes them.
std::optional<Outcome> outcomeOnOthers(Sample& sample) {
  if (sample.others.empty()) return std::nullopt;
  try {
    return run(sample.module, sample.others);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// `begins` is called when the original is done with.
nlohmann::json judge(Sample& sample, const std::function<void()>& begins) {
  const std::vector<at::Tensor>& inputs = sample.inputs;
  nlohmann::json out;
  const auto verdict = [&](const char* text, const std::string& why) {
    out["verdict"] = text;
    out["why"] = why;
    return out;
  };
  Outcome expected;
  std::optional<Outcome> expected_of_others;
  try {
    expected = run(sample.module, inputs);
    const std::string own = difference(run(sample.module, inputs), expected);
    if (!own.empty()) return verdict("unsteady", own);
    expected_of_others = outcomeOnOthers(sample);
  } catch (const std::exception& problem) {
    return verdict("original", firstLine(problem.what()));
  }
  begins();
  OptimizedModel optimized;
  try {
    Observer silent;
    at::manual_seed(1);
    optimized = optimizeModel(sample.module, copiesOf(inputs), {}, silent);
  } catch (const std::exception& problem) {
    return verdict("refused", firstLine(problem.what()));
  }
  int regions = 0;
  for (const auto& attribute : optimized.module.named_attributes(false))
    regions += attribute.name.rfind("region_", 0) == 0;
  out["regions"] = regions;
  out["planned"] = optimized.coverage.nodes;
  try {
    for (const char* which : {"", "second run: "}) {
      const Outcome actual = run(optimized.module, inputs);
      std::string wrong = difference(actual, expected);
      if (!wrong.empty() && isAsExact(sample.module, inputs, actual, expected)) wrong.clear();
      const bool strides = wrong.find(": strides ") != std::string::npos;
      if (!wrong.empty()) return verdict(strides ? "strides" : "wrong", which + wrong);
    }
    if (expected_of_others) {
      const std::string wrong = difference(run(optimized.module, sample.others), *expected_of_others);
      const bool strides = wrong.find(": strides ") != std::string::npos;
      if (!wrong.empty()) return verdict(strides ? "strides" : "wrong", "other inputs: " + wrong);
    }
  } catch (const std::exception& problem) {
    return verdict("failed", firstLine(problem.what()));
  }
  return verdict("right", "");
}

// The inputs of each sample; none if there is no such file.
std::map<std::string, std::vector<at::Tensor>> readInputs(const std::string& path) {
  std::map<std::string, std::vector<at::Tensor>> inputs;
  std::ifstream file(path, std::ios::binary);
  if (!file) return inputs;
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  for (const auto& entry : torch::jit::pickle_load(bytes).toGenericDict()) {
    for (const IValue& tensor : entry.value().toTupleRef().elements())
      inputs[entry.key().toStringRef()].push_back(tensor.toTensor());
  }
  return inputs;
}

std::vector<Sample> readBatch(const std::string& batch) {
  const Module module = torch::jit::load(batch + ".pt");
  auto inputs = readInputs(batch + ".in.pt"), others = readInputs(batch + ".others.pt");
  std::vector<Sample> samples;
  for (const auto& child : module.named_children()) {
    samples.push_back({child.name, child.value, inputs[child.name], others[child.name]});
    samples.back().module.eval();
  }
  return samples;
}

void report(nlohmann::json line, const std::string& name) {
  line["name"] = name;
  std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

// Takes the samples from `first` on. Tells through `progress` which one it is at.
void work(const std::string& batch, std::size_t first, int progress) {
  std::vector<Sample> samples = readBatch(batch);
  for (std::size_t at = first; at < samples.size(); ++at) {
    const auto tell = [&](const char* state) {
      const std::string text = fmt::format("{} {} {}\n", at, state, samples[at].name);
      if (write(progress, text.data(), text.size()) < 0) std::abort();
    };
    tell("original");
    alarm(kLongestSample_s);
    report(judge(samples[at], [&] { tell("optimized"); }), samples[at].name);
    alarm(0);
  }
}

// Runs a process on the samples from `first` on. Returns the sample to go on with, or none after the last.
std::optional<std::size_t> workApart(const std::string& batch, std::size_t first) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(batch, first, ends[1]);
    std::_Exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (text.empty()) throw std::runtime_error("the batch " + batch + " cannot be read");
  std::istringstream last(text.substr(text.rfind('\n', text.size() - 2) + 1));
  std::size_t at = 0;
  std::string state, name;
  last >> at >> state >> name;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::string verdict = state == "original" ? state : signal == SIGALRM ? "late" : "crashed";
  report({{"verdict", verdict}, {"why", fmt::format("signal {}", signal)}}, name);
  return at + 1;
}

}  // namespace
}  // namespace ipex_studio

int main(int count, char** arguments) {
  if (count != 2 && count != 3) {
    std::fputs("usage: database_check BATCH [FIRST]\n", stderr);
    return 2;
  }
  try {
    std::optional<std::size_t> next = count == 3 ? std::stoul(arguments[2]) : 0;
    while (next) next = ipex_studio::workApart(arguments[1], *next);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}

// Reading, evaluating and blessing of .ir test files.
#include "tests/passes/ir_case.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace ipex_studio {

namespace {

std::string trim(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool takePrefix(const std::string& line, const std::string& prefix, std::string* rest) {
  if (line.rfind(prefix, 0) != 0) return false;
  *rest = trim(line.substr(prefix.size()));
  return true;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!trim(part).empty()) parts.push_back(trim(part));
  }
  return parts;
}

std::vector<std::int64_t> integers(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, ',')) values.push_back(std::stoll(part));
  return values;
}

at::ScalarType dtypeFromName(const std::string& name) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kInt, at::kShort,
                           at::kChar, at::kByte, at::kBool}) {
    if (name == c10::toString(dtype)) return dtype;
  }
  throw std::invalid_argument("unknown dtype " + name);
}

// Splits "%name rest" into {name, rest}.
std::pair<std::string, std::string> named(const std::string& text) {
  const auto space = text.find(' ');
  if (text.empty() || text[0] != '%' || space == std::string::npos) throw std::invalid_argument("expected %name value");
  return {text.substr(1, space - 1), trim(text.substr(space))};
}

// Fills one case line by line.
class CaseReader {
 public:
  explicit CaseReader(IrCase& test) : test_(test) {}

  void line(const std::string& text) {
    std::string rest;
    if (takePrefix(text, "# const ", &rest)) {
      (in_expectation_ ? test_.expected_constants : test_.constants).insert(named(rest));
    } else if (takePrefix(text, "# input ", &rest)) {
      test_.inputs.insert(named(rest));
    } else if (const bool reruns = takePrefix(text, "# rerun:", &rest);
               reruns || takePrefix(text, "# refused:", &rest)) {
      std::map<std::string, std::string> values;
      for (const std::string& part : split(rest, '%')) values.insert(named("%" + part));
      (reruns ? test_.reruns : test_.refused).push_back(values);
    } else if (takePrefix(text, "# expect:", &rest)) {
      in_expectation_ = true;
      test_.unchanged = rest == "unchanged";
      test_.any_graph = rest == "numbers";
    } else if (takePrefix(text, "# remark:", &rest)) {
      test_.remarks.push_back(rest);
    } else if (takePrefix(text, "# numeric:", &rest)) {
      test_.numeric = rest != "none";
      if (takePrefix(rest, "rtol=", &rest)) test_.rtol = std::stod(rest);
    } else if (takePrefix(text, "# precision:", &rest)) {
      if (rest != "bf16" && rest != "fp16") test_.error = "the precision is unknown: " + rest;
      test_.precision = rest == "bf16" ? Precision::kBf16 : Precision::kFp16;
    } else if (takePrefix(text, "# decided:", &rest)) {
      test_.decided.push_back(rest);
    } else if (takePrefix(text, "# recipe:", &rest)) {
      test_.precision = Precision::kInt8;
      test_.recipe = rest;
    } else if (text[0] != '#') {
      (in_expectation_ ? test_.expected : test_.before) += text + "\n";
    }
  }

 private:
  IrCase& test_;
  bool in_expectation_ = false;
};

}  // namespace

std::string Fingerprint::text() const {
  return fmt::format("{}({}) sum={:.6g} abs={:.6g} mix={:.6g}", c10::toString(dtype), fmt::join(sizes, ","), sum, abs,
                     mix);
}

bool Fingerprint::matches(const Fingerprint& other) const {
  const double tolerance = 1e-4 * (abs + other.abs) + 1e-9;
  return dtype == other.dtype && sizes == other.sizes && std::abs(sum - other.sum) <= tolerance &&
         std::abs(abs - other.abs) <= tolerance && std::abs(mix - other.mix) <= tolerance;
}

Fingerprint fingerprintOf(const at::Tensor& tensor) {
  Fingerprint result;
  result.dtype = tensor.scalar_type();
  result.sizes = tensor.sizes().vec();
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().view({-1});
  const double* data = flat.data_ptr<double>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    result.sum += data[i];
    result.abs += std::abs(data[i]);
    result.mix += data[i] * std::cos(static_cast<double>(i));
  }
  return result;
}

Fingerprint parseFingerprint(const std::string& text) {
  static const std::regex pattern(R"((\w+)\(([^)]*)\) sum=(\S+) abs=(\S+) mix=(\S+))");
  std::smatch match;
  if (!std::regex_match(text, match, pattern)) throw std::invalid_argument("not a fingerprint: " + text);
  return {dtypeFromName(match[1]), integers(match[2]), std::stod(match[3]), std::stod(match[4]), std::stod(match[5])};
}

torch::jit::IValue evaluate(const std::string& name, const std::string& expression) {
  static const std::regex pattern(R"((?:([-+\d.e]+)\*)?(?:([-+\d.e]+)\+)?([a-z]+)\(([^)]*)\)(?::(\w+))?)");
  std::smatch match;
  if (expression == "true" || expression == "false") return expression == "true";
  if (expression == "None") return {};
  if (!std::regex_match(expression, match, pattern)) {
    const bool is_float = expression.find_first_of(".e") != std::string::npos;
    return is_float ? torch::jit::IValue(std::stod(expression))
                    : torch::jit::IValue(static_cast<std::int64_t>(std::stoll(expression)));
  }
  std::uint64_t seed = 0xcbf29ce484222325ULL;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  auto generator = at::detail::createCPUGenerator(seed);
  const std::string function = match[3];
  const std::vector<std::string> parts = split(match[4], ';');
  const std::string first = parts.empty() ? "" : parts[0];
  const std::string second = parts.size() < 2 ? "" : parts[1];
  at::Tensor tensor;
  if (function == "randn") {
    tensor = at::randn(integers(first), generator);
  } else if (function == "rand") {
    tensor = at::rand(integers(first), generator);
  } else if (function == "ones") {
    tensor = at::ones(integers(first));
  } else if (function == "zeros") {
    tensor = at::zeros(integers(first));
  } else if (function == "full") {
    tensor = at::full(integers(second), std::stod(first));
  } else if (function == "randint") {
    const auto range = integers(first);
    tensor = at::randint(range.at(0), range.at(1), integers(second), generator, at::kLong);
  } else if (function == "values") {
    std::vector<double> values;
    for (const std::string& part : split(first, ',')) values.push_back(std::stod(part));
    tensor = at::tensor(values, at::kDouble);
    if (parts.size() > 1) tensor = tensor.view(integers(second));
  } else if (function == "scalar") {
    tensor = at::scalar_tensor(std::stod(first), at::kDouble);
  } else {
    throw std::invalid_argument("unknown value " + expression);
  }
  if (match[2].matched) tensor = tensor + std::stod(match[2]);
  if (match[1].matched) tensor = tensor * std::stod(match[1]);
  if (match[5].matched) return tensor.to(dtypeFromName(match[5]));
  if (tensor.scalar_type() == at::kDouble) tensor = tensor.to(at::kFloat);
  return tensor;
}

std::vector<IrCase> readCases(const std::string& path) {
  std::vector<IrCase> cases;
  std::ifstream in(path);
  std::vector<std::string> passes;
  std::string rest;
  std::unique_ptr<CaseReader> reader;
  cases.reserve(1000);  // readers point into it
  for (std::string line; std::getline(in, line);) {
    if (takePrefix(line, "# pass:", &rest)) {
      passes = split(rest, ',');
      reader.reset();
    } else if (takePrefix(line, "# case:", &rest)) {
      IrCase test;
      test.file = path;
      test.title = rest;
      test.passes = passes;
      test.name = fmt::format("{}_{:02}", std::filesystem::path(path).stem().string(), cases.size() + 1);
      cases.push_back(std::move(test));
      reader = std::make_unique<CaseReader>(cases.back());
    } else if (reader && !trim(line).empty()) {
      try {
        reader->line(line);
      } catch (const std::exception& error) {
        cases.back().error = fmt::format("line \"{}\": {}", line, error.what());
      }
    }
  }
  return cases;
}

void blessCase(const IrCase& test, const std::string& expectation) {
  std::ifstream in(test.file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  in.close();
  std::ofstream out(test.file, std::ios::trunc);
  enum class Where { kOutside, kBefore, kExpectation } where = Where::kOutside;
  std::string rest;
  for (const std::string& line : lines) {
    if (takePrefix(line, "# case:", &rest)) where = rest == test.title ? Where::kBefore : Where::kOutside;
    if (takePrefix(line, "# pass:", &rest)) where = Where::kOutside;
    if (where == Where::kBefore && takePrefix(line, "# expect:", &rest)) {
      where = Where::kExpectation;
      out << expectation;
      continue;
    }
    // Removes the old expectation: its graph and constants; other directives and blank lines stay.
    const bool is_old =
        where == Where::kExpectation && !line.empty() && (line[0] != '#' || line.rfind("# const ", 0) == 0);
    if (!is_old) out << line << "\n";
  }
}

}  // namespace ipex_studio

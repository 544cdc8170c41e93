// PtFileReport as JSON for programs and as text for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/file/pt_file.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kShownClasses = 40;
constexpr std::size_t kShownOperators = 24;
constexpr std::size_t kShownTensors = 12;

// Replaces control characters: names come from the file and must not steer a terminal.
std::string plain(const std::string& text) {
  std::string safe = text;
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  // U+0080 … U+009F are control characters too; in UTF-8 they begin with 0xc2.
  for (std::size_t i = 0; i + 1 < safe.size(); ++i) {
    if (safe[i] == '\xc2' && static_cast<unsigned char>(safe[i + 1]) < 0xa0) safe[i] = safe[i + 1] = '?';
  }
  return safe;
}

std::string sizeText(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1000000000 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

std::string countText(std::int64_t count) {
  if (count < 10000) return fmt::format("{}", count);
  if (count < 1000000) return fmt::format("{:.1f} K", count / 1e3);
  return count < 1000000000 ? fmt::format("{:.2f} M", count / 1e6) : fmt::format("{:.2f} G", count / 1e9);
}

std::string shapeText(const std::vector<std::int64_t>& dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

std::string shortName(const std::string& class_name) {
  return class_name.rfind("__torch__.", 0) == 0 ? class_name.substr(10) : class_name;
}

void line(std::string* out, const char* label, const std::string& text) {
  *out += fmt::format("{:<12}{}\n", label, text);
}

std::string tensorBytesText(const PtFileReport& report) {
  std::int64_t total = 0;
  std::vector<std::string> parts;
  for (const auto& [dtype, bytes] : report.tensor_bytes) {
    total += bytes;
    parts.push_back(fmt::format("{} {}", dtype, sizeText(bytes)));
  }
  return parts.empty() ? "none" : fmt::format("{}  ({})", sizeText(total), fmt::join(parts, ", "));
}

void describeOperators(const PtFileReport& report, std::string* out) {
  std::vector<std::pair<std::string, std::int32_t>> ranked(report.operators.begin(), report.operators.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  line(out, "operators", fmt::format("{} different", ranked.size()));
  const std::size_t shown = std::min(ranked.size(), kShownOperators);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, ranked[i].first.size());
  const std::size_t columns = std::max<std::size_t>(1, 96 / (width + 8));
  for (std::size_t i = 0; i < shown; i += columns) {
    std::string row(12, ' ');
    for (std::size_t k = i; k < std::min(i + columns, shown); ++k) {
      row += fmt::format("{:>5} {:<{}}  ", ranked[k].second, plain(ranked[k].first), width);
    }
    *out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  if (ranked.size() > shown) *out += fmt::format("{:12}… and {} more\n", "", ranked.size() - shown);
}

// Turns "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv1d" into "torch.nn.modules.conv.Conv1d".
std::string unmangled(const std::string& class_name) {
  std::string name = shortName(class_name);
  const std::size_t begin = name.find("___torch_mangle_");
  if (begin == std::string::npos) return name;
  const std::size_t end = name.find('.', begin);
  return end == std::string::npos ? name : name.erase(begin, end + 1 - begin);
}

// Copies of one class, which TorchScript makes for every differing use, share a line.
void describeClasses(const PtFileReport& report, std::string* out) {
  std::map<std::pair<std::string, std::string>, int> groups;
  for (const CodeClass& code_class : report.classes) {
    ++groups[{unmangled(code_class.name), fmt::format("{}", fmt::join(code_class.methods, ", "))}];
  }
  line(out, "code", fmt::format("{} classes, {} functions", report.classes.size(), report.functions.size()));
  std::size_t shown = 0;
  for (const auto& [group, copies] : groups) {
    if (++shown > kShownClasses) break;
    *out += fmt::format("{:12}{}{}: {}\n", "", plain(group.first), copies > 1 ? fmt::format(" ×{}", copies) : "",
                        group.second.empty() ? "no methods" : plain(group.second));
  }
  if (groups.size() > kShownClasses) *out += fmt::format("{:12}… and {} more\n", "", groups.size() - kShownClasses);
}

void describeTensors(const PtFileReport& report, std::string* out) {
  if (report.tensors.empty()) return;
  std::vector<const TensorEntry*> largest;
  for (const TensorEntry& tensor : report.tensors) largest.push_back(&tensor);
  std::stable_sort(largest.begin(), largest.end(), [](auto* a, auto* b) { return a->elements > b->elements; });
  line(out, "tensors",
       fmt::format("{}{}", report.tensors.size(),
                   largest.size() > kShownTensors ? fmt::format(", largest {} first", kShownTensors) : ""));
  for (std::size_t i = 0; i < std::min(largest.size(), kShownTensors); ++i) {
    const TensorEntry& tensor = *largest[i];
    *out += fmt::format("{:12}{:<10} {:<9} {:<16} {}\n", "", tensorRoleName(tensor.role), tensor.dtype,
                        shapeText(tensor.dims), plain(tensor.name));
  }
}

}  // namespace

const char* tensorRoleName(TensorRole role) {
  switch (role) {
    case TensorRole::kParameter:
      return "parameter";
    case TensorRole::kBuffer:
      return "buffer";
    case TensorRole::kConstant:
      return "constant";
    case TensorRole::kAttribute:
      break;
  }
  return "attribute";
}

nlohmann::json toJson(const PtFileReport& report) {
  nlohmann::json members = nlohmann::json::array(), tensors = nlohmann::json::array();
  nlohmann::json classes = nlohmann::json::object(), findings = nlohmann::json::array();
  for (const MemberEntry& member : report.members) {
    members.push_back({{"name", member.name}, {"bytes", member.bytes}, {"stored_bytes", member.stored_bytes}});
  }
  for (const TensorEntry& tensor : report.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"role", tensorRoleName(tensor.role)},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.dims},
                       {"elements", tensor.elements}});
  }
  for (const CodeClass& code_class : report.classes) {
    classes[code_class.name] = {
        {"methods", code_class.methods}, {"parameters", code_class.parameters}, {"buffers", code_class.buffers}};
  }
  for (const Finding& finding : report.findings) {
    findings.push_back(
        {{"kind", finding.kind}, {"member", finding.member}, {"text", finding.text}, {"dangerous", finding.dangerous}});
  }
  return {{"path", report.path},
          {"file_bytes", report.file_bytes},
          {"sha256", report.sha256},
          {"archive_name", report.archive_name},
          {"format_version", report.format_version},
          {"producer", report.producer},
          {"root_class", report.root_class},
          {"parameters", {{"tensors", report.parameter_tensors}, {"elements", report.parameter_elements}}},
          {"buffers", {{"tensors", report.buffer_tensors}, {"elements", report.buffer_elements}}},
          {"tensor_bytes", report.tensor_bytes},
          {"tensors", std::move(tensors)},
          {"operators", report.operators},
          {"methods", report.methods},
          {"classes", std::move(classes)},
          {"functions", report.functions},
          {"members", std::move(members)},
          {"dangerous", report.dangerous()},
          {"findings", std::move(findings)}};
}

std::string describe(const PtFileReport& report) {
  std::string out;
  line(&out, "file",
       fmt::format("{}  ({}, {} members)", plain(report.path), sizeText(report.file_bytes), report.members.size()));
  if (!report.sha256.empty()) line(&out, "sha256", report.sha256);
  line(&out, "written by", fmt::format("{}  (format version {})", report.producer, report.format_version));
  line(&out, "model", plain(shortName(report.root_class)));
  if (!report.methods.empty()) {
    line(&out, "methods",
         plain(fmt::format("{}  (besides forward; --method NAME optimizes one)", fmt::join(report.methods, ", "))));
  }
  line(&out, "parameters",
       fmt::format("{}  in {} tensors", countText(report.parameter_elements), report.parameter_tensors));
  line(&out, "buffers", fmt::format("{}  in {} tensors", countText(report.buffer_elements), report.buffer_tensors));
  line(&out, "data", tensorBytesText(report));
  describeTensors(report, &out);
  describeOperators(report, &out);
  describeClasses(report, &out);
  if (report.findings.empty())
    line(&out, "findings", "none: nothing runs on loading, no file access, no foreign classes");
  for (const Finding& finding : report.findings) {
    line(&out, finding.dangerous ? "DANGER" : "note",
         fmt::format("{}: {}{}", finding.kind, plain(finding.text),
                     finding.member.empty() ? "" : fmt::format("  [{}]", plain(finding.member))));
  }
  return out;
}

}  // namespace ipex_studio
